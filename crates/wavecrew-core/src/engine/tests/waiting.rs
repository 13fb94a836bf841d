//! Services that want to be waited for: nothing is lost, nothing counts, and the wait outlives the run.

use super::agents::{conversing, ends_with, telling};
use super::*;
use crate::event::Event;
use crate::pool::Pool;

const LIMITED: TurnExit = TurnExit::Reason(StopReason::RateLimited);
const THREE: &str = "id,description\nA,a\nB,b\nC,c\n";

fn options(concurrency: usize) -> Options {
    Options {
        concurrency,
        ..Options::default()
    }
}

fn refused(rig: &mut Rig, worker: u64, retry_after: Option<u64>) {
    telling(rig, worker);
    ends_with(rig, worker, LIMITED, 0, retry_after.map(Duration::from_secs));
    rig.closed(worker);
}

fn waits(rig: &Rig) -> Vec<(u64, Option<u32>)> {
    let wait = |event: &Event| match event {
        Event::QuotaWait { state, .. } => Some((state.until.0, state.window)),
        _ => None,
    };
    rig.events.iter().filter_map(wait).collect()
}

#[test]
fn a_storm_costs_time_and_no_attempts() {
    let mut rig = Rig::with("id,description\nA,a\n", options(1));
    for worker in 1..=20 {
        refused(&mut rig, worker, None);
        assert_eq!(rig.status("A"), Status::Pending);
        rig.pass(400);
    }
    assert!(rig.actions().ends_with("spawn A#21"), "each is started again");
    // The one attempt that counts is still to come, and it breaks down.
    rig.spawned(21).ends(21, TurnExit::Signal(9), "").closed(21);
    assert!(rig.actions().ends_with("finish failed"));
}

#[test]
fn what_the_service_tells_is_waited_for() {
    let mut rig = Rig::with("id,description\nA,a\n", options(1));
    refused(&mut rig, 1, Some(30));
    rig.pass(29);
    assert!(!rig.actions().contains("A#2"));
    rig.pass(4);
    assert_eq!(
        rig.actions(),
        "spawn A#2",
        "thirty seconds and a few more by chance"
    );
    rig.completes(2, "A");
    assert!(rig.actions().ends_with("finish completed"));
}

#[test]
fn fewer_run_afterwards_and_more_again_when_it_goes_well() {
    let rows: Vec<String> = (0..12).map(|n| format!("T{n},t")).collect();
    let mut rig = Rig::with(&format!("id,description\n{}\n", rows.join("\n")), options(4));
    rig.actions();
    for worker in 1..=4 {
        refused(&mut rig, worker, None);
    }
    assert_eq!(waits(&rig).len(), 1, "they met the same wall");
    assert_eq!(waits(&rig)[0].1, Some(2000));
    rig.actions();
    rig.pass(10);
    assert_eq!(rig.engine.running(), 2);
    let actions = rig.actions();
    let first: Vec<&str> = actions.split(", ").collect();
    assert_eq!(first.len(), 2);
    let next = |rig: &mut Rig, worker: u64| {
        let task = rig.engine.live[&WorkerId(worker)].task;
        let id = rig.engine.ledger().plan().id(task).to_owned();
        rig.completes(worker, &id);
    };
    for worker in 5..=7 {
        next(&mut rig, worker);
    }
    assert_eq!(rig.engine.running(), 3);
}

#[test]
fn a_wait_is_waited_out_by_the_next_run() {
    let mut rig = Rig::with("id,description\nA,a\n", options(1));
    refused(&mut rig, 1, Some(600));
    let team = Arc::new(Team::builtin("generic").expect("built in"));
    let mut ledger = Ledger::new(team, table("id,description\nA,a\n"));
    for event in &rig.events {
        ledger.apply(event);
    }
    let mut rig = Rig {
        engine: Engine::new(ledger, options(1)),
        now: rig.now + 300_000,
        log: Vec::new(),
        events: Vec::new(),
        notes: Vec::new(),
    };
    rig.put(Input::Begin {
        recovered: Vec::new(),
    });
    assert!(!rig.actions().contains("spawn"));
    assert_eq!(rig.engine.ledger().waits(Timestamp(rig.now)).count(), 1);
    rig.pass(311);
    assert!(rig.actions().contains("spawn A#2"));
    assert_eq!(rig.engine.ledger().waits(Timestamp(rig.now)).count(), 0);
}

#[test]
fn what_other_runs_know_counts() {
    let mut rig = Rig::with(THREE, options(1));
    rig.actions();
    let mut state = Pool {
        until: Timestamp(rig.now + 60_000),
        window: Some(2000),
        ..Pool::default()
    };
    let seen = |state, others| Input::PoolUpdated {
        pool: String::new(),
        state,
        others,
    };
    rig.put(seen(state, 2)).completes(1, "A");
    assert!(!rig.actions().contains("spawn"), "the others wait");
    rig.pass(61);
    assert!(!rig.actions().contains("spawn"), "the others have all there is");
    rig.put(seen(state, 1));
    assert_eq!(rig.actions(), "spawn B#1");
    // A person takes the wait away.
    state.until = Timestamp(rig.now + 60_000);
    rig.put(seen(state, 0)).completes(2, "B");
    assert!(!rig.actions().contains("spawn"));
    rig.put(seen(Pool::default(), 0));
    assert_eq!(rig.actions(), "spawn C#1");
    assert_eq!(
        waits(&rig).len(),
        3,
        "each change is on record: {:?}",
        waits(&rig)
    );
}

#[test]
fn other_services_go_on() {
    let mut rig = {
        let mut options = options(2);
        options.agents.default = "one".to_owned();
        options.agents.by_role.insert("r".to_owned(), "two".to_owned());
        Rig::with("id,description,role\nA,a,\nB,b,\nC,c,r\nD,d,\n", options)
    };
    assert_eq!(rig.actions(), "wave-1.csv 4, spawn A#1, spawn B#1");
    refused(&mut rig, 1, Some(600));
    assert_eq!(rig.actions(), "close 1, spawn C#1");
}

#[test]
fn patience_has_an_end() {
    let mut rig = Rig::with("id,description\nA,a\n", options(1));
    let mut worker = 0;
    while !rig.log.iter().any(|actions| actions.starts_with("finish")) {
        worker += 1;
        assert!(worker < 1000, "it would wait for ever");
        refused(&mut rig, worker, None);
        rig.pass(400);
    }
    let actions = rig.actions();
    assert!(actions.contains("refused everything for 24h"), "{actions}");
    assert_eq!(rig.status("A"), Status::Pending);
}

#[test]
fn work_that_was_begun_is_gone_on_with() {
    let mut rig = Rig::with("id,description\nA,a\n", options(1));
    telling(&mut rig, 1);
    conversing(&mut rig, 1, "conversation-1");
    ends_with(&mut rig, 1, LIMITED, 50, None);
    rig.closed(1);
    let ledger = rig.engine.ledger();
    let task = ledger.plan().find("A").expect("a task");
    let resume = ledger.task(task).resume("").expect("the conversation");
    assert_eq!(resume.spent.output, 50);
}
