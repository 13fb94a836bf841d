//! Issues, and the tables and runs that `planex` makes of them.

use serde_json::Value;
use std::fs;
use wavecrew_test_support::sandbox::Sandbox;

fn json(sandbox: &Sandbox, words: &[&str]) -> Value {
    sandbox.wavecrew(&[words, &["--json"]].concat()).json()
}

fn file_issue(sandbox: &Sandbox, words: &[&str]) -> String {
    let added = json(sandbox, &[&["issues", "add"], words].concat());
    added[0]["id"].as_str().expect("an id").to_owned()
}

/// `ID deps wave` per task.
fn table(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let plan = json(sandbox, &[&["plan", "planex"], words].concat());
    let tasks = plan["tasks"].as_array().expect("tasks");
    let cell = |task: &Value, name: &str| task[name].as_str().unwrap_or_default().to_owned();
    tasks
        .iter()
        .map(|task| format!("{} <{}> {}", cell(task, "id"), cell(task, "deps"), task["wave"]))
        .collect()
}

#[test]
fn issues_are_filed_listed_shown_and_closed() {
    let sandbox = Sandbox::new();
    let first = file_issue(&sandbox, &["First", "--text", "All of it."]);
    let second = file_issue(&sandbox, &["Second", "--depends-on", &first, "--tag", "wave-2"]);
    let list = sandbox.wavecrew("issues list").ok();
    assert!(
        list.contains(&format!("{second}  open    Second  [wave-2]  after {first}")),
        "{list}"
    );
    sandbox
        .wavecrew(&format!("issues show {first}"))
        .expect_exit(0)
        .expect_output("All of it.");
    sandbox
        .wavecrew(&format!("issues close {first} --reason merged"))
        .expect_exit(0);
    let open = json(&sandbox, &["issues", "list"]);
    assert_eq!(open.as_array().map(Vec::len), Some(1));
    assert_eq!(
        json(&sandbox, &["issues", "list", "--all"])[0]["resolution"],
        "merged"
    );
    sandbox
        .wavecrew("issues show ISS-20260101-000000")
        .expect_exit(2)
        .expect_output("there is no issue");
    sandbox
        .wavecrew("issues add Third --depends-on ISS-1")
        .expect_exit(2);
    let path = sandbox.path(".workflow/issues/issues.jsonl");
    let text = fs::read_to_string(&path).expect("the store") + "broken\n";
    fs::write(&path, text).expect("a broken line");
    sandbox
        .wavecrew("issues list")
        .expect_exit(0)
        .expect_output("issues.jsonl:3: not an issue");
}

#[test]
fn a_table_is_made_from_all_four_inputs() {
    let sandbox = Sandbox::new();
    let first = file_issue(&sandbox, &["First"]);
    let second = file_issue(&sandbox, &["Second", "--depends-on", &first]);
    let chain = [
        "PLAN-001 <> 1",
        "PLAN-002 <> 1",
        "EXEC-001 <PLAN-001> 2",
        "EXEC-002 <PLAN-002;EXEC-001> 3",
    ];
    assert_eq!(table(&sandbox, &[&first, &second]), chain);
    let store = ".workflow/issues/issues.jsonl";
    assert_eq!(table(&sandbox, &[store]), chain);
    assert_eq!(
        table(&sandbox, &["--text", "Do it"]),
        ["PLAN-001 <> 1", "EXEC-001 <PLAN-001> 2"]
    );
    let plan = "## Phase 1: A\n\n- [ ] one\n- [x] old\n\n## Phase 2: B\n\ntext\n";
    sandbox.write("plan.md", plan);
    assert_eq!(table(&sandbox, &["--plan", "plan.md"]), chain);
    let tasks = json(&sandbox, &["plan", "planex", "--plan", "plan.md"])["tasks"].clone();
    assert_eq!(
        (&tasks[0]["input_type"], &tasks[0]["raw_input"]),
        (&"plan".into(), &"plan.md".into())
    );
    assert_eq!(tasks[2]["title"], "Implement one");
    // Nothing of this was filed.
    let lines = fs::read_to_string(sandbox.path(store))
        .expect("the store")
        .lines()
        .count();
    assert_eq!(lines, 2);
}

