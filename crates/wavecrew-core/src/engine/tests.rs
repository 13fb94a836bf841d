//! The engine as data: inputs in, actions out.

use super::*;
use crate::event::{Ending, ProcessId, Spent, Status, StopReason};
use crate::plan::Plan;
use crate::sheet::{Origin, Sheet};
use crate::team::Team;
use std::sync::Arc;

mod agents;
mod claims;
mod judgements;
mod landing;
mod questions;
mod spending;
mod waiting;

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
    /// Everything that was said, in short.
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
                Action::Land { tasks } => {
                    let plan = self.engine.ledger().plan();
                    let ids: Vec<&str> = tasks.iter().map(|&task| plan.id(task)).collect();
                    self.log.push(format!("land {}", ids.join(" ")));
                }
                Action::Merged { wave } => self.log.push(format!("merged {wave}")),
                Action::Ask(question) => self.log.push(format!("ask {}", question.id)),
                Action::Reply { key, reply, .. } => self.log.push(format!("reply {key} {reply:?}")),
                Action::Tell(Notice::Stalled { task, .. }) => self.log.push(format!("stalled {task}")),
                Action::RefuseReport { .. } => self.log.push("refused".to_owned()),
                Action::Finish(ending) => self.log.push(format!("finish {ending}")),
                Action::CheckClaim { .. } => self.log.push("check".to_owned()),
                Action::KeepFindings { text, .. } => self.log.push(format!("keep {}", text.len())),
                Action::WriteInteractive { .. } => self.log.push("interactive result".to_owned()),
                Action::Examine { attempt, .. } => self.log.push(format!("examine #{attempt}")),
                Action::Restore { attempt, .. } => self.log.push(format!("restore #{attempt}")),
                Action::Expand { .. } => self.log.push("expand".to_owned()),
                Action::Tell(Notice::Note(text)) => self.notes.push(text),
                Action::Tell(_) | Action::Share { .. } => {}
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
        };
        self.put(Input::Spawned {
            worker: WorkerId(worker),
            process,
            voice: Voice::Quiet,
        })
    }

    fn ends(&mut self, worker: u64, exit: Exit, report: &str) -> &mut Self {
        let reports = if report.is_empty() {
            vec![]
        } else {
            vec![report.to_owned()]
        };
        let end = TurnEnd {
            exit,
            reports,
            last_words: String::new(),
            spent: Spent::default(),
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
            .ends(worker, Exit::Code(0), &report)
            .closed(worker)
    }

    fn said(&mut self) -> String {
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
    assert_eq!(rig.said(), "wave-1.csv 1, spawn A#1");
    rig.completes(1, "A");
    assert_eq!(rig.said(), "close 1, merged 1, wave-2.csv 1, spawn B#1");
    let ledger = rig.engine.ledger();
    assert_eq!(
        ledger.prev_context(ledger.plan().find("B").unwrap()),
        "[A: A] did A"
    );
    rig.completes(2, "B");
    assert_eq!(rig.said(), "close 2, merged 2, finish completed");
}

#[test]
fn slots_are_never_exceeded_and_a_slot_is_free_only_when_its_worker_is_gone() {
    let mut rig = Rig::new("id,description\nA,a\nB,b\nC,c\n");
    assert_eq!(rig.said(), "wave-1.csv 3, spawn A#1, spawn B#1");
    rig.spawned(1)
        .ends(1, Exit::Code(0), r#"{"id":"A","status":"completed"}"#);
    assert_eq!(rig.said(), "close 1");
    rig.closed(1);
    assert_eq!(rig.said(), "spawn C#1");
}

#[test]
fn what_depends_on_a_failure_is_skipped_through_all_waves() {
    let mut rig = Rig::new("id,description,deps\nA,a,\nX,x,\nB,b,A;X\nC,c,B\n");
    rig.spawned(1)
        .ends(1, Exit::Code(3), "")
        .closed(1)
        .completes(2, "X");
    assert_eq!(rig.error("A"), "The worker exited with code 3");
    assert_eq!(rig.error("B"), "Dependency failed: A");
    assert_eq!(rig.error("C"), "Dependency failed: B");
    assert!(rig.said().ends_with("merged 3, finish failed"));
}

#[test]
fn a_bad_report_is_sent_back_twice_then_the_task_fails() {
    let mut rig = Rig::new("id,description\nA,a\n");
    let bad = r#"{"id":"A","status":"done"}"#;
    rig.spawned(1)
        .ends(1, Exit::Code(0), bad)
        .ends(1, Exit::Code(0), bad)
        .ends(1, Exit::Code(0), bad);
    assert_eq!(
        rig.said(),
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
fn a_mended_report_counts() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1)
        .ends(1, Exit::Code(0), "{}")
        .ends(1, Exit::Code(0), r#"{"id":"A","status":"completed"}"#);
    assert_eq!(rig.status("A"), Status::Completed);
}

#[test]
fn a_one_shot_worker_that_takes_too_long_is_ended_and_failed() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1).pass(899);
    assert!(!rig.said().contains("close"));
    rig.pass(1);
    assert_eq!(rig.said(), "close 1");
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
        rig.said(),
        "spawn A#1, stalled A, send turn 2".replace("stalled A, ", "")
    );
    rig.pass(119);
    assert!(!rig.said().contains("close"));
    rig.pass(1).closed(1);
    assert!(rig.said().starts_with("close 1, interactive result"));
    assert!(rig.error("A").contains("asked to finish"));
}

