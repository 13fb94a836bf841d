//! Interactive agents over ACP, played by a shell script: all turns in one process.

use crate::mcp::jobs::with_script;
use crate::mcp::rpc::Client;
use serde_json::{Value, json};
use wavecrew_test_support::sandbox::Sandbox;

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

fn project() -> Sandbox {
    let project = with_script("a\n1\n", "exit 1");
    project.write("acp.sh", AGENT);
    project
}

fn start(project: &Sandbox) -> (Client, String) {
    let mut client = Client::start(&mut project.command(&["mcp", "--agent", "acp:sh acp.sh"]));
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

fn processes(project: &Sandbox) -> usize {
    project.text("pids").lines().count()
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
    assert_eq!(client.disconnect(), 0);
}

#[test]
fn an_interrupted_turn_keeps_its_process() {
    let project = project();
    let (mut client, id) = start(&project);
    wait(&mut client, &id);
    client.call("send_input", json!({"id": id, "message": "take your time"}));
    project.wait_for_file("begun");
    let stop = json!({"id": id, "message": "enough", "interrupt": true});
    client.call("send_input", stop);
    assert_eq!(wait(&mut client, &id), json!({"completed": "prompt 3"}));
    assert!(project.path("cancelled").exists());
    assert_eq!(processes(&project), 1);
}

#[test]
fn a_crashed_agent_resumes_its_conversation() {
    let project = project();
    project.write("wavecrew.toml", "[agents.acp]\nmodel = \"m-9\"\n");
    let (mut client, id) = start(&project);
    wait(&mut client, &id);
    let status = say(&mut client, &id, "fall over");
    assert!(
        status["errored"].as_str().unwrap().contains("out of memory"),
        "{status}"
    );
    assert_eq!(say(&mut client, &id, "hello?"), json!({"completed": "prompt 1"}));
    assert!(project.path("loaded").exists());
    assert_eq!(processes(&project), 2);
    let model = project.text("model");
    assert!(model.contains(r#""modelId":"m-9""#), "{model}");
}

#[test]
fn closing_an_agent_ends_its_turn() {
    let project = project();
    let (mut client, id) = start(&project);
    wait(&mut client, &id);
    client.call("send_input", json!({"id": id, "message": "take your time"}));
    project.wait_for_file("begun");
    assert_eq!(client.call("close_agent", json!({"id": id}))["status"], "running");
    assert!(project.path("cancelled").exists());
    let gone = client.call("wait", json!({"ids": [id]}));
    assert_eq!(gone["status"][&id], "not_found");
}
