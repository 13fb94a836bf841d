use super::*;
use crate::event::{Event, Fingerprint, RunOutcome, StopReason, TaskResult, Verdict};
use crate::plan;
use crate::sheet::{Origin, Sheet};
use crate::team::Team;
use std::sync::Arc;

const META: SessionMeta<'_> = SessionMeta {
    program: "wavecrew",
    id: "run-tasks-20261115",
    folder: ".workflow/.csv-wave/run-tasks-20261115",
    pipeline: None,
    request: "Tidy up\nthe parser",
    started_at: "2026-11-15T10:00:00Z",
    replay: None,
    result: None,
    preparation: Duration::ZERO,
};

const TABLE: &str = "id,title,description,role,deps\n\
    A,Look around,d,scout,\nB,Write it,d,writer,A\nC,,d,writer,A\nD,Publish,d,,B\nE,Later,d,,C\n";

fn ledger() -> Ledger {
    let team = Team::builtin("generic").expect("built in");
    let sheet = Sheet::read(TABLE.as_bytes(), Origin::User).expect("a table");
    let (plan, _) = plan::seal(sheet, &team).expect("a plan");
    Ledger::new(Arc::new(team), plan)
}

fn started(task: &str, attempt: u32, second: u64) -> Event {
    Event::AttemptStarted {
        at: Timestamp(second * 1000),
        task: task.to_owned(),
        attempt,
        print: Fingerprint::default(),
        agent: "command:x".to_owned(),
    }
}

fn finished(task: &str, second: u64, stop: StopReason, result: TaskResult) -> Event {
    Event::Finished {
        at: Timestamp(second * 1000),
        task: task.to_owned(),
        attempt: 1,
        stop,
        result,
    }
}

fn completed(findings: &str, verdict: Verdict) -> TaskResult {
    TaskResult {
        status: Status::Completed,
        findings: findings.to_owned(),
        verdict,
        ..TaskResult::default()
    }
}

/// A and C run side by side in parts; B fails, D is skipped because of it, E was cut off.
fn eventful() -> Ledger {
    let mut ledger = ledger();
    let failed = TaskResult {
        status: Status::Failed,
        error: "no answer\nafter 900 s".to_owned(),
        ..TaskResult::default()
    };
    for event in [
        started("A", 1, 0),
        finished(
            "A",
            12,
            StopReason::Ok,
            completed("Three modules,\n\u{1b}[31mone\u{1b}[0m broken", Verdict::Verified),
        ),
        started("B", 2, 20),
        started("C", 1, 25),
        finished("B", 50, StopReason::Timeout, failed),
        finished("C", 30, StopReason::Ok, completed("", Verdict::Unverified)),
        Event::Skipped {
            task: "D".to_owned(),
            error: "Dependency failed: B".to_owned(),
        },
        started("E", 1, 60),
        Event::Interrupted {
            at: Timestamp(65_000),
            task: "E".to_owned(),
            attempt: 1,
        },
        Event::RunEnded {
            at: Timestamp(65_000),
            ending: RunOutcome::Interrupted,
        },
    ] {
        ledger.apply(&event);
    }
    ledger
}

#[test]
fn the_whole_report() {
    insta::assert_snapshot!(report_markdown(&eventful(), &META));
}

#[test]
fn the_report_at_the_end_of_a_run() {
    insta::assert_snapshot!(report_terminal(&eventful(), &META));
}

#[test]
fn a_report_of_a_clean_run_asks_for_nothing() {
    let mut ledger = ledger();
    for task in ["A", "B", "C", "D", "E"] {
        ledger.apply(&started(task, 1, 0));
        ledger.apply(&finished(
            task,
            2,
            StopReason::Ok,
            completed("ok", Verdict::Verified),
        ));
    }
    insta::assert_snapshot!(report_terminal(&ledger, &META));
    let whole = report_markdown(&ledger, &META);
    assert!(
        whole.contains("wavecrew archive") && !whole.contains("retry"),
        "{whole}"
    );
}

