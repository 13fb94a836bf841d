//! The keys of the live view.

use wavecrew_test_support::sandbox::Sandbox;
use wavecrew_test_support::sandbox::terminal::{ESCAPE, Terminal};

/// A run at a terminal, of one task that waits for the file `go`, one beside it and one behind it.
fn start(sandbox: &Sandbox) -> Terminal {
    sandbox.write(
        "tasks.csv",
        "id,title,description,deps\na,Lay the table,@fake print=40 write=up wait=go,\nb,Light the candles,@fake write=up-b wait=go,\nc,Serve,@fake noop,a\n",
    );
    let agent = wavecrew_test_support::sandbox::test_agent();
    let mut command = sandbox.command(&["run", "tasks.csv", "-y", "--agent", &agent]);
    let terminal = Terminal::start(&mut command);
    sandbox.wait_for_file("up");
    sandbox.wait_for_file("up-b");
    terminal
}

#[test]
fn keys_pause_and_resume_a_run() {
    let sandbox = Sandbox::new();
    let mut terminal = start(&sandbox);
    terminal
        .expect("? for keys")
        .press("?")
        .expect("Keys: l log of a worker")
        .press("p")
        .expect("pause (from the terminal)")
        .expect("Paused · Wave 1/2");
    let status = sandbox.wavecrew("status").ok();
    assert!(status.contains("team generic · paused"), "{status}");
    sandbox.write("go", "");
    // Workers that run may finish, and nothing new starts.
    terminal
        .expect("2/3 done")
        .press("p")
        .expect("resume (from the terminal)");
    terminal.expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed, c completed");
}

#[test]
fn keys_show_the_log_of_a_worker_and_stop_the_run() {
    let sandbox = Sandbox::new();
    let mut terminal = start(&sandbox);
    terminal
        .expect("Lay the table · ")
        .press("l")
        .expect("log of a (l next, Esc close)")
        .press("l")
        .expect("log of b (l next, Esc close)")
        .press(ESCAPE)
        .press("q")
        .expect("Stopping: running workers may finish");
    sandbox.write("go", "");
    terminal.expect("[DONE] a: Lay the table");
    terminal.expect_exit(130);
    assert_eq!(sandbox.statuses(), "a completed, b completed, c pending");
}
