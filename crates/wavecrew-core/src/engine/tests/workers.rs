//! One worker: its report, its time, and what is done when it breaks down.

use super::*;

#[test]
fn a_bad_report_is_sent_back_twice_then_the_task_fails() {
    let mut rig = Rig::new("id,description\nA,a\n");
    let bad = r#"{"id":"A","status":"done"}"#;
    rig.spawned(1)
        .ends(1, TurnExit::Code(0), bad)
        .ends(1, TurnExit::Code(0), bad)
        .ends(1, TurnExit::Code(0), bad);
    assert_eq!(
        rig.actions(),
        "wave-1.csv 1, spawn A#1, send turn 2, send turn 3, close 1"
    );
    assert!(
        rig.error("A")
            .starts_with("The report was not valid after 2 corrections: at /status")
    );
    let sent: Vec<_> = rig
        .events
        .iter()
        .filter(|e| matches!(e, Event::SentBack { .. }))
        .collect();
    assert_eq!(sent.len(), 2);
}

#[test]
fn a_corrected_report_counts() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1).ends(1, TurnExit::Code(0), "{}").ends(
        1,
        TurnExit::Code(0),
        r#"{"id":"A","status":"completed"}"#,
    );
    assert_eq!(rig.status("A"), Status::Completed);
}

#[test]
fn a_one_shot_worker_that_takes_too_long_is_ended_and_failed() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1).pass(899);
    assert!(!rig.actions().contains("close"));
    rig.pass(1);
    assert_eq!(rig.actions(), "close 1");
    assert_eq!(rig.status("A"), Status::Pending, "not before it is gone");
    rig.closed(1);
    assert_eq!(rig.error("A"), "Timed out after 15m 00s");
}

#[test]
fn a_report_that_got_in_while_the_worker_was_being_ended_counts() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1).pass(900);
    rig.put(Input::Reported {
        worker: WorkerId(1),
        body: r#"{"id":"A","status":"completed"}"#.to_owned(),
    });
    rig.closed(1);
    assert_eq!(rig.status("A"), Status::Completed);
}

#[test]
fn an_interactive_worker_is_asked_to_finish_before_it_is_ended() {
    let mut rig = Rig::new("id,description,exec_mode\nA,a,interactive\n");
    rig.spawned(1).pass(900);
    assert_eq!(
        rig.actions(),
        "spawn A#1, stalled A, send turn 2".replace("stalled A, ", "")
    );
    rig.pass(119);
    assert!(!rig.actions().contains("close"));
    rig.pass(1).closed(1);
    assert!(rig.actions().starts_with("close 1, interactive result"));
    assert!(rig.error("A").contains("did not finish when asked"));
}

#[test]
fn silence_is_shown_once_and_ended_only_when_asked_for() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1).pass(301).pass(1);
    assert_eq!(rig.actions().matches("stalled A").count(), 1);
    let options = Options {
        end_idle: Some(Duration::from_mins(1)),
        ..Options::default()
    };
    let mut rig = Rig::with("id,description\nA,a\n", options);
    rig.spawned(1).pass(61).closed(1);
    let Some(Event::Finished { stop, .. }) = rig.events.iter().find(|e| matches!(e, Event::Finished { .. }))
    else {
        panic!("not finished")
    };
    assert_eq!(*stop, StopReason::Idle);
}

#[test]
fn a_worker_that_reported_and_hangs_is_ended_and_its_report_kept() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1);
    rig.put(Input::Reported {
        worker: WorkerId(1),
        body: r#"{"id":"A","status":"completed"}"#.to_owned(),
    });
    assert_eq!(rig.status("A"), Status::Pending);
    rig.pass(11);
    assert_eq!(rig.status("A"), Status::Completed);
    assert!(rig.actions().ends_with("close 1"));
}

#[test]
fn a_second_report_changes_nothing() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1);
    for status in ["completed", "failed"] {
        let body = format!(r#"{{"id":"A","status":"{status}"}}"#);
        rig.put(Input::Reported {
            worker: WorkerId(1),
            body,
        });
    }
    rig.ends(1, TurnExit::Code(0), r#"{"id":"A","status":"failed"}"#);
    assert_eq!(rig.status("A"), Status::Completed);
}

#[test]
fn a_broken_worker_is_tried_again_after_a_wait_when_attempts_are_left() {
    let options = Options {
        max_attempts: 2,
        ..Options::default()
    };
    let mut rig = Rig::with("id,description\nA,a\n", options);
    rig.spawned(1).ends(1, TurnExit::Signal(9), "").closed(1);
    assert_eq!(rig.actions(), "wave-1.csv 1, spawn A#1, close 1");
    rig.pass(2);
    assert_eq!(rig.actions(), "spawn A#2");
    rig.completes(2, "A");
    assert_eq!(rig.status("A"), Status::Completed);
}

fn not_started(rig: &mut Rig, worker: u64, error: SpawnError) -> &mut Rig {
    rig.put(Input::SpawnFailed {
        worker: WorkerId(worker),
        error,
    })
    .closed(worker)
}

#[test]
fn a_shortage_of_the_machine_costs_time_not_tasks() {
    for max_attempts in [1, u32::MAX] {
        let options = Options {
            max_attempts,
            ..Options::default()
        };
        let mut rig = Rig::with("id,description\nA,a\n", options);
        let short = SpawnError::Temporary("too many open files".to_owned());
        not_started(&mut rig, 1, short).pass(2);
        assert!(rig.actions().ends_with("spawn A#2"));
        let gone = SpawnError::Permanent("no such program".to_owned());
        not_started(&mut rig, 2, gone);
        assert_eq!(rig.error("A"), "The worker could not be started: no such program");
    }
}
