//! Decides what happens next. `step(now, input)` is a pure function of its inputs: no clock, no disk, no randomness. The
//! same inputs give the same actions.
//!
//! `ledger` is the durable state (a fold over events), `wave` picks what runs, `attempt` follows one worker from start to
//! end, `merge` merges worktrees, `policy` decides between waves, `rate_limit` waits for services, `spending` keeps to
//! budgets, `resume` finds what must run again, `report` reads reports.

mod action;
mod attempt;
mod fingerprint;
mod input;
mod ledger;
mod merge;
mod person;
mod policy;
mod rate_limit;
mod report;
mod resume;
mod run_time;
mod spending;
mod wave;
mod worker_requests;

pub use action::{
    Action, AnswerChoice, Assignment, Notice, Permission, Question, QuestionKind, Reply, Resume,
};
pub use fingerprint::{Fingerprinter, is_engine_column};
pub use input::{
    Answer, CheckFindings, CheckOutcome, GivenAnswer, Input, MergeOutcome, OutputMode, RecoveredReport,
    SpawnError, StopKind, TurnEnd, TurnExit, WorkerId, WorkerRequest,
};
pub use ledger::{Conversation, Counts, Ledger, TaskProgress, TaskState, TaskWorktree, WorktreeState};
pub use person::NOT_DELIVERED;
pub use policy::complete_report;
pub use report::{MAX_REPORT_BYTES, ReportDoubt, ReportReader, WorkerReport, final_object, report_doubt};
pub use resume::{ResumeBasis, StaleResult};
pub use worker_requests::UNATTENDED;

use crate::budget::{Budget, ExpectedUsage, Prices};
use crate::event::Event;
use crate::id::{ExecMode, TaskIx};
use crate::time::Timestamp;
use attempt::Attempt;
use rate_limit::{PoolLimits, pool_limits_of};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wave::Schedule;

/// How to run a session.
#[derive(Clone, Debug)]
pub struct Options {
    pub concurrency: usize,
    /// How questions are answered when nobody is asked.
    pub ask_mode: AskMode,
    pub agents: AgentChoice,
    /// Attempts at a task whose worker crashed, timed out or was idle.
    pub max_attempts: u32,
    /// Wait before the second attempt; doubles each time.
    pub backoff: Duration,
    /// Replaces the team's limit for one-shot work.
    pub one_shot: Option<Duration>,
    /// Replaces the team's limit for interactive work, after which the worker is asked to finish.
    pub interactive: Option<Duration>,
    /// Ends a worker that is silent for this long; without it, silence is only shown.
    pub end_idle: Option<Duration>,
    /// Replaces the team's limit after which a silent worker is shown as stalled.
    pub idle: Option<Duration>,
    /// How long a worker may take to end after it is asked to.
    pub kill_grace: Duration,
    /// The pool that an agent draws on, by its name; without one, the agent has a pool of its own.
    pub pools: BTreeMap<String, String>,
    /// How long a service may refuse everything before the run ends.
    pub max_service_wait: Duration,
    /// Seed of all random choices.
    pub seed: u64,
    pub budget: Budget,
    /// Usage reserved for a worker while there is no mean yet.
    pub expected: ExpectedUsage,
    pub prices: Prices,
    /// The pipeline that the table was made from.
    pub pipeline: Option<String>,
    /// Check every success, also of roles that owe nothing.
    pub check_all: bool,
    pub isolation: Isolation,
}

/// Which workers have a git worktree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Isolation {
    /// Workers of roles that require one.
    #[default]
    ByRole,
    /// Nobody.
    Never,
    Everybody,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: 3,
            ask_mode: AskMode::Defaults,
            agents: AgentChoice::default(),
            max_attempts: 1,
            backoff: Duration::from_secs(2),
            one_shot: None,
            interactive: None,
            end_idle: None,
            idle: None,
            kill_grace: Duration::from_secs(5),
            pools: BTreeMap::new(),
            max_service_wait: Duration::from_hours(24),
            seed: 0,
            budget: Budget::default(),
            expected: ExpectedUsage::default(),
            prices: Prices::default(),
            pipeline: None,
            check_all: false,
            isolation: Isolation::default(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AskMode {
    Person,
    Defaults,
}

/// Which agent does which role.
#[derive(Clone, Debug, Default)]
pub struct AgentChoice {
    pub default: String,
    pub by_role: BTreeMap<String, String>,
    /// Ignore the agents that rows name: a recording replays all of them.
    pub ignore_rows: bool,
}

impl AgentChoice {
    pub fn for_role(&self, role: &str) -> &str {
        self.by_role.get(role).unwrap_or(&self.default)
    }
}

/// What the run as a whole is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Not begun.
    Idle,
    Running,
    Paused,
    /// Waits for the rows that a result asks for.
    Expanding,
    /// Nothing new starts; what runs may finish.
    Draining,
    /// What runs is being ended.
    Stopping(StopKind),
    /// Waits for an answer.
    AwaitingAnswer {
        question: u32,
        since: Timestamp,
    },
    Over,
}

pub struct Engine {
    options: Options,
    ledger: Ledger,
    reader: ReportReader,
    prints: Fingerprinter,
    mode: Mode,
    schedule: Schedule,
    live: BTreeMap<WorkerId, Attempt>,
    pool_limits: PoolLimits,
    /// Models whose missing price was reported.
    unpriced: BTreeSet<String>,
    asked: Vec<worker_requests::PendingRequest>,
    /// Tasks whose work is being merged.
    merging: BTreeSet<String>,
    /// Whether the team has policies.
    has_policies: bool,
    pending_decision: Option<policy::PendingDecision>,
    next_worker: u64,
    now: Timestamp,
    out: Vec<Action>,
}

