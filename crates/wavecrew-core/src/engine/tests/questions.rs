//! What workers ask, and who answers.

use super::*;

fn asks(rig: &mut Rig, key: &str, request: WorkerRequest) {
    rig.put(Input::WorkerAsks {
        worker: WorkerId(1),
        key: key.to_owned(),
        request,
    });
}

fn leave() -> WorkerRequest {
    WorkerRequest::Permission("edit /etc/passwd".to_owned())
}

fn advice() -> WorkerRequest {
    WorkerRequest::Question {
        question: "Which one?".to_owned(),
        options: vec!["this".to_owned(), "that".to_owned()],
    }
}

fn with_a_person() -> Rig {
    let options = Options {
        ask_mode: AskMode::Person,
        ..Options::default()
    };
    let mut rig = Rig::with(CHAIN, options);
    rig.spawned(1);
    rig.actions();
    rig
}

fn answered(rig: &mut Rig, question: u32, answer: Answer) {
    rig.put(Input::Answered {
        question,
        given: GivenAnswer::by(AnsweredBy::Person, answer),
    });
}

#[test]
fn without_a_person_leave_is_denied_and_the_worker_decides() {
    let mut rig = Rig::new(CHAIN);
    rig.spawned(1);
    rig.actions();
    asks(&mut rig, "p", leave());
    assert_eq!(rig.actions(), "reply p Permission(Denied)");
    asks(&mut rig, "q", advice());
    let actions = rig.actions();
    assert!(
        actions.starts_with("reply q Text(\"Nobody can answer. Decide yourself"),
        "{actions}"
    );
    assert!(
        !rig.events
            .iter()
            .any(|event| matches!(event, Event::Asked { .. }))
    );
}

#[test]
fn a_person_may_answer_until_the_clock_runs_out() {
    let mut rig = with_a_person();
    asks(&mut rig, "first", leave());
    asks(&mut rig, "second", leave());
    asks(&mut rig, "third", advice());
    answered(&mut rig, 0, Answer::Allow);
    answered(&mut rig, 2, Answer::Text("the other".to_owned()));
    assert_eq!(
        rig.actions(),
        "ask 0, ask 1, ask 2, reply first Permission(Granted), reply third Text(\"the other\")"
    );
    rig.pass(119);
    assert_eq!(rig.actions(), "");
    rig.pass(1);
    assert_eq!(rig.actions(), "reply second Permission(Denied)");
    answered(&mut rig, 1, Answer::Allow);
    assert_eq!(rig.actions(), "", "too late");
}

#[test]
fn whoever_is_not_told_in_time_decides() {
    let mut rig = with_a_person();
    asks(&mut rig, "q", advice());
    rig.pass(120);
    let actions = rig.actions();
    assert!(actions.starts_with("ask 0, reply q Text(\"Nobody"), "{actions}");
    let last = rig.events.last();
    assert!(matches!(last, Some(Event::Answered { answer, .. }) if answer.is_empty()));
}

#[test]
fn a_question_of_a_worker_that_is_gone_is_forgotten() {
    let mut rig = with_a_person();
    asks(&mut rig, "q", advice());
    rig.ends(1, TurnExit::Code(1), "").closed(1);
    rig.actions();
    rig.pass(1);
    answered(&mut rig, 0, Answer::Text("late".to_owned()));
    assert!(!rig.actions().contains("reply"));
}
