//! Follows one worker from its start to its end. What it says on the way is in `reports`.

mod clocks;
mod examine;
mod outcome;
mod reports;

use self::outcome::Retry;
use super::Engine;
use super::action::{Action, Assignment};
use super::input::{OutputMode, SpawnError, WorkerId};
use super::report::Report;
use crate::event::{Event, ProcessId, Status, StopReason, TaskResult};
use crate::id::TaskIx;
use crate::team::{CheckKind, Limits};
use crate::time::Timestamp;

pub(super) struct Attempt {
    pub task: TaskIx,
    pub number: u32,
    /// What its agent draws on.
    pub pool: String,
    pub turn: u32,
    repairs: u32,
    /// How often its work was examined, and how often it was told to go on with it.
    examined: u32,
    iterations: u32,
    checking_since: Timestamp,
    /// It was denied something that it wanted to do, in this turn or before.
    denied: bool,
    pub started: Timestamp,
    pub last_activity: Timestamp,
    /// Until when the turn must have given a sign of life, for workers that do from the start.
    first_word_by: Option<Timestamp>,
    stall_shown: bool,
    /// Set once its time was up and it was asked to finish.
    finish_by: Option<Timestamp>,
    ending: Ending,
    stage: Stage,
}

/// How far the end of the worker's processes has got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    No,
    /// It was asked for.
    Asked,
    /// Nothing of the worker is left.
    Gone,
}

#[derive(Debug)]
enum Stage {
    /// What is so is found out before a worker is started.
    Examining { assignment: Box<Assignment> },
    /// The process was asked for.
    Starting,
    /// A turn is under way.
    Working,
    /// It has reported well and may end by itself.
    Reported { report: Report, until: Timestamp },
    /// Its claim is being compared with the facts.
    Checking { report: Report },
    /// Its time ran out; a report that got in before the channel closed still counts.
    Expired { stop: StopReason, error: String },
    /// The run is being stopped; a report that got in still counts.
    Stopped,
    /// The outcome is on record.
    Recorded,
}

impl Attempt {
    /// It may still use something that nobody knows of.
    pub(super) fn is_unsettled(&self) -> bool {
        !matches!(self.stage, Stage::Recorded)
    }
}

impl Engine {
    /// Hands a task to a new worker.
    pub(super) fn start(&mut self, task: TaskIx) {
        let worker = WorkerId(self.next_worker);
        self.next_worker += 1;
        let plan = self.ledger.plan();
        let number = self.ledger.task(task).attempts + 1;
        let prev_context = self.ledger.prev_context(task);
        let agent = self.ledger.agent_of(task, &self.options.agents).to_owned();
        let assignment = Assignment {
            worker,
            task,
            id: plan.id(task).to_owned(),
            role: plan.role(task).to_owned(),
            attempt: number,
            mode: plan.mode(task),
            prev_context,
            resume: self.ledger.task(task).resume(&agent),
            rework: self.ledger.task(task).rework.as_deref().cloned(),
            found: None,
            workspace: self.workspace(task),
            tree: self.ledger.task(task).open_tree().cloned(),
            agent: agent.clone(),
        };
        let pool = self.pool_of(task).to_owned();
        let print = self
            .prints
            .of(plan, &self.ledger.team, task, &assignment.prev_context);
        let id = assignment.id.clone();
        self.record(Event::AttemptStarted {
            at: self.now,
            task: id,
            attempt: number,
            print,
            agent,
        });
        self.live.insert(
            worker,
            Attempt {
                task,
                number,
                pool,
                turn: 1,
                repairs: 0,
                examined: 0,
                iterations: 0,
                checking_since: self.now,
                denied: false,
                started: self.now,
                last_activity: self.now,
                first_word_by: None,
                stall_shown: false,
                finish_by: None,
                ending: Ending::No,
                stage: Stage::Starting,
            },
        );
        let examined = self
            .ledger
            .team
            .role(&assignment.role)
            .and_then(|role| role.examined);
        if examined.is_some_and(CheckKind::comes_first) {
            self.examine_first(worker, assignment);
        } else {
            self.out.push(Action::Spawn(Box::new(assignment)));
        }
    }

