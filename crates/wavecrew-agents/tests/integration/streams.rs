//! Every recorded stream: its events, and why its turn ended.

use std::collections::BTreeSet;
use std::time::Duration;

use wavecrew_agents::cli::claude::Claude;
use wavecrew_agents::cli::codex::Codex;
use wavecrew_agents::cli::gemini::Gemini;
use wavecrew_agents::cli::goose::Goose;
use wavecrew_agents::cli::opencode::Opencode;
use wavecrew_agents::cli::qwen::Qwen;
use wavecrew_agents::cli::{self, AgentCli};
use wavecrew_agents::stream::{
    AgentEvent, End, Expects, FailKind, Outcome, StreamParser, TurnSummary, UsageMeter, outcome,
};
use wavecrew_core::event::TokenUsage;
use wavecrew_core::time::Timestamp;

use crate::{recordings, stream};

fn events(cli: &'static dyn AgentCli, name: &str) -> Vec<AgentEvent> {
    let mut parser = StreamParser::new(cli);
    let text = stream(cli, name);
    text.lines().flat_map(|line| parser.line(line)).collect()
}

fn summary(events: &[AgentEvent]) -> TurnSummary {
    let mut summary = TurnSummary::default();
    for event in events {
        summary.on(event);
    }
    summary
}

fn outcome_of(cli: &'static dyn AgentCli, name: &str, end: End, expects: Expects) -> Outcome {
    outcome(Some(cli), &summary(&events(cli, name)), end, expects, "")
}

const ANY: Expects = Expects::Nothing;
const REPORT: Expects = Expects::Report { received: false };

