//! `--record` and `--agent replay:FILE` through the program itself: what was recorded comes back, and is called a replay.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

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

struct Project(TempDir);

impl Project {
    fn new(table: &str) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.write("tasks.csv", table);
        project.write("old.txt", "old\n");
        project.write("agent.sh", AGENT);
        fs::set_permissions(project.path("agent.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn wavecrew(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
        command
            .args(words)
            .current_dir(self.0.path())
            .env("PROBE_API_KEY", SECRET);
        command.output().unwrap()
    }

    /// Runs the table and returns what it said.
    fn run(&self, words: &[&str]) -> String {
        let output = self.wavecrew(&[&["run", "tasks.csv", "-y"], words].concat());
        text(&output.stdout) + &text(&output.stderr)
    }

    fn session(&self) -> PathBuf {
        let sessions = fs::read_dir(self.path(".workflow/.csv-wave")).unwrap().flatten();
        sessions
            .map(|entry| entry.path())
            .find(|path| path.is_dir())
            .unwrap()
    }

    fn events(&self) -> Vec<Value> {
        let journal = fs::read_to_string(self.session().join("journal.ndjson")).unwrap();
        let lines = journal.lines().filter_map(|line| line.split_once(' '));
        lines
            .filter_map(|(_, json)| serde_json::from_str(json).ok())
            .collect()
    }

    /// By task: the stop reason, the status, the findings.
    fn results(&self) -> BTreeMap<String, [String; 3]> {
        let events = self.events();
        let finished = events.iter().filter(|event| event["e"] == "finished");
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        finished
            .map(|event| {
                let result = &event["result"];
                let found = [&event["stop"], &result["status"], &result["findings"]].map(word);
                (word(&event["task"]), found)
            })
            .collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn row(stop: &str, status: &str, findings: &str) -> [String; 3] {
    [stop, status, findings].map(str::to_owned)
}

const TABLE: &str =
    "id,description,deps\nchannel,d,\noutput,d,channel\nfile,d,\nsignal,d,\ncode,d,\ntwice,d,\n";

#[test]
fn what_was_recorded_comes_back() {
    let recorded = Project::new(TABLE);
    recorded.run(&["--agent", "command:./agent.sh", "--record", "tape.jsonl"]);
    let tape = recorded.read("tape.jsonl");
    assert!(!tape.contains(SECRET), "{tape}");
    assert!(!tape.contains(&*recorded.0.path().to_string_lossy()), "{tape}");
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
    assert_eq!(recorded.results(), expected);

    let played = Project::new(TABLE);
    played.write("tape.jsonl", &tape);
    // Whoever did it before is not needed.
    fs::remove_file(played.path("agent.sh")).unwrap();
    let said = played.run(&["--agent", "replay:tape.jsonl"]);
    assert_eq!(played.results(), expected, "{said}");
    assert!(!played.path("old.txt").exists());
    assert!(fs::metadata(played.path("run.sh")).unwrap().permissions().mode() & 0o100 != 0);
    let session = played.session().canonicalize().unwrap();
    for task in ["channel", "output", "file", "signal", "code", "twice"] {
        let made = played.read(&format!("out/{task}.txt"));
        assert_eq!(made, format!("made for {} with [redacted]\n", session.display()));
    }
    let sent_back = |project: &Project| {
        project
            .events()
            .iter()
            .filter(|event| event["e"] == "sent_back")
            .count()
    };
    assert_eq!((sent_back(&recorded), sent_back(&played)), (1, 1));
    for project in [&recorded, &played] {
        for (file, holds) in [
            ("discoveries.ndjson", "[redacted]"),
            ("wisdom/learnings.md", "] tests are slow, [redacted]"),
            (".msg/messages.jsonl", "half way, [redacted]"),
        ] {
            let text = fs::read_to_string(project.session().join(file)).unwrap();
            assert_eq!(text.matches(holds).count(), 1, "{file}: {text}");
            assert!(!text.contains(SECRET), "{file}: {text}");
        }
    }
}

#[test]
fn a_service_that_was_waited_for_costs_no_attempt_in_the_replay_either() {
    let project = Project::new("id,description\nwaits,d\n");
    let seen = |project: &Project| {
        let of = |kind: &str| {
            let events = project.events();
            let found: Vec<Value> = events.into_iter().filter(|event| event["e"] == kind).collect();
            found
        };
        let stops: Vec<Value> = of("postponed")
            .iter()
            .map(|event| event["stop"].clone())
            .collect();
        let used: Vec<Value> = of("usage").iter().map(|event| event["output"].clone()).collect();
        assert_eq!(stops, ["rate_limited"]);
        assert_eq!(used, [40, 5]);
        assert_eq!(project.results()["waits"], row("ok", "completed", "served"));
        assert_eq!(project.read("waited.txt"), "attempt 1\nattempt 2\n");
    };
    project.run(&["--agent", "command:./agent.sh", "--record", "tape.jsonl"]);
    seen(&project);
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    for name in ["agent.sh", "waited.txt"] {
        fs::remove_file(project.path(name)).unwrap();
    }
    let said = project.run(&["--agent", "replay:tape.jsonl"]);
    assert!(said.contains("1 completed"), "{said}");
    seen(&project);
}

#[test]
fn a_clock_that_ended_a_worker_ends_its_replay_at_once() {
    let project = Project::new("id,description\nslow,d\n");
    project.run(&[
        "--agent",
        "command:./agent.sh",
        "--record",
        "tape.jsonl",
        "--timeout",
        "1",
    ]);
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    let said = project.run(&["--agent", "replay:tape.jsonl"]);
    assert_eq!(project.results()["slow"], row("timeout", "failed", ""));
    assert!(said.contains("Timed out after 1.0s"), "{said}");
}

#[test]
fn a_worker_that_was_told_to_finish_goes_on_by_itself() {
    let project = Project::new("id,description,exec_mode\nnudged,d,interactive\n");
    project.run(&[
        "--agent",
        "command:./agent.sh",
        "--record",
        "tape.jsonl",
        "--timeout",
        "1",
    ]);
    assert_eq!(project.results()["nudged"], row("ok", "completed", "in time"));
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    let said = project.run(&["--agent", "replay:tape.jsonl"]);
    assert_eq!(
        project.results()["nudged"],
        row("ok", "completed", "in time"),
        "{said}"
    );
}

#[test]
fn a_replay_is_called_one_wherever_it_is_shown() {
    let project = Project::new("id,description\nfile,d\n");
    project.run(&["--agent", "command:./agent.sh", "--record", "tape.jsonl"]);
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    let said = project.run(&["--agent", "replay:tape.jsonl"]);
    assert!(
        said.contains("Replay  no agent runs; replaying command:./agent.sh, recorded 2"),
        "{said}"
    );
    assert!(said.contains("Replay   of tape.jsonl: no agent ran"), "{said}");
    let context = fs::read_to_string(project.session().join("context.md")).unwrap();
    assert!(
        context.contains("- Replay: no agent ran; `tape.jsonl` was replayed"),
        "{context}"
    );
    let info = fs::read_to_string(project.session().join("session.json")).unwrap();
    assert!(info.contains(r#""default_agent": "replay:tape.jsonl""#), "{info}");
    for (words, holds) in [
        (&["status"] as &[&str], "Replay of tape.jsonl: no agent runs"),
        (&["status", "--json"], r#""replay":"tape.jsonl""#),
        (&["list"], "  replay"),
        (&["show"], "no agent ran"),
    ] {
        let id = project
            .session()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let named = if words[0] == "show" {
            vec!["show", &id]
        } else {
            words.to_vec()
        };
        let shown = text(&project.wavecrew(&named).stdout);
        assert!(shown.contains(holds), "{words:?}: {shown}");
    }
    let json = text(
        &project
            .wavecrew(&["run", "tasks.csv", "-y", "--json", "--agent", "replay:tape.jsonl"])
            .stdout,
    );
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["replay"], "tape.jsonl");
}

#[test]
fn a_row_that_differs_is_played_with_a_warning_and_one_that_is_new_fails_by_name() {
    let project = Project::new("id,description\nfile,d\n");
    project.run(&["--agent", "command:./agent.sh", "--record", "tape.jsonl"]);
    fs::remove_dir_all(project.path(".workflow")).unwrap();
    project.write("tasks.csv", "id,description\nfile,something else\nnew,d\n");
    let said = project.run(&["--agent", "replay:tape.jsonl"]);
    assert!(
        said.contains("file: the row or its instruction has changed since the recording"),
        "{said}"
    );
    assert!(
        said.contains("the task `new` is not in the cassette `tape.jsonl`; it has file"),
        "{said}"
    );
    assert_eq!(project.results()["file"], row("ok", "completed", "by file"));
    assert_eq!(project.results()["new"][1], "failed");
}

#[test]
fn what_cannot_be_recorded_or_played_is_refused_before_anything_runs() {
    let project = Project::new("id,description\nfile,d\n");
    let header = r#"{"cassette":1,"wavecrew":"0","session":"s","team":"generic","recorded_at":"t"}"#;
    let turn = r#"{"task":"file","attempt":1,"turn":1,"agent":"codex","end":{"exit":0},"files":[{"path":"../x","text":""}]}"#;
    project.write("evil.jsonl", &format!("{header}\n{turn}\n"));
    project.write("good.jsonl", &format!("{header}\n"));
    for (words, why) in [
        (
            &["--agent", "replay:none.jsonl"] as &[&str],
            "the cassette `none.jsonl` cannot be read",
        ),
        (&["--agent", "replay:tasks.csv"], "`tasks.csv` is not a cassette"),
        (
            &["--agent", "replay:evil.jsonl"],
            "writes `../x`, which is outside the project folder",
        ),
        (
            &["--agent", "replay:good.jsonl", "--record", "x.jsonl"],
            "a replay cannot be recorded",
        ),
        (
            &["--agent", "command:true", "--record", "tasks.csv"],
            "would be overwritten",
        ),
        (
            &["--agent", "command:true", "--record", "no/such/folder"],
            "cannot record into",
        ),
    ] {
        let output = project.wavecrew(&[&["run", "tasks.csv", "-y"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = text(&output.stderr)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(said.contains(why), "{words:?}: {said}");
        assert!(!project.path(".workflow").exists());
    }
}

/// Follows a replay of real codex workers, as `examples/replay/README.md` tells it.
#[test]
fn the_example_plays_without_any_agent() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/replay");
    let read = |name: &str| fs::read_to_string(example.join(name)).unwrap();
    let project = Project::new(&read("tasks.csv"));
    project.write("cassette.jsonl", &read("cassette.jsonl"));
    let said = project.run(&["--agent", "replay:cassette.jsonl"]);
    assert!(said.contains("2 of 2 tasks completed"), "{said}");
    assert!(!said.contains("has changed since the recording"), "{said}");
    assert_eq!(project.read("hello.txt"), "Hello, crew!\n");
    assert_eq!(project.read("shout.txt"), "HELLO, CREW!\n");
    let events = project.events();
    let used: Vec<&Value> = events.iter().filter(|event| event["e"] == "usage").collect();
    assert!(
        used.len() == 2 && used.iter().all(|event| event["input"].as_u64() > Some(0)),
        "{used:?}"
    );
    let id = project
        .session()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let log = text(&project.wavecrew(&["logs", &id, "HELLO"]).stdout);
    assert!(
        log.starts_with("HELLO · attempt 1 · replay:cassette.jsonl\n"),
        "{log}"
    );
    assert!(
        log.contains("\n$ /bin/bash -lc ") && log.contains("> hello.txt") && log.contains("\n  exit 0\n"),
        "{log}"
    );
    assert!(log.contains("\nused ") && !log.contains('\x1b'), "{log}");
    let coloured = text(
        &project
            .wavecrew(&["logs", &id, "HELLO", "--color", "always"])
            .stdout,
    );
    assert!(coloured.contains("\x1b[32m  exit 0\x1b[0m"), "{coloured}");
    let raw = text(&project.wavecrew(&["logs", &id, "HELLO", "--raw"]).stdout);
    assert!(raw.contains(r#""type":"turn.completed""#), "{raw}");
}
