//! Workers that can write the session's own files: with the sandbox off, and where there are no mounts. What they change does
//! not count.

use std::fs;
use wavecrew_test_support::sandbox::Sandbox;

/// The worker of `a` writes into the session; `b` comes after it and fails unless it ran before.
fn prepared(settings: &str, script: &str) -> Sandbox {
    let script = format!(
        "#!/bin/sh\ncd \"$WAVECREW_SESSION_DIR\"\nif [ $WAVECREW_TASK = a ]; then\n{script}\nfi\n{REPORT}\n"
    );
    Sandbox::new()
        .script("agent.sh", &script)
        .file("wavecrew.toml", settings)
        .tasks("id,deps\na,\nb,a\nc,b")
}

const AGENT: &str = "--agent command:./agent.sh";
const REPORT: &str =
    r#"printf '{"id":"%s","status":"completed","findings":"x"}' "$WAVECREW_TASK" > "$WAVECREW_RESULT_FILE""#;

const OFF: &str = "sandbox = \"off\"\n";
const EDIT: &str = "sed -i 's/pending/completed/' tasks.csv";

#[test]
fn a_workers_table_edit_does_not_count() {
    let old_kernel = ("", [("WAVECREW_SANDBOX_SUPPORT", "mounts=0")]);
    for (settings, variables) in [(OFF, [("UNUSED", "")]), old_kernel] {
        let mut sandbox = prepared(settings, EDIT);
        for (name, value) in variables {
            sandbox = sandbox.env(name, value);
        }
        let outcome = sandbox.run_with(AGENT);
        outcome
            .expect_exit(0)
            .expect_output("edit of tasks.csv was set aside")
            .expect_output("workers that can write the table were running (a");
        assert_eq!(sandbox.statuses(), "a completed, b completed, c completed");
        let journal = sandbox.read("journal.ndjson");
        assert!(!journal.contains("marked_done"), "{journal}");
        assert!(sandbox.session().join("tasks.rejected-1.csv").exists());
    }
}

#[test]
fn a_journal_that_a_worker_damages_is_restored() {
    for damage in [
        ": > journal.ndjson",
        "echo forged >> journal.ndjson",
        "printf 'xxxxxxxx' | dd of=journal.ndjson conv=notrunc status=none",
    ] {
        let sandbox = prepared(OFF, damage);
        sandbox
            .run_with(AGENT)
            .expect_exit(0)
            .expect_output("The journal was changed while workers ran that can write it: a");
        sandbox.wavecrew("status").expect_exit(0);
        sandbox.resume_with(AGENT).expect_exit(0);
        assert_eq!(sandbox.statuses(), "a completed, b completed, c completed");
    }
}

#[test]
fn a_session_whose_journal_a_worker_removes_can_be_continued() {
    let sandbox = prepared(OFF, "[ $WAVECREW_ATTEMPT = 1 ] && rm journal.ndjson");
    sandbox
        .run_with(AGENT)
        .expect_output("The journal was changed while workers ran that can write it: a");
    let script = fs::read_to_string(sandbox.path("agent.sh")).unwrap();
    fs::write(
        sandbox.path("agent.sh"),
        script.replace("rm journal.ndjson", "true"),
    )
    .unwrap();
    sandbox.resume_with(AGENT).expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed, c completed");
}
