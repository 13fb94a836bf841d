//! The engine as data: inputs in, actions out. Waves, slots and stops are here, the rest by topic below.

use super::*;
use crate::event::{AnsweredBy, ProcessId, RunOutcome, Status, StopReason, TokenUsage};
use crate::plan::Plan;
use crate::sheet::{Origin, Sheet};
use crate::team::Team;
use std::sync::Arc;

mod agents;
mod claims;
mod merging;
mod person;
mod policies;
mod questions;
mod resume;
mod spending;
mod table_edits;
mod waiting;
mod workers;

fn table(csv: &str) -> Plan {
    let sheet = Sheet::read(csv.as_bytes(), Origin::User).expect("a table");
    crate::plan::seal(sheet, &Team::builtin("generic").expect("built in"))
        .expect("a plan")
        .0
}

/// An engine with a clock, and short words for what happens to it.
struct Rig {
    engine: Engine,
    now: u64,
    /// All messages, in short.
    log: Vec<String>,
    events: Vec<Event>,
    notes: Vec<String>,
}

impl Rig {
    fn new(csv: &str) -> Self {
        Self::with(
            csv,
            Options {
                concurrency: 2,
                ..Options::default()
            },
        )
    }

    fn with(csv: &str, options: Options) -> Self {
        Self::of(Team::builtin("generic").expect("built in"), table(csv), options)
    }

    fn of(team: Team, plan: Plan, options: Options) -> Self {
        let mut rig = Self {
            engine: Engine::new(Ledger::new(Arc::new(team), plan), options),
            now: 1_000_000,
            log: Vec::new(),
            events: Vec::new(),
            notes: Vec::new(),
        };
        rig.put(Input::Begin {
            recovered: Vec::new(),
        });
        rig
    }

    fn put(&mut self, input: Input) -> &mut Self {
        let actions = self.engine.step(Timestamp(self.now), input);
        for action in actions {
            match action {
                Action::Record(event) => self.events.push(event),
                Action::Spawn(a) => self.log.push(format!("spawn {}#{}", a.id, a.attempt)),
                Action::Send { turn, .. } => self.log.push(format!("send turn {turn}")),
                Action::Close { worker, .. } => self.log.push(format!("close {}", worker.0)),
                Action::WriteWave { wave, rows } => self.log.push(format!("wave-{wave}.csv {}", rows.len())),
                Action::Merge { tasks } => {
                    let plan = self.engine.ledger().plan();
                    let ids: Vec<&str> = tasks.iter().map(|&task| plan.id(task)).collect();
                    self.log.push(format!("land {}", ids.join(" ")));
                }
                Action::PublishWave { wave } => self.log.push(format!("merged {wave}")),
                Action::Ask(question) => self.log.push(format!("ask {}", question.id)),
                Action::Reply { key, reply, .. } => self.log.push(format!("reply {key} {reply:?}")),
                Action::Notify(Notice::Stalled { task, .. }) => self.log.push(format!("stalled {task}")),
                Action::RefuseReport { .. } => self.log.push("refused".to_owned()),
                Action::Finish(ending) => self.log.push(format!("finish {ending}")),
                Action::CheckClaim { .. } => self.log.push("check".to_owned()),
                Action::KeepFindings { text, .. } => self.log.push(format!("keep {}", text.len())),
                Action::WriteInteractive { .. } => self.log.push("interactive result".to_owned()),
                Action::CheckBeforeStart { attempt, .. } => self.log.push(format!("examine #{attempt}")),
                Action::Restore { attempt, .. } => self.log.push(format!("restore #{attempt}")),
                Action::Expand { .. } => self.log.push("expand".to_owned()),
                Action::Notify(Notice::Note(text)) => self.notes.push(text),
                Action::Notify(_) | Action::SharePoolEvent { .. } => {}
            }
        }
        self
    }

    fn pass(&mut self, seconds: u64) -> &mut Self {
        self.now += seconds * 1000;
        self.put(Input::Tick)
    }

    fn spawned(&mut self, worker: u64) -> &mut Self {
        let process = ProcessId {
            pid: 1,
            start_time: 1,
            boot_id: String::new(),
            host: None,
        };
        self.put(Input::Spawned {
            worker: WorkerId(worker),
            process,
            output_mode: OutputMode::Silent,
        })
    }

    fn ends(&mut self, worker: u64, exit: TurnExit, report: &str) -> &mut Self {
        let reports = if report.is_empty() {
            vec![]
        } else {
            vec![report.to_owned()]
        };
        let end = TurnEnd {
            exit,
            reports,
            last_output: String::new(),
            spent: TokenUsage::default(),
            model: None,
            retry_after: None,
        };
        self.put(Input::TurnEnded {
            worker: WorkerId(worker),
            end,
        })
    }

    fn closed(&mut self, worker: u64) -> &mut Self {
        self.put(Input::Closed {
            worker: WorkerId(worker),
        })
    }

