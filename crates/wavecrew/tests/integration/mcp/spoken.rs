//! Conversations with agents that are spoken to over ACP, played by a shell script: turns in one process.

use crate::mcp::jobs::{Project, wait_for};
use crate::mcp::rpc::Client;
use serde_json::{Value, json};
use std::fs;

/// Answers with the number of its prompts; some words make it do something else first.
const AGENT: &str = r#"#!/bin/sh
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
answer() { say "\"id\":$id,\"result\":$1"; }
text() { say '"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}'; }
over() { answer '{"stopReason":"end_turn"}'; }
echo $$ >> pids
n=0
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) answer '{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}' ;;
    *'"method":"session/new"'*) answer '{"sessionId":"s-1"}' ;;
    *'"method":"session/load"'*) touch loaded; answer '{}' ;;
    *'"method":"session/set_model"'*) printf %s "$line" > model; answer '{}' ;;
    *'"method":"session/cancel"'*) touch cancelled; id=$prompt; answer '{"stopReason":"cancelled"}' ;;
    *'"outcome"'*) id=$prompt; text "I was not let."; over ;;
    *'"method":"session/prompt"'*)
      n=$((n + 1)); prompt=$id
      case $line in
        *'take your time'*) touch begun ;;
        *'write outside'*) say '"id":77,"method":"session/request_permission","params":{"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"x","kind":"reject_once"}],"toolCall":{"toolCallId":"t","kind":"edit","locations":[{"path":"/etc/passwd"}]}}' ;;
        *'fall over'*) echo "out of memory" >&2; exit 3 ;;
        *) text "prompt $n"; over ;;
      esac ;;
  esac
done
touch hung-up
"#;

fn project() -> Project {
    let project = Project::new("a\n1\n", "exit 1");
    fs::write(project.path().join("acp.sh"), AGENT).unwrap();
    project
}

fn start(project: &Project) -> (Client, String) {
    let mut client = Client::start(project.path(), &["--agent", "acp:sh acp.sh"], &[]);
    let answer = client.call("spawn_agent", json!({"message": "hello"}));
    (client, answer["agent_id"].as_str().unwrap().to_owned())
}

fn wait(client: &mut Client, id: &str) -> Value {
    let answer = client.call("wait", json!({"ids": [id], "timeout_ms": 120_000}));
    assert_eq!(answer["timed_out"], false, "{answer}");
    answer["status"][id].clone()
}

fn say(client: &mut Client, id: &str, message: &str) -> Value {
    client.call("send_input", json!({"id": id, "message": message}));
    wait(client, id)
}

fn processes(project: &Project) -> usize {
    fs::read_to_string(project.path().join("pids"))
        .unwrap()
        .lines()
        .count()
}

#[test]
fn all_turns_are_in_one_process() {
    let project = project();
    let (mut client, id) = start(&project);
    assert_eq!(wait(&mut client, &id), json!({"completed": "prompt 1"}));
    assert_eq!(
        say(&mut client, &id, "and now?"),
        json!({"completed": "prompt 2"})
    );
    assert_eq!(
        say(&mut client, &id, "write outside"),
        json!({"completed": "I was not let."})
    );
    assert_eq!(processes(&project), 1);
    let closed = client.call("close_agent", json!({"id": id}));
    assert_eq!(closed, json!({"status": {"completed": "I was not let."}}));
    assert_eq!(client.hang_up(), 0);
}

#[test]
fn a_turn_is_cut_short_and_the_process_stays() {
    let project = project();
    let (mut client, id) = start(&project);
    wait(&mut client, &id);
    client.call("send_input", json!({"id": id, "message": "take your time"}));
    wait_for(&project.path().join("begun"));
    let stop = json!({"id": id, "message": "enough", "interrupt": true});
    client.call("send_input", stop);
    assert_eq!(wait(&mut client, &id), json!({"completed": "prompt 3"}));
    assert!(project.path().join("cancelled").exists());
    assert_eq!(processes(&project), 1);
}

#[test]
fn an_agent_that_fell_over_is_started_again_where_it_was() {
    let project = project();
    fs::write(
        project.path().join("wavecrew.toml"),
        "[agents.acp]\nmodel = \"m-9\"\n",
    )
    .unwrap();
    let (mut client, id) = start(&project);
    wait(&mut client, &id);
    let said = say(&mut client, &id, "fall over");
    assert!(
        said["errored"].as_str().unwrap().contains("out of memory"),
        "{said}"
    );
    assert_eq!(say(&mut client, &id, "hello?"), json!({"completed": "prompt 1"}));
    assert!(project.path().join("loaded").exists());
    assert_eq!(processes(&project), 2);
    let model = fs::read_to_string(project.path().join("model")).unwrap();
    assert!(model.contains(r#""modelId":"m-9""#), "{model}");
}

#[test]
fn a_turn_under_way_ends_with_its_agent() {
    let project = project();
    let (mut client, id) = start(&project);
    wait(&mut client, &id);
    client.call("send_input", json!({"id": id, "message": "take your time"}));
    wait_for(&project.path().join("begun"));
    assert_eq!(client.call("close_agent", json!({"id": id}))["status"], "running");
    assert!(project.path().join("cancelled").exists());
    let gone = client.call("wait", json!({"ids": [id]}));
    assert_eq!(gone["status"][&id], "not_found");
}
