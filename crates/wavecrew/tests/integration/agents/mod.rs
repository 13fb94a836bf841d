//! Real agents through `wavecrew run`, against the fake model service: what they do, how they end, what they leave.
//! Needs `scripts/install-agents.sh`; `WAVECREW_SKIP_AGENTS=1` skips these tests. By default a sample of the agents
//! runs each test; `WAVECREW_TEST_DEPTH=full` runs all of them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod escape;
mod mcp;
mod questions;
mod task;
mod teams;
mod testing;

use std::fs;

use rustix::process::Signal;

use serde_json::{Value, json};
use task::{Agent, SECRET, Task};
use wavecrew_test_support::depth;
use wavecrew_test_support::sandbox::wait_until;

const REPORT: &str = r#"{"id":"A","status":"completed","findings":"made.txt is there"}"#;

/// One file, one report, one conversation; no secret and no private file is left behind.
fn one_shot(id: &'static str) {
    let Some(agent) = Agent::new(id) else { return };
    // The report stands behind prose on the last line of the answer.
    let script =
        format!("Make it.\n@@shell echo hi > made.txt; echo $PROBE_API_KEY\n@@final All good. {REPORT}");
    let outcome = agent.run(&Task::one_shot(script), "");
    agent.expect_stop("ok");
    outcome.expect_exit(0);
    assert_eq!(agent.finished()["result"]["findings"], "made.txt is there");
    assert_eq!(agent.text("made.txt"), "hi\n");
    assert_eq!(agent.conversations().len(), 1);
    // Two requests of 50 each; one agent reports its last request only.
    let expected = if id == "acp_opencode" { 50 } else { 100 };
    let usage: Vec<_> = agent
        .events("usage")
        .iter()
        .map(|event| event["output"].as_u64())
        .collect();
    assert_eq!(usage, [Some(expected)]);
    assert!(
        agent.log().lines().any(|line| line.starts_with('{')),
        "the raw stream is kept"
    );
    for path in agent.session_files() {
        let content = fs::read(&path).unwrap();
        let leak = content
            .windows(SECRET.len())
            .any(|window| window == SECRET.as_bytes());
        assert!(!leak, "{} holds a secret", path.display());
        assert!(
            !path.to_string_lossy().contains("/scratch/"),
            "{}",
            path.display()
        );
    }
    agent.note("one-shot", "yes");
    agent.note("usage", "yes");
}

/// The agent reports by the tool of our own server, not by its last message.
fn reports_by_tool(id: &'static str) {
    let Some(agent) = Agent::new(id) else { return };
    let tool = match agent.program() {
        "codex" => "mcp__wavecrew::report_agent_job_result",
        "gemini" => "mcp_wavecrew_report_agent_job_result",
        "opencode" => "wavecrew_report_agent_job_result",
        _ => "mcp__wavecrew__report_agent_job_result",
    };
    if id == "gemini" && !gemini_reads_our_settings() {
        return;
    }
    let script = match id {
        // Over this protocol it hides the tools of servers behind one that finds them.
        "acp_qwen" => format!(
            "@@tool tool_search {{\"query\":\"select:{tool}\"}}\n\
             @@tool tool_call {{\"name\":\"{tool}\",\"arguments\":{REPORT}}}\n@@final bye"
        ),
        _ => format!("@@tool {tool} {REPORT}\n@@final bye"),
    };
    agent.run(&Task::one_shot(script), "");
    agent.expect_stop("ok");
    let findings = &agent.finished()["result"]["findings"];
    assert_eq!(findings, "made.txt is there", "{}", agent.log());
    assert_eq!(agent.events("sent_back").len(), 0);
    agent.note("mcp", "yes");
}

fn gemini_reads_our_settings() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("not checked: gemini reads the settings it is pointed at only if root owns them");
    }
    is_root
}

