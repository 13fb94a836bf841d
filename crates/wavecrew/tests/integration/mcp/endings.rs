//! Losses during a run: the folder of a job, its server, the guardian of agents.

use crate::mcp::jobs::{ECHO, SERVER, call, connect, wait_for_line, with_script};
use crate::mcp::rpc::Client;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

/// Says who it is and waits until it may report.
const WAITS: &str = "echo $$ > pid-$WAVECREW_TASK.new; mv pid-$WAVECREW_TASK.new pid-$WAVECREW_TASK
    while [ ! -e go ]; do sleep 0.05; done";

fn project() -> Sandbox {
    let project = with_script("path\na\nb\n", &format!("{WAITS}\n{ECHO}"));
    project.write("tasks.csv", "id,description\nrow-1,do\nrow-2,do\n");
    project
}

/// Sends a call that runs both rows, and waits until they run.
fn begin(client: &mut Client, project: &Sandbox, tool: &str, arguments: Value) -> u64 {
    let id = client.send("tools/call", json!({"name": tool, "arguments": arguments}));
    wait_for_line(project, "pid-row-1");
    wait_for_line(project, "pid-row-2");
    id
}

fn workers_are_gone(project: &Sandbox) {
    for row in ["row-1", "row-2"] {
        let pid = project.text(format!("pid-{row}"));
        wait_until("the worker to end", || !project.is_worker_alive(&pid));
    }
}

