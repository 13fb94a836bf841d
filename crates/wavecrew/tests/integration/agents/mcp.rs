//! Real agents as clients of our server: they are told by the model service to call its tools, and agents of the same
//! kind do the rows.

use crate::agents::lab::Lab;
use crate::agents::{AGENTS, with_some};
use crate::mcp::rpc::{Client, VERSION};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// One row: its name, and the number that its worker is told to report.
type Row = HashMap<String, String>;

const INSTRUCTION: &str = "Count the lines of {path}.\n@@final {{\"lines\": {n}}}";

/// Installs our server in the client, and writes a table and a prompt that has the model call for it.
fn prepare(lab: &Lab, base: &str, tool: &str) {
    let project = lab.project("project");
    fs::write(project.join("in.csv"), "path,n\na.rs,1\nb.rs,2\nc.rs,3\n").unwrap();
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
    let prompt = format!("Run the table.\n@@tool {tool} {call}\n@@final All three are counted.\n");
    fs::write(project.join("prompt.txt"), prompt).unwrap();
    let installed = lab
        .wavecrew("project", base)
        .args(["mcp", "install", lab.agent, "-y"])
        .output()
        .unwrap();
    assert!(
        installed.status.success(),
        "{}",
        String::from_utf8_lossy(&installed.stderr)
    );
}

/// Runs the client on its prompt; what it said, and the table that came of it.
fn run(lab: &Lab, mut client: Command) -> (String, Vec<Row>) {
    let project = lab.project("project");
    let prompt = fs::File::open(project.join("prompt.txt")).unwrap();
    let output = client.stdin(Stdio::from(prompt)).output().unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
    lab.until("everything is ended", || lab.is_quiet());
    let table = fs::read_dir(&project)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains(".agent-job-"))
        .unwrap_or_else(|| panic!("no table: {said}"));
    let rows = csv::Reader::from_path(table)
        .unwrap()
        .deserialize()
        .map(Result::unwrap)
        .collect();
    (said, rows)
}

fn check(lab: &Lab, said: &str, rows: &[Row]) {
    assert!(said.contains("All three are counted."), "{said}");
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("status"), ["completed"; 3], "{rows:?}");
    assert_eq!(column("item_id"), ["a.rs", "b.rs", "c.rs"]);
    assert_eq!(column("lines"), ["1", "2", "3"]);
    let session = lab
        .project("project")
        .join(".workflow/.csv-wave")
        .join(&rows[0]["job_id"]);
    let info: Value = serde_json::from_slice(&fs::read(session.join("session.json")).unwrap()).unwrap();
    assert_eq!(
        info["default_agent"], lab.agent,
        "a client is served by its own kind"
    );
}

fn codex_runs_a_table() {
    let Some(lab) = Lab::new("codex") else { return };
    let base = lab.model.base("ok");
    let client = lab.client("project", &base);
    prepare(&lab, &base, "mcp__wavecrew::spawn_agents_on_csv");
    hand_on_the_key(&lab.home().join(".codex/config.toml"));
    let mut client = client;
    client.args(["exec", "--skip-git-repo-check", "-s", "workspace-write"]);
    client.args([
        "-c",
        "mcp_servers.wavecrew.default_tools_approval_mode=\"approve\"",
        "-",
    ]);
    let (said, rows) = run(&lab, client);
    check(&lab, &said, &rows);
}

/// The service of these tests takes its key from a variable that no other one uses.
fn hand_on_the_key(settings: &Path) {
    let text = fs::read_to_string(settings).unwrap();
    fs::write(
        settings,
        text + "\n[mcp_servers.wavecrew.env]\nFAKE_KEY = \"dummy\"\n",
    )
    .unwrap();
}

fn claude_runs_a_table() {
    let Some(lab) = Lab::new("claude") else { return };
    let base = lab.model.base("ok");
    prepare(&lab, &base, "mcp__wavecrew__spawn_agents_on_csv");
    let mut client = lab.client("project", &base);
    client.env("ENABLE_TOOL_SEARCH", "false");
    client.args([
        "-p",
        "--permission-mode",
        "acceptEdits",
        "--output-format",
        "stream-json",
        "--verbose",
    ]);
    client.args(["--allowedTools", "mcp__wavecrew__spawn_agents_on_csv"]);
    let (said, rows) = run(&lab, client);
    check(&lab, &said, &rows);
}

/// Our entry is one that the client itself finds and can talk to.
fn lists_us(agent: &'static str) {
    let Some(lab) = Lab::new(agent) else { return };
    let base = lab.model.base("ok");
    // Pointing the agent at the service writes its settings; ours are added to them.
    let mut client = lab.client("project", &base);
    let mut install = lab.wavecrew("project", &base);
    assert!(
        install
            .args(["mcp", "install", agent, "-y"])
            .status()
            .unwrap()
            .success()
    );
    let seen = client
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .args(["mcp", "list"])
        .output()
        .unwrap();
    let seen = [seen.stdout, seen.stderr].concat();
    let seen = String::from_utf8_lossy(&seen).to_lowercase();
    let good = if agent == "codex" { "enabled" } else { "connected" };
    assert!(seen.contains("wavecrew") && seen.contains(good), "{seen}");
    assert!(
        !seen.contains("disconnected") && !seen.contains("failed"),
        "{seen}"
    );
}

#[test]
fn clients_run_a_table_through_us() {
    with_some("runs a table", &["codex", "claude"], 1, |agent| match agent {
        "codex" => codex_runs_a_table(),
        _ => claude_runs_a_table(),
    });
}

#[test]
fn clients_list_us_once_we_are_installed() {
    with_some("lists our server", &AGENTS[..5], 2, lists_us);
}

/// A conversation of several turns with a real agent, which remembers what was said.
fn converses(agent: &'static str) {
    let Some(lab) = Lab::new(agent) else { return };
    let base = lab.model.base("ok");
    let mut command = lab.wavecrew("project", &base);
    command.args(["mcp", "--agent", lab.name()]);
    let mut client = Client::by(command);
    client.introduce(VERSION);
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
    assert!(lab.project("project").join("made.txt").exists());
    // The further answers are in the script of the first message: only one who remembers it can give them.
    client.call("send_input", json!({"id": id, "message": "Go on."}));
    assert_eq!(wait(&mut client), json!({"completed": "Second."}));
    client.call("send_input", json!({"id": id, "message": "Take your time."}));
    lab.until("the tool runs", || lab.project("project").join("begun").exists());
    let stop = json!({"id": id, "message": "Enough.", "interrupt": true});
    client.call("send_input", stop);
    let said = wait(&mut client);
    assert!(said["completed"].is_string(), "{said}");
    let closed = client.call("close_agent", json!({"id": id}));
    assert_eq!(closed["status"], said);
    assert_eq!(client.hang_up(), 0);
    lab.nothing_runs();
}

#[test]
fn agents_are_talked_to() {
    with_some("is talked to", &["codex", "claude"], 1, converses);
}

#[test]
fn agents_are_talked_to_over_acp() {
    with_some("is talked to over ACP", &AGENTS[5..], 1, converses);
}
