//! Session folders that are in use, unwritable, half-written, damaged, too new, or elsewhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

/// A session whose second task failed to run: `a` is done, `b` is not.
fn half_done() -> Sandbox {
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,a")
        .agent("b", "write=b-up attempt=1 wait=go attempt=2 report");
    let run = sandbox.start();
    sandbox.wait_for_file("b-up");
    run.kill();
    sandbox
}

#[test]
fn a_session_in_use_says_who_uses_it() {
    let sandbox = Sandbox::new().tasks("id\na").agent("a", "write=up wait=go");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    let pid = run.pid().as_raw_nonzero();
    sandbox
        .resume()
        .expect_exit(5)
        .expect_output(&format!("(process {pid} on "));
    sandbox.write("go", "");
    run.wait().expect_exit(0);
}

#[test]
fn a_read_only_session_is_refused_before_anything_runs() {
    let sandbox = half_done();
    let session = sandbox.session();
    fs::set_permissions(&session, fs::Permissions::from_mode(0o555)).expect("ours to change");
    // Permissions do not stop everybody.
    let stopped = fs::write(session.join("probe"), "").is_err();
    let ended = sandbox.resume();
    fs::set_permissions(&session, fs::Permissions::from_mode(0o755)).expect("ours to change");
    if stopped {
        ended.expect_exit(5).expect_output("permission is missing");
        assert_eq!(sandbox.ran("b"), 1);
        sandbox.resume().expect_exit(0);
    } else {
        ended.expect_exit(0);
    }
    assert_eq!(sandbox.statuses(), "a completed, b completed");
}

#[test]
fn without_a_journal_the_table_is_the_state() {
    let sandbox = half_done();
    // The table is refreshed in the background: wait until it shows what happened.
    sandbox.edit_cells(&[("a", "status", "completed"), ("a", "findings", "by hand")]);
    fs::remove_file(sandbox.in_session("journal.ndjson")).expect("a journal");
    fs::write(
        sandbox.in_session(".run/b.1.report"),
        r#"{"id":"b","status":"failed"}"#,
    )
    .expect("an old report");
    // Attempts are counted anew.
    sandbox.write("go", "");
    sandbox.resume().expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed");
    assert_eq!(
        sandbox.ran("a"),
        1,
        "what the table calls completed is not run again"
    );
}

#[test]
fn a_folder_without_session_json_is_no_session() {
    let sandbox = half_done();
    fs::remove_file(sandbox.in_session("session.json")).expect("a session.json");
    sandbox.resume().expect_exit(5).expect_output("session.json");
    assert!(
        sandbox.in_session("journal.ndjson").exists(),
        "nothing was thrown away"
    );
}

#[test]
fn a_torn_end_of_the_journal_is_cut_and_the_rest_counts() {
    let sandbox = half_done();
    let mut journal = sandbox.read("journal.ndjson");
    journal.push_str("01234567 {\"e\":\"fini");
    fs::write(sandbox.in_session("journal.ndjson"), journal).expect("ours to damage");
    sandbox.resume().expect_exit(0);
    assert_eq!(sandbox.ran("a"), 1);
}

#[test]
fn damage_in_the_middle_is_refused_with_its_line() {
    let sandbox = half_done();
    let journal = sandbox.read("journal.ndjson");
    let damaged = journal.replacen("\"e\":\"attempt_started\"", "\"e\":\"attempt_startle\"", 1);
    fs::write(sandbox.in_session("journal.ndjson"), &damaged).expect("ours to damage");
    let line = 1 + journal
        .lines()
        .position(|l| l.contains("attempt_started"))
        .expect("an attempt");
    sandbox
        .resume()
        .expect_exit(5)
        .expect_output(&format!("is damaged at line {line}: its checksum does not match"));
    assert_eq!(sandbox.read("journal.ndjson"), damaged, "nothing was cut");
    assert_eq!(sandbox.ran("b"), 1);
}

#[test]
fn a_newer_format_is_left_alone() {
    let sandbox = half_done();
    let info = sandbox.read("session.json");
    let newer = info.replacen("\"format\": 1", "\"format\": 999", 1);
    assert_ne!(info, newer);
    fs::write(sandbox.in_session("session.json"), newer).expect("ours to change");
    sandbox.resume().expect_exit(5).expect_output("has format 999");
    assert_eq!(sandbox.ran("b"), 1);
}

#[test]
fn a_session_that_leads_out_of_the_project_is_refused() {
    let sandbox = half_done();
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let away = elsewhere.path().join("session");
    fs::rename(sandbox.session(), &away)
        .or_else(|_| copy(&sandbox.session(), &away).and_then(|()| fs::remove_dir_all(sandbox.session())))
        .expect("the session is moved");
    symlink(&away, sandbox.path(".workflow/.csv-wave/run-tasks-1")).expect("a link");
    sandbox
        .resume()
        .expect_exit(2)
        .expect_output("leads out of the project");
    assert_eq!(sandbox.ran("b"), 1);
}