#[test]
fn silence_is_shown_once_and_ended_only_when_asked_for() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1).pass(301).pass(1);
    assert_eq!(rig.said().matches("stalled A").count(), 1);
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
    assert!(rig.said().ends_with("close 1"));
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
    rig.ends(1, Exit::Code(0), r#"{"id":"A","status":"failed"}"#);
    assert_eq!(rig.status("A"), Status::Completed);
}

#[test]
fn a_broken_worker_is_tried_again_after_a_wait_when_attempts_are_left() {
    let options = Options {
        max_attempts: 2,
        ..Options::default()
    };
    let mut rig = Rig::with("id,description\nA,a\n", options);
    rig.spawned(1).ends(1, Exit::Signal(9), "").closed(1);
    assert_eq!(rig.said(), "wave-1.csv 1, spawn A#1, close 1");
    rig.pass(2);
    assert_eq!(rig.said(), "spawn A#2");
    rig.completes(2, "A");
    assert_eq!(rig.status("A"), Status::Completed);
}

#[test]
fn a_shortage_of_the_machine_costs_time_not_tasks() {
    let mut rig = Rig::new("id,description\nA,a\n");
    let short = || SpawnError::Shortage("too many open files".to_owned());
    rig.put(Input::SpawnFailed {
        worker: WorkerId(1),
        error: short(),
    })
    .closed(1)
    .pass(2);
    assert!(rig.said().ends_with("spawn A#2"));
    let gone = SpawnError::Permanent("no such program".to_owned());
    rig.put(Input::SpawnFailed {
        worker: WorkerId(2),
        error: gone,
    })
    .closed(2);
    assert_eq!(rig.error("A"), "The worker could not be started: no such program");
}

#[test]
fn drain_lets_workers_finish_and_stop_ends_them() {
    let mut rig = Rig::new("id,description\nA,a\nB,b\nC,c\n");
    rig.put(Input::Drain).completes(1, "A");
    assert!(!rig.said().contains("spawn C"));
    rig.spawned(2).put(Input::Stop(StopKind::Interrupt));
    assert_eq!(rig.said(), "close 2");
    rig.closed(2);
    assert_eq!(rig.said(), "finish interrupted");
    assert_eq!(
        (rig.status("A"), rig.status("B")),
        (Status::Completed, Status::Pending)
    );
}