/// Prose is no report: the agent is asked again in the same conversation, and its usage is counted on.
fn repair(id: &'static str) {
    let Some(agent) = Agent::new(id) else { return };
    let task = Task::interactive(format!("@@final I am done.\n@@next\n@@final {REPORT}"));
    let cassette = agent.beside("cassette.jsonl").display().to_string();
    agent.run(&task, &["--record", &cassette]);
    agent.expect_stop("ok");
    assert_eq!(agent.events("sent_back").len(), 1, "{}", agent.log());
    assert_eq!(agent.conversations().len(), 1);
    let usage: Vec<_> = agent
        .events("usage")
        .iter()
        .map(|event| (event["turn"].as_u64(), event["output"].as_u64()))
        .collect();
    assert_eq!(usage, [(Some(1), Some(50)), (Some(2), Some(50))]);
    agent.note("interactive", "yes");

    // The same again from the recording, without the agent.
    let Some(again) = Agent::new(id) else { return };
    again.write("tasks.csv", agent.text("tasks.csv"));
    again
        .wavecrew(&format!("run tasks.csv -y --agent replay:{cassette}"))
        .expect_exit(0);
    again.expect_stop("ok");
    assert_eq!(again.model.stats("ok").requests, 0, "a replay asks nobody");
    assert_eq!(again.events("sent_back").len(), 1, "{}", again.log());
    assert_eq!(again.finished()["result"], agent.finished()["result"]);
    agent.note("replay", "yes");
}

/// The coordinator is killed while a tool runs; nothing outlives it, and the next run resumes the conversation.
fn killed(id: &'static str) {
    let Some(agent) = Agent::new(id) else { return };
    let script = format!("@@shell test -e begun || {{ touch begun; sleep 600; }}\n@@final {REPORT}");
    let run = agent.start(&Task::one_shot(script), "");
    agent.wait_for_file("begun");
    wait_until("the conversation is on record", || {
        !agent.events("conversing").is_empty()
    });
    // As the system would when it runs out of memory.
    run.kill();
    wait_until("everything to end", || agent.processes().is_empty());
    agent.wavecrew("run --continue -y");
    agent.expect_no_processes();
    agent.expect_stop("ok");
    assert_eq!(agent.events("interrupted").len(), 1);
    assert_eq!(agent.finished()["attempt"], 2);
    let conversations = agent.conversations();
    assert_eq!(conversations.len(), 2, "{}", agent.log());
    if id == "acp_gemini" {
        // It writes a session down at some time in its first turn, and resumes it only if that was before the kill.
        return agent.note("resume", "in a new conversation");
    }
    assert_eq!(conversations[0], conversations[1], "{}", agent.log());
    agent.note("resume", "yes");
}

/// Stopped by a person or by the system while a tool runs: the agent and its tool are gone when the run is.
fn stopped(id: &'static str) {
    let task = Task::one_shot("@@shell touch begun; sleep 600\n@@final never");
    for signals in [&[Signal::TERM][..], &[Signal::INT, Signal::INT]] {
        let Some(agent) = Agent::new(id) else { return };
        let run = agent.start(&task, "");
        agent.wait_for_file("begun");
        for (n, signal) in signals.iter().enumerate() {
            if n > 0 {
                // Two signals at once are one to the system.
                run.wait_for_output("Stopping");
            }
            run.signal(*signal);
        }
        run.wait().expect_exit(130);
        agent.expect_no_processes();
        assert_eq!(agent.events("interrupted").len(), 1, "{id} {signals:?}");
        agent.note("stopped", "yes");
    }
}

const REFUSED: &str = "refused connection";

/// Long enough for agents that try for a minute and a half before they give up.
const LONG: &str = "280";

/// A way in which the service fails.
struct Failure {
    /// The mode of the fake service.
    mode: &'static str,
    /// Why the task stops.
    reason: &'static str,
    /// The time limit of the task in seconds.
    seconds: &'static str,
}

