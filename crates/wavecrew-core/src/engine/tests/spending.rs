//! Budgets: set aside before, settled after, and at the limit nothing new starts.

use super::*;
use crate::budget::{Budget, ExpectedUsage, Price, Prices};
use crate::event::Event;

const THREE: &str = "id,description\nA,a\nB,b\nC,c\n";

fn rig(csv: &str, concurrency: usize, budget: Budget) -> Rig {
    Rig::with(
        csv,
        Options {
            concurrency,
            budget,
            ..Options::default()
        },
    )
}

fn tokens(most: u64) -> Budget {
    Budget {
        tokens: Some(most),
        ..Budget::default()
    }
}

fn ends(rig: &mut Rig, worker: u64, report: &str, used: TokenUsage, model: Option<&str>) {
    let end = TurnEnd {
        exit: TurnExit::Code(0),
        reports: Some(report.to_owned())
            .filter(|r| !r.is_empty())
            .into_iter()
            .collect(),
        last_output: String::new(),
        spent: used,
        model: model.map(str::to_owned),
        retry_after: None,
    };
    let worker = WorkerId(worker);
    rig.spawned(worker.0)
        .put(Input::TurnEnded { worker, end })
        .closed(worker.0);
}

fn output(tokens: u64) -> TokenUsage {
    TokenUsage {
        output: tokens,
        ..TokenUsage::default()
    }
}

