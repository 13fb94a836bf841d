//! The ways a report comes in, and what is done with bad ones.

use wavecrew_test_support::sandbox::Sandbox;

#[test]
fn reports_arrive_by_every_channel() {
    for word in ["report", "report-file", "report-command"] {
        let sandbox = Sandbox::new()
            .tasks("id\na")
            .agent("a", &format!("text=by-{word} {word}"));
        sandbox.run().expect_exit(0);
        assert_eq!(sandbox.cell("a", "findings"), format!("by-{word}"));
    }
}

#[test]
fn a_bad_report_is_sent_back_in_the_same_conversation() {
    let sandbox = Sandbox::new()
        .tasks("id,exec_mode\na,interactive")
        .agent("a", "turn=1 invalid turn=2 text=fixed report");
    sandbox.run().expect_exit(0);
    assert_eq!(sandbox.cell("a", "findings"), "fixed");
    assert_eq!(sandbox.ran("a"), 1, "one attempt");
    sandbox.expect_read("prompts/a.1.2.md", "Your report was not accepted: at /");
    sandbox.expect_read("interactive/a-result.json", "\"fixed\"");
}

#[test]
fn after_two_corrections_a_bad_report_is_a_failure() {
    let sandbox = Sandbox::new().tasks("id\na").agent("a", "turn=1 invalid");
    sandbox.run().expect_exit(1);
    let error = sandbox.cell("a", "error");
    assert!(
        error.starts_with("The report was not valid after 2 corrections: at /"),
        "{error}"
    );
    assert!(
        sandbox.in_session("prompts/a.1.3.md").exists() && !sandbox.in_session("prompts/a.1.4.md").exists()
    );
}

#[test]
fn no_report_is_a_failure() {
    let sandbox = Sandbox::new().tasks("id\na").agent("a", "silent");
    sandbox.run().expect_exit(1);
    assert_eq!(sandbox.cell("a", "error"), "The worker ended without a report");
}

#[test]
fn a_report_for_another_task_does_not_count_for_either() {
    let sandbox = Sandbox::new()
        .tasks("id\na\nb")
        .agent("a", "turn=1 as=b text=stolen")
        .agent("b", "fail=mine");
    sandbox.run().expect_exit(1);
    assert_eq!(sandbox.statuses(), "a failed, b failed");
    sandbox.expect_cell("a", "error", "the report is for task `b`");
    assert_eq!(sandbox.cell("b", "error"), "mine");
}

#[test]
fn edits_after_a_report_are_flagged() {
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .agent("a", "write=early.txt report-command tick write=late.txt silent");
    sandbox
        .run()
        .expect_exit(0)
        .expect_output("a changed late.txt after its report")
        .expect_output("Changed after their report\n  a: late.txt");
    sandbox.expect_read(
        "context.md",
        "  - Warning: after its report it changed late.txt\n",
    );
    sandbox.expect_read("journal.ndjson", r#""e":"edited_after_report""#);
    sandbox.expect_read("journal.ndjson", r#""files":["late.txt"]"#);
}

#[test]
fn edits_before_a_report_are_not_flagged() {
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .agent("a", "write=early.txt report-command silent");
    sandbox.run().expect_exit(0);
    assert!(!sandbox.read("context.md").contains("Warning"));
}

#[test]
fn a_report_with_a_wrong_token_is_refused() {
    let sandbox = Sandbox::new().tasks("id\na").agent(
        "a",
        "token=0123456789abcdef0123456789abcdef report-command silent",
    );
    sandbox.run().expect_exit(1);
    assert_eq!(
        sandbox.cell("a", "error").split(':').next(),
        Some("The worker ended without a report")
    );
}

#[test]
fn of_two_reports_the_first_counts() {
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .agent("a", "text=first report-command text=second report-command silent");
    sandbox.run().expect_exit(0);
    assert_eq!(sandbox.cell("a", "findings"), "first");
}

#[test]
fn a_report_after_the_timeout_changes_nothing() {
    let sandbox = Sandbox::new()
        .tasks("id,deps\na,\nb,a")
        .agent("a", "ignore-term daemon hang")
        .flag("--timeout 1");
    sandbox.run().expect_exit(1);
    assert_eq!(sandbox.statuses(), "a failed, b skipped");
    let error = sandbox.cell("a", "error");
    assert!(error.starts_with("Timed out"), "{error}");
    sandbox.expect_no_processes();
    // The attempt's token is known from its environment; the attempt is closed.
    let mut late = sandbox.command(&["report", r#"{"id":"a","status":"completed"}"#]);
    late.env("WAVECREW_SESSION_DIR", sandbox.session())
        .env("WAVECREW_TASK", "a")
        .env("WAVECREW_ATTEMPT", "1")
        .env("WAVECREW_TOKEN", "0123456789abcdef0123456789abcdef");
    let late = sandbox.spawn(&mut late).wait();
    assert_ne!(late.code, Some(0), "a closed attempt accepts no report");
    assert_eq!(sandbox.status("a"), "failed");
}

#[test]
fn a_report_of_ten_megabytes_is_refused_with_its_size() {
    for word in ["report", "report-file"] {
        let sandbox = Sandbox::new()
            .tasks("id\na")
            .agent("a", &format!("turn=1 findings=10000000 {word}"));
        sandbox.run().expect_exit(1);
        let error = sandbox.cell("a", "error");
        assert!(error.len() < 1000, "the error is no copy of the report");
        if word == "report-file" {
            assert!(error.contains("bytes"), "{error}");
        }
    }
}

#[test]
fn long_findings_are_cut_in_the_table_and_kept_beside_the_log() {
    let sandbox = Sandbox::new().tasks("id\na").agent("a", "findings=5000");
    sandbox.run().expect_exit(0);
    let findings = sandbox.cell("a", "findings");
    assert_eq!(findings.chars().count(), 500);
    assert!(findings.ends_with('…'));
    assert_eq!(sandbox.read("logs/a.findings.txt"), "f".repeat(5000));
}
