//! `--record` and `--agent replay:FILE` through the program itself: what was recorded comes back, and is called a replay.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use wavecrew_test_support::sandbox::{Sandbox, Words};

const SECRET: &str = "for-nobodys-eyes-4711";

const AGENT: &str = r#"#!/bin/sh
echo "working on $WAVECREW_TASK in $PWD with $PROBE_API_KEY"
echo "a word about $WAVECREW_TASK" >&2
mkdir -p out
echo "made for $WAVECREW_SESSION_DIR with $PROBE_API_KEY" > "out/$WAVECREW_TASK.txt"
case $WAVECREW_TASK in
  channel)
    wavecrew discover note "{\"subject\": \"x\", \"key\": \"$PROBE_API_KEY\"}"
    wavecrew wisdom learnings "tests are slow, $PROBE_API_KEY"
    wavecrew msg --type progress --summary "half way, $PROBE_API_KEY"
    wavecrew report '{"id": "channel", "status": "completed", "findings": "by command"}' ;;
  output) rm old.txt; printf '#!/bin/sh\n' > run.sh; chmod +x run.sh
    echo '{"id": "output", "status": "completed", "findings": "by output"}' ;;
  file) echo '{"id": "file", "status": "completed", "findings": "by file"}' > "$WAVECREW_RESULT_FILE" ;;
  signal) kill -9 $$ ;;
  code) exit 3 ;;
  waits) echo attempt "$WAVECREW_ATTEMPT" >> waited.txt
    if [ "$WAVECREW_ATTEMPT" = 1 ]; then
      echo '{"output": 40, "stop": "rate_limited", "retry_after": 0.01}' > "$WAVECREW_USAGE_FILE"; exit 1
    else echo '{"output": 5}' > "$WAVECREW_USAGE_FILE"
      echo '{"id": "waits", "status": "completed", "findings": "served"}'; fi ;;
  slow) sleep 1000 ;;
  nudged) if [ "$WAVECREW_TURN" = 1 ]; then sleep 1000
    else echo '{"id": "nudged", "status": "completed", "findings": "in time"}'; fi ;;
  twice) if [ "$WAVECREW_TURN" = 1 ]; then echo '{"id": "twice", "status": "what?"}'
    else echo '{"id": "twice", "status": "completed", "findings": "at the second try"}'; fi ;;
esac
"#;

const RECORD: &str = "--agent command:./agent.sh --record cassette.jsonl";
const REPLAY: &str = "--agent replay:cassette.jsonl";

fn with_table(table: &str) -> Sandbox {
    Sandbox::new()
        .file("tasks.csv", table)
        .file("old.txt", "old\n")
        .script("agent.sh", AGENT)
        .env("PROBE_API_KEY", SECRET)
}

/// Runs the table and returns all output.
fn run(sandbox: &Sandbox, flags: impl Words) -> String {
    sandbox.run_with(flags).text()
}

/// By task: the stop reason, the status, the findings.
fn results(sandbox: &Sandbox) -> BTreeMap<String, [String; 3]> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let finished = sandbox.events("finished");
    finished
        .iter()
        .map(|event| {
            let result = &event["result"];
            let found = [&event["stop"], &result["status"], &result["findings"]].map(word);
            (word(&event["task"]), found)
        })
        .collect()
}

fn row(stop: &str, status: &str, findings: &str) -> [String; 3] {
    [stop, status, findings].map(str::to_owned)
}

const TABLE: &str =
    "id,description,deps\nchannel,d,\noutput,d,channel\nfile,d,\nsignal,d,\ncode,d,\ntwice,d,\n";

