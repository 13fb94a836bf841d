//! Real agents as clients of our server: they are told by the model service to call its tools, and agents of the same
//! kind do the rows.

use crate::agents::task::Agent;
use crate::agents::{AGENTS, with_some};
use crate::mcp::rpc::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use wavecrew_test_support::sandbox::{read_rows, wait_until};

/// One row: its name, and the number that its worker should report.
type Row = BTreeMap<String, String>;

const INSTRUCTION: &str = "Count the lines of {path}.\n@@final {{\"lines\": {n}}}";

/// Installs our server in the client, and writes a table and a prompt that has the model call for it.
fn prepare(agent: &Agent, tool: &str) {
    agent.write("in.csv", "path,n\na.rs,1\nb.rs,2\nc.rs,3\n");
    let call = json!({
        "csv_path": "in.csv",
        "id_column": "path",
        "instruction": INSTRUCTION,
        "output_schema": {
            "type": "object",
            "properties": {"lines": {"type": "integer"}},
            "required": ["lines"],
        },
    });
    agent.write(
        "prompt.txt",
        format!("Run the table.\n@@tool {tool} {call}\n@@final All three are counted.\n"),
    );
    install(agent);
}

fn install(agent: &Agent) {
    agent
        .wavecrew(&format!("mcp install {} -y", agent.id))
        .expect_exit(0);
}

/// The agent's own command line.
fn client(agent: &Agent) -> Command {
    let mut command = Command::new(agent.bin.join(agent.id));
    agent.prepare(&mut command);
    command
}

/// Runs the client on its prompt; returns its output and the resulting table.
fn run(agent: &Agent, mut client: Command) -> (String, Vec<Row>) {
    client.stdin(fs::File::open(agent.path("prompt.txt")).unwrap());
    let output = agent.spawn(&mut client).wait().expect_exit(0).text();
    wait_until("everything to end", || agent.processes().is_empty());
    let table = fs::read_dir(agent.project())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains(".agent-job-"))
        .unwrap_or_else(|| panic!("no table: {output}"));
    (output, read_rows(&table))
}

fn check(agent: &Agent, output: &str, rows: &[Row]) {
    assert!(output.contains("All three are counted."), "{output}");
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("status"), ["completed"; 3], "{rows:?}");
    assert_eq!(column("item_id"), ["a.rs", "b.rs", "c.rs"]);
    assert_eq!(column("lines"), ["1", "2", "3"]);
    let session = format!(".workflow/.csv-wave/{}/session.json", rows[0]["job_id"]);
    let info: Value = serde_json::from_str(&agent.text(session)).unwrap();
    assert_eq!(
        info["default_agent"], agent.id,
        "a client is served by its own kind"
    );
}

fn codex_runs_a_table() {
    let Some(agent) = Agent::new("codex") else { return };
    prepare(&agent, "mcp__wavecrew::spawn_agents_on_csv");
    // The service of these tests takes its key from a variable that no other one uses.
    let settings = agent.home().join(".codex/config.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(
        settings,
        text + "\n[mcp_servers.wavecrew.env]\nFAKE_KEY = \"dummy\"\n",
    )
    .unwrap();
    let mut client = client(&agent);
    client.args(["exec", "--skip-git-repo-check", "-s", "workspace-write"]);
    client.args([
        "-c",
        "mcp_servers.wavecrew.default_tools_approval_mode=\"approve\"",
        "-",
    ]);
    let (output, rows) = run(&agent, client);
    check(&agent, &output, &rows);
}

fn claude_runs_a_table() {
    let Some(agent) = Agent::new("claude") else {
        return;
    };
    prepare(&agent, "mcp__wavecrew__spawn_agents_on_csv");
    let mut client = client(&agent);
    client.env("ENABLE_TOOL_SEARCH", "false");
    client.args("-p --permission-mode acceptEdits --output-format stream-json --verbose".split(' '));
    client.args(["--allowedTools", "mcp__wavecrew__spawn_agents_on_csv"]);
    let (output, rows) = run(&agent, client);
    check(&agent, &output, &rows);
}

/// The client finds our entry and can use our server.
fn lists_us(id: &'static str) {
    let Some(agent) = Agent::new(id) else { return };
    install(&agent);
    let mut client = client(&agent);
    client
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .args(["mcp", "list"]);
    let seen = agent.spawn(&mut client).wait().text().to_lowercase();
    let good = if id == "codex" { "enabled" } else { "connected" };
    assert!(seen.contains("wavecrew") && seen.contains(good), "{seen}");
    assert!(
        !seen.contains("disconnected") && !seen.contains("failed"),
        "{seen}"
    );
}

#[test]
fn clients_run_a_table_through_our_server() {
    with_some("runs a table", &["codex", "claude"], 1, |agent| match agent {
        "codex" => codex_runs_a_table(),
        _ => claude_runs_a_table(),
    });
}

#[test]
fn clients_list_our_server_once_it_is_installed() {
    with_some("lists our server", &AGENTS[..5], 2, lists_us);
}

/// A conversation of several turns with a real agent, which remembers the conversation.
fn converses(id: &'static str) {
    let Some(agent) = Agent::new(id) else { return };
    let mut client = Client::start(&mut agent.command(&["mcp", "--agent", agent.name()]));
    let script = "@@shell echo hi > made.txt\n@@final First.\n@@next\n@@final Second.\n@@next\n\
                  @@shell test -e begun || { touch begun; sleep 600; }\n@@final Third.\n@@next\n@@final Fourth.";
    let answer = client.call("spawn_agent", json!({"message": script}));
    let id = answer["agent_id"].as_str().unwrap();
    let wait = |client: &mut Client| {
        loop {
            let answer = client.call("wait", json!({"ids": [id], "timeout_ms": 60_000}));
            if answer["timed_out"] == false {
                return answer["status"][id].clone();
            }
        }
    };
    assert_eq!(wait(&mut client), json!({"completed": "First."}));
    assert!(agent.path("made.txt").exists());
    // The further answers are in the script of the first message: only one who remembers it can give them.
    client.call("send_input", json!({"id": id, "message": "Go on."}));
    assert_eq!(wait(&mut client), json!({"completed": "Second."}));
    client.call("send_input", json!({"id": id, "message": "Take your time."}));
    agent.wait_for_file("begun");
    let stop = json!({"id": id, "message": "Enough.", "interrupt": true});
    client.call("send_input", stop);
    let status = wait(&mut client);
    assert!(status["completed"].is_string(), "{status}");
    let closed = client.call("close_agent", json!({"id": id}));
    assert_eq!(closed["status"], status);
    assert_eq!(client.disconnect(), 0);
    agent.expect_no_processes();
}

#[test]
fn agents_converse() {
    with_some("converses", &["codex", "claude"], 1, converses);
}

#[test]
fn agents_converse_over_acp() {
    with_some("converses over ACP", &AGENTS[5..], 1, converses);
}