    pub(super) fn spawned(&mut self, worker: WorkerId, process: ProcessId, voice: OutputMode) {
        let now = self.now;
        let Some(task) = self.live.get(&worker).map(|attempt| attempt.task) else {
            return;
        };
        let first_word_by = match voice {
            OutputMode::Streaming => Some(now.plus(self.limits(task).first_event)),
            OutputMode::Silent => None,
        };
        let attempt = self.live.get_mut(&worker).expect("looked up above");
        attempt.last_activity = now;
        attempt.first_word_by = first_word_by;
        if matches!(attempt.stage, Stage::Starting) {
            attempt.stage = Stage::Working;
        }
        let (turn, number) = (attempt.turn, attempt.number);
        let task = self.ledger.plan().id(task).to_owned();
        self.record(Event::Spawned {
            task,
            attempt: number,
            turn,
            process,
        });
    }

    pub(super) fn spawn_failed(&mut self, worker: WorkerId, error: SpawnError) {
        if !self.live.contains_key(&worker) {
            return;
        }
        let (error, retry) = match error {
            SpawnError::Permanent(error) => (error, Retry::Never),
            SpawnError::Shortage(error) => (error, Retry::Shortage),
        };
        let error = format!("The worker could not be started: {error}");
        self.conclude(worker, StopReason::Crashed, failed(error), retry);
    }

    pub(super) fn activity(&mut self, worker: WorkerId) {
        let now = self.now;
        if let Some(attempt) = self.live.get_mut(&worker) {
            attempt.last_activity = now;
            attempt.first_word_by = None;
            attempt.stall_shown = false;
        }
    }

    pub(super) fn conversing(
        &mut self,
        worker: WorkerId,
        conversation: String,
        model: Option<String>,
        version: Option<String>,
    ) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        let (task, attempt) = (self.ledger.plan().id(attempt.task).to_owned(), attempt.number);
        self.record(Event::Conversing {
            task,
            attempt,
            conversation,
            model,
            version,
        });
    }

    pub(super) fn closed(&mut self, worker: WorkerId) {
        let Some(attempt) = self.live.get_mut(&worker) else {
            return;
        };
        attempt.ending = Ending::Gone;
        match &mut attempt.stage {
            // The verdict on its claim is still to come.
            Stage::Checking { .. } | Stage::Examining { .. } => {}
            Stage::Recorded => {
                self.live.remove(&worker);
            }
            Stage::Expired { stop, error } => {
                let (stop, error) = (*stop, std::mem::take(error));
                self.conclude(worker, stop, failed(error), Retry::after_stop(stop, None));
            }
            Stage::Reported { report, .. } => {
                let report = report.clone();
                self.accept(worker, report);
            }
            Stage::Stopped | Stage::Starting | Stage::Working => {
                let (task, number) = (attempt.task, attempt.number);
                self.live.remove(&worker);
                let task = self.ledger.plan().id(task).to_owned();
                self.record(Event::Interrupted {
                    at: self.now,
                    task,
                    attempt: number,
                });
            }
        }
    }

    /// Ends every worker; what got its report in keeps it.
    pub(super) fn end_all(&mut self) {
        let workers: Vec<WorkerId> = self.live.keys().copied().collect();
        for worker in workers {
            let attempt = self.live.get_mut(&worker).expect("taken from the keys");
            match &attempt.stage {
                Stage::Reported { report, .. } => {
                    let report = report.clone();
                    self.accept(worker, report);
                }
                Stage::Examining { .. } | Stage::Starting | Stage::Working => {
                    attempt.stage = Stage::Stopped;
                    self.close(worker);
                }
                Stage::Checking { .. } => self.close(worker),
                Stage::Expired { .. } | Stage::Stopped | Stage::Recorded => {}
            }
        }
    }

    /// Asks for the end of the worker's processes, once.
    fn close(&mut self, worker: WorkerId) {
        let grace = self.options.kill_grace;
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        if attempt.ending == Ending::No {
            attempt.ending = Ending::Asked;
            self.out.push(Action::Close { worker, grace });
        }
    }

    fn limits(&self, task: TaskIx) -> Limits {
        self.ledger.team.limits_for(self.ledger.plan().role(task))
    }
}

pub(super) fn failed(error: String) -> TaskResult {
    TaskResult {
        status: Status::Failed,
        error,
        ..TaskResult::default()
    }
}
