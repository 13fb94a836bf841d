//! Suites that go wrong in every way that is not simply a red test.

use std::fs;

use wavecrew_measure::TestOutcome;
use wavecrew_measure::run::MeasureError;

use crate::measured::{MeasureSandbox, figures, fixes, rate};

#[test]
fn a_test_that_kills_its_process() {
    let files = [(
        "test_a.py",
        "import os\n\n\ndef test_a():\n    os.kill(os.getpid(), 9)\n",
    )];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let error = sandbox.measure("test_a.py").unwrap_err();
    assert!(matches!(error, MeasureError::Killed { signal: 9, .. }), "{error}");
}

#[test]
fn a_test_that_ends_its_process_with_success() {
    let files = [("test_a.py", "import os\n\n\ndef test_a():\n    os._exit(0)\n")];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let error = sandbox.measure("test_a.py").unwrap_err();
    assert!(matches!(error, MeasureError::NoReport { code: 0, .. }), "{error}");
    assert!(error.help().contains("calls exit"));
}

#[test]
fn a_gigabyte_of_output_is_not_kept() {
    let files = [(
        "test_a.py",
        "import os\n\n\ndef test_a():\n    for _ in range(1024):\n        os.write(1, b'x' * 1048576)\n    assert 1 == 2\n",
    )];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let measured = sandbox.measure("test_a.py").unwrap();
    assert_eq!(rate(&measured), (0, 1));
    // Each test has a process of its own: its greatest size is that of this run.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 200_000, "{kilobytes} kB");
}

#[test]
fn a_missing_package_is_distinguished_from_a_failing_test() {
    let files = [
        (
            "test_a.py",
            "import surely_not_there.part\n\n\ndef test_a():\n    assert True\n",
        ),
        ("test_b.py", "def test_b():\n    assert True\n"),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let measured = sandbox.measure("test_a.py").unwrap();
    assert_eq!(rate(&measured), (1, 2));
    let red: Vec<_> = measured.failing().collect();
    assert!(matches!(red[0].outcome, TestOutcome::Unloaded { .. }));
    assert_eq!(red[0].id.to_string(), "test_a.py");
    assert!(fixes(&measured).contains("pip install surely_not_there"));
}

#[test]
fn a_missing_package_of_the_whole_suite_is_a_broken_environment() {
    let files = [
        ("conftest.py", "import surely_not_there\n"),
        ("test_a.py", "def test_a():\n    assert True\n"),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let error = sandbox.measure("test_a.py").unwrap_err();
    assert!(matches!(error, MeasureError::NoReport { code: 4, .. }), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("the package `surely_not_there` is missing"),
        "{error}"
    );
    assert!(error.help().contains("pip install surely_not_there"));
}

#[test]
fn a_source_that_does_not_parse_counts_with_nothing_covered() {
    let files = [
        ("broken.py", "def f(:\n    return 1\n"),
        ("fine.py", "A = 1\n"),
        (
            "test_a.py",
            "import fine\n\n\ndef test_a():\n    assert fine.A == 1\n",
        ),
        ("test_b.py", "import broken\n"),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let measured = sandbox.measure("fine.py").unwrap();
    assert_eq!(figures(&measured), ["broken.py broken 0/2", "fine.py 1/1 0/0"]);
    assert_eq!(rate(&measured), (1, 2));
    assert!(
        measured
            .notes
            .iter()
            .any(|note| note.what.contains("syntax error")),
        "{:?}",
        measured.notes
    );
}

#[test]
fn a_suite_that_is_all_red_is_measured() {
    let files = [
        ("a.py", "A = 1\n"),
        (
            "test_a.py",
            "import a\n\n\ndef test_a():\n    assert a.A == 2\n\n\ndef test_b():\n    assert a.A == 3\n",
        ),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let measured = sandbox.measure("a.py").unwrap();
    assert_eq!(rate(&measured), (0, 2));
    assert_eq!(figures(&measured), ["a.py 1/1 0/0"]);
}

#[test]
fn a_project_without_tests_is_reported() {
    let Some(sandbox) = MeasureSandbox::python(&[("a.py", "A = 1\n")]) else {
        return;
    };
    let measured = sandbox.measure("a.py").unwrap();
    assert_eq!(measured.pass_rate(&measured.skipped()), None);
    assert_eq!(figures(&measured), ["a.py 0/1 0/0"]);
    assert!(
        measured
            .notes
            .iter()
            .any(|note| note.what == "the framework found no tests")
    );
}