#[test]
fn a_report_before_anything_ran_says_how_to_go_on() {
    insta::assert_snapshot!(report_markdown(&ledger(), &META));
}

#[test]
fn breaks_and_overlaps_do_not_count_as_work() {
    // 0-12, 20-50 with 25-30 inside, 60-65.
    let summary = SessionSummary::of(&eventful());
    assert_eq!(summary.elapsed, Duration::from_secs(12 + 30 + 5));
}

#[test]
fn attempts_before_the_last_one_count_as_work() {
    let mut ledger = ledger();
    for event in [
        started("A", 1, 0),
        finished("A", 12, StopReason::Ok, completed("", Verdict::Verified)),
        Event::Reset {
            task: "A".to_owned(),
            why: "sent back".to_owned(),
        },
        started("A", 2, 20),
        // Told of after a long break.
        Event::Interrupted {
            at: Timestamp(1_000_000),
            task: "A".to_owned(),
            attempt: 2,
        },
        started("A", 3, 1000),
        finished("A", 1003, StopReason::Ok, completed("", Verdict::Verified)),
    ] {
        ledger.apply(&event);
    }
    assert_eq!(SessionSummary::of(&ledger).elapsed, Duration::from_secs(12 + 3));
}

#[test]
fn long_lists_are_counted() {
    let rows: Vec<String> = (0..30).map(|n| format!("T{n},d")).collect();
    let rows = rows.join("\n");
    let team = Team::builtin("generic").expect("built in");
    let sheet = Sheet::read(format!("id,description\n{rows}").as_bytes(), Origin::User).expect("a table");
    let (plan, _) = plan::seal(sheet, &team).expect("a plan");
    let mut ledger = Ledger::new(Arc::new(team), plan);
    for n in 0..30 {
        ledger.apply(&Event::Skipped {
            task: format!("T{n}"),
            error: "no".to_owned(),
        });
    }
    let text = report_terminal(&ledger, &META);
    assert!(text.contains("  T19: no\n  and 10 more\n"), "{text}");
}

#[test]
fn a_task_line_says_what_became_of_it() {
    let ledger = eventful();
    let lines: Vec<String> = ledger.plan().tasks().map(|t| task_line(&ledger, t)).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn text_of_workers_stays_on_one_line_and_is_inert() {
    assert_eq!(one_line("a\u{1b}]0;t\u{7}\r\nb\t\u{202e}c"), "a ]0;t b c");
    assert_eq!(one_line("\u{1b}[1;31mred\u{1b}[0m \u{1b}["), "red");
}

#[test]
fn a_run_that_stopped_at_a_limit_says_how_to_go_on() {
    let mut ledger = ledger();
    for event in [
        started("A", 1, 0),
        Event::Usage {
            task: "A".to_owned(),
            attempt: 1,
            turn: 1,
            spent: crate::event::TokenUsage {
                input: 12_000,
                cached: 2000,
                output: 345,
                cost: Some(1.25),
            },
        },
        finished("A", 12, StopReason::Ok, completed("ok", Verdict::Verified)),
        Event::RunEnded {
            at: Timestamp(12_000),
            ending: RunOutcome::LimitReached {
                why: "$1.25 of $1.00 is used".to_owned(),
                go_on: "--max-cost 2.00".to_owned(),
            },
        },
    ] {
        ledger.apply(&event);
    }
    let text = report_terminal(&ledger, &META);
    for line in [
        "Used 12,345 tokens (2,000 cached) · $1.25",
        "Stopped at a limit: $1.25 of $1.00 is used",
        "Continue wavecrew run --continue run-tasks-20261115 --max-cost 2.00",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let whole = report_markdown(&ledger, &META);
    assert!(whole.contains("- Used: 12,345 tokens"), "{whole}");
    assert!(
        whole.contains("`wavecrew run --continue run-tasks-20261115 --max-cost 2.00`"),
        "{whole}"
    );
}