/// What a failure of the service, by its name in the table, comes to with this agent.
fn failure(agent: &str, name: &str) -> Failure {
    // Over this protocol it passes on the text of its service without the status, so the text has to be understood.
    let plain = agent == "acp_opencode";
    let (mode, reason) = match name {
        "400" if plain => ("w400", "refused"),
        "400" => ("e400", "refused"),
        "401" if plain => ("w401", "auth"),
        "401" => ("e401", "auth"),
        "429 once" => ("flaky1", "ok"),
        "429" if plain => ("w429", "rate_limited"),
        "429" => ("e429", "rate_limited"),
        "500" if agent == "codex" => ("e500", "rate_limited"),
        "500" => ("e500", "crashed"),
        "cut stream" => ("cut2", "crashed"),
        "hang" => ("hang", "timeout"),
        REFUSED => ("refused", "refused"),
        other => panic!("no failure is called {other}"),
    };
    let seconds = match (name, agent) {
        // It would try to connect for ever.
        ("hang" | REFUSED, "codex") => "20",
        ("hang", "claude" | "gemini" | "acp_gemini") => "30",
        ("hang", "qwen" | "acp_qwen") => "60",
        ("hang", _) => "90",
        _ => LONG,
    };
    Failure {
        mode,
        reason,
        seconds,
    }
}

/// The task ends for the reason that fits the failure.
fn fails(id: &'static str, name: &str) {
    let Some(agent) = Agent::new(id) else { return };
    let Failure {
        mode,
        reason,
        seconds,
    } = failure(id, name);
    let base = if name == REFUSED {
        format!("{}/ok", agent.model.refused_url())
    } else {
        agent.model.base(mode)
    };
    let agent = agent.service(&base);
    let task = Task::one_shot(format!("@@final {REPORT}"));
    if reason == "rate_limited" {
        // The run would wait for the service until the task goes well.
        let outcome = agent.run(&task, &format!("--timeout {seconds} --max-time 1s"));
        agent.expect_postponed(reason);
        outcome.expect_exit(3);
    } else {
        let outcome = agent.run(&task, &format!("--timeout {seconds}"));
        agent.expect_stop(reason);
        outcome.expect_exit(i32::from(reason != "ok"));
    }
    if name != REFUSED {
        assert!(agent.model.stats(mode).requests > 0, "{id} never asked");
    }
    agent.note(name, reason);
}

/// All agents: the known command lines, and those that also speak ACP.
const AGENTS: [&str; 8] = [
    "codex",
    "claude",
    "gemini",
    "qwen",
    "opencode",
    "acp_gemini",
    "acp_qwen",
    "acp_opencode",
];

/// Runs a test with a sample of the agents, or with all of them at full depth.
fn with_some(test: &str, agents: &[&'static str], n: usize, body: impl Fn(&'static str)) {
    for agent in depth::sample(test, agents.iter().copied(), n) {
        println!("{test}: {agent}");
        body(agent);
    }
}

macro_rules! each_does_a_task {
    ($($agent:ident)*) => {$(
        #[test]
        fn $agent() {
            one_shot(stringify!($agent));
        }
    )*};
}

/// Every command line does a task at every depth.
mod does_a_task {
    use super::*;

    each_does_a_task! { codex claude gemini qwen opencode }

    #[test]
    fn over_acp() {
        with_some("does a task over ACP", &AGENTS[5..], 1, one_shot);
    }
}

#[test]
fn reports_by_our_tool() {
    with_some("reports by a tool", &AGENTS, 2, reports_by_tool);
}

#[test]
fn is_asked_to_correct_its_report_in_the_same_conversation() {
    with_some("is asked again", &AGENTS, 2, repair);
}

#[test]
fn resumes_after_the_coordinator_was_killed() {
    with_some("resumes", &AGENTS, 2, killed);
}

#[test]
fn leaves_nothing_behind_when_it_is_stopped() {
    with_some("is stopped", &AGENTS, 2, stopped);
}

macro_rules! failures {
    ($($test:ident: $name:expr, $n:literal;)*) => {$(
        #[test]
        fn $test() {
            with_some($name, &AGENTS, $n, |agent| fails(agent, $name));
        }
    )*};
}

/// Every failure is tried with some agent at every depth.
mod ends_for_the_right_reason {
    use super::*;

    failures! {
        on_400: "400", 2;
        on_401: "401", 2;
        on_429_once: "429 once", 1;
        late_on_429: "429", 1;
        late_on_500: "500", 1;
        late_on_a_cut_stream: "cut stream", 1;
        late_on_a_refused_connection: REFUSED, 1;
        late_on_a_service_that_hangs: "hang", 1;
    }
}

