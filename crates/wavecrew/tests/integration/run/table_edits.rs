//! Edits of the session's `tasks.csv`, between runs and while one is running.

use wavecrew_test_support::sandbox::{Sandbox, wait_until};

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
fn a_changed_row_and_its_dependents_run_again() {
    let sandbox = done();
    let script = sandbox.description("a") + " text=better";
    sandbox.edit_cells(&[("a", "description", &script)]);
    sandbox.resume().expect_exit(0).expect_output("a runs again");
    assert_eq!(counts(&sandbox), [2, 2, 1]);
    assert_eq!(sandbox.cell("a", "findings"), "better");
}

#[test]
fn a_status_set_to_pending_runs_the_row_again() {
    let sandbox = done();
    sandbox.edit_cells(&[("c", "status", "pending")]);
    sandbox.resume().expect_exit(0);
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
    sandbox.resume().expect_exit(1);
    assert_eq!(
        sandbox.statuses(),
        "a completed, b completed, c skipped, d skipped"
    );
    assert_eq!((sandbox.ran("a"), sandbox.ran("b"), sandbox.ran("d")), (1, 1, 0));
}

#[test]
fn a_status_set_to_failed_is_refused_with_a_message() {
    let sandbox = done();
    sandbox.edit_cells(&[("c", "status", "failed")]);
    sandbox
        .resume()
        .expect_exit(0)
        .expect_output("c: a status of `failed` cannot be set by hand; use `skipped`");
    assert_eq!(sandbox.statuses(), "a completed, b completed, c completed");
}

/// The row of a task `new`.
fn new_row(header: &[String], description: &str, deps: &str) -> Vec<String> {
    let cell = |column: &String| match column.as_str() {
        "id" => "new",
        "description" => description,
        "deps" => deps,
        _ => "",
    };
    header.iter().map(|column| cell(column).to_owned()).collect()
}

#[test]
fn rows_are_added_and_removed_between_runs() {
    let sandbox = done();
    let new = sandbox.description("new");
    sandbox.edit_rows(|header, rows| {
        rows.retain(|row| row[0] != "c");
        rows.push(new_row(header, &new, "b"));
    });
    sandbox.resume().expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed, new completed");
    assert_eq!((counts(&sandbox), sandbox.ran("new")), ([1, 1, 1], 1));
}

#[test]
fn a_bad_edit_between_runs_is_set_aside_with_its_line() {
    let sandbox = done();
    sandbox.edit_cells(&[("b", "deps", "nowhere")]);
    let edited = sandbox.read("tasks.csv");
    sandbox
        .resume()
        .expect_exit(0)
        .expect_output("tasks.csv:3: Unknown dependency: nowhere");
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
fn a_row_added_during_a_run_is_run() {
    let sandbox = under_way();
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    let new = sandbox.description("new");
    sandbox.edit_rows(|header, rows| rows.push(new_row(header, &new, "a")));
    wait_until("the edit in the journal", || {
        sandbox.read("journal.ndjson").contains("\"e\":\"edited\"")
    });
    sandbox.write("go", "");
    run.wait().expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed, new completed");
    assert_eq!(sandbox.ran("new"), 1);
}

#[test]
fn a_pending_row_changed_during_a_run_runs_as_changed() {
    let sandbox = under_way();
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    let script = sandbox.description("b") + " text=changed";
    sandbox.edit_cells(&[("b", "description", &script)]);
    wait_until("the edit in the journal", || {
        sandbox.read("journal.ndjson").contains("\"e\":\"edited\"")
    });
    sandbox.write("go", "");
    run.wait().expect_exit(0);
    assert_eq!(sandbox.cell("b", "findings"), "changed");
}

#[test]
fn a_bad_edit_during_a_run_is_set_aside_and_the_run_continues() {
    let sandbox = under_way();
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    sandbox.edit(|table| table + "\"unfinished");
    let edited = sandbox.read("tasks.csv");
    wait_until("the edit to be set aside", || {
        sandbox.in_session("tasks.rejected-1.csv").exists()
    });
    assert_eq!(sandbox.read("tasks.rejected-1.csv"), edited);
    sandbox.write("go", "");
    run.wait().expect_exit(0).expect_output("set aside");
    assert_eq!(sandbox.statuses(), "a completed, b completed");
}

#[test]
fn an_edit_at_the_last_moment_is_applied_by_the_next_run() {
    // The run ends before the edit has settled: it must not be lost: it is in the table, or was applied.
    let sandbox = under_way();
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    let script = sandbox.description("b") + " text=late";
    sandbox.edit_cells(&[("b", "description", &script)]);
    sandbox.write("go", "");
    run.wait().expect_exit(0);
    sandbox.resume().expect_exit(0);
    assert_eq!(sandbox.cell("b", "findings"), "late");
}

/// What an editor has loaded before `a` was finished.
fn copy_from_before(sandbox: &Sandbox) -> String {
    let copy = std::fs::read_to_string(sandbox.in_session("tasks.csv")).unwrap();
    let changed = copy.replace(
        &sandbox.description("b"),
        &(sandbox.description("b") + " text=late"),
    );
    assert_ne!(copy, changed);
    changed
}

#[test]
fn a_copy_saved_as_the_run_ends_does_not_run_completed_tasks_again() {
    let sandbox = under_way().agent("b", "text=early");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    let copy = copy_from_before(&sandbox);
    sandbox.write("go", "");
    wait_until("the last event", || {
        sandbox.read("journal.ndjson").contains("run_ended")
    });
    sandbox.edit(|_| copy);
    run.wait().expect_exit(0);
    sandbox.resume().expect_exit(0);
    assert_eq!(
        (sandbox.ran("a"), sandbox.ran("b")),
        (1, 2),
        "only b has a new input"
    );
    assert_eq!(sandbox.cell("b", "findings"), "late");
    sandbox.resume().expect_exit(0);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (1, 2));
}

#[test]
fn a_copy_saved_before_a_kill_does_not_run_completed_tasks_again() {
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,a\nc,b")
        .agent("a", "write=up wait=go")
        .agent("b", "write=second wait=more");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    let copy = copy_from_before(&sandbox);
    sandbox.write("go", "");
    sandbox.wait_for_file("second");
    // Stopped, so that the run does not notice the edit before it is killed.
    run.signal(rustix::process::Signal::STOP);
    sandbox.edit(|_| copy);
    run.kill();
    sandbox.write("more", "");
    sandbox.resume().expect_exit(0);
    assert_eq!(sandbox.ran("a"), 1, "completed work is not done again");
    assert_eq!(sandbox.cell("b", "findings"), "late");
    assert_eq!(sandbox.statuses(), "a completed, b completed, c completed");
}
