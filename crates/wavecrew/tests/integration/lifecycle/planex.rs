//! From issues to merged commits.

use crate::lifecycle::team_sandbox::TeamSandbox;
use serde_json::Value;
use std::fs;

const FIRST: &str = "ISS-20260308-000001";
const SECOND: &str = "ISS-20260308-000002";

fn build(sandbox: &TeamSandbox, issue: &str) -> Value {
    sandbox.json(&format!("builds/{issue}.json"))
}

#[test]
fn three_issues_two_of_which_touch_the_same_file() {
    let sandbox = TeamSandbox::planex();
    sandbox
        .run_planex()
        .expect_exit(0)
        .expect_output("touch the same files: app/store/__init__.py");
    assert_eq!(sandbox.cell("EXEC-003", "deps"), "PLAN-003;EXEC-002");
    assert_eq!(sandbox.cell("EXEC-001", "wave"), sandbox.cell("EXEC-002", "wave"));
    let mut subjects = sandbox.subjects("main");
    subjects.sort();
    assert_eq!(
        subjects,
        [
            "feat(ISS-20260308-000001): Count the notes",
            "feat(ISS-20260308-000002): Forget a note",
            "feat(ISS-20260308-000003): Longest note",
            "first",
        ]
    );
    let store = sandbox.text("app/store/__init__.py");
    assert!(
        store.contains("def forget") && store.contains("def longest"),
        "{store}"
    );
    sandbox.expect_read("discoveries.ndjson", "conflict_warning");
    let record = build(&sandbox, FIRST);
    assert_eq!(
        (&record["accepted"], &record["verified"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    let commit = record["commit"].as_str().unwrap();
    sandbox.git(&["cat-file", "-e", commit]);
    assert_eq!(
        record["files"],
        serde_json::json!(["app/cli/count.py", "tests/test_count.py"])
    );
    let report = sandbox.read("context.md");
    assert!(
        report.contains(&format!("| EXEC-001 | `{}`", &commit[..10])),
        "{report}"
    );
}

#[test]
fn no_change_is_a_failure_and_the_issue_stays_open() {
    let sandbox = TeamSandbox::planex();
    sandbox.worker("EXEC-001", "report 'nothing to do'");
    sandbox.run_planex().expect_exit(1);
    assert_eq!(
        sandbox.cell("EXEC-001", "error"),
        "Nothing was changed: there is no work to take over"
    );
    assert_eq!(sandbox.cell("EXEC-002", "status"), "completed");
    let issues = fs::read_to_string(sandbox.path(".workflow/issues/issues.jsonl")).unwrap_or_default();
    let status = |id: &str| {
        let line = issues.lines().find(|line| line.contains(id));
        line.map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone())
    };
    assert_ne!(status(FIRST), Some("closed".into()), "{issues}");
}

#[test]
fn a_broken_test_is_sent_back_and_repaired() {
    let sandbox = TeamSandbox::planex();
    let broken = "echo 'def count(store): return 0' > app/cli/count.py; \
        sed -i 's/added/put/' app/cli/__init__.py; report done";
    sandbox.worker("EXEC-001.1.1", broken).worker(
        "EXEC-001",
        "sed -i 's/put/added/' app/cli/__init__.py; report repaired",
    );
    sandbox.run_planex().expect_exit(0);
    sandbox.expect_prompt(
        "EXEC-001.1.2",
        &[
            "failing since the change: make test",
            "test_added_notes_are_found",
        ],
    );
}

#[test]
fn work_that_stays_broken_fails_after_three_rounds_and_is_not_merged() {
    let sandbox = TeamSandbox::planex();
    sandbox.worker(
        "EXEC-001",
        "sed -i 's/added/put/' app/cli/__init__.py; date +%N >> app/cli/x.py; report done",
    );
    sandbox.run_planex().expect_exit(1);
    assert_eq!(sandbox.turns("EXEC-001"), 4);
    let error = sandbox.cell("EXEC-001", "error");
    assert!(error.starts_with("Problems remain after 3 repairs"), "{error}");
    assert!(
        !sandbox
            .subjects("main")
            .iter()
            .any(|subject| subject.contains(FIRST))
    );
    assert_eq!(build(&sandbox, FIRST)["accepted"], false);
}

#[test]
fn a_test_that_failed_before_does_not_count() {
    let sandbox = TeamSandbox::planex();
    sandbox.write(
        "tests/test_red.py",
        "import unittest\n\n\nclass Red(unittest.TestCase):\n    def test_red(self):\n        self.fail()\n",
    );
    sandbox.commit();
    sandbox.run_planex().expect_exit(0);
    let record = build(&sandbox, FIRST);
    assert_eq!(record["compared"]["still_failing"][0]["name"], "make test");
}

#[test]
fn a_plan_with_files_outside_the_project_fails() {
    let sandbox = TeamSandbox::planex();
    sandbox.worker(
        "PLAN-002",
        &format!(
            r#"printf '{{"session_id":"s","issue_id":"{SECOND}","planned_at":"now","solution":{{"title":"t","approach":"a","estimated_complexity":"Low","estimated_files":1,"tasks":[{{"order":1,"description":"d","files_touched":["/etc/passwd"]}}]}}}}' > "$session/artifacts/solutions/{SECOND}.json"; report planned"#
        ),
    );
    sandbox.run_planex().expect_exit(1);
    sandbox.expect_cell(
        "PLAN-002",
        "error",
        "`/etc/passwd` at /solution/tasks/*/files_touched",
    );
    assert_eq!(sandbox.cell("EXEC-002", "status"), "skipped");
    assert_eq!(sandbox.cell("EXEC-003", "status"), "completed");
}

#[test]
fn a_commit_on_another_branch_is_not_merged() {
    let sandbox = TeamSandbox::planex().open();
    sandbox.worker(
        "EXEC-001.1.1",
        "echo x = 1 > app/cli/count.py; git checkout -q -b elsewhere; git add -A; git commit -q -m x; report done",
    )
    .worker("EXEC-001", "report done");
    sandbox.run_planex().expect_exit(1);
    sandbox.expect_cell("EXEC-001", "error", "the worktree is on elsewhere");
    assert!(!sandbox.path("app/cli/count.py").exists());
    sandbox.git(&["cat-file", "-e", "elsewhere:app/cli/count.py"]);
}

#[test]
fn without_a_test_command_the_work_is_unverified() {
    let sandbox = TeamSandbox::planex();
    fs::remove_file(sandbox.path("Makefile")).unwrap();
    sandbox.git(&["commit", "-q", "-a", "-m", "no tests"]);
    sandbox.run_planex().expect_exit(0);
    assert_eq!(build(&sandbox, FIRST)["verified"], false);
    sandbox.expect_read("context.md", "EXEC-001");
    sandbox.expect_read("context.md", "unverified");
}

#[test]
fn an_unknown_issue_runs_nothing() {
    let sandbox = TeamSandbox::planex();
    sandbox
        .wavecrew(&format!(
            "planex -y --agent {} ISS-20260101-999999",
            sandbox.agent()
        ))
        .expect_exit(2)
        .expect_output("ISS-20260101-999999");
    assert_eq!(sandbox.turns("PLAN-001"), 0);
}