#[test]
fn a_replay_repeats_the_recording() {
    let recorded = with_table(TABLE);
    run(&recorded, RECORD);
    let cassette = recorded.text("cassette.jsonl");
    assert!(!cassette.contains(SECRET), "{cassette}");
    assert!(
        !cassette.contains(&*recorded.project().to_string_lossy()),
        "{cassette}"
    );
    let expected: BTreeMap<String, [String; 3]> = [
        ("channel", row("ok", "completed", "by command")),
        ("output", row("ok", "completed", "by output")),
        ("file", row("ok", "completed", "by file")),
        ("signal", row("crashed", "failed", "")),
        ("code", row("crashed", "failed", "")),
        ("twice", row("ok", "completed", "at the second try")),
    ]
    .map(|(task, result)| (task.to_owned(), result))
    .into();
    assert_eq!(results(&recorded), expected);

    let replayed = with_table(TABLE);
    replayed.write("cassette.jsonl", &cassette);
    // Whoever did it before is not needed.
    fs::remove_file(replayed.path("agent.sh")).unwrap();
    let output = run(&replayed, REPLAY);
    assert_eq!(results(&replayed), expected, "{output}");
    assert!(!replayed.path("old.txt").exists());
    assert!(
        fs::metadata(replayed.path("run.sh"))
            .unwrap()
            .permissions()
            .mode()
            & 0o100
            != 0
    );
    let session = replayed.session().canonicalize().unwrap();
    for task in ["channel", "output", "file", "signal", "code", "twice"] {
        let made = replayed.text(format!("out/{task}.txt"));
        assert_eq!(made, format!("made for {} with [redacted]\n", session.display()));
    }
    assert_eq!(
        (
            recorded.events("sent_back").len(),
            replayed.events("sent_back").len()
        ),
        (1, 1)
    );
    for project in [&recorded, &replayed] {
        for (file, holds) in [
            ("discoveries.ndjson", "[redacted]"),
            ("wisdom/learnings.md", "] tests are slow, [redacted]"),
            (".msg/messages.jsonl", "half way, [redacted]"),
        ] {
            let text = project.read(file);
            assert_eq!(text.matches(holds).count(), 1, "{file}: {text}");
            assert!(!text.contains(SECRET), "{file}: {text}");
        }
    }
}

#[test]
fn a_rate_limit_costs_no_attempt_in_the_replay_either() {
    let project = with_table("id,description\nwaits,d\n");
    let check = |project: &Sandbox| {
        let all = |kind: &str, field: &str| -> Vec<Value> {
            let events = project.events(kind);
            events.iter().map(|event| event[field].clone()).collect()
        };
        assert_eq!(all("postponed", "stop"), ["rate_limited"]);
        assert_eq!(all("usage", "output"), [40, 5]);
        assert_eq!(results(project)["waits"], row("ok", "completed", "served"));
        assert_eq!(project.text("waited.txt"), "attempt 1\nattempt 2\n");
    };
    run(&project, RECORD);
    check(&project);
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    for name in ["agent.sh", "waited.txt"] {
        fs::remove_file(project.path(name)).unwrap();
    }
    let output = run(&project, REPLAY);
    assert!(output.contains("1 completed"), "{output}");
    check(&project);
}

#[test]
fn a_timeout_ends_a_replay_at_once() {
    let project = with_table("id,description\nslow,d\n");
    run(&project, &format!("{RECORD} --timeout 1"));
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    let output = run(&project, REPLAY);
    assert_eq!(results(&project)["slow"], row("timeout", "failed", ""));
    assert!(output.contains("Timed out after 1.0s"), "{output}");
}

#[test]
fn a_worker_told_to_finish_needs_no_timeout_in_its_replay() {
    let project = with_table("id,description,exec_mode\nnudged,d,interactive\n");
    run(&project, &format!("{RECORD} --timeout 1"));
    assert_eq!(results(&project)["nudged"], row("ok", "completed", "in time"));
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    let output = run(&project, REPLAY);
    assert_eq!(
        results(&project)["nudged"],
        row("ok", "completed", "in time"),
        "{output}"
    );
}

