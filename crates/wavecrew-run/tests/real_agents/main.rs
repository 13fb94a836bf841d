//! The real command lines against the fake model service: launched as workers are, read as workers are.
//! Needs `scripts/install-agents.sh`; `WAVECREW_SKIP_AGENTS=1` skips these tests. By default a sample of the agents runs each test;
//! `WAVECREW_TEST_DEPTH=full` runs all of them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod turn;

use std::path::Path;

use wavecrew_agents::cli::AgentCli;
use wavecrew_agents::cli::claude::Claude;
use wavecrew_agents::cli::codex::Codex;
use wavecrew_agents::cli::gemini::Gemini;
use wavecrew_agents::cli::opencode::Opencode;
use wavecrew_agents::cli::qwen::Qwen;
use wavecrew_agents::launch::{Conversation, McpServer, Request};
use wavecrew_agents::stream::{AgentEvent, Expects, FailKind};
use wavecrew_core::event::{StopReason, TokenUsage};
use wavecrew_core::team::Access;
use wavecrew_process::outer_agent_markers;
use wavecrew_test_support::depth;

use turn::{Agent, UUID, request};

/// One file, one answer, and a conversation that is resumed.
fn writes_and_resumes(cli: &'static dyn AgentCli) {
    let Some(agent) = Agent::new(cli) else { return };
    let scratch = agent.cache().to_owned();
    let made = agent.path("made.txt");
    let prompt = format!(
        "Please.\n{}\n@@final first answer\n@@next\n@@final {{\"id\":\"A\"}}",
        agent.write_line(&made)
    );
    let first = agent.run("ok", request(&prompt, &scratch));
    first.expect_end(Expects::Nothing, StopReason::Ok);
    first.expect_end(Expects::Report { received: false }, StopReason::NoReport);
    assert_eq!(first.answer(), "first answer");
    assert_eq!(std::fs::read_to_string(&made).unwrap().trim(), "hi");
    assert!(
        first
            .events
            .iter()
            .any(|event| matches!(event, AgentEvent::ToolEnd { ok: true, .. }))
    );
    assert_eq!(first.summary.unknown, 0, "{:#?}", first.events);
    let (spent, so_far) = first.spent(TokenUsage::default());

    // The repair brings no script of its own, so only a conversation that was really resumed knows the next answer.
    let id = first.summary.conversation.clone().unwrap();
    let again = agent.run(
        "ok",
        Request {
            conversation: Conversation::Resume { id: &id },
            ..request("That was no report.", &scratch)
        },
    );
    again.expect_end(Expects::Report { received: false }, StopReason::Ok);
    assert_eq!(again.answer(), "{\"id\":\"A\"}");
    assert_eq!(again.summary.conversation.as_deref(), Some(id.as_str()));
    assert_eq!((spent, again.spent(so_far).0), (100, 50));
}

/// A tool of our own server is called, with a secret that is on no command line.
fn calls_mcp(cli: &'static dyn AgentCli) {
    let Some(agent) = Agent::new(cli) else { return };
    if cli.name() == "gemini" && !rustix::process::geteuid().is_root() {
        eprintln!("not checked: gemini reads the settings it is pointed at only if root owns them");
        return;
    }
    let (scratch, noted) = (agent.cache().to_owned(), agent.beside("tmp").join("noted.txt"));
    let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_agents/mcp_probe.js");
    let word = |path: &Path| path.to_str().unwrap().to_owned();
    let server = McpServer {
        name: "wavecrew".into(),
        command: word(&agent.bin.join("node")),
        args: vec![word(&probe), word(&noted)],
        env: vec![("PROBE_SECRET".into(), "s3cret".into())],
    };
    let tool = match cli.name() {
        "codex" => "mcp__wavecrew::report",
        "gemini" => "mcp_wavecrew_report",
        "goose" => "wavecrew__report",
        "opencode" => "wavecrew_report",
        _ => "mcp__wavecrew__report",
    };
    let prompt = format!("@@tool {tool} {{\"status\":\"done\"}}\n@@final reported");
    for access in [Access::Source, Access::ReadOnly] {
        let request = Request {
            access,
            mcp: Some(&server),
            ..request(&prompt, &scratch)
        };
        let started = cli.launch(&request);
        assert!(!started.args.iter().any(|word| word.contains("s3cret")));
        let id = if access == Access::Source {
            UUID
        } else {
            "7f1c2a52-8f0e-4d0b-9d53-0f6f4d1c7a12"
        };
        let ran = agent.run(
            "ok",
            Request {
                conversation: Conversation::New { id },
                ..request
            },
        );
        ran.expect_end(Expects::Nothing, StopReason::Ok);
        assert_eq!(
            ran.answer(),
            "reported",
            "{access:?}: {:#?}\n{}",
            ran.events,
            ran.stderr
        );
    }
    assert_eq!(
        std::fs::read_to_string(noted).unwrap(),
        "done s3cret\ndone s3cret\n"
    );
}

