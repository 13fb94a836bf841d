//! Recorded streams as transcripts.

use std::collections::BTreeMap;

use wavecrew_agents::cli::claude::Claude;
use wavecrew_agents::cli::codex::Codex;
use wavecrew_agents::cli::gemini::Gemini;
use wavecrew_agents::cli::opencode::Opencode;
use wavecrew_agents::cli::qwen::Qwen;
use wavecrew_agents::cli::{self, AgentCli};
use wavecrew_agents::transcript::{Folding, Tone, Transcript};

use crate::stream;

fn mark(tone: Tone) -> char {
    match tone {
        Tone::Heading => '#',
        Tone::Message => ' ',
        Tone::Tool => '>',
        Tone::Output => '|',
        Tone::Good => '+',
        Tone::Bad => '!',
        Tone::Aside => '.',
    }
}

fn transcript(cli: &'static dyn AgentCli, log: &str, folding: Folding, reasons: &[(u32, &str)]) -> String {
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

#[test]
fn tools_of_every_agent() {
    for cli in cli::ALL.iter().copied() {
        let text = transcript(cli, &stream(cli, "tools"), Folding::Folded, &[]);
        insta::assert_snapshot!(format!("{}_tools", cli.name()), text);
    }
}

#[test]
fn mcp_tools() {
    for cli in ["codex", "claude", "gemini", "qwen"].map(|name| cli::by_name(name).unwrap()) {
        let text = transcript(cli, &stream(cli, "mcp"), Folding::Folded, &[]);
        insta::assert_snapshot!(format!("{}_mcp", cli.name()), text);
    }
}

#[test]
fn failures() {
    let failures: [(&'static dyn AgentCli, &str); 5] = [
        (&Codex, "e429"),
        (&Claude, "dontask"),
        (&Gemini, "e500"),
        (&Qwen, "e401"),
        (&Opencode, "e400"),
    ];
    for (cli, name) in failures {
        let text = transcript(cli, &stream(cli, name), Folding::Folded, &[]);
        insta::assert_snapshot!(format!("{}_{name}", cli.name()), text);
    }
}

#[test]
fn a_further_turn_has_its_reason() {
    let twice = stream(&Codex, "tools") + &stream(&Codex, "resume");
    let text = transcript(&Codex, &twice, Folding::Folded, &[(2, "`status` is missing")]);
    insta::assert_snapshot!(text);
}

#[test]
fn long_texts_are_folded() {
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
    insta::assert_snapshot!(transcript(&Codex, &log, Folding::Folded, &[]));
    let full = transcript(&Codex, &log, Folding::Full, &[]);
    assert!(full.contains("|   line 20\n") && full.contains(&"x".repeat(1000)) && !full.contains("folded"));
}

#[test]
fn control_characters_are_removed() {
    let message = r#"{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"a\u001b[2J\u001b]0;title\u0007b\rc"}}"#;
    let log = format!("\x1b[31mbanner\x1b[0m\n{message}\n");
    let text = transcript(&Codex, &log, Folding::Full, &[]);
    assert_eq!(text, ". banner\n  ab c");
}

#[test]
fn unknown_events_are_counted() {
    let text = transcript(
        &Codex,
        "{\"type\":\"dance\"}\n{\"type\":\"song\"}\n",
        Folding::Folded,
        &[],
    );
    assert_eq!(text, ". 2 events of kinds that this version does not know");
}
