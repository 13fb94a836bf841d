//! From issues to merged commits.

use crate::lifecycle::lab::Lab;
use serde_json::Value;
use std::fs;

const FIRST: &str = "ISS-20260308-000001";
const SECOND: &str = "ISS-20260308-000002";

fn build(lab: &Lab, issue: &str) -> Value {
    serde_json::from_str(&lab.read(&format!("builds/{issue}.json"))).unwrap()
}

#[test]
fn three_issues_two_of_which_touch_the_same_file() {
    let lab = Lab::planex();
    lab.plan_and_execute()
        .exits(0)
        .says("touch the same files: app/store/__init__.py");
    assert_eq!(lab.cell("EXEC-003", "deps"), "PLAN-003;EXEC-002");
    assert_eq!(lab.cell("EXEC-001", "wave"), lab.cell("EXEC-002", "wave"));
    let mut subjects = lab.subjects("main");
    subjects.sort();
    assert_eq!(
        subjects,
        [
            "feat(ISS-20260308-000001): Count the notes",
            "feat(ISS-20260308-000002): Forget a note",
            "feat(ISS-20260308-000003): Longest note",
            "notes",
        ]
    );
    let store = fs::read_to_string(lab.project().join("app/store/__init__.py")).unwrap();
    assert!(
        store.contains("def forget") && store.contains("def longest"),
        "{store}"
    );
    let board = lab.read("discoveries.ndjson");
    assert!(board.contains("conflict_warning"), "{board}");
    let record = build(&lab, FIRST);
    assert_eq!(
        (&record["accepted"], &record["verified"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    let commit = record["commit"].as_str().unwrap();
    lab.git(&["cat-file", "-e", commit]);
    assert_eq!(
        record["files"],
        serde_json::json!(["app/cli/count.py", "tests/test_count.py"])
    );
    let report = lab.read("context.md");
    assert!(
        report.contains(&format!("| EXEC-001 | `{}`", &commit[..10])),
        "{report}"
    );
}

#[test]
fn no_change_is_a_failure_and_the_issue_stays_open() {
    let lab = Lab::planex();
    lab.answer("EXEC-001", "report 'nothing to do'");
    lab.plan_and_execute().exits(1);
    assert_eq!(
        lab.cell("EXEC-001", "error"),
        "Nothing was changed: there is no work to take over"
    );
    assert_eq!(lab.cell("EXEC-002", "status"), "completed");
    let issues = fs::read_to_string(lab.project().join(".workflow/issues/issues.jsonl")).unwrap_or_default();
    let status = |id: &str| {
        let line = issues.lines().find(|line| line.contains(id));
        line.map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone())
    };
    assert_ne!(status(FIRST), Some("closed".into()), "{issues}");
}

#[test]
fn a_broken_test_comes_back_and_is_repaired() {
    let lab = Lab::planex();
    let broken = "echo 'def count(store): return 0' > app/cli/count.py; \
        sed -i 's/added/put/' app/cli/__init__.py; report done";
    lab.answer("EXEC-001.1.1", broken).answer(
        "EXEC-001.1.2",
        "sed -i 's/put/added/' app/cli/__init__.py; report repaired",
    );
    lab.plan_and_execute().exits(0);
    let told = lab.prompt("EXEC-001.1.2");
    assert!(told.contains("failing since the change: make test"), "{told}");
    assert!(told.contains("test_added_notes_are_found"), "{told}");
}

#[test]
fn what_is_never_repaired_fails_after_three_rounds_and_is_not_merged() {
    let lab = Lab::planex();
    lab.answer(
        "EXEC-001",
        "sed -i 's/added/put/' app/cli/__init__.py; date +%N >> app/cli/x.py; report done",
    );
    lab.plan_and_execute().exits(1);
    assert_eq!(lab.ran("EXEC-001"), 4);
    let error = lab.cell("EXEC-001", "error");
    assert!(
        error.starts_with("Still short after 3 rounds of repair"),
        "{error}"
    );
    assert!(!lab.subjects("main").iter().any(|subject| subject.contains(FIRST)));
    assert_eq!(build(&lab, FIRST)["accepted"], false);
}

#[test]
fn a_test_that_failed_before_is_nobodys_fault() {
    let lab = Lab::planex();
    fs::write(
        lab.project().join("tests/test_red.py"),
        "import unittest\n\n\nclass Red(unittest.TestCase):\n    def test_red(self):\n        self.fail()\n",
    )
    .unwrap();
    lab.git(&["add", "-A"]);
    lab.git(&["commit", "-q", "-m", "a red test"]);
    lab.plan_and_execute().exits(0);
    let record = build(&lab, FIRST);
    assert_eq!(record["compared"]["still_failing"][0]["name"], "make test");
}

#[test]
fn a_plan_that_lies_about_its_files_fails_and_its_issue_is_skipped() {
    let lab = Lab::planex();
    lab.answer(
        "PLAN-002",
        &format!(
            r#"printf '{{"session_id":"s","issue_id":"{SECOND}","planned_at":"now","solution":{{"title":"t","approach":"a","estimated_complexity":"Low","estimated_files":1,"tasks":[{{"order":1,"description":"d","files_touched":["/etc/passwd"]}}]}}}}' > "$session/artifacts/solutions/{SECOND}.json"; report planned"#
        ),
    );
    lab.plan_and_execute().exits(1);
    let error = lab.cell("PLAN-002", "error");
    assert!(
        error.contains("`/etc/passwd` at /solution/tasks/*/files_touched"),
        "{error}"
    );
    assert_eq!(lab.cell("EXEC-002", "status"), "skipped");
    assert_eq!(lab.cell("EXEC-003", "status"), "completed");
}

#[test]
fn a_commit_on_another_branch_is_not_taken_over() {
    let lab = Lab::planex();
    lab.answer(
        "EXEC-001.1.1",
        "echo x = 1 > app/cli/count.py; git checkout -q -b elsewhere; git add -A; git commit -q -m x; report done",
    )
    .answer("EXEC-001", "report done");
    lab.plan_and_execute().exits(1);
    let error = lab.cell("EXEC-001", "error");
    assert!(error.contains("the worktree is on elsewhere"), "{error}");
    assert!(!lab.project().join("app/cli/count.py").exists());
    lab.git(&["cat-file", "-e", "elsewhere:app/cli/count.py"]);
}

#[test]
fn without_a_test_command_the_work_is_unverified() {
    let lab = Lab::planex();
    fs::remove_file(lab.project().join("Makefile")).unwrap();
    lab.git(&["commit", "-q", "-a", "-m", "no tests"]);
    lab.plan_and_execute().exits(0);
    assert_eq!(build(&lab, FIRST)["verified"], false);
    let report = lab.read("context.md");
    assert!(
        report.contains("EXEC-001") && report.contains("unverified"),
        "{report}"
    );
}

#[test]
fn an_unknown_issue_runs_nothing() {
    let lab = Lab::planex();
    let agent = lab.agent();
    lab.wavecrew(&["planex", "-y", "--agent", &agent, "ISS-20260101-999999"])
        .exits(2)
        .says("ISS-20260101-999999");
    assert_eq!(lab.ran("PLAN-001"), 0);
}