/// gemini ignores settings below a folder that everybody may write. In a project there it has our tools all the same; where
/// no private folder can be found, the person is told.
#[test]
fn gemini_has_our_tools_in_a_project_below_the_temporary_folder() {
    let Some(agent) = Agent::new_below("gemini", &std::env::temp_dir()) else {
        return;
    };
    if gemini_reads_our_settings() {
        let script = format!("@@tool mcp_wavecrew_report_agent_job_result {REPORT}\n@@final bye");
        let outcome = agent.run(&Task::one_shot(script), "");
        agent.expect_stop("ok");
        assert_eq!(agent.finished()["result"]["findings"], "made.txt is there");
        assert!(!outcome.text().contains("ignores the settings"), "{outcome:?}");
        let files = agent.cache().join("wavecrew/agent-files");
        assert_eq!(fs::read_dir(files).unwrap().count(), 0);
    }
    let Some(agent) = Agent::new_below("gemini", &std::env::temp_dir()).map(Agent::without_cache) else {
        return;
    };
    let outcome = agent.run(&Task::one_shot(format!("@@final {REPORT}")), "");
    agent.expect_stop("ok");
    outcome.expect_output("gemini ignores the settings of this run: Security Warning");
}

/// The service refuses longer than the agent tries: the run waits for it, and one attempt completes the task.
fn waits_for_service(id: &'static str, mode: &str) {
    let Some(agent) = Agent::new(id) else { return };
    let agent = agent.mode(mode);
    let outcome = agent.run(&Task::one_shot(format!("@@final {REPORT}")), "--attempts 1");
    agent.expect_stop("ok");
    outcome.expect_exit(0);
    agent.expect_postponed("rate_limited");
    let wait = agent.events("quota_wait").remove(0);
    let pool = wait["pool"].as_str().unwrap();
    assert!(pool.starts_with(agent.program()), "{pool}");
    let shared = fs::read(agent.beside("state").join(format!("pools/{pool}.json"))).unwrap();
    let shared: Value = serde_json::from_slice(&shared).unwrap();
    assert_eq!(shared["strikes"], 0, "it went well in the end: {shared}");
    assert_eq!(shared["runs"], json!({}), "nobody is left: {shared}");
}

#[test]
fn late_service_that_recovers() {
    with_some(
        "waits for the service",
        &["codex", "claude", "acp_opencode"],
        1,
        |agent| match agent {
            "acp_opencode" => waits_for_service(agent, "flaky9w429"),
            _ => waits_for_service(agent, "flaky5"),
        },
    );
}

/// `wavecrew agents` finds what is installed, and `agents test` has one of them do something.
#[test]
fn agents_are_listed_and_tested() {
    let Some(agent) = Agent::new("claude") else {
        return;
    };
    let listed = agent.wavecrew("agents --json").json();
    let of = |name: &str| {
        let agents = listed["agents"].as_array().unwrap();
        agents.iter().find(|agent| agent["name"] == name).unwrap().clone()
    };
    assert_eq!(
        (&of("claude")["installed"], &of("claude")["logged_in"]),
        (&true.into(), &true.into())
    );
    assert_eq!(of("goose")["installed"], false);
    assert!(of("goose")["advice"].is_string());

    let test = |words: &[&str]| {
        let mut command = agent.command("agents test claude --json");
        let outcome = agent.spawn(command.args(words)).wait();
        let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
        (outcome.code, answer)
    };
    let task = "@@final {\"id\":\"TEST\",\"status\":\"completed\"}";
    let (code, answer) = test(&["--task", task]);
    assert_eq!((code, &answer["works"]), (Some(0), &true.into()), "{answer}");
    // The service only answers "done", which is not a report, however often it is asked.
    let (code, answer) = test(&[]);
    assert_eq!((code, &answer["works"]), (Some(1), &false.into()), "{answer}");
    assert!(
        answer["error"].as_str().unwrap().contains("not a JSON object"),
        "{answer}"
    );
    agent.expect_no_processes();
}
