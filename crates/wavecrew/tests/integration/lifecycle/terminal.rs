//! Team lifecycle at a terminal.

use crate::lifecycle::team_sandbox::TeamSandbox;
use wavecrew_test_support::sandbox::terminal::{DOWN, ENTER, Terminal, UP};

fn begin(sandbox: &TeamSandbox, flags: &[&str]) -> Terminal {
    let words = [
        "lifecycle",
        "--pipeline",
        "spec-only",
        "--agent",
        sandbox.agent(),
        "Tag notes",
    ];
    let mut terminal = Terminal::start(&mut sandbox.command(&[&words, flags].concat()));
    terminal.expect("Run this?").expect("Cancel").press(ENTER);
    terminal
}

#[test]
fn work_is_revised_and_its_documents_are_exported() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.score("CHECKPOINT-001.1", r#""score":0.2"#);
    let mut terminal = begin(&sandbox, &[]);
    // The cautious answer is the one that Enter gives; the one above it is the revision.
    terminal
        .expect("CHECKPOINT-001 blocked with 0.2")
        .expect("Read .workflow/.csv-wave/")
        .expect("Stop here")
        .press(UP)
        .press(ENTER);
    terminal
        .expect("What should change?")
        .press("Name the readers.\r");
    terminal
        .expect("What should happen to the session?")
        .expect("Export")
        .press(DOWN)
        .press(ENTER);
    terminal.expect("Folder").press("out\r");
    terminal.expect_exit(0);
    assert_eq!(
        sandbox.decisions()[..2],
        ["CHECKPOINT-001 revise", "CHECKPOINT-001 pass"]
    );
    assert!(sandbox.path("out/spec/epics.md").exists());
    sandbox.expect_prompt("DRAFT-002.2.1", &["Name the readers."]);
    let journal = sandbox.read("journal.ndjson");
    assert!(
        journal.contains(r#""by":"person","remark":"Name the readers.""#),
        "{journal}"
    );
    let report = sandbox.read("context.md");
    assert!(report.contains("| revise | a person |"), "{report}");
}

/// The first edit breaks a dependency; the editor opens again with the problem above the row, and the second edit fixes it.
#[test]
fn a_bad_edit_of_the_table_opens_the_editor_again() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.write_script(
        "../editor.sh",
        r#"#!/bin/sh
if grep -q '^#wavecrew: Unknown dependency: RESEARCH-1' "$1"; then
  cp "$1" "$0.seen"
  sed -i 's/RESEARCH-1\b/RESEARCH-001/' "$1"
else
  sed -i -E '/^"?DRAFT-001/s/,("?)RESEARCH-001("?),/,\1RESEARCH-1\2,/' "$1"
fi
"#,
    );
    let editor = sandbox.beside("editor.sh");
    let words = [
        "lifecycle",
        "--pipeline",
        "spec-only",
        "--agent",
        sandbox.agent(),
        "Tag notes",
    ];
    let mut command = sandbox.command(&words);
    command.env("VISUAL", &editor);
    let mut terminal = Terminal::start(&mut command);
    terminal
        .expect("Run this?")
        .expect("Cancel")
        .press(DOWN)
        .press(DOWN)
        .press(ENTER);
    terminal
        .expect("Run this?")
        .expect("Cancel")
        .press(UP)
        .press(ENTER);
    terminal.expect_exit(3);
    let seen = std::fs::read_to_string(sandbox.beside("editor.sh.seen")).expect("the editor opened twice");
    let comments: Vec<&str> = seen.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(comments.len(), 1, "only the cause is named: {comments:?}");
}

#[test]
fn a_person_stops_the_run_by_pressing_enter() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.score("CHECKPOINT-001", r#""score":0.2"#);
    begin(&sandbox, &[])
        .expect("CHECKPOINT-001 blocked with 0.2")
        .expect("Stop here")
        .press(ENTER)
        .expect_exit(3);
    assert_eq!(sandbox.decisions(), ["CHECKPOINT-001 stop"]);
}

#[test]
fn a_session_is_archived_or_kept() {
    for (keys, state) in [("\x1b[A\r", "archived"), (ENTER, "completed")] {
        let sandbox = TeamSandbox::lifecycle();
        let mut terminal = begin(&sandbox, &["--no-supervision"]);
        terminal
            .expect("What should happen to the session?")
            .expect("Export")
            .press(keys);
        terminal.expect_exit(0);
        assert_eq!(sandbox.json("session.json")["state"], state);
    }
}
