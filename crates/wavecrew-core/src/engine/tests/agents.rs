//! Events about workers: conversations, usage, stop reasons, the first output.

use super::*;
use crate::event::Event;

const ONE: &str = "id,description\nA,a\n";

pub(super) fn telling(rig: &mut Rig, worker: u64) {
    let process = ProcessId {
        pid: 1,
        start_time: 1,
        boot_id: String::new(),
        host: None,
    };
    rig.put(Input::Spawned {
        worker: WorkerId(worker),
        process,
        output_mode: OutputMode::Streaming,
    });
}

pub(super) fn conversing(rig: &mut Rig, worker: u64, conversation: &str) {
    rig.put(Input::ConversationStarted {
        worker: WorkerId(worker),
        conversation: conversation.to_owned(),
        model: None,
        version: None,
    });
}

pub(super) fn ends_with(
    rig: &mut Rig,
    worker: u64,
    exit: TurnExit,
    output: u64,
    retry_after: Option<Duration>,
) {
    let end = TurnEnd {
        exit,
        reports: Vec::new(),
        last_output: "so it said".to_owned(),
        spent: TokenUsage {
            output,
            ..TokenUsage::default()
        },
        model: None,
        retry_after,
    };
    rig.put(Input::TurnEnded {
        worker: WorkerId(worker),
        end,
    });
}

fn stop_of(rig: &Rig) -> StopReason {
    let ledger = rig.engine.ledger();
    let task = ledger.plan().find("A").expect("a task");
    ledger.task(task).stop.expect("an end")
}

#[test]
fn one_that_should_talk_and_says_nothing_is_ended() {
    let mut rig = Rig::new(ONE);
    telling(&mut rig, 1);
    rig.pass(119);
    assert_eq!(rig.actions(), "wave-1.csv 1, spawn A#1");
    rig.pass(1).closed(1);
    assert_eq!(stop_of(&rig), StopReason::Idle);
    assert_eq!(rig.error("A"), "No output within 2m 00s of starting");

    let mut rig = Rig::new(ONE);
    telling(&mut rig, 1);
    rig.put(Input::Activity { worker: WorkerId(1) }).pass(200);
    assert_eq!(rig.actions(), "wave-1.csv 1, spawn A#1");
}

#[test]
fn a_clock_gives_way_to_the_reason_behind_it() {
    let mut rig = Rig::new(ONE);
    telling(&mut rig, 1);
    rig.pass(120);
    ends_with(&mut rig, 1, TurnExit::Reason(StopReason::Refused), 0, None);
    rig.closed(1);
    assert_eq!(stop_of(&rig), StopReason::Refused);
    assert_eq!(rig.error("A"), "No output within 2m 00s of starting: so it said");
}

#[test]
fn an_error_that_waiting_cannot_fix_is_not_retried() {
    let options = Options {
        max_attempts: 2,
        ..Options::default()
    };
    let mut rig = Rig::with(ONE, options);
    telling(&mut rig, 1);
    let wait = Some(Duration::from_secs(30));
    ends_with(&mut rig, 1, TurnExit::Reason(StopReason::Auth), 0, wait);
    rig.closed(1);
    assert_eq!(rig.error("A"), "The agent stopped (auth): so it said");
}

#[test]
fn a_report_that_is_prose_is_sent_back_whatever_was_denied() {
    let mut rig = Rig::new(ONE);
    let blocked = TurnExit::Reason(StopReason::PermissionBlocked);
    rig.spawned(1).ends(1, blocked, "I was not let.");
    assert!(rig.actions().ends_with("send turn 2"));
    rig.ends(1, blocked, "No.").ends(1, blocked, "Still no.");
    assert_eq!(stop_of(&rig), StopReason::PermissionBlocked);
}

#[test]
fn a_conversation_that_was_cut_off_is_gone_on_with_and_counted_on() {
    let mut rig = Rig::new(ONE);
    telling(&mut rig, 1);
    conversing(&mut rig, 1, "conversation-1");
    ends_with(&mut rig, 1, TurnExit::Reason(StopReason::Interrupted), 50, None);
    let after = |events: &[Event]| {
        let team = Arc::new(Team::builtin("generic").expect("built in"));
        let mut ledger = Ledger::new(team, table(ONE));
        for event in events {
            ledger.apply(event);
        }
        ledger
    };
    // As the journal of a coordinator that was killed has it.
    let open: Vec<Event> = rig
        .events
        .iter()
        .filter(|event| !matches!(event, Event::Finished { .. }))
        .cloned()
        .collect();
    let resumed = |agent: &str| {
        let mut options = Options::default();
        agent.clone_into(&mut options.agents.default);
        let mut engine = Engine::new(after(&open), options);
        let actions = engine.step(
            Timestamp(2_000_000),
            Input::Begin {
                recovered: Vec::new(),
            },
        );
        let spawn = actions.into_iter().find_map(|action| match action {
            Action::Spawn(assignment) => Some(assignment),
            _ => None,
        });
        spawn.expect("another attempt").resume
    };
    let resume = resumed("").expect("the conversation");
    assert_eq!(
        (resume.conversation.as_str(), resume.spent.output),
        ("conversation-1", 50)
    );
    assert_eq!(resumed("another"), None);
    // One that ended by itself is over.
    let ended = after(&rig.events);
    assert_eq!(
        ended.task(ended.plan().find("A").expect("a task")).conversation,
        None
    );
}