fn id(session: &Path) -> String {
    session.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_job_ends_with_its_folder() {
    for background in [false, true] {
        let project = project();
        let mut client = connect(&project);
        let arguments = call(json!({"background": background}));
        let asked = begin(&mut client, &project, "spawn_agents_on_csv", arguments);
        let folder = project.session();
        fs::rename(&folder, project.path("away")).unwrap();
        let mut ended = client.answer(asked)["result"]["structuredContent"].clone();
        if background {
            ended = client.call(
                "wait_agent_job",
                json!({"job_id": id(&folder), "timeout_ms": 120_000}),
            );
        }
        assert_eq!(
            (&ended["status"], &ended["total_items"]),
            (&json!("failed"), &json!(2)),
            "{ended}"
        );
        let why = ended["job_error"].as_str().unwrap();
        assert!(why.contains("was deleted or moved during its run"), "{why}");
        workers_are_gone(&project);
        assert!(!folder.exists(), "nothing may be made in its place");
        let cancelled = client.raw_call("cancel_agent_job", json!({"job_id": id(&folder)}));
        let known = cancelled["structuredContent"]["status"] == "failed";
        assert_eq!(known, background, "{cancelled}");
    }
}

#[test]
fn a_run_of_a_team_ends_with_its_folder() {
    let project = project();
    let mut client = connect(&project);
    let asked = begin(&mut client, &project, "team_run", json!({"team": "tasks.csv"}));
    fs::remove_dir_all(project.session()).unwrap();
    let answer = client.answer(asked)["result"].clone();
    assert_eq!(answer["isError"], true, "{answer}");
    let why = answer["content"][0]["text"].as_str().unwrap();
    assert!(why.contains("was deleted or moved during its run"), "{why}");
    workers_are_gone(&project);
}

#[test]
fn a_job_of_a_killed_server_ends_and_can_be_resumed() {
    let project = project();
    let mut client = connect(&project);
    begin(&mut client, &project, "spawn_agents_on_csv", call(json!({})));
    client.kill();
    workers_are_gone(&project);
    let job = id(&project.session());
    let mut client = connect(&project);
    let stopped = client.call("wait_agent_job", json!({"job_id": job, "timeout_ms": 120_000}));
    assert_eq!(stopped["status"], "stopped", "{stopped}");
    project.write("go", "");
    // A word that came too late is not for those who go on.
    fs::write(project.session().join(".run/control"), "cancel").unwrap();
    let done = client.call("spawn_agents_on_csv", json!({"resume_job_id": job}));
    assert_eq!(done["completed_items"], 2, "{done}");
}

#[test]
fn a_run_of_a_team_ends_with_its_killed_server() {
    let project = project();
    let mut client = connect(&project);
    begin(&mut client, &project, "team_run", json!({"team": "tasks.csv"}));
    client.kill();
    workers_are_gone(&project);
    let mut client = connect(&project);
    let status = client.call("team_status", json!({"timeout_ms": 120_000}));
    assert_eq!(status["state"], "stopped", "{status}");
}

#[test]
fn a_job_in_the_background_outlives_a_killed_server() {
    let project = project();
    let mut client = connect(&project);
    begin(
        &mut client,
        &project,
        "spawn_agents_on_csv",
        call(json!({"background": true})),
    );
    client.kill();
    project.write("go", "");
    let wait = json!({"job_id": id(&project.session()), "timeout_ms": 120_000});
    let done = connect(&project).call("wait_agent_job", wait);
    assert_eq!(
        (&done["status"], &done["completed_items"]),
        (&json!("completed"), &json!(2)),
        "{done}"
    );
    let attempts = crate::mcp::jobs::output(&done)
        .1
        .iter()
        .all(|row| row["attempt_count"] == "1");
    assert!(attempts, "no row was begun again");
}

/// The guardian among the children of a process.
fn guardian_of(parent: u32) -> Option<Pid> {
    let parent = parent.to_string();
    let is_it = |process: &PathBuf| {
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let words = fs::read(process.join("cmdline")).unwrap_or_default();
        // The state and the parent follow the name in brackets.
        let above = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
        above == Some(parent.as_str()) && words.split(|byte| *byte == 0).any(|word| word == b"__guardian")
    };
    let mut all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let pid = all.find(is_it)?.file_name()?.to_str()?.parse().ok()?;
    Pid::from_raw(pid)
}

#[test]
fn conversations_end_with_a_reason_when_their_guardian_is_killed_again_and_again() {
    let project = project();
    let mut client = connect(&project);
    let agent = json!({"message": "hello", "agent": "command:cat"});
    client.call("spawn_agent", agent.clone());
    // Whoever looks for it while there is none looks again; a test that waits for ever is ended from outside.
    let refused = loop {
        if let Some(guardian) = guardian_of(client.pid()) {
            // It may be gone already.
            let _ = kill_process(guardian, Signal::KILL);
        }
        let answer = client.raw_call("spawn_agent", agent.clone());
        if answer["isError"] == true {
            break answer["content"][0]["text"].as_str().unwrap().to_owned();
        }
    };
    let why = "conversations have ended: the guardian process was lost 6 times in a row, last: ";
    assert!(refused.starts_with(why), "{refused}");
    assert!(refused.ends_with("; help: start the server again"), "{refused}");
    project.write("go", "");
    let done = client.call("spawn_agents_on_csv", call(json!({})));
    assert_eq!(done["completed_items"], 2, "jobs go on: {done}");
}

#[test]
fn jobs_outlive_the_guardian_of_conversations() {
    let project = project();
    let mut client = connect(&project);
    let words = "command:sh -c 'echo $$ > agent.new; mv agent.new agent; while [ ! -e go ]; do sleep 0.05; done; echo heard'";
    let started = client.call("spawn_agent", json!({"message": "hello", "agent": words}));
    let agent = started["agent_id"].as_str().unwrap();
    project.wait_for_file("agent");
    // The job's workers have a guardian of their own, so that one of them may have the same number as the agent.
    let process = project.worker(&project.text("agent")).unwrap();
    let asked = begin(&mut client, &project, "spawn_agents_on_csv", call(json!({})));
    kill_process(guardian_of(client.pid()).unwrap(), Signal::KILL).unwrap();
    let status = client.call("wait", json!({"ids": [agent], "timeout_ms": 120_000}));
    let why = status["status"][agent]["errored"].as_str().unwrap();
    assert!(why.contains("send the message again with send_input"), "{why}");
    let has_ended = fs::read_link(process.join("cwd")).is_err();
    assert!(has_ended, "the agent lives on");
    project.write("go", "");
    let done = client.answer(asked)["result"]["structuredContent"].clone();
    assert_eq!(done["completed_items"], 2, "{done}");
    client.call("send_input", json!({"id": agent, "message": "again"}));
    let status = client.call("wait", json!({"ids": [agent], "timeout_ms": 120_000}));
    assert_eq!(status["status"][agent], json!({"completed": "heard"}));
}

/// The client closes the connection or cancels the call while both versions are compared.
#[test]
fn a_comparison_that_nobody_waits_for_ends_and_removes_its_files() {
    for cancels in [true, false] {
        let project = with_script("path\na\n", ECHO);
        let slow = "import time\nwhile time.process_time() < 60:\n    pass\n";
        for args in [
            &["init", "-q"][..],
            &["commit", "-q", "--allow-empty", "-m", "empty"],
        ] {
            assert!(git(&project, args));
        }
        project.write("slow.py", "A = 1\n");
        assert!(git(&project, &["add", "-A"]) && git(&project, &["commit", "-q", "-m", "first"]));
        project.write("slow.py", slow);
        let scratch = tempfile::tempdir().unwrap();
        let copies = || {
            let names = fs::read_dir(scratch.path()).unwrap().flatten();
            names
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("wavecrew-diff-"))
                .count()
        };
        let mut command = project.command(SERVER);
        let mut client = Client::start(command.env("TMPDIR", scratch.path()));
        let call = json!({"name": "behaviour_diff", "arguments": {"budget_seconds": 600}});
        let id = client.send("tools/call", call);
        wait_until("the comparison to begin", || copies() == 1);
        if cancels {
            let params = json!({"requestId": id});
            client.line(
                &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string(),
            );
        } else {
            client.disconnect();
        }
        wait_until("the comparison to end", || copies() == 0);
    }
}

fn git(project: &Sandbox, args: &[&str]) -> bool {
    let mut command = std::process::Command::new("git");
    let who = ["-c", "user.name=a", "-c", "user.email=a@localhost"];
    command
        .args(who)
        .args(args)
        .current_dir(project.project())
        .status()
        .unwrap()
        .success()
}
