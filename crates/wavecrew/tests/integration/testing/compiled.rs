//! Rust and Go: real compilers and runners, tests kept or dropped file by file, and a note about missing
//! tools.

use std::env;

use crate::testing::testing_sandbox::TestingSandbox;

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let home = env::home_dir().map(|home| home.join(".cargo/bin"));
    env::split_paths(&path)
        .chain(home)
        .any(|folder| folder.join(program).is_file())
}

/// A generator whose second file is wrong, and an executor that repairs it.
fn agent(good: (&str, &str), wrong: (&str, &str), repaired: &str) -> String {
    format!(
        "if task == 'TESTGEN-001':\n    text(layer / {:?}, {:?})\n    text(layer / {:?}, {:?})\nif task == 'TESTRUN-001':\n    text(traces / 'told.txt', prompt)\n    text(layer / {:?}, {repaired:?})\n",
        good.0, good.1, wrong.0, wrong.1, wrong.0
    )
}

#[test]
fn a_rust_crate() {
    let Some(sandbox) = TestingSandbox::fixture("cargo") else {
        return;
    };
    let wrong =
        "use fixture_shop::label;\n\n#[test]\nfn is_labelled() {\n    assert_eq!(label(250), \"2.50\");\n}\n";
    sandbox.workers(&agent(
        (
            "totals.rs",
            "use fixture_shop::total;\n\n#[test]\nfn nothing_costs_nothing() {\n    assert_eq!(total(&[], 0), 0);\n}\n\n#[test]\nfn half_off() {\n    assert_eq!(total(&[100, 60], 50), 80);\n}\n",
        ),
        ("labels.rs", wrong),
        &wrong.replace("2.50", "2.50 EUR"),
    ));
    sandbox
        .test("")
        .expect_exit(0)
        .expect_output("Before  2 tests, 1 of them already failing");
    let row = sandbox.row("TESTRUN-001");
    assert_eq!(row["pass_rate"], "1.00", "{row:?}");
    assert!(row["findings"].starts_with("3 of 3 tests kept"), "{row:?}");
    if on_path("cargo-llvm-cov") {
        assert_eq!(row["coverage_achieved"], "100.00");
    } else {
        let message = "cargo-llvm-cov is not installed: only the pass rate is known; to have it: cargo install --locked cargo-llvm-cov";
        assert!(row["findings"].contains(message), "{row:?}");
    }
    if on_path("cargo-mutants") {
        assert!(row["findings"].contains("mutants killed"), "{row:?}");
    } else {
        let message = "cargo-mutants is not installed: no mutants were tried; to have it: cargo install --locked cargo-mutants";
        assert!(row["findings"].contains(message), "{row:?}");
    }
    let feedback = sandbox.trace("told.txt");
    assert!(
        feedback.contains("`labels.rs::is_labelled` fails") && !feedback.contains("totals.rs::"),
        "{feedback}"
    );
    assert!(!sandbox.path("target").exists());
}

#[test]
fn a_rust_test_that_does_not_compile_costs_its_file_alone() {
    let Some(sandbox) = TestingSandbox::fixture("cargo") else {
        return;
    };
    sandbox.workers(&agent(
        (
            "totals.rs",
            "use fixture_shop::total;\n\n#[test]\nfn nothing_costs_nothing() {\n    assert_eq!(total(&[], 0), 0);\n}\n",
        ),
        ("labels.rs", "#[test]\nfn x() {\n    assert_eq!(nowhere(), 1);\n}\n"),
        "use fixture_shop::label;\n\n#[test]\nfn is_labelled() {\n    assert_eq!(label(250), \"2.50 EUR\");\n}\n",
    ));
    sandbox.test("--mutation off --target L1=50").expect_exit(0);
    let feedback = sandbox.trace("told.txt");
    assert!(
        feedback.contains("`labels.rs` its file does not load")
            && feedback.contains("cannot find function `nowhere`"),
        "{feedback}"
    );
    assert!(
        sandbox.row("TESTRUN-001")["findings"].starts_with("2 of 2 tests kept"),
        "{:?}",
        sandbox.row("TESTRUN-001")
    );
}

#[test]
fn a_go_module() {
    let Some(sandbox) = TestingSandbox::fixture("go") else {
        return;
    };
    assert!(
        on_path("go"),
        "no go on PATH: install golang-go, or set WAVECREW_SKIP_FRAMEWORKS=1 to continue without"
    );
    let wrong = "package shop\n\nimport \"testing\"\n\nfunc TestLabels(t *testing.T) {\n\tif got := Label(200); got != \"2\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n";
    sandbox.workers(&agent(
        (
            "odd_test.go",
            "package shop\n\nimport \"testing\"\n\nfunc TestOdd(t *testing.T) {\n\tif got := Label(250); got != \"2.50 EUR\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n",
        ),
        ("even_test.go", wrong),
        &wrong.replace("\"2\"", "\"2 EUR\""),
    ));
    sandbox
        .test("--target L1=45 --always")
        .expect_exit(0)
        .expect_output("2 of them already failing");
    let row = sandbox.row("TESTRUN-001");
    // Only what the new tests run counts, though the package has others: the sum is theirs.
    assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 45.45", "{row:?}");
    assert!(row["findings"].starts_with("2 of 2 tests kept"), "{row:?}");
    let feedback = sandbox.trace("told.txt");
    assert!(
        feedback.contains("`even_test.go::TestLabels` fails"),
        "{feedback}"
    );
}
