//! What the store costs: opening a large journal, a group commit, an attempt, a publish.

use divan::{Bencher, counter::ItemsCount};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wavecrew_session::{Journal, SessionDir, TableFile};

fn main() {
    divan::main();
}

/// About as large as the events of a run: three lines per task, 150 bytes each on average.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Event {
    Started {
        task: String,
        attempt: u32,
        at: u64,
        key: String,
    },
    Spawned {
        task: String,
        attempt: u32,
        pid: u32,
        start: u64,
        boot: String,
    },
    Ended {
        task: String,
        attempt: u32,
        status: String,
        findings: String,
    },
}

fn events(tasks: u32) -> Vec<Event> {
    let per_task = |n: u32| {
        let task = format!("TASK-{n:06}");
        [
            Event::Started {
                task: task.clone(),
                attempt: 1,
                at: 1_794_700_000_000,
                key: "0123456789abcdef".repeat(2),
            },
            Event::Spawned {
                task: task.clone(),
                attempt: 1,
                pid: n,
                start: 1_234_567,
                boot: "b0071d".repeat(6),
            },
            Event::Ended {
                task,
                attempt: 1,
                status: "completed".into(),
                findings: "found \"it\" here. ".repeat(6),
            },
        ]
    };
    (0..tasks).flat_map(per_task).collect()
}

#[divan::bench(args = [10_000, 100_000], sample_count = 10)]
fn open_journal(bencher: Bencher, tasks: u32) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("journal.ndjson");
    let mut journal = Journal::create(&path).expect("a journal");
    journal.append(&events(tasks)).expect("room on the disk");
    let lines = tasks as usize * 3;
    bencher.counter(ItemsCount::new(lines)).bench(|| {
        let (_, events, _) = Journal::<Event>::open(&path).expect("a good journal");
        assert_eq!(events.len(), lines);
    });
}

#[divan::bench(args = [1, 8, 64], sample_count = 200, sample_size = 1)]
fn group_commit(bencher: Bencher, batch: u32) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let mut journal = Journal::create(&dir.path().join("journal.ndjson")).expect("a journal");
    let events: Vec<_> = events(batch).into_iter().take(batch as usize).collect();
    bencher.counter(ItemsCount::new(batch)).bench_local(|| {
        journal.append(&events).expect("room on the disk");
        journal.sync().expect("a disk");
    });
}

#[divan::bench]
fn open_and_close_attempt(bencher: Bencher) {
    let dir = tempfile::tempdir().expect("a folder");
    let session = SessionDir::create(dir.path(), "s", &[]).expect("a session");
    let mut attempts = session.attempts();
    bencher.bench_local(|| {
        attempts.open_attempt("TASK-1", 1).expect("an attempt");
        attempts.close_attempt("TASK-1", 1).expect("an attempt")
    });
}

#[divan::bench(args = [10, 10_000], sample_count = 50, sample_size = 1)]
fn publish_table(bencher: Bencher, rows: usize) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let session = SessionDir::create(dir.path(), "s", &[]).expect("a session");
    let mut table = TableFile::open(&session, Duration::ZERO).expect("a table");
    let mut text = "\"TASK\",\"title\",\"a description of some length\",\"pending\"\n"
        .repeat(rows)
        .into_bytes();
    bencher.bench_local(|| {
        text.push(b'\n');
        table.publish(&text).expect("room on the disk")
    });
}
