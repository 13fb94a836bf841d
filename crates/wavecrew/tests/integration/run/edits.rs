//! A person's edits of `tasks.csv`, between runs and while one goes on.

use crate::run::sandbox::{Sandbox, wait_until};
use std::fs;

/// `a` and `c` done, `b` behind `a`; all completed.
fn done() -> Sandbox {
    let sandbox = Sandbox::new().tasks("id,title,deps,context_from\na,A,,\nb,B,a,a\nc,C,,");
    sandbox.run().expect_exit(0);
    sandbox
}

fn counts(sandbox: &Sandbox) -> [usize; 3] {
    ["a", "b", "c"].map(|task| sandbox.ran(task))
}

#[test]
fn a_changed_row_runs_again_with_what_builds_on_it() {
    let sandbox = done();
    let script = sandbox.description("a") + " text=better";
    sandbox.edit_cells(&[("a", "description", &script)]);
    sandbox.go_on().expect_exit(0).expect_says("a runs again");
    assert_eq!(counts(&sandbox), [2, 2, 1]);
    assert_eq!(sandbox.cell("a", "findings"), "better");
}

#[test]
fn a_status_set_to_pending_runs_the_row_again() {
    let sandbox = done();
    sandbox.edit_cells(&[("c", "status", "pending")]);
    sandbox.go_on().expect_exit(0);
    assert_eq!(counts(&sandbox), [1, 1, 2]);
}

#[test]
fn a_status_set_by_hand_skips_or_completes_a_row() {
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,a\nc,\nd,c")
        .agent("a", "exit=1")
        .agent("c", "exit=1");
    sandbox.run().expect_exit(1);
    sandbox.edit_cells(&[
        ("a", "status", "completed"),
        ("b", "status", "pending"),
        ("c", "status", "skipped"),
    ]);
    sandbox.go_on().expect_exit(1);
    assert_eq!(
        sandbox.statuses(),
        "a completed, b completed, c skipped, d skipped"
    );
    assert_eq!((sandbox.ran("a"), sandbox.ran("b"), sandbox.ran("d")), (1, 1, 0));
}

#[test]
fn rows_are_added_and_removed_between_runs() {
    let sandbox = done();
    let new = sandbox.description("new");
    sandbox.edit(|table| {
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let header = reader.headers().expect("a header").clone();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&header).expect("in memory");
        for row in reader.records().map(|row| row.expect("a row")) {
            if &row[0] != "c" {
                writer.write_record(&row).expect("in memory");
            }
        }
        let cell = |column: &str| match column {
            "id" => "new".to_owned(),
            "description" => new.clone(),
            "deps" => "b".to_owned(),
            _ => String::new(),
        };
        writer.write_record(header.iter().map(cell)).expect("in memory");
        String::from_utf8(writer.into_inner().expect("in memory")).expect("text")
    });
    sandbox.go_on().expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed, new completed");
    assert_eq!((counts(&sandbox), sandbox.ran("new")), ([1, 1, 1], 1));
}

#[test]
fn a_bad_edit_between_runs_is_set_aside_with_its_line() {
    let sandbox = done();
    sandbox.edit_cells(&[("b", "deps", "nowhere")]);
    let edited = sandbox.read("tasks.csv");
    sandbox
        .go_on()
        .expect_exit(0)
        .expect_says("tasks.csv:3: Unknown dependency: nowhere");
    assert_eq!(
        sandbox.read("tasks.rejected-1.csv"),
        edited,
        "the edit is kept as it was"
    );
    assert_eq!(sandbox.cell("b", "deps"), "a");
    assert_eq!(counts(&sandbox), [1, 1, 1]);
}

/// A run that waits for the file `go` in its first task; `b` comes after it.
fn under_way() -> Sandbox {
    Sandbox::new()
        .tasks("id,deps\na,\nb,a")
        .agent("a", "write=up wait=go")
}

#[test]
fn a_row_added_while_the_run_goes_on_is_run() {
    let sandbox = under_way();
    let going = sandbox.start();
    wait_until("the worker", || sandbox.path("up").exists());
    let new = sandbox.description("new");
    sandbox.edit(|table| {
        let header: Vec<String> = table
            .lines()
            .next()
            .expect("a header")
            .split(',')
            .map(|c| c.trim_matches('"').to_owned())
            .collect();
        let cell = |column: &String| match column.as_str() {
            "id" => "new".to_owned(),
            "description" => format!("\"{new}\""),
            "deps" => "a".to_owned(),
            _ => String::new(),
        };
        let row: Vec<String> = header.iter().map(cell).collect();
        format!("{table}{}\n", row.join(","))
    });
    wait_until("the edit in the journal", || {
        sandbox.read("journal.ndjson").contains("\"e\":\"edited\"")
    });
    fs::write(sandbox.path("go"), "").expect("the sign is written");
    going.wait().expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed, new completed");
    assert_eq!(sandbox.ran("new"), 1);
}

#[test]
fn a_pending_row_changed_while_the_run_goes_on_runs_as_changed() {
    let sandbox = under_way();
    let going = sandbox.start();
    wait_until("the worker", || sandbox.path("up").exists());
    let script = sandbox.description("b") + " text=changed";
    sandbox.edit_cells(&[("b", "description", &script)]);
    wait_until("the edit in the journal", || {
        sandbox.read("journal.ndjson").contains("\"e\":\"edited\"")
    });
    fs::write(sandbox.path("go"), "").expect("the sign is written");
    going.wait().expect_exit(0);
    assert_eq!(sandbox.cell("b", "findings"), "changed");
}

#[test]
fn a_bad_edit_while_the_run_goes_on_is_set_aside_and_the_run_goes_on() {
    let sandbox = under_way();
    let going = sandbox.start();
    wait_until("the worker", || sandbox.path("up").exists());
    sandbox.edit(|table| table + "\"unfinished");
    let edited = sandbox.read("tasks.csv");
    wait_until("the edit to be set aside", || {
        sandbox.file("tasks.rejected-1.csv").exists()
    });
    assert_eq!(sandbox.read("tasks.rejected-1.csv"), edited);
    fs::write(sandbox.path("go"), "").expect("the sign is written");
    going.wait().expect_exit(0).expect_says("set aside");
    assert_eq!(sandbox.statuses(), "a completed, b completed");
}

#[test]
fn an_edit_in_the_last_moment_is_followed_by_the_next_run() {
    // The run ends before the edit has settled: it must still be there, in the table or taken over.
    let sandbox = under_way();
    let going = sandbox.start();
    wait_until("the worker", || sandbox.path("up").exists());
    let script = sandbox.description("b") + " text=late";
    sandbox.edit_cells(&[("b", "description", &script)]);
    fs::write(sandbox.path("go"), "").expect("the sign is written");
    going.wait().expect_exit(0);
    sandbox.go_on().expect_exit(0);
    assert_eq!(sandbox.cell("b", "findings"), "late");
}