/// A role that may not change the project cannot; its session folder is another matter.
fn is_read_only(cli: &'static dyn AgentCli) {
    let Some(agent) = Agent::new(cli) else { return };
    let scratch = agent.cache().to_owned();
    let made = agent.path("made.txt");
    let prompt = format!("{}\n@@final tried", agent.write_line(&made));
    let ran = agent.run(
        "ok",
        Request {
            access: Access::ReadOnly,
            ..request(&prompt, &scratch)
        },
    );
    ran.expect_end(Expects::Nothing, StopReason::Ok);
    assert!(!made.exists(), "{:#?}", ran.events);

    let folders = [agent.beside("session")];
    let owed = folders[0].join("report.md");
    let prompt = format!("{}\n@@final written", agent.write_line(&owed));
    let id = "8f1c2a52-8f0e-4d0b-9d53-0f6f4d1c7a13";
    let request = Request {
        access: Access::ReadOnly,
        folders: &folders,
        conversation: Conversation::New { id },
        ..request(&prompt, &scratch)
    };
    let ran = agent.run("ok", request);
    assert_eq!(ran.answer(), "written", "{:#?}\n{}", ran.events, ran.stderr);
    assert!(owed.exists(), "{:#?}\n{}", ran.events, ran.stderr);
}

/// Failures that each agent reports soon; those it sits out are among the recordings.
fn fails_for_the_right_reason(cli: &'static dyn AgentCli) {
    let Some(agent) = Agent::new(cli) else { return };
    let scratch = agent.cache().to_owned();
    let request = request("@@final hello", &scratch);
    let ids: Vec<String> = (0..9)
        .map(|n| format!("6f1c2a52-8f0e-4d0b-9d53-0f6f4d1c7a2{n}"))
        .collect();
    let run = |n: usize, mode: &str| {
        agent.run(
            mode,
            Request {
                conversation: Conversation::New { id: &ids[n] },
                ..request
            },
        )
    };
    assert_eq!(
        run(0, "e400").expect_end(Expects::Nothing, StopReason::Refused),
        Some(FailKind::BadRequest)
    );
    assert_eq!(
        run(1, "e401").expect_end(Expects::Nothing, StopReason::Auth),
        Some(FailKind::Auth)
    );
    run(2, "flaky1").expect_end(Expects::Nothing, StopReason::Ok);
    assert_eq!(agent.model.stats("flaky1").requests.min(2), 2);
    // These two wait a minute or more before they give up.
    if ["codex", "claude", "gemini"].contains(&cli.name()) {
        let limited = run(3, "e429").expect_end(Expects::Nothing, StopReason::RateLimited);
        assert_eq!(limited, Some(FailKind::RateLimited));
        let kind = run(4, "cut2").expect_end(Expects::Nothing, StopReason::Crashed);
        assert_eq!(kind, Some(FailKind::Cut));
    }
    if ["claude", "gemini"].contains(&cli.name()) {
        let id = &ids[5];
        let refused = Request {
            conversation: Conversation::New { id },
            ..request
        };
        let refused = agent.run_at(&format!("{}/ok", agent.model.refused_url()), refused);
        assert_eq!(
            refused.expect_end(Expects::Nothing, StopReason::Refused),
            Some(FailKind::Unreachable)
        );
    }
}

const AGENTS: [&dyn AgentCli; 5] = [&Codex, &Claude, &Gemini, &Qwen, &Opencode];

/// Runs a test with a sample of the agents, or with all of them at full depth.
fn with_some(test: &str, n: usize, body: fn(&'static dyn AgentCli)) {
    for cli in depth::sample(test, AGENTS, n) {
        println!("{test}: {}", cli.name());
        body(cli);
    }
}

#[test]
fn agents_write_a_file_and_resume() {
    with_some("writes a file and resumes", 1, writes_and_resumes);
}

#[test]
fn agents_call_our_tool() {
    with_some("calls a tool", 1, calls_mcp);
}

/// The command line of each agent decides this, so all of them run at every depth.
#[test]
fn read_only_roles_change_nothing() {
    with_some("read-only roles", AGENTS.len(), is_read_only);
}

#[test]
fn failures_have_the_right_reason() {
    with_some("failures", 1, fails_for_the_right_reason);
}

/// The markers that are removed from a worker's environment are those that agents really set.
#[test]
fn the_markers_that_we_remove_are_those_that_agents_set() {
    let script: [(&'static dyn AgentCli, &str, &str); 5] = [
        (
            &Codex,
            r#"@@tool exec_command {"cmd":"env > env.txt"}"#,
            "CODEX_THREAD_ID",
        ),
        (
            &Claude,
            r#"@@tool Bash {"command":"env > env.txt","description":"x"}"#,
            "CLAUDECODE",
        ),
        (
            &Gemini,
            r#"@@tool run_shell_command {"command":"env > env.txt"}"#,
            "GEMINI_CLI",
        ),
        (
            &Qwen,
            r#"@@tool run_shell_command {"command":"env > env.txt","is_background":false}"#,
            "QWEN_CODE_SESSION_ID",
        ),
        (
            &Opencode,
            r#"@@tool bash {"command":"env > env.txt","description":"x"}"#,
            "OPENCODE_PID",
        ),
    ];
    for (cli, prompt, marker) in depth::sample("markers of agents", script, 2) {
        let Some(agent) = Agent::new(cli) else { return };
        let scratch = agent.cache().to_owned();
        agent
            .run("ok", request(prompt, &scratch))
            .expect_end(Expects::Nothing, StopReason::Ok);
        let seen = std::fs::read_to_string(agent.path("env.txt")).unwrap();
        assert!(
            seen.lines().any(|line| line.starts_with(&format!("{marker}="))),
            "{}: {seen}",
            cli.name()
        );
        assert_eq!(outer_agent_markers([marker.into()]), [marker]);
    }
}
