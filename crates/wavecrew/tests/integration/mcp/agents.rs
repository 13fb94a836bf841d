//! Conversations with agents, by id.

use crate::mcp::jobs::{connect, wait_for_line, with_script};
use crate::mcp::rpc::Client;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Prints the number of the turn and its message.
const PARROT: &str = r#"echo "turn $WAVECREW_TURN: $(cat "$WAVECREW_PROMPT_FILE")""#;

fn spawn(client: &mut Client, message: &str) -> String {
    let answer = client.call("spawn_agent", json!({"message": message}));
    answer["agent_id"].as_str().unwrap().to_owned()
}

fn wait(client: &mut Client, id: &str) -> Value {
    let answer = client.call("wait", json!({"ids": [id], "timeout_ms": 120_000}));
    assert_eq!(answer["timed_out"], false);
    answer["status"][id].clone()
}

#[test]
fn a_conversation_has_several_turns() {
    let project = with_script("a\n1\n", PARROT);
    let mut client = connect(&project);
    let id = spawn(&mut client, "hello");
    assert_eq!(wait(&mut client, &id), json!({"completed": "turn 1: hello"}));
    let sent = client.call("send_input", json!({"id": id, "message": "and now?"}));
    assert_eq!(sent, json!({"accepted": true}));
    assert_eq!(wait(&mut client, &id), json!({"completed": "turn 2: and now?"}));
    let closed = client.call("close_agent", json!({"id": id}));
    assert_eq!(closed, json!({"status": {"completed": "turn 2: and now?"}}));
    let gone = client.call("wait", json!({"ids": [id]}));
    assert_eq!(gone["status"][&id], "not_found");
    assert_eq!(
        client.call("close_agent", json!({"id": id})),
        json!({"status": "not_found"})
    );
    let log = project.path(".workflow/.agents").join(&id).join("log.txt");
    assert!(fs::read_to_string(log).unwrap().contains("turn 2: and now?"));
}

#[test]
fn wait_returns_when_the_first_agent_is_done() {
    let project = with_script(
        "a\n1\n",
        r#"grep -q slow "$WAVECREW_PROMPT_FILE" && exec sleep 1000; echo quick"#,
    );
    let mut client = connect(&project);
    let (slow, quick) = (spawn(&mut client, "slow"), spawn(&mut client, "fast"));
    let answer = client.call("wait", json!({"ids": [slow, quick], "timeout_ms": 120_000}));
    assert_eq!(
        answer,
        json!({"status": {&slow: "running", &quick: {"completed": "quick"}}, "timed_out": false})
    );
    let answer = client.call("wait", json!({"ids": [slow], "timeout_ms": 1}));
    assert_eq!(answer["timed_out"], true);
    let closed = client.call("close_agent", json!({"id": slow}));
    assert_eq!(closed["status"], "running");
}

#[test]
fn a_turn_can_be_interrupted() {
    let project = with_script(
        "a\n1\n",
        r#"[ "$WAVECREW_TURN" = 1 ] && { touch begun; exec sleep 1000; }; echo heard"#,
    );
    let mut client = connect(&project);
    let id = spawn(&mut client, "take your time");
    project.wait_for_file("begun");
    client.call(
        "send_input",
        json!({"id": id, "message": "stop that", "interrupt": true}),
    );
    assert_eq!(wait(&mut client, &id), json!({"completed": "heard"}));
}

#[test]
fn failures_are_reported() {
    let project = with_script("a\n1\n", "echo 'out of paper' >&2; exit 3");
    let mut client = connect(&project);
    let id = spawn(&mut client, "x");
    assert_eq!(
        wait(&mut client, &id),
        json!({"errored": "The agent exited with code 3: out of paper"})
    );
    let answer = client.call(
        "spawn_agent",
        json!({"message": "x", "agent": "command:./nobody"}),
    );
    let missing = wait(&mut client, answer["agent_id"].as_str().unwrap());
    assert!(
        missing["errored"].as_str().unwrap().contains("cannot start"),
        "{missing}"
    );
    for (tool, arguments, why) in [
        (
            "spawn_agent",
            json!({"message": " "}),
            "message must be non-empty",
        ),
        (
            "spawn_agent",
            json!({"message": "x", "cwd": "/"}),
            "outside of the project",
        ),
        (
            "spawn_agent",
            json!({"message": "x", "cwd": "agent.sh"}),
            "is not a folder",
        ),
        (
            "spawn_agent",
            json!({"message": "x", "agent": "nobody"}),
            "nobody",
        ),
        (
            "spawn_agent",
            json!({"message": "x", "isolation": "worktree"}),
            "requires a git repository",
        ),
        (
            "send_input",
            json!({"id": "x", "message": "y"}),
            "there is no agent x",
        ),
        ("wait", json!({"ids": []}), "ids must be non-empty"),
    ] {
        let error = client.tool_error(tool, arguments.clone());
        assert!(error.contains(why), "{arguments}: {error}");
    }
}

#[test]
fn agents_end_with_their_client() {
    let project = with_script("a\n1\n", "echo $$ > pid; (sleep 1000 & echo $! > child; wait)");
    let mut client = connect(&project);
    spawn(&mut client, "x");
    let pids = ["pid", "child"].map(|file| (file, wait_for_line(&project, file)));
    assert_eq!(client.disconnect(), 0);
    for (file, pid) in pids {
        assert!(!project.is_worker_alive(&pid), "{file} lives on");
    }
}

#[test]
fn work_in_a_worktree_is_kept_when_there_is_any() {
    let project = with_script(
        "a\n1\n",
        r#"grep -q write "$WAVECREW_PROMPT_FILE" && echo hi > made.txt; pwd"#,
    )
    .committed();
    let mut client = connect(&project);
    let mut run = |message: &str| {
        let call = json!({"message": message, "isolation": "worktree"});
        let id = client.call("spawn_agent", call)["agent_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let status = wait(&mut client, &id);
        let folder = status["completed"].as_str().unwrap().to_owned();
        (folder, client.call("close_agent", json!({"id": id})))
    };
    let (folder, closed) = run("write something");
    assert_eq!(closed["kept"]["worktree"], folder);
    assert!(
        closed["kept"]["diff"]
            .as_str()
            .unwrap()
            .contains("1 file changed")
    );
    assert!(Path::new(&folder).join("made.txt").exists());
    let (folder, closed) = run("look only");
    assert_eq!(closed["kept"], Value::Null);
    assert!(!Path::new(&folder).exists());
    assert!(!project.path("made.txt").exists());
}
