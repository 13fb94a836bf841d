use super::*;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;
use wavecrew_core::plan;
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;

fn ledger() -> Ledger {
    let rows: Vec<String> = (0..30).map(|n| format!("T{n},d")).collect();
    let rows = rows.join("\n");
    let team = Team::builtin("generic").unwrap();
    let sheet = Sheet::read(format!("id,description\n{rows}").as_bytes(), Origin::User).unwrap();
    let mut ledger = Ledger::new(Arc::new(team.clone()), plan::seal(sheet, &team).unwrap().0);
    for n in 0..10 {
        ledger.apply(&Event::MarkedDone {
            task: format!("T{n}"),
        });
    }
    ledger.apply(&Event::Skipped {
        task: "T10".into(),
        error: "no".into(),
    });
    ledger
}

const NOW: Timestamp = Timestamp(1_000_000);

fn running(count: u64) -> Vec<Running> {
    let one = |n| Running {
        task: format!("T{}", n + 11),
        role: "writer".into(),
        attempt: if n == 1 { 2 } else { 1 },
        host: None,
        elapsed: Duration::from_secs(n * 61 + 3),
        silent: Duration::from_secs(n * 40),
        last_line: "reading 源代码 of the parser, which is a long story that does not end here".into(),
    };
    (0..count).map(one).collect()
}

#[test]
fn a_wide_terminal() {
    insta::assert_snapshot!(block((80, 24), &running(3), &ledger(), NOW).join("\n"));
}

#[test]
fn a_replay_says_so() {
    for width in [40, 80] {
        let lines = titled(
            "Replay · ",
            width,
            block((width, 24), &running(1), &ledger(), NOW),
        );
        assert!(lines[0].starts_with("Replay · Wave 1/1 ━"), "{lines:?}");
        assert!(lines[0].width() < width, "{lines:?}");
    }
}

#[test]
fn a_narrow_terminal_with_many_workers() {
    let lines = block((40, 24), &running(25), &ledger(), NOW);
    assert!(lines.iter().all(|line| line.width() < 40), "{lines:?}");
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_wait_counts_down() {
    let mut ledger = ledger();
    let state = wavecrew_core::pool::Pool {
        until: Timestamp(NOW.0 + 80_000),
        ..wavecrew_core::pool::Pool::default()
    };
    ledger.apply(&Event::QuotaWait {
        at: NOW,
        pool: "codex-1".into(),
        state,
    });
    let at = |now| block((80, 24), &[], &ledger, now)[1..].join("");
    assert_eq!(
        at(NOW),
        "  codex-1 waits for its service (rate_limited): 1m 20s left"
    );
    assert_eq!(
        at(Timestamp(NOW.0 + 60_000)),
        "  codex-1 waits for its service (rate_limited): 20s left"
    );
    assert_eq!(at(Timestamp(NOW.0 + 80_000)), "");
}

#[test]
fn a_low_terminal() {
    for (height, workers) in [(24, 21), (8, 5), (4, 1), (2, 0), (0, 0)] {
        let lines = block((80, height), &running(25), &ledger(), NOW);
        let last = format!("  and {} more", 25 - workers);
        assert_eq!(
            (lines.len(), lines.last()),
            (workers + 2, Some(&last)),
            "{height}"
        );
    }
}
