//! Requests and projects that are not as hoped for, each with its own message.

use crate::testing::testing_sandbox::TestingSandbox;

#[test]
fn bad_requests_are_refused_before_anything_is_written() {
    let Some(sandbox) = TestingSandbox::new(&[("README.md", "nothing\n")]) else {
        return;
    };
    sandbox.workers("");
    sandbox
        .test("")
        .expect_exit(2)
        .expect_output("there is no source file to test");
    sandbox.write("a.py", "x = 1\n");
    sandbox
        .test("--since HEAD")
        .expect_exit(2)
        .expect_output("`--since HEAD` requires a git repository");
    sandbox
        .test("--target L9=10")
        .expect_exit(2)
        .expect_output("`--target L9=10` does not name a layer of this team and a percentage");
    sandbox
        .test("--pipeline huge")
        .expect_exit(2)
        .expect_output("no pipeline `huge`");
    sandbox
        .wavecrew("plan lifecycle x --since HEAD")
        .expect_exit(2)
        .expect_output("the team `lifecycle` has no flag --since");
    assert!(!sandbox.path(".workflow").exists());
}

#[test]
fn the_pipeline_follows_the_size_of_the_change() {
    let Some(sandbox) = TestingSandbox::new(&[("pyproject.toml", ""), ("src/a/x.py", "x = 1\n")]) else {
        return;
    };
    let planned = |flags: &str| sandbox.wavecrew(&format!("plan testing {flags}")).ok();
    assert!(planned("").contains("Pipeline targeted: 1 file in 1 module"));
    for n in 0..4 {
        sandbox.write(format!("src/m{n}/y.py"), "y = 1\n");
    }
    assert!(planned("").contains("Pipeline comprehensive: 5 files in 5 modules"));
    sandbox.git(&["init", "-q"]);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "one"]);
    sandbox.write("src/a/x.py", "x = 2\n");
    sandbox.git(&["commit", "-qam", "two"]);
    assert!(planned("").contains("Pipeline targeted: 1 file in 1 module"));
    let table = planned("--target L1=91 --json");
    assert!(
        table.contains("\"91\"") && table.contains("src/a/x.py"),
        "{table}"
    );
}

#[test]
fn failing_baseline_broken_source_and_missing_package_are_distinguished() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.write("shop/broken.py", "def x(:\n");
    sandbox.write(
        "tests/test_old.py",
        "import nowhere_to_be_found\n\n\ndef test_x():\n    assert nowhere_to_be_found.x() == 1\n",
    );
    sandbox.write("tests/test_red.py", "def test_red():\n    assert 1 == 2\n");
    sandbox.workers(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', 'from shop.price import is_cheap, total\\n\\n\\ndef test_all():\\n    assert total([1, 2]) == 3\\n    assert is_cheap(9) is True\\n    assert is_cheap(10) is False\\n')\n",
    );
    sandbox
        .test("--mutation off --target L1=60")
        .expect_exit(0)
        .expect_output("2 of them already failing");
    let row = sandbox.row("TESTRUN-001");
    assert_eq!(
        (row["status"].as_str(), row["pass_rate"].as_str()),
        ("completed", "1.00")
    );
    let run = sandbox.json("results/run-L1.json");
    assert!(
        run["notes"]
            .to_string()
            .contains("cannot be parsed, counted as 0 %: shop/broken.py"),
        "{run}"
    );
}

#[test]
fn a_project_in_which_no_test_can_run_is_refused_before_a_worker_starts() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.write("conftest.py", "raise RuntimeError('not here')\n");
    sandbox.workers("");
    sandbox
        .test("")
        .expect_output("error: the tests cannot be run here")
        .expect_output("RuntimeError: not here")
        .expect_output("help: run the framework manually");
    assert!(sandbox.started().is_empty());
}

#[test]
fn a_framework_that_is_not_installed_is_named_before_a_worker_starts() {
    let sandbox = wavecrew_test_support::sandbox::Sandbox::new()
        .file("package.json", r#"{"devDependencies":{"vitest":"4"}}"#)
        .file("src/cart.js", "export const one = () => 1;\n");
    sandbox
        .wavecrew("testing -y --agent offline")
        .expect_error(2, &["vitest is not installed for this project", "npm install"]);
    assert!(!sandbox.path(".workflow").exists());
}