#[test]
fn a_replay_is_called_one_wherever_it_is_shown() {
    let project = with_table("id,description\nfile,d\n");
    run(&project, RECORD);
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    let output = run(&project, REPLAY);
    assert!(
        output.contains("Replay  no agent runs; replaying command:./agent.sh, recorded 2"),
        "{output}"
    );
    assert!(
        output.contains("Replay   of cassette.jsonl: no agent ran"),
        "{output}"
    );
    project.expect_read(
        "context.md",
        "- Replay: no agent ran; `cassette.jsonl` was replayed",
    );
    project.expect_read("session.json", r#""default_agent": "replay:cassette.jsonl""#);
    for (words, text) in [
        ("status", "Replay of cassette.jsonl: no agent runs"),
        ("status --json", r#""replay":"cassette.jsonl""#),
        ("list", "  replay"),
        ("show", "no agent ran"),
    ] {
        let shown = project.wavecrew(words).ok();
        assert!(shown.contains(text), "{words}: {shown}");
    }
    let json = project.run_with(&format!("{REPLAY} --json")).stdout;
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["replay"], "cassette.jsonl");
}

#[test]
fn a_changed_row_is_replayed_with_a_warning_and_a_new_one_fails() {
    let project = with_table("id,description\nfile,d\n");
    run(&project, RECORD);
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    project.write("tasks.csv", "id,description\nfile,something else\nnew,d\n");
    let output = run(&project, REPLAY);
    assert!(
        output.contains("file: the row or its instruction has changed since the recording"),
        "{output}"
    );
    assert!(
        output.contains("the task `new` is not in the cassette `cassette.jsonl`; it has file"),
        "{output}"
    );
    assert_eq!(results(&project)["file"], row("ok", "completed", "by file"));
    assert_eq!(results(&project)["new"][1], "failed");
}

#[test]
fn bad_cassettes_are_refused_before_anything_runs() {
    let project = with_table("id,description\nfile,d\n");
    let header = r#"{"cassette":1,"wavecrew":"0","session":"s","team":"generic","recorded_at":"t"}"#;
    let turn = r#"{"task":"file","attempt":1,"turn":1,"agent":"codex","end":{"exit":0},"files":[{"path":"../x","text":""}]}"#;
    project.write("evil.jsonl", format!("{header}\n{turn}\n"));
    project.write("good.jsonl", format!("{header}\n"));
    for (flags, why) in [
        (
            "--agent replay:none.jsonl",
            "the cassette `none.jsonl` cannot be read",
        ),
        ("--agent replay:tasks.csv", "`tasks.csv` is not a cassette"),
        (
            "--agent replay:evil.jsonl",
            "writes `../x`, which is outside the project folder",
        ),
        (
            "--agent replay:good.jsonl --record x.jsonl",
            "a replay cannot be recorded",
        ),
        ("--agent command:true --record tasks.csv", "would be overwritten"),
        (
            "--agent command:true --record no/such/folder",
            "cannot record into",
        ),
    ] {
        project.run_with(flags).expect_exit(2).expect_output(why);
        assert!(!project.path(".workflow").exists());
    }
}

/// Follows a replay of real codex workers, as in `examples/replay/README.md`.
#[test]
fn the_example_replays_without_any_agent() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/replay");
    let read = |name: &str| fs::read_to_string(example.join(name)).unwrap();
    let project = with_table(&read("tasks.csv")).requiring_confinement();
    project.write("cassette.jsonl", read("cassette.jsonl"));
    let output = run(&project, &["--agent", "replay:cassette.jsonl"]);
    assert!(output.contains("2 of 2 tasks completed"), "{output}");
    assert!(!output.contains("has changed since the recording"), "{output}");
    assert_eq!(project.text("hello.txt"), "Hello, crew!\n");
    assert_eq!(project.text("shout.txt"), "HELLO, CREW!\n");
    let used = project.events("usage");
    assert!(
        used.len() == 2 && used.iter().all(|event| event["input"].as_u64() > Some(0)),
        "{used:?}"
    );
    let log = project.wavecrew("logs HELLO").ok();
    assert!(
        log.starts_with("HELLO · attempt 1 · replay:cassette.jsonl\n"),
        "{log}"
    );
    assert!(
        log.contains("\n$ /bin/bash -lc ") && log.contains("> hello.txt") && log.contains("\n  exit 0\n"),
        "{log}"
    );
    assert!(log.contains("\nused ") && !log.contains('\x1b'), "{log}");
    let coloured = project.wavecrew("logs HELLO --color always").ok();
    assert!(coloured.contains("\x1b[32m  exit 0\x1b[0m"), "{coloured}");
    let raw = project.wavecrew("logs HELLO --raw").ok();
    assert!(raw.contains(r#""type":"turn.completed""#), "{raw}");
}
