//! Follows one worker from its start to its end. Its reports are in `reports`.

mod check;
mod clocks;
mod outcome;
mod reports;

use self::outcome::Retry;
use super::Engine;
use super::action::{Action, Assignment};
use super::input::{OutputMode, SpawnError, WorkerId};
use super::report::WorkerReport;
use crate::event::{Event, ProcessId, Status, StopReason, TaskResult};
use crate::id::TaskIx;
use crate::team::{CheckKind, Limits};
use crate::time::Timestamp;

pub(super) struct Attempt {
    pub task: TaskIx,
    pub number: u32,
    /// The pool that its agent draws on.
    pub pool: String,
    pub turn: u32,
    repairs: u32,
    /// It was asked about doubts.
    asked: u32,
    /// What stays in doubt about its claim.
    doubt: String,
    /// How often its work was checked, and how often it was sent back because of that.
    checks: u32,
    iterations: u32,
    checking_since: Timestamp,
    /// Whether it was denied a permission, in this turn or before.
    denied: bool,
    pub started: Timestamp,
    pub last_activity: Timestamp,
    /// Deadline for the first output of the turn, for workers with [`OutputMode::Streaming`].
    first_output_by: Option<Timestamp>,
    stall_shown: bool,
    /// Set once its time is up and it was asked to finish.
    finish_by: Option<Timestamp>,
    /// Its time limit ended it, and what it had delivered is checked all the same.
    timed_out: Option<String>,
    close: CloseState,
    stage: AttemptStage,
}

/// Whether the worker's processes have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CloseState {
    Open,
    /// Their end was requested.
    Requested,
    /// Nothing of the worker is left.
    Closed,
}

#[derive(Debug)]
enum AttemptStage {
    /// A check runs before the worker starts.
    CheckingBeforeStart { assignment: Box<Assignment> },
    /// The process was requested.
    Starting,
    /// A turn is under way.
    Working,
    /// It has reported and may end by itself.
    Reported { report: WorkerReport, until: Timestamp },
    /// Its claims are being checked.
    Checking { report: WorkerReport },
    /// A clock or a budget ended it; a report received before the channel closed still counts.
    Expired { stop: StopReason, error: String },
    /// The run is being stopped; a report received before still counts.
    Stopped,
    /// The outcome is on record.
    Recorded,
}

impl Attempt {
    /// Whether its outcome is open, so that it may still use tokens.
    pub(super) fn is_unrecorded(&self) -> bool {
        !matches!(self.stage, AttemptStage::Recorded)
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
            worktree: self.ledger.task(task).open_worktree().cloned(),
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
                asked: 0,
                doubt: String::new(),
                checks: 0,
                iterations: 0,
                checking_since: self.now,
                denied: false,
                started: self.now,
                last_activity: self.now,
                first_output_by: None,
                stall_shown: false,
                finish_by: None,
                timed_out: None,
                close: CloseState::Open,
                stage: AttemptStage::Starting,
            },
        );
        let role = self.ledger.team.role(&assignment.role);
        let check = role.and_then(|role| role.check);
        if check.is_some_and(CheckKind::runs_before_worker) {
            self.check_before_start(worker, assignment);
        } else {
            self.out.push(Action::Spawn(Box::new(assignment)));
        }
    }

    pub(super) fn spawned(&mut self, worker: WorkerId, process: ProcessId, output_mode: OutputMode) {
        let now = self.now;
        let Some(task) = self.live.get(&worker).map(|attempt| attempt.task) else {
            return;
        };
        let first_output_by = match output_mode {
            OutputMode::Streaming => Some(now.plus(self.limits(task).first_event)),
            OutputMode::Silent => None,
        };
        let attempt = self.attempt_mut(worker);
        attempt.last_activity = now;
        attempt.first_output_by = first_output_by;
        if matches!(attempt.stage, AttemptStage::Starting) {
            attempt.stage = AttemptStage::Working;
        }
        let (turn, number) = (attempt.turn, attempt.number);
        let task = self.task_id(task);
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
            SpawnError::Temporary(error) => (error, Retry::Shortage),
        };
        let error = format!("The worker could not be started: {error}");
        self.conclude(worker, StopReason::Crashed, failed(error), retry);
    }

    pub(super) fn activity(&mut self, worker: WorkerId) {
        let now = self.now;
        if let Some(attempt) = self.live.get_mut(&worker) {
            attempt.last_activity = now;
            attempt.first_output_by = None;
            attempt.stall_shown = false;
        }
    }

    pub(super) fn conversation_started(
        &mut self,
        worker: WorkerId,
        conversation: String,
        model: Option<String>,
        version: Option<String>,
    ) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        let (task, attempt) = (self.task_id(attempt.task), attempt.number);
        self.record(Event::ConversationStarted {
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
        attempt.close = CloseState::Closed;
        match &mut attempt.stage {
            // The verdict on its claim is still to come.
            AttemptStage::Checking { .. } | AttemptStage::CheckingBeforeStart { .. } => {}
            AttemptStage::Recorded => {
                self.live.remove(&worker);
            }
            AttemptStage::Expired { stop, error } => {
                let (stop, error) = (*stop, std::mem::take(error));
                if stop == StopReason::Timeout && self.delivers_tests(worker) {
                    return self.check_delivery(worker, error);
                }
                self.conclude(worker, stop, failed(error), Retry::after_stop(stop, None));
            }
            AttemptStage::Reported { report, .. } => {
                let report = report.clone();
                self.accept(worker, report);
            }
            AttemptStage::Stopped | AttemptStage::Starting | AttemptStage::Working => {
                let (task, number) = (attempt.task, attempt.number);
                self.live.remove(&worker);
                let task = self.task_id(task);
                self.record(Event::Interrupted {
                    at: self.now,
                    task,
                    attempt: number,
                });
            }
        }
    }

    /// Ends every worker; reports received before still count.
    pub(super) fn end_all(&mut self) {
        let workers: Vec<WorkerId> = self.live.keys().copied().collect();
        for worker in workers {
            let attempt = self.attempt_mut(worker);
            match &attempt.stage {
                AttemptStage::Reported { report, .. } => {
                    let report = report.clone();
                    self.accept(worker, report);
                }
                AttemptStage::CheckingBeforeStart { .. } | AttemptStage::Starting | AttemptStage::Working => {
                    attempt.stage = AttemptStage::Stopped;
                    self.close(worker);
                }
                AttemptStage::Checking { .. } => self.close(worker),
                AttemptStage::Expired { .. } | AttemptStage::Stopped | AttemptStage::Recorded => {}
            }
        }
    }

    /// Asks for the end of the worker's processes, once.
    fn close(&mut self, worker: WorkerId) {
        let grace = self.options.kill_grace;
        let attempt = self.attempt_mut(worker);
        if attempt.close == CloseState::Open {
            attempt.close = CloseState::Requested;
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
