//! Follows one worker from its start to its end: turns, reports, repair rounds.

mod clocks;
mod examine;
mod outcome;

use self::outcome::Retry;
use super::action::{Action, Assignment, Notice};
use super::input::{Exit, SpawnError, TurnEnd, Verdict, Voice, WorkerId};
use super::ledger::set;
use super::report::Report;
use super::{Engine, judge};
use crate::claim;
use crate::event::{Checked, Event, ProcessId, Status, StopReason, TaskResult};
use crate::id::TaskIx;
use crate::team::{Examination, Limits};
use crate::time::Timestamp;
use std::time::Duration;

/// How long a worker that has reported may take to end by itself.
const LINGER: Duration = Duration::from_secs(10);

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
        if examined.is_some_and(Examination::comes_first) {
            self.examine_first(worker, assignment);
        } else {
            self.out.push(Action::Spawn(Box::new(assignment)));
        }
    }

    pub(super) fn spawned(&mut self, worker: WorkerId, process: ProcessId, voice: Voice) {
        let now = self.now;
        let Some(task) = self.live.get(&worker).map(|attempt| attempt.task) else {
            return;
        };
        let first_word_by = match voice {
            Voice::Telling => Some(now.plus(self.limits(task).first_event)),
            Voice::Quiet => None,
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

    pub(super) fn reported(&mut self, worker: WorkerId, body: &str) {
        let now = self.now;
        let Some(attempt) = self.live.get_mut(&worker) else {
            return;
        };
        attempt.last_activity = now;
        let id = self.ledger.plan().id(attempt.task);
        match (self.reader.read(id, body), &attempt.stage) {
            (Ok(_), Stage::Reported { .. } | Stage::Checking { .. } | Stage::Recorded) => {
                let (task, reason) = (id.to_owned(), "a report was accepted before".to_owned());
                self.tell(Notice::ReportIgnored { task, reason });
            }
            (Ok(report), Stage::Expired { .. } | Stage::Stopped) => self.accept(worker, report),
            (Ok(report), Stage::Starting | Stage::Working) => {
                attempt.stage = Stage::Reported {
                    report,
                    until: now.plus(LINGER),
                };
            }
            (Ok(_), Stage::Examining { .. }) => {}
            (Err(reason), _) => self.out.push(Action::RefuseReport { worker, reason }),
        }
    }

    pub(super) fn edited_after_report(&mut self, worker: WorkerId, files: Vec<String>) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        let (task, attempt) = (self.ledger.plan().id(attempt.task).to_owned(), attempt.number);
        self.record(Event::EditedAfterReport { task, attempt, files });
    }

    pub(super) fn turn_ended(&mut self, worker: WorkerId, end: &TurnEnd) {
        let now = self.now;
        self.settle(worker, end);
        let Some(attempt) = self.live.get_mut(&worker) else {
            return;
        };
        attempt.last_activity = now;
        attempt.denied |= end.exit == Exit::Reason(StopReason::PermissionBlocked);
        let denied = attempt.denied;
        let task = attempt.task;
        let being_ended = match &mut attempt.stage {
            Stage::Reported { report, .. } => {
                let report = report.clone();
                return self.accept(worker, report);
            }
            Stage::Examining { .. } | Stage::Checking { .. } | Stage::Recorded => return,
            Stage::Expired { stop, error } => {
                // It ran out of time for a reason of its own, such as a service that it could not reach.
                let by_clock = matches!(stop, StopReason::Timeout | StopReason::Idle);
                if let Exit::Reason(known) = end.exit
                    && by_clock
                {
                    *stop = known;
                    *error = with_last_words(std::mem::take(error), &end.last_words);
                }
                true
            }
            Stage::Stopped => true,
            Stage::Starting | Stage::Working => false,
        };
        let mut refused = None;
        for body in &end.reports {
            match self.reader.read(self.ledger.plan().id(task), body) {
                Ok(report) => return self.accept(worker, report),
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        if being_ended {
            return;
        }
        let (stop, error, retry) = match (refused, end.exit) {
            (
                Some(reason),
                exit @ (Exit::Code(_) | Exit::Signal(_) | Exit::Reason(StopReason::PermissionBlocked)),
            ) => {
                if !self.send_back(worker, &reason) {
                    let rounds = self.limits(task).max_repairs;
                    let error = match self.task_limit_reached(task) {
                        Some(why) => format!("The report was not valid: {reason}; not asked again: {why}"),
                        None => format!("The report was not valid after {rounds} corrections: {reason}"),
                    };
                    let stop = match exit {
                        Exit::Reason(stop) => stop,
                        // What it was denied is what it lacked.
                        Exit::Code(_) | Exit::Signal(_) if denied => StopReason::PermissionBlocked,
                        Exit::Code(_) | Exit::Signal(_) => StopReason::SchemaInvalid,
                    };
                    self.conclude(worker, stop, failed(error), Retry::Never);
                }
                return;
            }
            (_, Exit::Reason(stop)) => (
                stop,
                format!("The agent stopped ({})", stop.as_str()),
                Retry::after_stop(stop, end.retry_after),
            ),
            (None, Exit::Code(0)) => (
                StopReason::NoReport,
                "The worker ended without a report".to_owned(),
                Retry::Never,
            ),
            (None, Exit::Code(code)) => (
                StopReason::Crashed,
                format!("The worker exited with code {code}"),
                Retry::IfBroken,
            ),
            (None, Exit::Signal(signal)) => (
                StopReason::Crashed,
                format!("The worker was ended by signal {signal}"),
                Retry::IfBroken,
            ),
        };
        self.conclude(
            worker,
            stop,
            failed(with_last_words(error, &end.last_words)),
            retry,
        );
    }

    pub(super) fn claim_checked(&mut self, worker: WorkerId, verdict: Verdict) {
        let Some(attempt) = self.live.get_mut(&worker) else {
            return;
        };
        let mut report = match &mut attempt.stage {
            Stage::Checking { report } => report.clone(),
            Stage::Examining { .. } => return self.examined_first(worker, verdict),
            Stage::Starting
            | Stage::Working
            | Stage::Reported { .. }
            | Stage::Expired { .. }
            | Stage::Stopped
            | Stage::Recorded => return,
        };
        match verdict {
            Verdict::Holds { checked, measured } => {
                for (column, value) in measured {
                    set(&mut report.outputs, &column, value);
                }
                self.finish(worker, report, checked);
            }
            Verdict::Examined(examined) => self.examined_again(worker, report, examined),
            Verdict::Mend(reason) => {
                if !self.send_back(worker, &reason) {
                    self.contradict(worker, reason);
                }
            }
            Verdict::Contradicted(reason) => self.contradict(worker, reason),
        }
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

    /// A well-formed report is here: a failure is believed, a success is checked.
    fn accept(&mut self, worker: WorkerId, mut report: Report) {
        let now = self.now;
        let task = self.live[&worker].task;
        let team = &self.ledger.team;
        let owes = team
            .role(self.ledger.plan().role(task))
            .is_some_and(|role| !role.owes.is_empty() || role.examined.is_some());
        let names_files = || claim::reported(team, &report.outputs).next().is_some();
        let names_commits = || claim::reported_commits(team, &report.outputs).next().is_some();
        let checked = self.options.check_all || owes || names_files() || names_commits();
        if report.status == Status::Completed
            && let Err(reason) = judge::fit_to_judge(team, self.ledger.plan(), task, &mut report)
        {
            if !self.send_back(worker, &reason) {
                self.contradict(worker, reason);
            }
            return;
        }
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        if report.status == Status::Completed && checked {
            let outputs = report.outputs.iter().chain(&report.facts).cloned().collect();
            attempt.stage = Stage::Checking { report };
            attempt.checking_since = now;
            self.out.push(Action::CheckClaim {
                worker,
                task,
                outputs,
            });
        } else {
            self.finish(worker, report, Checked::Unverified);
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

    /// Asks the worker again in the same conversation; false when it has been asked often enough.
    fn send_back(&mut self, worker: WorkerId, reason: &str) -> bool {
        let task = self.live[&worker].task;
        let max_repairs = self.limits(task).max_repairs;
        let spent_all = self.task_limit_reached(task).is_some();
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        if attempt.repairs >= max_repairs || attempt.ending != Ending::No || spent_all {
            return false;
        }
        attempt.repairs += 1;
        self.back_to_work(worker);
        let attempt = &self.live[&worker];
        let (ix, number, turn) = (attempt.task, attempt.number, attempt.turn + 1);
        let task = self.ledger.plan().id(ix).to_owned();
        self.record(Event::SentBack {
            task,
            attempt: number,
            turn,
            reason: reason.to_owned(),
        });
        self.say(
            worker,
            format!(
                "Your report was not accepted: {reason}\n\
                 Correct this and report again. Everything else you did is kept."
            ),
        );
        true
    }

    /// The worker has something to do again. What its check took is not its own time.
    fn back_to_work(&mut self, worker: WorkerId) {
        let now = self.now;
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        if let Stage::Checking { .. } = attempt.stage {
            attempt.started = attempt.started.plus(now.since(attempt.checking_since));
        }
        attempt.last_activity = now;
        attempt.stage = Stage::Working;
    }

    fn say(&mut self, worker: WorkerId, text: String) {
        let attempt = self.live.get_mut(&worker).expect("callers looked it up");
        attempt.turn += 1;
        let turn = attempt.turn;
        self.out.push(Action::Send { worker, turn, text });
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

fn with_last_words(what: String, last_words: &str) -> String {
    if last_words.is_empty() {
        what
    } else {
        format!("{what}: {last_words}")
    }
}
