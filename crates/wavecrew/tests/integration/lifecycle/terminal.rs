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
        .expect("Stop here")
        .press(UP)
        .press(ENTER);
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
