//! Tests that a change concerns are run before all others, with a real framework.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` passes this over.

use crate::lifecycle::team_sandbox::TeamSandbox;
use std::fs;
use std::os::unix::fs::symlink;
use wavecrew_test_support::frameworks::installed;

#[test]
fn tests_that_name_a_changed_file_come_first() {
    let Some(frameworks) = installed() else { return };
    let sandbox = TeamSandbox::lifecycle();
    fs::remove_file(sandbox.path("Makefile")).unwrap();
    sandbox.write("pytest.ini", "[pytest]\n");
    sandbox.write(".gitignore", "__pycache__\n");
    sandbox.write("tests/test_sums.py", "def test_sums():\n    assert 1 + 1 == 2\n");
    symlink(frameworks.join("venv"), sandbox.path(".venv")).unwrap();
    sandbox.commit();
    // No test file is changed by the tester; `tests/test_notes.py` names the store.
    sandbox.worker(
        "TEST-001.1.1",
        r#"sed -i 's/return number/return -1/' app/store/__init__.py; echo 'The tests of the notes store were run once.' > "$session/artifacts/$task-report.md"; report looked"#,
    )
    .worker("TEST-001.1.2", "git checkout -q app/store/__init__.py; report repaired");
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(0);
    sandbox.expect_prompt(
        "TEST-001.1.2",
        &[
            "% of the tests that the change affects pass, 95 % have to; the others were not run",
            "tests/test_notes.py",
        ],
    );
    assert!(!sandbox.prompt("TEST-001.1.2").contains("test_sums"));
    sandbox.expect_read("journal.ndjson", r#"["pass_rate","1.00"]"#);
}
