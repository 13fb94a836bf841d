//! pytest with coverage.py.

use std::fs;

use serde_json::Value;
use wavecrew_measure::run::{Collect, Request, TestOrder};

use crate::measured::{MeasureSandbox, figures, file, fixes, rate};
use wavecrew_test_support::sandbox::Sandbox;

#[test]
fn the_figures_equal_a_manual_run_and_the_project_is_unchanged() {
    let sandbox = MeasureSandbox::of("python");
    if !sandbox.link("venv", ".venv") {
        return;
    }
    let before = sandbox.files();
    let measured = sandbox.measure("shop/price.py").unwrap();
    assert_eq!(sandbox.files(), before);
    assert_eq!(
        figures(&measured),
        [
            "shop/__init__.py 0/0 0/0",
            "shop/generated.py excluded 0/0",
            "shop/größe.py 3/4 1/2",
            "shop/price.py 6/11 3/6",
            "shop/unused.py 0/4 0/2",
            "tools/stock list.py 3/4 0/0",
        ]
    );
    assert_eq!(rate(&measured), (5, 9));

    sandbox.by_hand(
        ".venv/bin/python",
        &[
            "-m",
            "coverage",
            "run",
            "--source=shop,tools",
            "-m",
            "pytest",
            "--continue-on-collection-errors",
        ],
    );
    sandbox.by_hand(".venv/bin/python", &["-m", "coverage", "json"]);
    let json: Value = serde_json::from_slice(&fs::read(sandbox.path("coverage.json")).unwrap()).unwrap();
    let lines = measured.coverage.lines().unwrap();
    assert_eq!(json["totals"]["covered_lines"], lines.covered);
    assert_eq!(json["totals"]["num_statements"], lines.total);
}

#[test]
fn only_chosen_test_files_run() {
    let sandbox = MeasureSandbox::of("python");
    if !sandbox.link("venv", ".venv") {
        return;
    }
    let project = sandbox.project_of("shop/price.py");
    let scope = [sandbox.path("shop/größe.py")];
    let tests = [sandbox.path("tests/with space/test_größe.py")];
    let measured = sandbox.runner().measure(&Request {
        project: &project,
        scope: &scope,
        tests: &tests,
        coverage: Collect::TestsAndCoverage,
        order: TestOrder::Shuffled { seed: 7 },
        canaries: true,
    });
    let measured = measured.unwrap();
    assert_eq!(rate(&measured), (2, 2));
    assert_eq!(measured.tampering, Vec::<String>::new());
    assert_eq!(figures(&measured), ["shop/größe.py 3/4 1/2"]);
    let ranges: Vec<String> = file(&measured, "shop/größe.py")
        .uncovered
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(ranges, ["4"]);
}

#[test]
fn a_flaky_test_is_named_and_not_counted() {
    let Some(sandbox) = MeasureSandbox::python(&[]) else {
        return;
    };
    let seen = sandbox.path("seen");
    sandbox.write(
        "test_mood.py",
        format!(
            "import pathlib\n\n\ndef test_mood():\n    seen = pathlib.Path({:?})\n    known = seen.exists()\n    \
             seen.touch()\n    assert not known\n\n\ndef test_steady():\n    assert True\n",
            seen.to_str().unwrap()
        ),
    );
    let project = sandbox.project_of("test_mood.py");
    let request = Request {
        project: &project,
        scope: &[],
        tests: &[],
        coverage: Collect::TestsOnly,
        order: TestOrder::Default,
        canaries: false,
    };
    let runner = sandbox.runner();
    let mut measured = runner.measure(&request).unwrap();
    assert_eq!(rate(&measured), (2, 2));
    assert_eq!(measured.tampering, Vec::<String>::new());
    runner.find_flaky(&request, 2, &mut measured).unwrap();
    assert_eq!(measured.flaky.len(), 1);
    let flaky = &measured.flaky[0];
    assert_eq!(
        (flaky.id.to_string().as_str(), flaky.runs, flaky.passed),
        ("test_mood.py::test_mood", 3, 1)
    );
    assert_eq!(rate(&measured), (1, 1));
}