/// One row per recording: how the process ended, what was owed, and the reason that comes of it.
#[rustfmt::skip]
const RECORDINGS: &[(&dyn AgentCli, &str, End, Expects, &str)] = &[
    (&Codex, "ok", End::Exit(0), ANY, "ok"),
    (&Codex, "ok", End::Exit(0), REPORT, "no_report"),
    (&Codex, "ok", End::Exit(0), Expects::Report { received: true }, "ok"),
    (&Codex, "tools", End::Exit(0), REPORT, "ok"),
    (&Codex, "mcp", End::Exit(0), ANY, "ok"),
    (&Codex, "resume", End::Exit(0), ANY, "ok"),
    (&Codex, "e400", End::Exit(1), ANY, "refused"),
    (&Codex, "e401", End::Exit(1), ANY, "auth"),
    (&Codex, "e429", End::Exit(1), ANY, "rate_limited"),
    (&Codex, "e500", End::Exit(1), ANY, "rate_limited"),
    (&Codex, "e503", End::Exit(1), ANY, "rate_limited"),
    (&Codex, "e529", End::Exit(1), ANY, "rate_limited"),
    (&Codex, "quota", End::Exit(1), ANY, "quota"),
    (&Codex, "cut", End::Exit(1), ANY, "crashed"),
    (&Codex, "refuse", End::Exit(0), REPORT, "no_report"),
    // Never exits by itself; both clocks find the same reason.
    (&Codex, "refused", End::Stopped, ANY, "refused"),

    (&Claude, "tools", End::Exit(0), ANY, "ok"),
    (&Claude, "skip", End::Exit(0), ANY, "ok"),
    (&Claude, "mcp", End::Exit(0), ANY, "ok"),
    (&Claude, "mcpbare", End::Exit(0), ANY, "ok"),
    (&Claude, "resume", End::Exit(0), ANY, "ok"),
    (&Claude, "schema", End::Exit(0), REPORT, "ok"),
    (&Claude, "schema_inv", End::Exit(0), REPORT, "ok"),
    (&Claude, "schema_bad", End::Exit(0), REPORT, "no_report"),
    (&Claude, "def", End::Exit(0), REPORT, "permission_blocked"),
    (&Claude, "dontask", End::Exit(0), REPORT, "permission_blocked"),
    (&Claude, "dontask", End::Exit(0), Expects::Report { received: true }, "ok"),
    (&Claude, "budget", End::Exit(1), ANY, "budget"),
    (&Claude, "maxturns", End::Exit(1), ANY, "budget"),
    (&Claude, "quota", End::Exit(1), ANY, "quota"),
    (&Claude, "e400", End::Exit(1), ANY, "refused"),
    (&Claude, "e401", End::Exit(1), ANY, "auth"),
    (&Claude, "e403", End::Exit(1), ANY, "auth"),
    (&Claude, "e429", End::Exit(1), ANY, "rate_limited"),
    (&Claude, "e500", End::Exit(1), ANY, "crashed"),
    (&Claude, "e529", End::Exit(1), ANY, "rate_limited"),
    (&Claude, "flaky1", End::Exit(0), ANY, "ok"),
    (&Claude, "cut", End::Exit(0), ANY, "ok"),
    (&Claude, "cut2", End::Exit(1), ANY, "crashed"),
    (&Claude, "cut4", End::Exit(0), ANY, "ok"),
    (&Claude, "refuse", End::Exit(1), ANY, "refused"),
    (&Claude, "refused", End::Exit(1), ANY, "refused"),

    (&Gemini, "tools", End::Exit(0), ANY, "ok"),
    (&Gemini, "mcp", End::Exit(0), ANY, "ok"),
    (&Gemini, "resume", End::Exit(0), ANY, "ok"),
    (&Gemini, "resume", End::Exit(0), REPORT, "no_report"),
    (&Gemini, "e400", End::Exit(144), ANY, "refused"),
    (&Gemini, "e401", End::Exit(145), ANY, "auth"),
    (&Gemini, "e429", End::Exit(173), ANY, "rate_limited"),
    (&Gemini, "e500", End::Exit(244), ANY, "crashed"),
    (&Gemini, "e503", End::Exit(247), ANY, "rate_limited"),
    (&Gemini, "e529", End::Exit(17), ANY, "rate_limited"),
    (&Gemini, "quota", End::Exit(173), ANY, "quota"),
    (&Gemini, "flaky1", End::Exit(0), ANY, "ok"),
    // Failed, whatever the exit code is.
    (&Gemini, "cut", End::Exit(0), ANY, "crashed"),
    (&Gemini, "broken", End::Exit(1), ANY, "crashed"),
    (&Gemini, "refuse", End::Exit(0), ANY, "refused"),
    (&Gemini, "refused", End::Exit(1), ANY, "refused"),

    (&Qwen, "tools", End::Exit(0), ANY, "ok"),
    (&Qwen, "mcp", End::Exit(0), ANY, "ok"),
    (&Qwen, "mt", End::Exit(0), ANY, "ok"),
    (&Qwen, "resume", End::Exit(0), ANY, "ok"),
    (&Qwen, "schema", End::Exit(0), REPORT, "ok"),
    (&Qwen, "schema_bad", End::Exit(1), REPORT, "schema_invalid"),
    (&Qwen, "e400", End::Exit(1), ANY, "refused"),
    (&Qwen, "e401", End::Exit(1), ANY, "auth"),
    (&Qwen, "e429", End::Exit(1), ANY, "rate_limited"),
    (&Qwen, "e500", End::Exit(1), ANY, "crashed"),
    (&Qwen, "e503", End::Exit(1), ANY, "rate_limited"),
    (&Qwen, "cut", End::Exit(0), ANY, "ok"),
    (&Qwen, "cut2", End::Exit(1), ANY, "crashed"),
    (&Qwen, "refuse", End::Exit(1), ANY, "crashed"),
    (&Qwen, "closed_port", End::Exit(1), ANY, "refused"),
    // Told to wait a minute and was ended while it did.
    (&Qwen, "quota", End::Stopped, ANY, "rate_limited"),
    // Says nothing while it tries to connect.
    (&Qwen, "refused", End::Stopped, ANY, "timeout"),
    (&Qwen, "refused", End::Exit(53), ANY, "budget"),
    (&Qwen, "refused", End::Exit(55), ANY, "timeout"),
    (&Qwen, "refused", End::Exit(130), ANY, "crashed"),

    (&Opencode, "tools", End::Exit(0), ANY, "ok"),
    (&Opencode, "e400", End::Exit(1), ANY, "refused"),
    (&Opencode, "e401", End::Exit(1), ANY, "auth"),
    (&Opencode, "e429", End::Exit(1), ANY, "rate_limited"),
    (&Opencode, "e500", End::Exit(1), ANY, "crashed"),
    (&Opencode, "e503", End::Exit(1), ANY, "rate_limited"),
    (&Opencode, "quota", End::Exit(1), ANY, "quota"),
    (&Opencode, "refuse", End::Exit(1), ANY, "refused"),
    (&Opencode, "broken", End::Exit(1), ANY, "crashed"),
    (&Opencode, "closed_port", End::Exit(1), ANY, "refused"),

    (&Goose, "tools", End::Exit(0), ANY, "ok"),
];