    fn completes(&mut self, worker: u64, id: &str) -> &mut Self {
        let report = format!(r#"{{"id":"{id}","status":"completed","findings":"did {id}"}}"#);
        self.spawned(worker)
            .ends(worker, TurnExit::Code(0), &report)
            .closed(worker)
    }

    fn actions(&mut self) -> String {
        std::mem::take(&mut self.log).join(", ")
    }

    fn status(&self, id: &str) -> Status {
        let ledger = self.engine.ledger();
        ledger.status(ledger.plan().find(id).expect("a task"))
    }

    fn error(&self, id: &str) -> String {
        let ledger = self.engine.ledger();
        ledger
            .task(ledger.plan().find(id).expect("a task"))
            .result
            .error
            .clone()
    }
}

const CHAIN: &str = "id,description,deps,context_from\nA,a,,\nB,b,A,A\n";

#[test]
fn waves_run_in_order_and_findings_flow() {
    let mut rig = Rig::new(CHAIN);
    assert_eq!(rig.actions(), "wave-1.csv 1, spawn A#1");
    rig.completes(1, "A");
    assert_eq!(rig.actions(), "close 1, merged 1, wave-2.csv 1, spawn B#1");
    let ledger = rig.engine.ledger();
    assert_eq!(
        ledger.prev_context(ledger.plan().find("B").unwrap()),
        "[A: A] did A"
    );
    rig.completes(2, "B");
    assert_eq!(rig.actions(), "close 2, merged 2, finish completed");
}

#[test]
fn slots_are_never_exceeded_and_a_slot_is_free_only_when_its_worker_is_gone() {
    let mut rig = Rig::new("id,description\nA,a\nB,b\nC,c\n");
    assert_eq!(rig.actions(), "wave-1.csv 3, spawn A#1, spawn B#1");
    rig.spawned(1)
        .ends(1, TurnExit::Code(0), r#"{"id":"A","status":"completed"}"#);
    assert_eq!(rig.actions(), "close 1");
    rig.closed(1);
    assert_eq!(rig.actions(), "spawn C#1");
}

#[test]
fn what_depends_on_a_failure_is_skipped_through_all_waves() {
    let mut rig = Rig::new("id,description,deps\nA,a,\nX,x,\nB,b,A;X\nC,c,B\n");
    rig.spawned(1)
        .ends(1, TurnExit::Code(3), "")
        .closed(1)
        .completes(2, "X");
    assert_eq!(rig.error("A"), "The worker exited with code 3");
    assert_eq!(rig.error("B"), "Dependency failed: A");
    assert_eq!(rig.error("C"), "Dependency failed: B");
    assert!(rig.actions().ends_with("merged 3, finish failed"));
}

#[test]
fn drain_lets_workers_finish_and_stop_ends_them() {
    let mut rig = Rig::new("id,description\nA,a\nB,b\nC,c\n");
    rig.put(Input::Drain).completes(1, "A");
    assert!(!rig.actions().contains("spawn C"));
    rig.spawned(2).put(Input::Stop(StopKind::Interrupt));
    assert_eq!(rig.actions(), "close 2");
    rig.closed(2);
    assert_eq!(rig.actions(), "finish interrupted");
    assert_eq!(
        (rig.status("A"), rig.status("B")),
        (Status::Completed, Status::Pending)
    );
}

#[test]
fn pause_starts_nothing_new() {
    let mut rig = Rig::new("id,description\nA,a\nB,b\nC,c\n");
    rig.put(Input::Pause).completes(1, "A");
    assert!(!rig.actions().contains("spawn C"));
    rig.put(Input::Resume);
    assert_eq!(rig.actions(), "spawn C#1");
}

#[test]
fn when_a_whole_wave_failed_the_person_may_try_again() {
    let options = Options {
        ask_mode: AskMode::Person,
        ..Options::default()
    };
    let mut rig = Rig::with(CHAIN, options);
    rig.spawned(1).ends(1, TurnExit::Code(1), "").closed(1);
    assert!(rig.actions().ends_with("ask 0"));
    rig.put(Input::Answered {
        question: 0,
        given: GivenAnswer::by(AnsweredBy::Person, Answer::Retry),
    });
    assert_eq!(rig.actions(), "wave-1.csv 1, spawn A#2");
    rig.spawned(2).ends(2, TurnExit::Code(1), "").closed(2);
    rig.put(Input::Answered {
        question: 1,
        given: GivenAnswer::by(AnsweredBy::Person, Answer::Abort),
    });
    assert!(rig.actions().ends_with("finish failed"));
    assert_eq!(rig.error("B"), "Dependency failed: A");
}

#[test]
fn a_question_that_nobody_answers_gets_its_default() {
    let options = Options {
        ask_mode: AskMode::Person,
        ..Options::default()
    };
    let mut rig = Rig::with(CHAIN, options);
    rig.spawned(1).ends(1, TurnExit::Code(1), "").closed(1);
    rig.pass(24 * 3600 - 1);
    assert!(!rig.actions().contains("finish"));
    rig.pass(1);
    assert!(rig.actions().ends_with("finish failed"));
}
