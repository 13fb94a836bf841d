//! Real agents through `wavecrew run`, against the fake model service: what they do, how they end, what they leave.
//! Needs `scripts/install-agents.sh`; `WAVECREW_SKIP_AGENTS=1` passes these tests over.
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
        eprintln!("passed over: gemini reads the settings it is pointed at only if root owns them");
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

/// A way in which a service fails: its name in the table, the service's mode, and the reason that comes of it.
type Trouble = (&'static str, &'static str, &'static str);

/// What every agent gives up on soon.
const COMMON: [Trouble; 3] = [
    ("400", "e400", "refused"),
    ("401", "e401", "auth"),
    ("429 once", "flaky1", "ok"),
];

/// Over this protocol it hands on the words of its service without the status, so that they have to tell.
const COMMON_WITHOUT_STATUS: [Trouble; 3] = [
    ("400", "w400", "refused"),
    ("401", "w401", "auth"),
    ("429 once", "flaky1", "ok"),
];

fn common(agent: &str) -> &'static [Trouble] {
    match agent {
        "acp_opencode" => &COMMON_WITHOUT_STATUS,
        _ => &COMMON,
    }
}

const REFUSED: &str = "refused connection";

/// Long enough for agents that try for a minute and a half before they give up.
const LONG: &str = "280";

fn fails(agent: &'static str, seconds: &str, troubles: &[Trouble]) {
    let Some(lab) = Lab::new(agent) else { return };
    let row = Row::one_shot(format!("@@final {REPORT}"));
    for (name, mode, reason) in troubles {
        let base = if *name == REFUSED {
            format!("{}/ok", lab.model.refused_url())
        } else {
            lab.model.base(mode)
        };
        if *reason == "rate_limited" {
            // It would be waited for until it goes well.
            let ran = lab.run(mode, &base, &row, &["--timeout", seconds, "--max-time", "1s"]);
            ran.is_postponed(reason);
            assert_eq!(ran.code, Some(3), "{}", ran.said);
        } else {
            let ran = lab.run(mode, &base, &row, &["--timeout", seconds]);
            ran.ends(reason);
            assert_eq!(ran.code, Some(i32::from(*reason != "ok")), "{}", ran.said);
        }
        if *name != REFUSED {
            assert!(lab.model.stats(mode).requests > 0, "{agent} never asked");
        }
        lab.note(name, reason);
    }
}

macro_rules! agents {
    ($($($agent:ident)+ {
        soon: $soon:tt,
        late: $late:tt,
        clock: $seconds:literal $clock:tt,
    })*) => {$($(
        agent! { $agent, $soon, $late, $seconds $clock }
    )+)*};
}

macro_rules! agent {
    ($agent:ident, $soon:expr, { $($late:ident: $trouble:expr),* }, $seconds:literal $clock:expr) => {
        mod $agent {
            use super::*;

            const AGENT: &str = stringify!($agent);

            #[test]
            fn does_a_task() {
                one_shot(AGENT);
            }

            #[test]
            fn reports_by_a_tool_of_ours() {
                reports_by_tool(AGENT);
            }

            #[test]
            fn is_asked_again_in_its_conversation() {
                repair(AGENT);
            }

            #[test]
            fn goes_on_after_the_coordinator_was_killed() {
                killed(AGENT);
            }

            #[test]
            fn leaves_nothing_behind_when_it_is_stopped() {
                stopped(AGENT);
            }

            #[test]
            fn ends_for_the_right_reason() {
                fails(AGENT, LONG, common(AGENT));
                fails(AGENT, LONG, &$soon);
            }

            #[test]
            fn is_ended_by_the_clock() {
                fails(AGENT, $seconds, &$clock);
            }

            $(
                #[test]
                fn $late() {
                    fails(AGENT, LONG, &[$trouble]);
                }
            )*
        }
    };
}

agents! {
    codex {
        soon: [
            ("429", "e429", "rate_limited"),
            ("500", "e500", "rate_limited"),
            ("cut stream", "cut2", "crashed"),
        ],
        late: {},
        // It would try to connect for ever.
        clock: "20" [("hang", "hang", "timeout"), (REFUSED, "refused", "refused")],
    }
    claude gemini acp_gemini {
        soon: [
            ("429", "e429", "rate_limited"),
            ("500", "e500", "crashed"),
            ("cut stream", "cut2", "crashed"),
            (REFUSED, "refused", "refused"),
        ],
        late: {},
        clock: "30" [("hang", "hang", "timeout")],
    }
    qwen acp_qwen {
        soon: [("cut stream", "cut2", "crashed")],
        late: {
            gives_up_late_on_429: ("429", "e429", "rate_limited"),
            gives_up_late_on_500: ("500", "e500", "crashed"),
            gives_up_late_on_a_closed_port: (REFUSED, "refused", "refused")
        },
        clock: "60" [("hang", "hang", "timeout")],
    }
    acp_opencode {
        soon: [("429", "w429", "rate_limited")],
        late: {
            gives_up_late_on_500: ("500", "e500", "crashed"),
            gives_up_late_on_a_cut_stream: ("cut stream", "cut2", "crashed"),
            gives_up_late_on_a_closed_port: (REFUSED, "refused", "refused")
        },
        clock: "90" [("hang", "hang", "timeout")],
    }
    opencode {
        soon: [("429", "e429", "rate_limited")],
        late: {
            gives_up_late_on_500: ("500", "e500", "crashed"),
            gives_up_late_on_a_cut_stream: ("cut stream", "cut2", "crashed"),
            gives_up_late_on_a_closed_port: (REFUSED, "refused", "refused")
        },
        clock: "90" [("hang", "hang", "timeout")],
    }
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
fn codex_is_waited_for() {
    waited_for("codex", "flaky5");
}

#[test]
fn claude_is_waited_for() {
    waited_for("claude", "flaky5");
}

#[test]
fn opencode_is_waited_for_over_acp() {
    waited_for("acp_opencode", "flaky9w429");
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
