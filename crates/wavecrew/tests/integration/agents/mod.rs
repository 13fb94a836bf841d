//! Real agents through `wavecrew run`, against the fake model service: what they do, how they end, what they leave.
//! Needs `scripts/install-agents.sh`; `WAVECREW_SKIP_AGENTS=1` skips these tests. By default a sample of the agents
//! runs each test; `WAVECREW_TEST_DEPTH=full` runs all of them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod lab;
mod mcp;
mod questions;
mod teams;
mod testing;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use lab::{Lab, Row, SECRET};
use wavecrew_test_support::depth;

const REPORT: &str = r#"{"id":"A","status":"completed","findings":"made.txt is there"}"#;

/// One file, one report, one conversation; no secret and no private file is left behind.
fn one_shot(agent: &'static str) {
    let Some(lab) = Lab::new(agent) else { return };
    let script =
        format!("Make it.\n@@shell echo hi > made.txt; echo $PROBE_API_KEY\n@@final All good.\n{REPORT}");
    // The report stands behind prose on the last line of the answer.
    let script = script.replace("All good.\n", "All good. ");
    let ran = lab.run("project", &lab.model.base("ok"), &Row::one_shot(script), &[]);
    ran.ends("ok");
    assert_eq!(ran.code, Some(0), "{}", ran.said);
    assert_eq!(ran.finished()["result"]["findings"], "made.txt is there");
    assert_eq!(
        fs::read_to_string(lab.project("project").join("made.txt")).unwrap(),
        "hi\n"
    );
    assert_eq!(ran.conversations().len(), 1);
    let usage: Vec<_> = ran
        .events("usage")
        .map(|event| event["output"].as_u64())
        .collect();
    let told = match agent {
        // It tells of its last request only.
        "acp_opencode" => 50,
        _ => 100,
    };
    assert_eq!(usage, [Some(told)], "two requests of 50 each");
    assert!(
        ran.log().lines().any(|line| line.starts_with('{')),
        "the raw stream is kept"
    );
    for (path, content) in ran.kept() {
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
    lab.note("one-shot", "yes");
    lab.note("usage", "yes");
}

/// The tool of our own server, where it is not the last message that reports.
fn reports_by_tool(agent: &'static str) {
    let Some(lab) = Lab::new(agent) else { return };
    let tool = match lab.program() {
        "codex" => "mcp__wavecrew::report_agent_job_result",
        "gemini" => "mcp_wavecrew_report_agent_job_result",
        "opencode" => "wavecrew_report_agent_job_result",
        _ => "mcp__wavecrew__report_agent_job_result",
    };
    if agent == "gemini" && !rustix::process::geteuid().is_root() {
        eprintln!("not checked: gemini reads the settings it is pointed at only if root owns them");
        return;
    }
    let script = format!("@@tool {tool} {REPORT}\n@@final bye");
    let script = match agent {
        // Over this protocol it hides the tools of servers behind one that finds them.
        "acp_qwen" => format!(
            "@@tool tool_search {{\"query\":\"select:{tool}\"}}\n\
             @@tool tool_call {{\"name\":\"{tool}\",\"arguments\":{REPORT}}}\n@@final bye"
        ),
        _ => script,
    };
    let row = Row::one_shot(script);
    let ran = lab.run("project", &lab.model.base("ok"), &row, &[]);
    ran.ends("ok");
    assert_eq!(
        ran.finished()["result"]["findings"],
        "made.txt is there",
        "{}",
        ran.log()
    );
    assert_eq!(ran.events("sent_back").count(), 0);
    lab.note("mcp", "yes");
}

/// Prose is no report: it is asked again where it was, and counted on from there.
fn repair(agent: &'static str) {
    let Some(lab) = Lab::new(agent) else { return };
    let row = Row::interactive(format!("@@final I am done.\n@@next\n@@final {REPORT}"));
    let tape = lab.project("tapes").join("tape.jsonl");
    let base = lab.model.base("ok");
    let ran = lab.run("project", &base, &row, &["--record", tape.to_str().unwrap()]);
    ran.ends("ok");
    assert_eq!(ran.events("sent_back").count(), 1, "{}", ran.log());
    assert_eq!(ran.conversations().len(), 1);
    let usage: Vec<_> = ran
        .events("usage")
        .map(|event| (event["turn"].as_u64(), event["output"].as_u64()))
        .collect();
    assert_eq!(usage, [(Some(1), Some(50)), (Some(2), Some(50))]);
    lab.note("interactive", "yes");

    // The same again from the recording, without the agent.
    let asked = lab.model.stats("ok").requests;
    let _ = lab.command("again", &base, &row, &[]);
    let mut again = lab.wavecrew("again", &base);
    again.args([
        "run",
        "tasks.csv",
        "-y",
        "--agent",
        &format!("replay:{}", tape.display()),
    ]);
    let again = lab.finish("again", again);
    again.ends("ok");
    assert_eq!(lab.model.stats("ok").requests, asked, "a replay asks nobody");
    assert_eq!(again.events("sent_back").count(), 1, "{}", again.log());
    assert_eq!(again.finished()["result"], ran.finished()["result"]);
    lab.note("replay", "yes");
}

/// The coordinator is killed while a tool runs; nothing outlives it, and the next run goes on in the conversation.
fn killed(agent: &'static str) {
    let Some(lab) = Lab::new(agent) else { return };
    let script = format!("@@shell test -e begun || {{ touch begun; sleep 600; }}\n@@final {REPORT}");
    let (row, base) = (Row::one_shot(script), lab.model.base("ok"));
    let child = lab.command("project", &base, &row, &[]).spawn().unwrap();
    lab.until("the tool runs", || lab.project("project").join("begun").exists());
    let conversing = |lab: &Lab| {
        lab.journal("project")
            .iter()
            .any(|event| event["e"] == "conversing")
    };
    lab.until("the conversation is on record", || conversing(&lab));
    lab.kill(child);
    let mut again = lab.wavecrew("project", &base);
    again.args(["run", "--continue", "-y"]);
    let ran = lab.finish("project", again);
    ran.ends("ok");
    assert_eq!(ran.events("interrupted").count(), 1);
    assert_eq!(ran.finished()["attempt"], 2);
    let conversations = ran.conversations();
    assert_eq!(conversations.len(), 2, "{}", ran.log());
    if agent == "acp_gemini" {
        // It keeps a session from the end of its first turn on.
        assert_ne!(conversations[0], conversations[1], "{}", ran.log());
        return lab.note("resume", "in a new conversation");
    }
    assert_eq!(conversations[0], conversations[1], "{}", ran.log());
    lab.note("resume", "yes");
}

/// Stopped by a person or by the system while a tool runs: the agent and its tool are gone when the run is.
fn stopped(agent: &'static str) {
    let Some(lab) = Lab::new(agent) else { return };
    let row = Row::one_shot("@@shell touch begun; sleep 600\n@@final never");
    for (project, signals) in [
        ("terminated", &[Signal::TERM][..]),
        ("interrupted", &[Signal::INT, Signal::INT]),
    ] {
        let mut command = lab.command(project, &lab.model.base("ok"), &row, &[]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        lab.until("the tool runs", || lab.project(project).join("begun").exists());
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let pid = Pid::from_child(&child);
        for (n, signal) in signals.iter().enumerate() {
            if n > 0 {
                // Two signals at once are one to the system.
                said.by_ref()
                    .find(|line| line.as_ref().unwrap().contains("Stopping"))
                    .unwrap()
                    .unwrap();
            }
            kill_process(pid, *signal).unwrap();
        }
        assert_eq!(child.wait().unwrap().code(), Some(130), "{agent} {project}");
        lab.nothing_runs();
        let interrupted = lab
            .journal(project)
            .iter()
            .filter(|event| event["e"] == "interrupted")
            .count();
        assert_eq!(interrupted, 1, "{agent} {project}");
    }
    lab.note("stopped", "yes");
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
fn fails(agent: &'static str, name: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    let row = Row::one_shot(format!("@@final {REPORT}"));
    let Failure {
        mode,
        reason,
        seconds,
    } = failure(agent, name);
    let base = if name == REFUSED {
        format!("{}/ok", lab.model.refused_url())
    } else {
        lab.model.base(mode)
    };
    if reason == "rate_limited" {
        // The run would wait for the service until the task goes well.
        let ran = lab.run(mode, &base, &row, &["--timeout", seconds, "--max-time", "1s"]);
        ran.is_postponed(reason);
        assert_eq!(ran.code, Some(3), "{}", ran.said);
    } else {
        let ran = lab.run(mode, &base, &row, &["--timeout", seconds]);
        ran.ends(reason);
        assert_eq!(ran.code, Some(i32::from(reason != "ok")), "{}", ran.said);
    }
    if name != REFUSED {
        assert!(lab.model.stats(mode).requests > 0, "{agent} never asked");
    }
    lab.note(name, reason);
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
fn reports_by_a_tool_of_ours() {
    with_some("reports by a tool", &AGENTS, 2, reports_by_tool);
}

#[test]
fn is_asked_again_in_its_conversation() {
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
    let Some(lab) = Lab::new_below("gemini", &std::env::temp_dir()) else {
        return;
    };
    let base = lab.model.base("ok");
    if rustix::process::geteuid().is_root() {
        let script = format!("@@tool mcp_wavecrew_report_agent_job_result {REPORT}\n@@final bye");
        let ran = lab.run("project", &base, &Row::one_shot(script), &[]);
        ran.ends("ok");
        assert_eq!(ran.finished()["result"]["findings"], "made.txt is there");
        assert!(!ran.said.contains("ignores the settings"), "{}", ran.said);
        assert_eq!(fs::read_dir(lab.agent_files()).unwrap().count(), 0);
    } else {
        eprintln!("not checked: gemini reads the settings it is pointed at only if root owns them");
    }
    let row = Row::one_shot(format!("@@final {REPORT}"));
    let mut command = lab.command("open", &base, &row, &[]);
    command.env_remove("XDG_CACHE_HOME");
    let output = command.output().unwrap();
    lab.ran("open", output.status.code()).ends("ok");
    let printed = String::from_utf8_lossy(&output.stdout);
    let warning = "gemini ignores the settings of this run: Security Warning";
    assert!(printed.contains(warning), "{printed}");
}

/// The service refuses longer than the agent tries: it is waited for, and the task is done with one attempt that counts.
fn waited_for(agent: &'static str, mode: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    let row = Row::one_shot(format!("@@final {REPORT}"));
    let ran = lab.run("project", &lab.model.base(mode), &row, &["--attempts", "1"]);
    ran.ends("ok");
    assert_eq!(ran.code, Some(0), "{}", ran.said);
    ran.is_postponed("rate_limited");
    let waits: Vec<_> = ran.events("quota_wait").collect();
    let pool = waits[0]["pool"].as_str().unwrap();
    let login = agent.strip_prefix("acp_").unwrap_or(agent);
    assert!(pool.starts_with(login), "{pool}");
    let shared = lab.state("project").join(format!("pools/{pool}.json"));
    let shared: serde_json::Value = serde_json::from_slice(&fs::read(shared).unwrap()).unwrap();
    assert_eq!(shared["strikes"], 0, "it went well in the end: {shared}");
    assert_eq!(shared["runs"], serde_json::json!({}), "nobody is left: {shared}");
}

#[test]
fn late_service_is_waited_for() {
    with_some(
        "is waited for",
        &["codex", "claude", "acp_opencode"],
        1,
        |agent| match agent {
            "acp_opencode" => waited_for(agent, "flaky9w429"),
            _ => waited_for(agent, "flaky5"),
        },
    );
}

/// `wavecrew agents` finds what is installed, and `agents test` has one of them do something.
#[test]
fn agents_are_listed_and_tried() {
    let Some(lab) = Lab::new("claude") else { return };
    let base = lab.model.base("ok");
    let listed = lab
        .wavecrew("project", &base)
        .args(["agents", "--json"])
        .output()
        .unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
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
        let mut command = lab.wavecrew("project", &base);
        let output = command
            .args(["agents", "test", "claude", "--json"])
            .args(words)
            .output()
            .unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), answer)
    };
    let task = "@@final {\"id\":\"TEST\",\"status\":\"completed\"}";
    let (code, answer) = test(&["--task", task]);
    assert_eq!((code, &answer["works"]), (Some(0), &true.into()), "{answer}");
    // The service only says "done", which is no report however often it is asked.
    let (code, answer) = test(&[]);
    assert_eq!((code, &answer["works"]), (Some(1), &false.into()), "{answer}");
    assert!(
        answer["error"].as_str().unwrap().contains("not a JSON object"),
        "{answer}"
    );
    lab.nothing_runs();
}