impl Engine {
    pub fn new(ledger: Ledger, options: Options) -> Self {
        let reader = ReportReader::new(&ledger.team);
        let prints = Fingerprinter::new(ledger.plan(), &ledger.team);
        let has_policies = ledger.team.has_policies();
        Self {
            has_policies,
            pool_limits: pool_limits_of(&ledger.pools),
            unpriced: BTreeSet::new(),
            options,
            ledger,
            reader,
            prints,
            mode: Mode::Idle,
            schedule: Schedule::default(),
            live: BTreeMap::new(),
            asked: Vec::new(),
            merging: BTreeSet::new(),
            pending_decision: None,
            next_worker: 1,
            now: Timestamp::default(),
            out: Vec::new(),
        }
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub fn into_ledger(self) -> Ledger {
        self.ledger
    }

    /// Who does which role in this run.
    pub fn agents(&self) -> &AgentChoice {
        &self.options.agents
    }

    pub fn running(&self) -> usize {
        self.live.len()
    }

    /// Takes one input and returns the actions that follow from it.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Vec<Action> {
        self.now = now;
        match input {
            Input::Begin { recovered } => self.begin(&recovered),
            Input::Tick => self.tick(),
            Input::Spawned {
                worker,
                process,
                output_mode,
            } => self.spawned(worker, process, output_mode),
            Input::SpawnFailed { worker, error } => self.spawn_failed(worker, error),
            Input::Activity { worker } => self.activity(worker),
            Input::ConversationStarted {
                worker,
                conversation,
                model,
                version,
            } => self.conversation_started(worker, conversation, model, version),
            Input::Reported { worker, body } => self.reported(worker, &body),
            Input::WorktreeMade { worker, worktree } => self.worktree_made(worker, worktree),
            Input::MergeDone { task, outcome } => self.merge_done(task, outcome),
            Input::WorkerAsks { worker, key, request } => self.worker_asks(worker, key, request),
            Input::UsageSoFar { worker, spent, model } => self.usage_so_far(worker, spent, model.as_deref()),
            Input::TurnEnded { worker, end } => self.turn_ended(worker, &end),
            Input::EditedAfterReport { worker, files } => self.edited_after_report(worker, files),
            Input::Refused { worker, refusals } => self.refused(worker, refusals),
            Input::Doubted { worker, reason } => self.doubted(worker, &reason),
            Input::ClaimChecked { worker, outcome } => self.claim_checked(worker, outcome),
            Input::Expanded { task, change } => self.expanded(&task, change),
            Input::Closed { worker } => self.closed(worker),
            Input::PoolUpdated { pool, state, others } => self.pool_updated(&pool, state, others),
            Input::TableEdited { patch, plan } => self.table_edited(patch, *plan),
            Input::TableEditRefused { problems } => {
                self.record(Event::TableEditRefused { at: now, problems });
            }
            Input::Answered { question, given } => self.answered(question, given),
            Input::Drain => self.drain(),
            Input::Stop(kind) => self.stop(kind),
            Input::Pause => {
                if self.mode == Mode::Running {
                    self.mode = Mode::Paused;
                }
            }
            Input::Resume => {
                if self.mode == Mode::Paused {
                    self.mode = Mode::Running;
                }
            }
            Input::Acted { action, task, via } => self.record(Event::Acted {
                at: now,
                action,
                task,
                via,
            }),
            Input::CancelTask(task) => self.cancel_task(&task),
            Input::RetryTask(task) => self.retry_task(&task),
            Input::SendMessage { task, text } => self.send_message(&task, &text),
        }
        self.advance();
        std::mem::take(&mut self.out)
    }

    /// Applies an event and sends it to the journal, before any action that follows it.
    fn record(&mut self, event: Event) {
        self.ledger.apply(&event);
        self.out.push(Action::Record(event));
    }

    fn notify(&mut self, notice: Notice) {
        self.out.push(Action::Notify(notice));
    }

    /// Asks the person; returns the number of the question.
    fn ask(&mut self, text: String, documents: Vec<String>, kind: QuestionKind, timeout: Duration) -> u32 {
        let id = self.ledger.questions;
        let question = Question {
            id,
            text,
            documents,
            kind,
            timeout,
        };
        let (facts, asked) = question.facts_and_question(str::to_owned);
        let text = if facts.is_empty() {
            asked.to_owned()
        } else {
            format!("{facts}\n{asked}")
        };
        self.record(Event::Asked { question: id, text });
        self.out.push(Action::Ask(question));
        id
    }

    /// Asks the person, and starts nothing until there is an answer.
    fn ask_and_wait(&mut self, text: String, documents: Vec<String>, kind: QuestionKind) {
        let question = self.ask(text, documents, kind, self.ledger.team.limits.person);
        self.mode = Mode::AwaitingAnswer {
            question,
            since: self.now,
        };
    }

    /// Writes the result file of an interactive task, now that its result is on record.
    fn write_interactive_result(&mut self, task: TaskIx) {
        if self.ledger.plan().mode(task) == ExecMode::Interactive {
            self.out.push(Action::WriteInteractive { task });
        }
    }

    fn task_id(&self, task: TaskIx) -> String {
        self.ledger.plan().id(task).to_owned()
    }

    /// A worker that callers have looked up.
    fn attempt_mut(&mut self, worker: WorkerId) -> &mut Attempt {
        self.live.get_mut(&worker).expect("callers looked it up")
    }
}

#[cfg(test)]
mod tests;
