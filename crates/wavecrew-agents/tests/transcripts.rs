//! Recorded streams as people read them. Recordings are in `streams/AGENT/NAME.jsonl`.
#![allow(clippy::disallowed_methods, reason = "tests read recordings from disk")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::collections::BTreeMap;
use std::path::Path;

use wavecrew_agents::cli::{self, AgentCli, Claude, Codex, Gemini, Opencode, Qwen};
use wavecrew_agents::transcript::{Folding, Tone, Transcript};

fn mark(tone: Tone) -> char {
    match tone {
        Tone::Heading => '#',
        Tone::Said => ' ',
        Tone::Tool => '>',
        Tone::Output => '|',
        Tone::Good => '+',
        Tone::Bad => '!',
        Tone::Aside => '.',
    }
}

fn told(cli: &'static dyn AgentCli, log: &str, folding: Folding, reasons: &[(u32, &str)]) -> String {
    let reasons: BTreeMap<u32, String> = reasons
        .iter()
        .map(|(turn, why)| (*turn, (*why).to_owned()))
        .collect();
    let mut transcript = Transcript::new(cli, folding, reasons);
    let mut rows: Vec<_> = log.lines().flat_map(|line| transcript.line(line)).collect();
    rows.extend(transcript.finish());
    let lines = rows
        .iter()
        .map(|row| format!("{} {}", mark(row.tone), row.text).trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

fn recording(cli: &'static dyn AgentCli, name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    std::fs::read_to_string(folder.join(cli.name()).join(format!("{name}.jsonl"))).unwrap()
}

#[test]
fn every_agent_at_work() {
    for cli in cli::ALL.iter().copied() {
        let text = told(cli, &recording(cli, "tools"), Folding::Folded, &[]);
        insta::assert_snapshot!(format!("{}_tools", cli.name()), text);
    }
}

#[test]
fn tools_of_ours_and_what_they_answer() {
    for cli in ["codex", "claude", "gemini", "qwen"].map(|name| cli::by_name(name).unwrap()) {
        let text = told(cli, &recording(cli, "mcp"), Folding::Folded, &[]);
        insta::assert_snapshot!(format!("{}_mcp", cli.name()), text);
    }
}

#[test]
fn trouble() {
    let failures: [(&'static dyn AgentCli, &str); 5] = [
        (&Codex, "e429"),
        (&Claude, "dontask"),
        (&Gemini, "e500"),
        (&Qwen, "e401"),
        (&Opencode, "e400"),
    ];
    for (cli, name) in failures {
        let text = told(cli, &recording(cli, name), Folding::Folded, &[]);
        insta::assert_snapshot!(format!("{}_{name}", cli.name()), text);
    }
}

#[test]
fn turns_say_why_they_are() {
    let twice = recording(&Codex, "tools") + &recording(&Codex, "resume");
    let text = told(&Codex, &twice, Folding::Folded, &[(2, "`status` is missing")]);
    insta::assert_snapshot!(text);
}

#[test]
fn long_texts_are_folded_unless_all_is_wanted() {
    let lines: Vec<String> = (1..=40).map(|number| format!("line {number}")).collect();
    let output = lines.join("\\n");
    let item = |phase: &str| {
        format!(
            r#"{{"type":"item.{phase}","item":{{"id":"i","type":"command_execution","command":"seq 40","aggregated_output":"{output}","exit_code":1}}}}"#
        )
    };
    let wide = format!(
        r#"{{"type":"item.completed","item":{{"id":"m","type":"agent_message","text":"{}"}}}}"#,
        "x".repeat(1000)
    );
    let log = format!("{}\n{}\n{wide}\n", item("started"), item("completed"));
    insta::assert_snapshot!(told(&Codex, &log, Folding::Folded, &[]));
    let full = told(&Codex, &log, Folding::Full, &[]);
    assert!(full.contains("|   line 20\n") && full.contains(&"x".repeat(1000)) && !full.contains("folded"));
}

#[test]
fn nothing_that_a_terminal_obeys_comes_through() {
    let message = r#"{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"a\u001b[2J\u001b]0;title\u0007b\rc"}}"#;
    let log = format!("\x1b[31mbanner\x1b[0m\n{message}\n");
    let text = told(&Codex, &log, Folding::Full, &[]);
    assert_eq!(text, ". banner\n  ab c");
}

#[test]
fn what_is_new_to_us_is_counted() {
    let text = told(
        &Codex,
        "{\"type\":\"dance\"}\n{\"type\":\"song\"}\n",
        Folding::Folded,
        &[],
    );
    assert_eq!(text, ". 2 events of kinds that this version does not know");
}
