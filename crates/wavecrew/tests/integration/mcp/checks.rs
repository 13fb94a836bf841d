//! Rows that are checked before they count, and rows that work in a worktree of their own.

use crate::mcp::jobs::{ECHO, SERVER, call, connect, output, with_script};
use crate::mcp::rpc::Client;
use serde_json::json;
use std::fs;
use std::path::Path;

#[test]
fn a_result_counts_once_its_check_succeeds() {
    // The second row fixes what the check complains about; the third one never does.
    let script = r#"case "$WAVECREW_TASK.$WAVECREW_TURN" in
            row-1.*|row-2.2) touch "made-$WAVECREW_TASK";;
            row-2.1) ;;
        esac
        cat "$WAVECREW_PROMPT_FILE" >> "told-$WAVECREW_TASK"
        echo '{"n": 1}'"#;
    let project = with_script("path\na\nb\nc\n", script);
    let verify =
        r#"test -e "made-$WAVECREW_TASK" || { echo "no file for $WAVECREW_ROW: $WAVECREW_RESULT"; exit 4; }"#;
    let answer = connect(&project).call("spawn_agents_on_csv", call(json!({"verify": verify})));
    assert_eq!(
        (&answer["completed_items"], &answer["failed_items"]),
        (&json!(2), &json!(1))
    );
    let error = &answer["failed_item_errors"][0];
    assert_eq!(error["item_id"], "row-3");
    let complaint = r#"The check of the result failed with exit code 4: no file for {"path":"c"}: {"n":1}"#;
    assert!(
        error["last_error"].as_str().unwrap().contains(complaint),
        "{error}"
    );
    let prompts = |row: &str| project.text(format!("told-{row}"));
    assert!(prompts("row-2").contains(r#"no file for {"path":"b"}"#));
    assert!(!prompts("row-1").contains("The check of the result failed"));
    let status: Vec<String> = output(&answer)
        .1
        .iter()
        .map(|row| row["status"].clone())
        .collect();
    assert_eq!(status, ["completed", "completed", "failed"]);
}

#[test]
fn a_check_that_takes_too_long_fails() {
    let project = with_script("path\na\n", ECHO);
    let verify = "trap 'exit 0' TERM; while :; do sleep 0.05; done";
    let answer = connect(&project).call(
        "spawn_agents_on_csv",
        call(json!({"verify": verify, "max_runtime_seconds": 3})),
    );
    assert_eq!(answer["failed_items"], 1, "{answer}");
    let error = answer["failed_item_errors"][0]["last_error"].as_str().unwrap();
    assert!(error.contains("the check took too long"), "{error}");
}

#[test]
fn a_result_that_is_too_long_for_a_variable_is_checked_in_a_file() {
    let script = r#"printf '{"text":"'; head -c 300000 /dev/zero | tr '\0' x; echo '"}'"#;
    let project = with_script(&format!("path\n{}\n", "y".repeat(200_000)), script);
    let verify = r#"test -z "$WAVECREW_RESULT$WAVECREW_ROW" && grep -q '^{"path":"yyy' "$WAVECREW_ROW_PATH" &&
        test "$(wc -c < "$WAVECREW_RESULT_PATH")" = 300011"#;
    let arguments = json!({"verify": verify, "instruction": "do"});
    let answer = connect(&project).call("spawn_agents_on_csv", call(arguments));
    assert_eq!(answer["completed_items"], 1, "{answer}");
}

#[test]
fn a_check_that_hangs_is_ended_with_its_job() {
    let project = with_script("path\na\n", ECHO);
    let mut client = connect(&project);
    let verify = "echo $$ > checking; exec sleep 1000";
    let started = client.call(
        "spawn_agents_on_csv",
        call(json!({"verify": verify, "background": true})),
    );
    project.wait_for_file("checking");
    let ended = client.call("cancel_agent_job", json!({"job_id": started["job_id"]}));
    assert_eq!(ended["status"], "cancelled", "{ended}");
    let pid = project.text("checking");
    assert!(!project.is_worker_alive(&pid), "the check lives on");
}

#[test]
fn rows_work_in_worktrees_that_the_output_names() {
    let script = format!("[ \"$WAVECREW_TASK\" = row-1 ] && echo new > made.txt\n{ECHO}");
    let project = with_script("path\na\nb\n", &script).committed();
    let answer = connect(&project).call("spawn_agents_on_csv", call(json!({"isolation": "worktree"})));
    assert_eq!(answer["completed_items"], 2, "{answer}");
    let (header, rows) = output(&answer);
    assert_eq!(header[header.len() - 3..], ["worktree", "branch", "diff"]);
    let job = answer["job_id"].as_str().unwrap();
    assert_eq!(rows[0]["branch"], format!("wavecrew/{job}/row-1"));
    assert!(
        rows[0]["diff"].contains("1 file changed, 1 insertion"),
        "{:?}",
        rows[0]
    );
    let made = Path::new(&rows[0]["worktree"]).join("made.txt");
    assert_eq!(fs::read_to_string(made).unwrap(), "new\n");
    assert_eq!(
        (rows[1]["worktree"].as_str(), rows[1]["branch"].as_str()),
        ("", "")
    );
    let left: Vec<_> = fs::read_dir(project.in_session("worktrees"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["row-1"]);
    assert!(!project.path("made.txt").exists());
}

#[test]
fn isolation_needs_a_repository_and_a_check_a_command() {
    let project = with_script("path\na\n", ECHO);
    let mut client = connect(&project);
    for (extra, why) in [
        (json!({"isolation": "worktree"}), "requires a git repository"),
        (json!({"isolation": "container"}), "unknown variant `container`"),
        (json!({"verify": " "}), "verify must be a command"),
    ] {
        let error = client.tool_error("spawn_agents_on_csv", call(extra));
        assert!(error.contains(why), "{error}");
    }
    assert!(!project.path(".workflow").exists());
}

#[test]
fn the_server_limits_the_number_of_workers() {
    let script =
        format!("mkdir -p at; touch at/$WAVECREW_TASK; ls at | wc -l >> seen; rm at/$WAVECREW_TASK\n{ECHO}");
    let project = with_script("path\na\nb\nc\nd\n", &script);
    let mut client = Client::start(&mut project.command(&format!("{SERVER} --max-workers 1")));
    let answer = client.call("spawn_agents_on_csv", call(json!({"max_workers": 50})));
    assert_eq!(answer["completed_items"], 4);
    let seen = project.text("seen");
    assert!(seen.lines().all(|line| line.trim() == "1"), "{seen}");
}
