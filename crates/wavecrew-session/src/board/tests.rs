use super::*;
use serde_json::json;
use std::fs;
use std::process::Command;

fn discovery(worker: &str, kind: &str, data: Value) -> Discovery {
    Discovery {
        ts: "2026-11-15T10:00:00Z".into(),
        worker: worker.into(),
        kind: kind.into(),
        data,
        attempt: None,
        extra: Map::new(),
    }
}

fn board() -> (tempfile::TempDir, DiscoveryBoard) {
    let dir = tempfile::tempdir().unwrap();
    let board = DiscoveryBoard::at(dir.path().join("discoveries.ndjson"));
    (dir, board)
}

#[test]
fn entries_and_their_unknown_fields_survive() {
    let (_dir, board) = board();
    let line = r#"{"ts":"t","worker":"A-1","type":"x","data":{"a":"b\nc"},"attempt":2,"mood":"good"}"#;
    fs::write(board.path(), format!("{line}\n")).unwrap();
    let read = board.read().unwrap();
    assert_eq!(
        (read.entries[0].attempt, &read.entries[0].extra["mood"]),
        (Some(2), &json!("good"))
    );
    board.append(&read.entries[0]).unwrap();
    assert_eq!(
        fs::read_to_string(board.path()).unwrap(),
        format!("{line}\n{line}\n")
    );
}

#[test]
fn a_board_that_is_not_there_is_empty() {
    let (_dir, board) = board();
    assert_eq!(
        board.read().unwrap(),
        Discoveries {
            entries: vec![],
            malformed: 0
        }
    );
}

#[test]
fn malformed_lines_are_counted_and_an_unfinished_one_is_awaited() {
    let (_dir, board) = board();
    let good = r#"{"worker":"A","type":"x"}"#;
    let text =
        format!("{good}\r\n\nnot json\n[1]\n{{\"type\":\"no worker\"}}\n\0\0\n{good}\n{{\"worker\":\"B\",");
    fs::write(board.path(), &text).unwrap();
    let read = board.read().unwrap();
    assert_eq!((read.entries.len(), read.malformed), (2, 4));
    fs::write(board.path(), format!("{good}\n{good}")).unwrap();
    assert_eq!(
        board.read().unwrap().entries.len(),
        2,
        "whole, only its newline is missing"
    );
}

#[test]
fn an_outsiders_torn_line_does_not_swallow_ours() {
    let (_dir, board) = board();
    fs::write(board.path(), r#"{"worker":"outsider","#).unwrap();
    board.append(&discovery("A", "x", json!({}))).unwrap();
    board.append(&discovery("B", "x", json!({}))).unwrap();
    let read = board.read().unwrap();
    assert_eq!((read.entries.len(), read.malformed), (2, 1));
}

#[test]
fn a_stopped_holder_of_the_lock_stops_nobody() {
    let (_dir, board) = board();
    board.append(&discovery("A", "x", json!({}))).unwrap();
    let stopped = fs::File::open(board.path()).unwrap();
    stopped.lock().unwrap();
    board.append(&discovery("B", "x", json!({}))).unwrap();
    let read = board.read().unwrap();
    assert_eq!((read.entries.len(), read.malformed), (2, 0));
}

#[test]
fn a_hundred_writers_and_a_shell_tear_no_line() {
    const SHELL: &str = r#"for i in $(seq 200); do echo '{"worker":"sh","type":"x"}' >> "$0"; done"#;
    let (_dir, board) = board();
    fs::write(board.path(), "").unwrap();
    std::thread::scope(|scope| {
        for writer in 0..100 {
            let board = &board;
            scope.spawn(move || {
                for n in 0..100 {
                    let data = json!({"n": n, "text": "x".repeat(10 + writer * 7)});
                    board
                        .append(&discovery(&format!("W-{writer}"), "x", data))
                        .unwrap();
                }
            });
        }
        let mut shell = Command::new("sh")
            .args(["-c", SHELL])
            .arg(board.path())
            .spawn()
            .unwrap();
        assert!(shell.wait().unwrap().success());
    });
    let read = board.read().unwrap();
    assert_eq!((read.entries.len(), read.malformed), (100 * 100 + 200, 0));
    for writer in 0..100 {
        let name = format!("W-{writer}");
        let order: Vec<_> = read
            .entries
            .iter()
            .filter(|e| e.worker == name)
            .map(|e| e.data["n"].clone())
            .collect();
        assert_eq!(order, (0..100).map(|n| json!(n)).collect::<Vec<_>>());
    }
}

#[test]
fn the_last_entry_of_a_key_wins_at_its_own_place() {
    let types = [("finding", &["file", "line"][..]), ("stack", &[])].map(|(name, key)| DiscoveryType {
        name: name.to_owned(),
        key: key.iter().map(ToString::to_string).collect(),
        fields: Vec::new(),
        about: String::new(),
    });
    let at = |worker: &str, line: u32| discovery(worker, "finding", json!({"file": "a.rs", "line": line}));
    let entries = vec![
        at("A", 1),
        discovery("A", "stack", json!({"v": 1})),
        at("B", 2),
        discovery("A", "free", json!({})),
        discovery("A", "free", json!({})),
        at("C", 1),
        discovery("D", "finding", json!({"note": "no key"})),
        discovery("E", "finding", json!({"note": "no key"})),
        discovery("B", "stack", json!({"v": 2})),
    ];
    let kept = Discoveries {
        entries,
        malformed: 3,
    }
    .dedup(&types);
    let who: String = kept.entries.iter().map(|entry| entry.worker.as_str()).collect();
    assert_eq!(who, "BAACDEB");
    assert_eq!(kept.malformed, 3);
}

#[test]
fn a_huge_entry_is_refused() {
    let (_dir, board) = board();
    let error = board
        .append(&discovery("A", "x", json!("x".repeat(lines::MAX_LINE))))
        .unwrap_err();
    assert!(matches!(error, SessionError::TooLarge { .. }), "{error}");
    assert!(!board.path().exists());
}