#[test]
fn every_recording_has_its_stop_reason() {
    let mut wrong = Vec::new();
    for (cli, name, end, expects, reason) in RECORDINGS {
        let got = outcome_of(*cli, name, *end, *expects);
        if got.reason.as_str() != *reason {
            wrong.push(format!(
                "{}/{name} {end:?}: {reason} expected, {got:?}",
                cli.name()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_recording_is_in_the_list() {
    let listed: BTreeSet<_> = RECORDINGS
        .iter()
        .map(|(cli, name, ..)| format!("{}/{name}", cli.name()))
        .collect();
    for cli in cli::ALL {
        for entry in std::fs::read_dir(recordings("streams").join(cli.name())).unwrap() {
            let name = format!(
                "{}/{}",
                cli.name(),
                entry.unwrap().path().file_stem().unwrap().display()
            );
            assert!(listed.contains(&name), "{name} is not in the list");
        }
    }
}

#[test]
fn an_end_without_any_event() {
    let silent = TurnSummary::default();
    let reason = |cli, end, stderr| outcome(Some(cli), &silent, end, ANY, stderr).reason.as_str();
    assert_eq!(reason(&Gemini, End::Exit(0), ""), "crashed");
    assert_eq!(reason(&Codex, End::Signal(9), ""), "crashed");
    assert_eq!(
        reason(&Claude, End::Exit(1), "Invalid API key · Please run /login\n"),
        "auth"
    );
    assert_eq!(
        reason(&Gemini, End::Exit(41), "Please set an Auth method"),
        "auth"
    );
    assert_eq!(reason(&Opencode, End::Stopped, ""), "timeout");
    let crash = outcome(
        Some(&Claude),
        &silent,
        End::Exit(1),
        ANY,
        "warning\nno such option\n\n",
    )
    .failure
    .unwrap();
    assert_eq!(
        (crash.kind, crash.message.as_str()),
        (FailKind::Other, "no such option")
    );
}

#[test]
fn an_unanswered_question_is_the_reason_of_a_timeout() {
    let mut stream = StreamParser::new(&Claude);
    let line = r#"{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}}}"#;
    let asked = stream.line(line);
    let [AgentEvent::Question { id, tool, input }] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!(
        (id.as_str(), tool.as_str(), &input["command"]),
        ("q1", "Bash", &"ls".into())
    );
    let blocked = outcome(Some(&Claude), &summary(&asked), End::Stopped, REPORT, "");
    assert_eq!(blocked.reason.as_str(), "permission_blocked");
}

#[test]
fn a_retry_has_its_wait() {
    let waits = |cli, name| {
        events(cli, name)
            .into_iter()
            .find_map(|event| match event {
                AgentEvent::Retrying(failure) => Some((failure.kind, failure.retry_after)),
                _ => None,
            })
            .unwrap()
    };
    assert_eq!(
        waits(&Claude, "e429"),
        (FailKind::RateLimited, Some(Duration::from_secs(1)))
    );
    assert_eq!(
        waits(&Qwen, "e429"),
        (FailKind::RateLimited, Some(Duration::from_mins(1)))
    );
    let limited = outcome_of(&Opencode, "e429", End::Exit(1), ANY).failure.unwrap();
    assert_eq!(limited.retry_after, Some(Duration::from_secs(1)));
}

/// A used-up quota is reported with its reset time; a warning before that is not a refusal.
#[test]
fn the_wait_lasts_until_the_quota_resets() {
    let info = |status: &str, at: u64| {
        format!(r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":{at}}}}}"#)
    };
    let failed = r#"{"type":"result","is_error":true,"result":"You've hit your limit · resets 2pm"}"#;
    let wait = |lines: &[&str], now: u64| {
        let mut stream = StreamParser::new(&Claude);
        let events: Vec<AgentEvent> = lines.iter().flat_map(|line| stream.line(line)).collect();
        let outcome = outcome(Some(&Claude), &summary(&events), End::Exit(1), ANY, "");
        assert_eq!(outcome.reason.as_str(), "quota");
        outcome.failure.unwrap().wait(Timestamp(now * 1000))
    };
    let rejected = info("rejected", 1000);
    assert_eq!(wait(&[&rejected, failed], 900), Some(Duration::from_secs(100)));
    assert_eq!(wait(&[&rejected, failed], 1001), None, "it is over");
    assert_eq!(wait(&[&info("allowed_warning", 1000), failed], 900), None);
}

/// What an agent did, without ids and paths that change.
fn story(cli: &'static dyn AgentCli, name: &str) -> Vec<String> {
    let describe = |event: &AgentEvent| match event {
        AgentEvent::Started { conversation, .. } => Some(format!("started {}", conversation.len() > 10)),
        AgentEvent::Text(text) => Some(format!("says {text}")),
        AgentEvent::ToolStart { name, summary, .. } => Some(format!("calls {name}: {summary}")),
        AgentEvent::ToolEnd { ok, exit_code, .. } => Some(format!("ended ok={ok} code={exit_code:?}")),
        AgentEvent::FileChange { path } => Some(format!("wrote {path}")),
        AgentEvent::Final { text, structured } => Some(format!(
            "answers {text}, {}",
            structured.as_ref().map_or("text".into(), ToString::to_string)
        )),
        AgentEvent::PermissionDenied { tool } => Some(format!("denied {tool}")),
        AgentEvent::Unknown { kind } => Some(format!("unknown {kind}")),
        AgentEvent::Usage(..)
        | AgentEvent::UsedSoFar(_)
        | AgentEvent::Retrying(_)
        | AgentEvent::Failed(_)
        | AgentEvent::Question { .. } => None,
    };
    events(cli, name).iter().filter_map(describe).collect()
}

#[test]
fn the_same_work_gives_the_same_events() {
    assert_eq!(
        story(&Codex, "tools"),
        [
            "started true",
            "calls shell: /bin/bash -lc 'echo hi > made.txt; cat made.txt'",
            "ended ok=true code=Some(0)",
            "says {\"answer\":\"42\"}",
            "answers {\"answer\":\"42\"}, {\"answer\":\"42\"}",
        ]
    );
    let writers: [(&'static dyn AgentCli, &str); 3] =
        [(&Claude, "Write"), (&Gemini, "write_file"), (&Qwen, "write_file")];
    for (cli, tool) in writers {
        assert_eq!(
            story(cli, "tools"),
            [
                "started true",
                &format!("calls {tool}: LABPROJECT.txt"),
                "ended ok=true code=None",
                "wrote LABPROJECT.txt",
                "says all done",
                "answers all done, text",
            ],
            "{}",
            cli.name()
        );
    }
    assert_eq!(
        story(&Opencode, "tools"),
        [
            "started true",
            "calls write: LABPROJECT.txt",
            "ended ok=true code=None",
            "wrote LABPROJECT.txt",
            "calls orch_report_status: {\"status\":\"working\"}",
            "ended ok=true code=None",
            "says all done",
            "answers all done, text",
        ]
    );
    assert_eq!(
        story(&Claude, "dontask")[1..],
        [
            "calls Bash: echo hi > b2.txt; id -u",
            "denied Bash",
            "ended ok=false code=None",
            "calls Write: LABPROJECT2.txt",
            "denied Write",
            "ended ok=false code=None",
            "says hello",
            "answers hello, text",
        ]
    );
    assert_eq!(
        story(&Codex, "mcp")[1..3],
        [
            "calls orch.report_status: {\"status\":\"working\"}",
            "ended ok=true code=None"
        ]
    );
}

#[test]
fn usage_is_the_same_however_an_agent_counts() {
    let spent = |cli, name, before| {
        let mut meter = UsageMeter::new(before);
        for event in &events(cli, name) {
            meter.on(event);
        }
        (meter.spent().input, meter.spent().cached, meter.spent().output)
    };
    let two_calls = (2000, 400, 100);
    for cli in ["codex", "gemini", "qwen", "goose"].map(|name| cli::by_name(name).unwrap()) {
        assert_eq!(
            spent(cli, "tools", TokenUsage::default()),
            two_calls,
            "{}",
            cli.name()
        );
    }
    // This recording's service counted what was cached on top of the input.
    assert_eq!(spent(&Claude, "tools", TokenUsage::default()), (2400, 400, 100));
    assert_eq!(spent(&Opencode, "tools", TokenUsage::default()), (3000, 600, 150));
    assert_eq!(spent(&Qwen, "mt", TokenUsage::default()), (4000, 800, 200));

    // A resumed conversation reports its whole past; the attempt pays for its own part.
    let past = TokenUsage {
        input: 1000,
        cached: 200,
        output: 50,
        ..TokenUsage::default()
    };
    assert_eq!(spent(&Codex, "resume", past), (1000, 200, 50));
    // An agent that silently began a new conversation starts its counters again.
    let other = TokenUsage { input: 9000, ..past };
    assert_eq!(spent(&Codex, "resume", other), two_calls);
    assert_eq!(spent(&Gemini, "resume", past), (1000, 200, 50));
}

#[test]
fn cost_is_counted_if_the_agent_reports_it() {
    let mut meter = UsageMeter::new(TokenUsage {
        cost: Some(0.01),
        input: 1,
        ..TokenUsage::default()
    });
    for event in &events(&Claude, "tools") {
        meter.on(event);
    }
    assert!((meter.spent().cost.unwrap() - 0.00008).abs() < 1e-9);
    assert!((meter.conversation().cost.unwrap() - 0.01008).abs() < 1e-9);
}

#[test]
fn unknown_lines_are_counted() {
    for cli in cli::ALL.iter().copied() {
        let mut stream = StreamParser::new(cli);
        let mut all = Vec::new();
        let lines = [
            "",
            "a banner",
            "[1]",
            "{",
            "{}",
            r#"{"type":"hologram","x":1}"#,
            r#"{"type":7}"#,
            r#"{"type":"message"}"#,
        ];
        for line in lines {
            all.extend(stream.line(line));
        }
        let summary = summary(&all);
        assert!((6..=7).contains(&summary.unknown), "{}: {all:?}", cli.name());
        assert!(
            all.contains(&AgentEvent::Unknown {
                kind: "hologram".into()
            }),
            "{}",
            cli.name()
        );
        assert_eq!(summary.answer, None);
    }
    let strange = |cli| {
        events(cli, "tools")
            .iter()
            .filter(|e| matches!(e, AgentEvent::Unknown { .. }))
            .count()
    };
    let counts = cli::ALL.iter().copied().map(strange).collect::<Vec<_>>();
    // Only goose prints a banner between its events.
    assert_eq!(counts, [0, 0, 0, 0, 0, 3]);
}