#[test]
fn pause_starts_nothing_new() {
    let mut rig = Rig::new("id,description\nA,a\nB,b\nC,c\n");
    rig.put(Input::Pause).completes(1, "A");
    assert!(!rig.said().contains("spawn C"));
    rig.put(Input::Resume);
    assert_eq!(rig.said(), "spawn C#1");
}

#[test]
fn when_a_whole_wave_failed_the_person_may_try_again() {
    let options = Options {
        asking: Asking::Person,
        ..Options::default()
    };
    let mut rig = Rig::with(CHAIN, options);
    rig.spawned(1).ends(1, Exit::Code(1), "").closed(1);
    assert!(rig.said().ends_with("ask 0"));
    rig.put(Input::Answered {
        question: 0,
        answer: Answer::Retry,
    });
    assert_eq!(rig.said(), "wave-1.csv 1, spawn A#2");
    rig.spawned(2).ends(2, Exit::Code(1), "").closed(2);
    rig.put(Input::Answered {
        question: 1,
        answer: Answer::Abort,
    });
    assert!(rig.said().ends_with("finish failed"));
    assert_eq!(rig.error("B"), "Dependency failed: A");
}

#[test]
fn a_question_that_nobody_answers_gets_its_default() {
    let options = Options {
        asking: Asking::Person,
        ..Options::default()
    };
    let mut rig = Rig::with(CHAIN, options);
    rig.spawned(1).ends(1, Exit::Code(1), "").closed(1);
    rig.pass(24 * 3600 - 1);
    assert!(!rig.said().contains("finish"));
    rig.pass(1);
    assert!(rig.said().ends_with("finish failed"));
}

fn replay(csv: &str, events: &[Event]) -> Ledger {
    let mut ledger = Ledger::new(Arc::new(Team::builtin("generic").expect("built in")), table(csv));
    for event in events {
        ledger.apply(event);
    }
    ledger
}

#[test]
fn continue_keeps_what_is_done_and_runs_what_was_cut_off() {
    let mut rig = Rig::new(CHAIN);
    rig.completes(1, "A").spawned(2);
    let mut again = Engine::new(replay(CHAIN, &rig.events), Options::default());
    let actions = again.step(Timestamp(9), Input::Begin { recovered: vec![] });
    let spawned: Vec<_> = actions
        .iter()
        .filter_map(|a| {
            if let Action::Spawn(a) = a {
                Some((a.id.as_str(), a.attempt))
            } else {
                None
            }
        })
        .collect();
    assert_eq!(spawned, [("B", 2)]);
}

#[test]
fn continue_takes_a_report_that_got_in_before_the_crash() {
    let mut rig = Rig::new("id,description\nA,a\n");
    rig.spawned(1);
    let mut again = Engine::new(replay("id,description\nA,a\n", &rig.events), Options::default());
    let body = r#"{"id":"A","status":"completed","findings":"late"}"#.to_owned();
    let recovered = vec![RecoveredReport {
        task: "A".to_owned(),
        attempt: 1,
        body,
    }];
    let actions = again.step(Timestamp(9), Input::Begin { recovered });
    assert!(
        matches!(actions.last(), Some(Action::Finish(Ending::Completed))),
        "{actions:?}"
    );
}