fn completed(id: &str) -> String {
    format!(r#"{{"id":"{id}","status":"completed"}}"#)
}

#[test]
fn at_the_limit_nothing_starts_and_what_runs_may_finish() {
    let mut rig = rig(THREE, 2, tokens(100));
    assert_eq!(rig.actions(), "wave-1.csv 3, spawn A#1, spawn B#1");
    ends(&mut rig, 1, &completed("A"), output(120), None);
    assert!(!rig.actions().contains("spawn"));
    ends(&mut rig, 2, &completed("B"), output(10), None);
    let actions = rig.actions();
    assert!(
        actions.ends_with("finish limit reached: 130 of 100 tokens are used"),
        "{actions}"
    );
    assert_eq!(
        (rig.status("B"), rig.status("C")),
        (Status::Completed, Status::Pending)
    );
}

#[test]
fn what_is_left_goes_on_with_a_higher_limit_and_counts_on() {
    let mut first = rig(THREE, 1, tokens(100));
    ends(&mut first, 1, &completed("A"), output(90), None);
    assert!(first.actions().contains("another worker needs about 90 tokens"));
    let resumed = |budget| {
        let team = Arc::new(Team::builtin("generic").expect("built in"));
        let mut ledger = Ledger::new(team, table(THREE));
        for event in &first.events {
            ledger.apply(event);
        }
        assert_eq!(ledger.budget, tokens(100), "on record");
        let options = Options {
            concurrency: 1,
            budget,
            ..Options::default()
        };
        let mut rig = Rig {
            engine: Engine::new(ledger, options),
            now: 9_000_000,
            log: Vec::new(),
            events: Vec::new(),
            notes: Vec::new(),
        };
        rig.put(Input::Begin {
            recovered: Vec::new(),
        });
        rig.actions()
    };
    assert!(resumed(tokens(100)).contains("finish limit reached: 90 of 100"));
    assert_eq!(resumed(tokens(200)), "wave-1.csv 2, spawn B#1");
}

#[test]
fn room_is_set_aside_for_those_that_run() {
    let options = Options {
        concurrency: 3,
        budget: tokens(100),
        expected: ExpectedUsage {
            cost: 0.0,
            tokens: 40,
        },
        ..Options::default()
    };
    let mut rig = Rig::with(THREE, options);
    assert_eq!(
        rig.actions(),
        "wave-1.csv 3, spawn A#1, spawn B#1",
        "a third does not fit"
    );
    ends(&mut rig, 1, &completed("A"), output(10), None);
    assert_eq!(rig.actions(), "close 1, spawn C#1", "now it does");
}

#[test]
fn time_counts_without_the_breaks() {
    let budget = Budget {
        seconds: Some(100),
        ..Budget::default()
    };
    let mut rig = rig(THREE, 1, budget);
    rig.pass(99).completes(1, "A").pass(1);
    rig.actions();
    rig.completes(2, "B");
    assert!(
        rig.actions()
            .ends_with("finish limit reached: the time of 1m 40s is over")
    );
    assert_eq!(
        rig.engine.ledger().time_used(Timestamp(99_000_000)),
        Duration::from_secs(100)
    );
}

#[test]
fn a_task_that_used_what_it_may_is_not_asked_again() {
    let budget = Budget {
        task_tokens: Some(50),
        ..Budget::default()
    };
    let mut rig = rig("id,description\nA,a\n", 1, budget);
    ends(&mut rig, 1, "no report", output(60), None);
    assert_eq!(
        rig.error("A"),
        "The report was not valid: the answer is prose and not a JSON object; report with one JSON object such as \
         {\"id\":\"A\",\"status\":\"completed\"}; not asked again: it used 60 of 50 tokens (--max-task-tokens)"
    );
    let mut rig = self::rig("id,description\nA,a\n", 1, budget);
    ends(&mut rig, 1, &completed("A"), output(60), None);
    assert_eq!(rig.status("A"), Status::Completed, "done is done");
}

#[test]
fn a_worker_that_passes_the_limit_of_its_task_is_ended_within_its_turn() {
    let budget = Budget {
        task_tokens: Some(50),
        ..Budget::default()
    };
    let using = |rig: &mut Rig, tokens| {
        let (worker, spent) = (WorkerId(1), output(tokens));
        rig.put(Input::UsageSoFar {
            worker,
            spent,
            model: None,
        });
    };
    let mut rig = rig("id,description\nA,a\n", 1, budget);
    rig.spawned(1);
    using(&mut rig, 49);
    assert!(!rig.actions().contains("close"));
    using(&mut rig, 50);
    assert_eq!(rig.actions(), "close 1");
    // Its stop reason when it is ended does not count.
    let blocked = TurnExit::Reason(StopReason::PermissionBlocked);
    super::agents::ends_with(&mut rig, 1, blocked, 55, None);
    rig.closed(1);
    let error = "Ended during its turn: it used 50 of 50 tokens (--max-task-tokens)";
    assert_eq!(rig.error("A"), error);
    let ledger = rig.engine.ledger();
    let task = ledger.task(ledger.plan().find("A").expect("a task"));
    assert_eq!((task.stop, task.spent.output), (Some(StopReason::Budget), 55));

    let mut rig = self::rig("id,description\nA,a\n", 1, budget);
    rig.spawned(1).put(Input::Reported {
        worker: WorkerId(1),
        body: completed("A"),
    });
    using(&mut rig, 60);
    rig.ends(1, TurnExit::Code(0), "");
    assert_eq!(rig.status("A"), Status::Completed, "done is done");
}

#[test]
fn a_price_that_nobody_knows_is_said_once() {
    let price = Price {
        input: 0.0,
        output: 1e6,
        cached: 0.0,
    };
    let options = Options {
        concurrency: 1,
        budget: Budget {
            cost: Some(100.0),
            ..Budget::default()
        },
        prices: Prices([("known".to_owned(), price)].into()),
        ..Options::default()
    };
    let mut rig = Rig::with(THREE, options);
    ends(&mut rig, 1, &completed("A"), output(7), Some("new"));
    ends(&mut rig, 2, &completed("B"), output(7), Some("new"));
    ends(&mut rig, 3, &completed("C"), output(2), Some("known-1"));
    assert_eq!(rig.notes.len(), 1, "{:?}", rig.notes);
    assert!(rig.notes[0].contains("`new`"));
    let totals = rig.engine.ledger().totals;
    assert_eq!(
        (totals.spent.cost, totals.unpriced, totals.attempts),
        (Some(2.0), 14, 3)
    );
    let usage = |event: &&Event| matches!(event, Event::Usage { .. });
    assert_eq!(rig.events.iter().filter(usage).count(), 3);
}
