//! What a person asks of the run and of single tasks while it goes on.

use super::*;
use crate::engine::NOT_DELIVERED;

const PAIR: &str = "id,description,deps\nA,a,\nB,b,\nC,c,A\n";

/// Acts of a person in the journal, with the task.
fn acts(rig: &Rig) -> Vec<(&str, Option<&str>, &str)> {
    let acts = rig.events.iter().filter_map(|event| match event {
        Event::Acted {
            action, task, via, ..
        } => Some((action.as_str(), task.as_deref(), via.as_str())),
        _ => None,
    });
    acts.collect()
}

fn send_message(rig: &mut Rig, task: &str) {
    rig.put(Input::SendMessage {
        task: task.to_owned(),
        text: "use tabs".to_owned(),
    });
}

#[test]
fn an_act_is_in_the_journal_and_changes_nothing_by_itself() {
    let mut rig = Rig::new(PAIR);
    rig.actions();
    rig.put(Input::Acted {
        action: "pause".to_owned(),
        task: Some("A".to_owned()),
        via: "browser".to_owned(),
    });
    assert_eq!(acts(&rig), [("pause", Some("A"), "browser")]);
    assert_eq!(rig.actions(), "");
}

#[test]
fn a_cancelled_task_fails_and_the_others_go_on() {
    let mut rig = Rig::new(PAIR);
    rig.spawned(1).spawned(2);
    rig.actions();
    rig.put(Input::CancelTask("A".to_owned()));
    assert_eq!(rig.actions(), "close 1");
    rig.closed(1);
    assert_eq!(rig.status("A"), Status::Failed);
    assert_eq!(rig.error("A"), "Cancelled by a person");
    assert_eq!(rig.status("B"), Status::Pending);
    rig.completes(2, "B");
    assert_eq!(rig.status("B"), Status::Completed);
    assert_eq!(rig.error("C"), "Dependency failed: A");
}

#[test]
fn a_task_without_a_worker_is_skipped_and_one_with_a_result_stays() {
    let mut rig = Rig::new(PAIR);
    rig.put(Input::CancelTask("C".to_owned()));
    assert_eq!(rig.status("C"), Status::Skipped);
    assert_eq!(rig.error("C"), "Cancelled by a person");
    rig.completes(1, "A");
    rig.put(Input::CancelTask("A".to_owned()));
    assert_eq!(rig.status("A"), Status::Completed);
    assert_eq!(rig.notes, ["A has a result already and is not cancelled"]);
    rig.actions();
    rig.put(Input::CancelTask("nobody".to_owned()));
    assert_eq!(rig.actions(), "");
}

#[test]
fn a_failed_task_runs_again_with_what_was_skipped_because_of_it() {
    let mut rig = Rig::new(PAIR);
    rig.spawned(1).spawned(2).ends(1, TurnExit::Code(1), "").closed(1);
    assert_eq!(rig.status("A"), Status::Failed);
    rig.actions();
    rig.put(Input::RetryTask("A".to_owned()));
    assert!(rig.actions().contains("spawn A#2"));
    assert_eq!(rig.status("C"), Status::Pending);
    rig.completes(3, "A").completes(2, "B");
    assert!(rig.actions().contains("spawn C#1"));
    rig.put(Input::RetryTask("A".to_owned()));
    assert_eq!(rig.notes, ["A has neither failed nor been skipped"]);
}

#[test]
fn a_message_reaches_a_worker_that_works_and_the_journal_says_when_it_does_not() {
    let mut rig = Rig::new(PAIR);
    rig.spawned(1);
    rig.actions();
    send_message(&mut rig, "A");
    assert_eq!(rig.actions(), "send turn 2");
    assert_eq!(acts(&rig), []);
    for task in ["C", "nobody"] {
        send_message(&mut rig, task);
        assert_eq!(rig.actions(), "");
    }
    let undelivered = |task| (NOT_DELIVERED, Some(task), "engine");
    assert_eq!(acts(&rig), [undelivered("C"), undelivered("nobody")]);
}
