//! Secrets of the environment and dangerous characters: nowhere on the screen or on disk. What a session keeps is the user's
//! alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use wavecrew_test_support::sandbox::Sandbox;

const SECRETS: [(&str, &str); 6] = [
    ("PASSWORD", "hunter2"),
    ("PGPASSWORD", "tr0ub4dor&3"),
    ("DATABASE_URL", "postgres://me:s3cr3t-p4ss@db.example/shop"),
    ("DEPLOY_WEBHOOK", "https://example.org/hook/T0/B0/abcdef"),
    (
        "SIGNING_KEY",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----",
    ),
    ("SESSION_SECRET", "with \"quotes\" and spaces"),
];

/// What must not be found anywhere.
const LEAKS: [&str; 10] = [
    "hunter2",
    "tr0ub4dor",
    "tr0ub4dor%263",
    "dHIwdWI0ZG9y",
    "s3cr3t-p4ss",
    "hook/T0/B0",
    "MIIEvQIBADANBgkq",
    "BKcwggSjAgEAAoIB",
    "with \"quotes\" and",
    "with \\\"quotes\\\" and",
];

/// Tells its secrets on every way that a worker has.
const TELLS: &str = r#"
say() { printf '%s|%s|%s|%s|%s|%s|%s\n' "$PASSWORD" "$PGPASSWORD" "$DATABASE_URL" "$DEPLOY_WEBHOOK" "$SIGNING_KEY" "$SESSION_SECRET" 'q=tr0ub4dor%263'; }
say; say >&2; printf '%s' "$PGPASSWORD" | base64
S=$WAVECREW_SESSION_DIR
python3 - <<'PY'
import json, os
everything = "|".join(os.environ[name] for name in ["PASSWORD", "PGPASSWORD", "DATABASE_URL", "DEPLOY_WEBHOOK", "SIGNING_KEY", "SESSION_SECRET"])
folder = os.environ["WAVECREW_SESSION_DIR"]
line = json.dumps({"ts": "t", "worker": "a", "type": "finding", "data": {"text": everything}})
open(folder + "/discoveries.ndjson", "a").write(line + "\n")
line = json.dumps({"ts": "t", "from": "worker", "to": "coordinator", "type": "note", "summary": everything})
open(folder + "/.msg/messages.jsonl", "a").write(line + "\n")
open(folder + "/wisdom/learnings.md", "a").write("- " + everything.replace("\n", "\n  ") + " \x1b[31mred \u202eolleh\n")
open("made.txt", "w").write(everything)
open(".env", "w").write("OTHER=never-seen-before")
text = everything + " \x1b[31mred\x1b[0m \u202eolleh"
report = {"id": os.environ["WAVECREW_TASK"], "status": "completed", "findings": text}
json.dump(report, open(os.environ["WAVECREW_RESULT_FILE"], "w"))
PY
wavecrew wisdom decisions "$(say)" || true
wavecrew discover finding "subject=$(say)" || true
"#;

fn all_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            all_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn no_secret_is_shown_or_kept_and_only_the_user_reads_a_session() {
    let mut sandbox = Sandbox::new()
        .file("tasks.csv", "id,title,description\na,A,tell\nb,B,tell\n")
        .file("tell.sh", TELLS);
    for (name, value) in SECRETS {
        sandbox = sandbox.env(name, value);
    }
    let cassette = sandbox.beside("run.cassette");
    let line = format!(
        "umask 022; exec \"$0\" run tasks.csv -y -v --agent 'command:sh tell.sh' --record {}",
        cassette.display()
    );
    let ended = sandbox
        .spawn(&mut shell_line(&sandbox, &line))
        .wait()
        .expect_exit(0);
    let status = sandbox.wavecrew("status --json").ok();
    let logs = sandbox.wavecrew("logs a").ok();
    let shown = [&ended.stdout, &ended.stderr, &status, &logs];
    let mut files = vec![cassette.clone()];
    all_files(&sandbox.session(), &mut files);
    let texts = files.iter().map(|path| {
        (
            path.display().to_string(),
            String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned(),
        )
    });
    for (place, text) in shown
        .map(|text| ("screen".to_owned(), text.clone()))
        .into_iter()
        .chain(texts)
    {
        for leak in LEAKS {
            assert!(!text.contains(leak), "{leak} in {place}:\n{text}");
        }
        let raw = |c: char| (c.is_control() && !matches!(c, '\n' | '\t' | '\r')) || c == '\u{202e}';
        assert!(!text.contains(raw), "raw characters in {place}: {text:?}");
    }
    assert!(logs.contains("[redacted]"), "{logs}");
    let recorded = fs::read_to_string(&cassette).unwrap();
    assert!(
        recorded.contains("made.txt") && !recorded.contains("never-seen-before"),
        "{recorded}"
    );
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&sandbox.session()), 0o700);
    for path in files {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_run_goes_on_when_nothing_can_be_shown() {
    for redirection in [
        ">/dev/full 2>/dev/full",
        ">/dev/null 2>/dev/full",
        "--json >/dev/full 2>/dev/full",
        "--json -v >/dev/full 2>&1",
        ">&- 2>&-",
        "<&- >&- 2>&-",
        "2>&1 | true",
        "2>&1 | head -n 1",
    ] {
        let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a");
        sandbox.write_table();
        let agent = wavecrew_test_support::sandbox::test_agent();
        let line = format!("\"$0\" run tasks.csv -y --agent '{agent}' {redirection}");
        sandbox
            .spawn(&mut shell_line(&sandbox, &line))
            .wait()
            .expect_exit(0);
        assert_eq!(sandbox.statuses(), "a completed, b completed", "{redirection}");
        assert_eq!(
            sandbox.json("session.json")["state"],
            "completed",
            "{redirection}"
        );
    }
}

#[test]
fn a_board_of_a_million_entries_is_read_within_bounds() {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a").agent("b", "fail=once");
    sandbox.run().expect_exit(1);
    let board = (0..1_000_000)
        .map(|n| format!("{{\"ts\":\"t\",\"worker\":\"a\",\"type\":\"finding\",\"data\":{{\"n\":{n}}}}}\n"))
        .collect::<Vec<_>>()
        .concat();
    fs::write(sandbox.in_session("discoveries.ndjson"), &board).unwrap();
    fs::write(
        sandbox.in_session(".msg/messages.jsonl"),
        board.replace("\"worker\"", "\"from\""),
    )
    .unwrap();
    fs::write(
        sandbox.in_session("wisdom/learnings.md"),
        "- a line of wisdom\n".repeat(1_000_000),
    )
    .unwrap();
    let id = sandbox.session_id();
    for words in [
        "status",
        "status --json",
        "list",
        "show --html out.html",
        &format!("retry {id} -y"),
    ] {
        // Kilobytes of data; reading everything would take more than a gigabyte.
        let line = format!("ulimit -d 250000; exec \"$0\" {words}");
        let ended = sandbox.spawn(&mut shell_line(&sandbox, &line)).wait();
        let text = ended.text();
        assert!(!text.contains("memory allocation"), "{words}: {text}");
        let expected = i32::from(words.starts_with("retry"));
        ended.expect_exit(expected);
    }
}

/// A shell that runs `line`, in which `"$0"` is the program.
fn shell_line(sandbox: &Sandbox, line: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(line)
        .arg(wavecrew_test_support::sandbox::program());
    sandbox.prepare(&mut command);
    command
}