/// For temporary folders on different file systems.
fn copy(from: &std::path::Path, to: &std::path::Path) -> std::io::Result<()> {
    let status = std::process::Command::new("cp")
        .arg("-r")
        .args([from, to])
        .status()?;
    status
        .success()
        .then_some(())
        .ok_or_else(|| std::io::Error::other("cp failed"))
}

#[test]
fn a_run_ends_when_its_folder_is_moved_and_resumes_when_it_is_back() {
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,a")
        .agent("a", "write=up wait=go");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    let (folder, away) = (sandbox.session(), sandbox.path("away"));
    fs::rename(&folder, &away).expect("the folder is moved");
    run.wait()
        .expect_exit(5)
        .expect_output("was deleted or moved during its run")
        .expect_output("if it was moved, move it back");
    sandbox.expect_no_processes();
    assert!(!folder.exists(), "nothing may be made in its place");
    fs::rename(&away, &folder).expect("the folder is moved back");
    sandbox.write("go", "");
    sandbox.resume().expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed");
}

/// Writes unfinished files again and again, and does not listen when it is asked to end.
const WRITER: &str = r#"trap '' TERM
touch "up-$WAVECREW_ATTEMPT"
if [ "$WAVECREW_ATTEMPT" = 1 ]; then
  while :; do : > "$WAVECREW_SESSION_DIR/.run/.tmp-late"; done
fi
wavecrew report '{"id":"a","status":"completed"}'"#;

#[test]
fn unfinished_files_of_workers_that_outlive_the_coordinator_are_removed_by_the_next_run() {
    let sandbox = Sandbox::new()
        .with_open_folder()
        .tasks("id\na")
        .file("agent.sh", WRITER);
    let flags = ["--agent", "command:sh agent.sh"];
    let run = sandbox.start_with(&flags);
    sandbox.wait_for_file("up-1");
    run.kill();
    sandbox.resume_with(&flags).expect_exit(0);
    assert!(sandbox.path("up-2").exists());
    assert!(!sandbox.in_session(".run/.tmp-late").exists());
}

#[test]
fn unfinished_files_of_an_ended_worker_are_removed_at_the_end_of_the_run() {
    let sandbox = Sandbox::new()
        .with_open_folder()
        .tasks("id\na")
        .file("agent.sh", WRITER);
    sandbox
        .run_with(&["--agent", "command:sh agent.sh", "--timeout", "1"])
        .expect_exit(1);
    assert!(!sandbox.in_session(".run/.tmp-late").exists());
}

#[test]
fn folders_that_can_be_made_again_do_not_stop_a_continuation() {
    for folder in ["prompts", ".run", "logs", ".msg", "wisdom", "interactive"] {
        let sandbox = half_done();
        wait_until("the workers to end", || sandbox.processes().is_empty());
        fs::remove_dir_all(sandbox.in_session(folder)).unwrap();
        sandbox.write("go", "");
        sandbox.resume().expect_exit(0);
        assert_eq!(sandbox.statuses(), "a completed, b completed", "without {folder}");
        assert_eq!(sandbox.ran("a"), 1, "without {folder}");
    }
}

#[test]
fn a_cancelled_session_is_continued_without_its_name() {
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,a")
        .agent("b", "write=b-up wait=go");
    let run = sandbox.start();
    sandbox.wait_for_file("b-up");
    sandbox.wavecrew("cancel").expect_exit(0);
    run.wait();
    assert_eq!(sandbox.json("session.json")["state"], "cancelled");
    sandbox.write("go", "");
    sandbox.wavecrew("run --continue -y").expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed");
    assert_eq!(sandbox.ran("a"), 1);
}

#[test]
fn the_next_run_sweeps_what_a_killed_one_left_in_its_session_and_in_the_temporary_folder() {
    let sandbox = Sandbox::new();
    let temporary = sandbox.beside("temporary");
    fs::create_dir(&temporary).unwrap();
    let sandbox = sandbox
        .env("TMPDIR", &temporary)
        .tasks("id\na")
        .agent("a", "write=up attempt=1 hang attempt=2 report");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    let killed = sandbox.session();
    fs::write(killed.join(".tmp-left"), "x").unwrap();
    fs::write(killed.join("logs/.tmp-left"), "x").unwrap();
    run.kill();
    wait_until("the workers to end", || sandbox.processes().is_empty());
    assert_ne!(
        fs::read_dir(&temporary).unwrap().count(),
        0,
        "the workers had a folder"
    );
    sandbox.write("other.csv", "id,description\nx,@fake report\n");
    let agent = wavecrew_test_support::sandbox::test_agent();
    sandbox
        .wavecrew(&["run", "other.csv", "-y", "--agent", &agent])
        .expect_exit(0);
    assert!(!killed.join(".tmp-left").exists() && !killed.join("logs/.tmp-left").exists());
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left");
}
