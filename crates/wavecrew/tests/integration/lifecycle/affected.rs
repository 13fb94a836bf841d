//! Tests that a change concerns are run before all others, with a real framework.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` passes this over.

use crate::lifecycle::lab::Lab;
use std::fs;
use std::os::unix::fs::symlink;
use wavecrew_test_support::frameworks::installed;

#[test]
fn tests_that_name_a_changed_file_come_first() {
    let Some(frameworks) = installed() else { return };
    let lab = Lab::new();
    let project = lab.project();
    fs::remove_file(project.join("Makefile")).unwrap();
    fs::write(project.join("pytest.ini"), "[pytest]\n").unwrap();
    fs::write(project.join(".gitignore"), "__pycache__\n").unwrap();
    fs::write(
        project.join("tests/test_sums.py"),
        "def test_sums():\n    assert 1 + 1 == 2\n",
    )
    .unwrap();
    symlink(frameworks.join("venv"), project.join(".venv")).unwrap();
    lab.git(&["add", "-A"]);
    lab.git(&["commit", "-q", "-m", "pytest"]);
    // No test file is changed by the tester; `tests/test_notes.py` names the store.
    lab.answer(
        "TEST-001.1.1",
        r#"sed -i 's/return number/return -1/' app/store/__init__.py; echo seen > "$session/artifacts/$task-report.md"; report looked"#,
    )
    .answer("TEST-001.1.2", "git checkout -q app/store/__init__.py; report repaired");
    lab.run("impl-only", &["--no-supervision"]).exits(0);
    let told = lab.prompt("TEST-001.1.2");
    assert!(
        told.contains("% of the tests that the change affects pass, 95 % have to; the others were not run"),
        "{told}"
    );
    assert!(
        told.contains("tests/test_notes.py") && !told.contains("test_sums"),
        "{told}"
    );
    let journal = lab.read("journal.ndjson");
    assert!(journal.contains(r#"["pass_rate","1.00"]"#), "{journal}");
}