#[test]
fn a_report_from_before_the_crash_gets_all_its_files() {
    let table = "id,description,exec_mode\nA,a,interactive\n";
    let mut rig = Rig::new(table);
    rig.spawned(1);
    let mut again = Engine::new(replay(table, &rig.events), Options::default());
    let findings = "f".repeat(600);
    let recovered = vec![RecoveredReport {
        task: "A".to_owned(),
        attempt: 1,
        body: format!(r#"{{"id":"A","status":"completed","findings":"{findings}"}}"#),
    }];
    let actions = again.step(Timestamp(9), Input::Begin { recovered });
    let kept = actions
        .iter()
        .any(|action| matches!(action, Action::KeepFindings { text, .. } if *text == findings));
    let written = actions
        .iter()
        .any(|action| matches!(action, Action::WriteInteractive { .. }));
    assert!(kept && written, "{actions:?}");
}

#[test]
fn a_result_is_stale_when_what_it_was_made_from_changed() {
    let mut rig = Rig::new(CHAIN);
    rig.completes(1, "A").completes(2, "B");
    let agents = AgentChoice::default();
    let stale = |csv: &str, agents: &AgentChoice, base: Option<&str>| -> Vec<String> {
        let ledger = replay(csv, &rig.events);
        let standing = Standing {
            agents,
            base: base.map(str::to_owned),
        };
        let found = ledger.stale(&standing);
        found
            .iter()
            .map(|s| format!("{}: {}", ledger.plan().id(s.task), s.why))
            .collect()
    };
    assert_eq!(stale(CHAIN, &agents, None), [""; 0]);
    assert_eq!(
        stale(
            "id,description,deps,context_from\nA,other,,\nB,b,A,A\n",
            &agents,
            None
        ),
        ["A: its row was edited", "B: it depends on A, which runs again"]
    );
    let other = AgentChoice {
        default: "codex".to_owned(),
        ..AgentChoice::default()
    };
    assert_eq!(stale(CHAIN, &other, None).len(), 2);
    assert_eq!(stale(CHAIN, &agents, Some("the base commit changed")).len(), 2);
}

fn edit(rig: &mut Rig, from: &str, to: &str) {
    let patch = table(from).sheet().diff(table(to).sheet(), &[]);
    let plan = crate::plan::seal(
        rig.engine.ledger().plan().sheet().apply(&patch),
        &rig.engine.ledger().team,
    );
    let plan = Box::new(plan.expect("a plan").0);
    rig.put(Input::Edited { patch, plan });
}

#[test]
fn rows_added_changed_and_dropped_while_running_take_effect() {
    let mut rig = Rig::new("id,description,deps,status\nA,a,,\nB,b,A,\nC,c,A,\n");
    edit(
        &mut rig,
        "id,description,deps,status\nA,a,,\nB,b,A,\nC,c,A,\n",
        "id,description,deps,status\nA,a,,\nC,new,A,\nD,d,,\n",
    );
    assert_eq!(rig.said(), "wave-1.csv 1, spawn A#1, spawn D#1");
    rig.completes(1, "A").completes(2, "D");
    assert!(rig.said().ends_with("wave-2.csv 1, spawn C#1"));
    let ledger = rig.engine.ledger();
    let c = ledger.plan().find("C").unwrap();
    assert_eq!(ledger.plan().description(c), "new");
}

#[test]
fn statuses_set_by_hand_are_followed() {
    let before = "id,description,deps,status\nA,a,,failed\nB,b,A,skipped\nC,c,,pending\nD,d,,pending\n";
    let mut rig = Rig::with(
        before,
        Options {
            concurrency: 1,
            ..Options::default()
        },
    );
    assert_eq!(rig.said(), "wave-1.csv 2, spawn C#1");
    edit(
        &mut rig,
        before,
        "id,description,deps,status\nA,a,,pending\nB,b,A,skipped\nC,c,,pending\nD,d,,completed\n",
    );
    assert_eq!(
        (rig.status("A"), rig.status("B"), rig.status("D")),
        (Status::Pending, Status::Pending, Status::Completed)
    );
    rig.completes(1, "C");
    assert_eq!(rig.said(), "close 1, spawn A#1");
}

#[test]
fn a_table_that_says_done_is_believed() {
    let rig = Rig::new("id,description,status,findings\nA,a,completed,yes\nB,b,,\n");
    assert_eq!(rig.log.join(", "), "wave-1.csv 1, spawn B#1");
}
