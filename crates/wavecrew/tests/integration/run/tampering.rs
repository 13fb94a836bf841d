//! Workers that nothing confines tamper with their session. The sandbox prevents all of it: see `escape`. Where it is off,
//! the run still ends, follows nothing, overwrites nothing, and can be continued.

use rustix::process::Signal;
use std::fs;
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

const REPORT: &str =
    r#"printf '{"id":"%s","status":"completed","findings":"x"}' "$WAVECREW_TASK" > "$WAVECREW_RESULT_FILE""#;

/// Two tasks, one after the other; the first one tampers.
fn tampering(script: &str) -> Sandbox {
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\ncd \"$WAVECREW_SESSION_DIR\"\nif [ \"$WAVECREW_TASK\" = a ]; then\n{script}\nfi\necho text\n{REPORT}\n"
    );
    let sandbox = Sandbox::new()
        .file("wavecrew.toml", "sandbox = \"off\"\n")
        .file("tasks.csv", "id,title,description,deps\na,A,x,\nb,B,x,a\n")
        .script("agent.sh", &script);
    let victim = sandbox.beside("victim");
    fs::write(&victim, "of the person").unwrap();
    sandbox.env("VICTIM", victim)
}

const RUN: &str = "run tasks.csv -y --agent command:./agent.sh";

#[test]
fn links_in_place_of_files_are_not_followed() {
    for path in [
        "logs/b.1.log",
        "prompts/b.1.1.md",
        ".tasks.part",
        ".tasks.next",
        ".msg/messages.jsonl",
        "discoveries.ndjson",
        "wisdom/learnings.md",
        "tasks.csv",
        "results.csv",
        "context.md",
        "session.json",
        ".run/guardian.json",
    ] {
        let sandbox = tampering(&format!("rm -f {path}; ln -s \"$VICTIM\" {path}"));
        sandbox.wavecrew(RUN).expect_exit(0);
        let victim = fs::read_to_string(sandbox.beside("victim")).unwrap();
        assert_eq!(victim, "of the person", "{path}");
        assert_eq!(sandbox.statuses(), "a completed, b completed", "{path}");
        sandbox.wavecrew("status").expect_exit(0);
        sandbox.wavecrew("list").expect_exit(0);
    }
}

#[test]
fn pipes_and_devices_in_place_of_files_stop_nothing() {
    for path in [
        "discoveries.ndjson",
        "wisdom/learnings.md",
        "tasks.csv",
        ".msg/messages.jsonl",
        "logs/b.1.log",
    ] {
        for plant in ["mkfifo", "ln -s /dev/zero"] {
            let sandbox = tampering(&format!("rm -f {path}; {plant} {path}"));
            sandbox.wavecrew(RUN).expect_exit(0);
            assert_eq!(sandbox.statuses(), "a completed, b completed", "{plant} {path}");
            for words in [
                "status",
                "list",
                "logs b",
                "show --html out.html",
                "run --dry-run --continue",
            ] {
                let session = sandbox.session_id();
                let words = words.replace("--continue", &format!("--continue {session}"));
                let ended = sandbox.wavecrew(&words);
                assert_eq!(
                    ended.code,
                    Some(0),
                    "{words} after {plant} {path}: {}",
                    ended.text()
                );
            }
        }
    }
}

#[test]
fn an_emptied_journal_is_restored_and_nothing_runs_twice() {
    let sandbox = tampering("true");
    let again = sandbox.path("again.sh");
    fs::write(&again, format!("#!/bin/sh\ncat > /dev/null\necho \"$WAVECREW_TASK\" >> ran\n[ \"$WAVECREW_TASK\" = b ] && [ ! -e once ] && touch once && until grep -q completed \"$WAVECREW_SESSION_DIR/tasks.csv\"; do sleep 0.02; done && : > \"$WAVECREW_SESSION_DIR/journal.ndjson\"\n{REPORT}\n")).unwrap();
    let run = "run tasks.csv -y --agent 'command:sh again.sh'";
    let words: Vec<&str> = ["run", "tasks.csv", "-y", "--agent", "command:sh again.sh"].to_vec();
    sandbox
        .wavecrew(&words)
        .expect_exit(0)
        .expect_output("The journal was changed while workers ran that can write it: a, b. It is restored");
    let session = sandbox.session_id();
    sandbox
        .wavecrew(&[
            "run",
            "--continue",
            &session,
            "-y",
            "--agent",
            "command:sh again.sh",
        ])
        .expect_exit(0);
    assert_eq!(sandbox.statuses(), "a completed, b completed", "{run}");
    let ran = fs::read_to_string(sandbox.path("ran")).unwrap();
    assert_eq!(ran.matches('a').count(), 1, "{ran}");
}

#[test]
fn a_removed_lock_lets_no_second_run_in() {
    let sandbox = Sandbox::new().tasks("id\na").agent("a", "write=up wait=go");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    fs::remove_file(sandbox.in_session(".lock")).unwrap();
    sandbox.resume().expect_exit(5).expect_output("in use");
    sandbox.write("go", "");
    run.wait().expect_exit(0);
    assert_eq!(sandbox.ran("a"), 1);
}

#[test]
fn a_changed_agent_in_session_json_does_not_survive_the_run() {
    let sandbox = tampering(
        r#"sed -i 's/"default_agent": "[^"]*"/"default_agent": "command:touch evil"/' session.json"#,
    );
    sandbox.wavecrew(RUN).expect_exit(0);
    assert_eq!(
        sandbox.json("session.json")["default_agent"],
        "command:./agent.sh"
    );
}

#[test]
fn limits_and_signals_have_effect_while_the_guardian_is_stopped() {
    for signal in [Signal::INT, Signal::TERM] {
        let sandbox = Sandbox::new().tasks("id\na").agent("a", "write=up hang");
        let run = sandbox.start();
        sandbox.wait_for_file("up");
        sandbox.signal_guardian(Signal::STOP);
        run.signal(signal);
        run.signal(signal);
        let ended = run.wait();
        assert!([Some(5), Some(130)].contains(&ended.code), "{}", ended.text());
        sandbox.expect_no_processes();
    }
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .agent("a", "write=up hang")
        .flag("--timeout 1");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    sandbox.signal_guardian(Signal::STOP);
    run.wait().expect_exit(5);
    wait_until("everything to end", || sandbox.processes().is_empty());
    let sandbox = Sandbox::new().tasks("id\na").agent("a", "write=up hang");
    let run = sandbox.start();
    sandbox.wait_for_file("up");
    sandbox.signal_guardian(Signal::STOP);
    sandbox.wavecrew("cancel");
    run.wait();
    sandbox.expect_no_processes();
}