#[test]
fn coverage_of_passing_tests_alone() {
    let files = [
        ("a.py", "def f(x):\n    if x:\n        return 1\n    return 2\n"),
        ("b.py", "def g():\n    return 1\n"),
        (
            "test_a.py",
            "import pytest\nimport a, b\n\n\nclass TestF:\n    @pytest.mark.parametrize('x', [0, 1])\n    def test_f(self, x):\n        \
             assert a.f(x) == 2\n\n\n@pytest.mark.xfail\ndef test_g():\n    assert b.g() == 2\n",
        ),
        ("test_c.py", "import b\nb.g()\nimport nowhere\n"),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let project = sandbox.project_of("a.py");
    let scope = [sandbox.path("a.py"), sandbox.path("b.py")];
    let request = Request {
        project: &project,
        scope: &scope,
        tests: &[],
        coverage: Collect::TestsAndCoverage,
        order: TestOrder::Default,
        canaries: false,
    };
    let mut measured = sandbox.runner().measure(&request).unwrap();
    assert_eq!(figures(&measured), ["a.py 4/4 2/2", "b.py 2/2 0/0"]);
    sandbox
        .runner()
        .measure_passing_coverage(&request, &mut measured)
        .unwrap();
    assert_eq!(figures(&measured), ["a.py 3/4 1/2", "b.py 1/2 0/0"]);
    assert_eq!(rate(&measured), (1, 4));
}

#[test]
fn parallel_coverage_settings_are_respected() {
    let files = [
        (".coveragerc", "[run]\nparallel = true\n"),
        ("never.py", "A = 1\n"),
        ("plain.py", "def f():\n    return 1\n"),
        (
            "test_plain.py",
            "import plain\n\n\ndef test_f():\n    assert plain.f() == 1\n",
        ),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let measured = sandbox.measure("plain.py").unwrap();
    assert_eq!(figures(&measured), ["never.py 0/1 0/0", "plain.py 2/2 0/0"]);
}

/// Settings of a project name plugins that many people do not have; pytest refuses to start with their options.
#[test]
fn options_of_plugins_that_are_not_installed_are_dropped() {
    let settings = "[pytest]\nrequired_plugins = pytest-nobody\naddopts = --nobody=plain --nobody-report term -z auto \
        --strict-config --own\nnobody_mode = auto\nfilterwarnings =\n    error\n";
    let files = [
        ("pytest.ini", settings),
        (
            "conftest.py",
            "def pytest_addoption(parser):\n    parser.addoption('--own', action='store_true')\n",
        ),
        ("plain.py", "def f():\n    return 1\n"),
        (
            "test_plain.py",
            "import plain\n\n\ndef test_f(request):\n    assert request.config.getoption('--own')\n    assert plain.f() == 1\n",
        ),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let measured = sandbox.measure("plain.py").unwrap();
    assert_eq!(rate(&measured), (1, 1));
    assert_eq!(figures(&measured), ["plain.py 2/2 0/0"]);
}

#[test]
fn without_coverage_py_only_the_pass_rate_is_known() {
    let files = [
        ("a.py", "A = 1\n"),
        ("test_a.py", "def test_a():\n    assert True\n"),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    // An interpreter that has no coverage.py.
    let real = fs::read_link(sandbox.path(".venv")).unwrap().join("bin/python");
    fs::remove_file(sandbox.path(".venv")).unwrap();
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = -c ]; then echo '[\"pytest\"]'; else exec {} \"$@\"; fi\n",
        real.display()
    );
    sandbox.write(".venv/bin/python", &script);
    make_executable(&sandbox);
    let measured = sandbox.measure("a.py").unwrap();
    assert_eq!(rate(&measured), (1, 1));
    assert_eq!(measured.coverage.lines(), None);
    assert!(fixes(&measured).ends_with("-m pip install coverage"));
}

#[test]
fn without_pytest_the_install_command_is_shown() {
    let sandbox = MeasureSandbox::new(Sandbox::new());
    sandbox.write("pytest.ini", "[pytest]\n");
    sandbox.write("a.py", "A = 1\n");
    sandbox.write(".venv/bin/python", "#!/bin/sh\necho '[]'\n");
    make_executable(&sandbox);
    let error = sandbox.measure("a.py").unwrap_err();
    assert_eq!(error.to_string(), "pytest is not installed for this project");
    assert!(error.help().ends_with("-m pip install pytest coverage"));
}

fn make_executable(sandbox: &MeasureSandbox) {
    use std::os::unix::fs::PermissionsExt;
    let python = sandbox.path(".venv/bin/python");
    fs::set_permissions(python, fs::Permissions::from_mode(0o755)).unwrap();
}