#[test]
fn bad_input_is_refused_before_anything_runs() {
    let sandbox = Sandbox::new();
    sandbox.write("prose.md", "# Title\n\nJust text.\n");
    sandbox.write("bad.jsonl", "{\"id\":\"A\",\"title\":\"a\"}\n{\n");
    let closed = file_issue(&sandbox, &["Closed"]);
    sandbox.wavecrew(&format!("issues close {closed}")).expect_exit(0);
    for (words, says) in [
        (&["--plan", "prose.md"][..], "the plan has no phases"),
        (&["--plan", "absent.md"], "cannot be read"),
        (
            &["ISS-20260101-000000"],
            "there is no issue `ISS-20260101-000000`",
        ),
        (&[closed.as_str()], "is closed"),
        (&["bad.jsonl"], "bad.jsonl:2:"),
        (&[], "no issues were named"),
        (&["--text", " "], "the text is empty"),
        (&["--text", "x", "--exec", "nobody"], "nobody"),
        (
            &["--text", "x", "ISS-20260101-000000"],
            "is given in addition to --text",
        ),
    ] {
        for command in [&["plan", "planex"][..], &["planex"]] {
            let words = [command, words].concat();
            sandbox.wavecrew(&words).expect_exit(2).expect_output(says);
        }
    }
    assert_eq!(sandbox.sessions(), Vec::<String>::new());
    sandbox
        .wavecrew("plan lifecycle x --exec codex")
        .expect_exit(2)
        .expect_output("does not take issues");
}

const AGENT: &str = r#"#!/bin/sh
cat > /dev/null
issue=$(sed -n "s/^\"$WAVECREW_TASK\".*\(ISS-[0-9]*-[0-9]*\).*/\1/p" "$WAVECREW_SESSION_DIR/tasks.csv" | head -1)
case $WAVECREW_ROLE in
planner)
  mkdir -p "$WAVECREW_SESSION_DIR/artifacts/solutions"
  cat > "$WAVECREW_SESSION_DIR/artifacts/solutions/$issue.json" <<END
{"session_id":"s","issue_id":"$issue","planned_at":"2026-03-08T10:00:00Z","solution":{"title":"t","approach":"a",
"tasks":[{"order":1,"description":"create it","files_touched":["$issue.txt"]}],"estimated_complexity":"Low","estimated_files":1}}
END
  ;;
executor) echo "what $issue asks for" > "$issue.txt" ;;
esac
echo "{\"id\":\"$WAVECREW_TASK\",\"status\":\"completed\",\"findings\":\"done\"}"
"#;

#[test]
fn planex_takes_a_plan_to_merged_commits_and_closed_issues() {
    let sandbox = Sandbox::new()
        .script("agent.sh", AGENT)
        .file("plan.md", "1. One\n2. Two\n")
        .committed();
    let words = "planex --plan plan.md -y --agent command:./agent.sh";
    let words: Vec<&str> = words.split(' ').collect();
    sandbox.wavecrew(&words).expect_exit(0);
    let issues = json(&sandbox, &["issues", "list", "--all"]);
    let id = |n: usize| issues[n]["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        sandbox
            .git(&["log", "--reverse", "--format=%s"])
            .lines()
            .collect::<Vec<_>>(),
        [
            "first".to_owned(),
            format!("feat({}): t", id(0)),
            format!("feat({}): t", id(1))
        ]
    );
    assert_eq!(
        (&issues[0]["status"], &issues[1]["status"]),
        (&"closed".into(), &"closed".into())
    );
    assert!(
        issues[1]["resolution"]
            .as_str()
            .is_some_and(|why| why.starts_with("merged"))
    );
}
