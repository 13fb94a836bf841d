//! The world around the engine: a journal that can lose its unsynced tail, workers, a clock, and crashes. Checks
//! the invariants at every step.

mod checks;

use crate::simulation::seen::Seen;
use crate::simulation::tables::{JUDGED, TEAM, judged_table, random_table, read};
use crate::simulation::workers::{MOST_TOKENS, MOST_TURNS, Worker};
use std::collections::BTreeMap;
use std::sync::Arc;
use wavecrew_core::budget::Budget;
use wavecrew_core::engine::{
    Action, Answer, AskMode, CheckFindings, CheckOutcome, Engine, GivenAnswer, Input, Ledger, Options,
    RecoveredReport, StopKind, TaskProgress, WorkerId,
};
use wavecrew_core::event::{
    AnsweredBy, Event, Policy, PolicyOutcome, RunOutcome, Status, StopReason, Verdict,
};
use wavecrew_core::plan::{Plan, seal};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;
use wavecrew_core::time::Timestamp;
use wavecrew_test_support::simulation::Rng;

/// Steps after which a run counts as never ending.
const MAX_STEPS: usize = 20_000;
const MAX_CRASHES: usize = 3;

pub struct World {
    rng: Rng,
    team: Arc<Team>,
    plan: Plan,
    options: Options,
    now: u64,
    engine: Engine,
    /// What is on disk; the first `synced` events survive a loss of power.
    journal: Vec<Event>,
    /// The journal, folded.
    disk: Ledger,
    synced: usize,
    workers: BTreeMap<WorkerId, Worker>,
    /// Claims that are being checked; `true` if there is no worker yet and none is needed any more.
    examined: BTreeMap<WorkerId, bool>,
    /// Reports in the channel of dead workers.
    inbox: Vec<RecoveredReport>,
    crashes: usize,
    pub seen: Seen,
}

impl World {
    pub fn new(mut rng: Rng) -> Self {
        let (team, table) = if rng.one_in(2) {
            (Arc::clone(&JUDGED), judged_table(&mut rng))
        } else {
            (Arc::clone(&TEAM), random_table(&mut rng))
        };
        let plan = read(&team, &table);
        let ask_mode = if rng.one_in(3) {
            AskMode::Person
        } else {
            AskMode::Defaults
        };
        let options = Options {
            concurrency: 1 + rng.below(4),
            max_attempts: 1 + u32::try_from(rng.below(3)).expect("small"),
            ask_mode,
            seed: rng.number(),
            budget: Budget {
                tokens: rng.one_in(3).then(|| 1 + rng.number() % 500),
                ..Budget::default()
            },
            ..Options::default()
        };
        let ledger = || Ledger::new(Arc::clone(&team), plan.clone());
        let (engine, disk) = (Engine::new(ledger(), options.clone()), ledger());
        Self {
            rng,
            team,
            plan,
            options,
            now: 1_000_000,
            engine,
            journal: Vec::new(),
            disk,
            synced: 0,
            workers: BTreeMap::new(),
            examined: BTreeMap::new(),
            inbox: Vec::new(),
            crashes: 0,
            seen: Seen::default(),
        }
    }

    pub fn run_to_the_end(&mut self) {
        let mut ending = self.begin();
        for _ in 0..MAX_STEPS {
            match ending {
                Some(RunOutcome::Interrupted | RunOutcome::Cancelled) => {
                    self.restart();
                    ending = self.begin();
                }
                Some(RunOutcome::LimitReached { .. }) => {
                    self.make_room();
                    self.restart();
                    ending = self.begin();
                }
                Some(RunOutcome::Blocked { .. }) => {
                    // It stays so until a person decides otherwise.
                    self.seen.blocked += 1;
                    return;
                }
                Some(_) => return self.check_the_end(),
                None => {
                    let input = self.something_happens();
                    ending = self.step(input);
                }
            }
        }
        panic!(
            "the run never ends: {:?}",
            self.journal.iter().rev().take(8).collect::<Vec<_>>()
        );
    }

    /// A person goes on with a higher limit.
    fn make_room(&mut self) {
        self.seen.limits += 1;
        if let Some(most) = self.options.budget.tokens {
            // Running workers could finish, and no others were started.
            let at_once = self.options.concurrency as u64 * MOST_TURNS * MOST_TOKENS;
            let used = self.disk.totals.spent.tokens();
            assert!(used <= most + at_once, "{used} tokens were used of {most}");
        }
        self.options.budget.tokens = self.options.budget.tokens.map(|most| 2 * most + MOST_TOKENS);
    }

    fn begin(&mut self) -> Option<RunOutcome> {
        let recovered = std::mem::take(&mut self.inbox);
        self.step(Input::Begin { recovered })
    }

    fn something_happens(&mut self) -> Input {
        if self.rng.one_in(150) {
            self.seen.stops += 1;
            return Input::Stop(*self.rng.pick(&[StopKind::Interrupt, StopKind::Cancel]));
        }
        if self.rng.one_in(300) {
            return Input::Drain;
        }
        if self.rng.one_in(100)
            && let Some(edit) = self.someone_edits()
        {
            self.seen.edits += 1;
            return edit;
        }
        let examined: Vec<WorkerId> = self.examined.keys().copied().collect();
        if !examined.is_empty() && self.rng.one_in(2) {
            let worker = *self.rng.pick(&examined);
            let unwanted = self.examined.remove(&worker).expect("picked");
            return if unwanted {
                Input::Closed { worker }
            } else {
                let outcome = self.check_outcome();
                Input::ClaimChecked { worker, outcome }
            };
        }
        let ids: Vec<WorkerId> = self.workers.keys().copied().collect();
        if !ids.is_empty() && !self.rng.one_in(4) {
            let id = *self.rng.pick(&ids);
            if let Some(input) = self.workers.get_mut(&id).expect("picked").act(id) {
                return input;
            }
        }
        self.now += 1 + self.rng.number() % 400_000;
        Input::Tick
    }

    /// What an examination comes to.
    fn check_outcome(&mut self) -> CheckOutcome {
        if self.rng.one_in(12) {
            return CheckOutcome::SendBack("the environment is broken".to_owned());
        }
        let pass_rate = *self.rng.pick(&["0.50", "0.96", "1.00", "1.00"]);
        let coverage = self.rng.below(101).to_string();
        let measured = vec![
            ("pass_rate".to_owned(), pass_rate.to_owned()),
            ("coverage_achieved".to_owned(), coverage),
        ];
        CheckOutcome::Measured(CheckFindings {
            verdict: Verdict::Verified,
            measured,
            shortfall: self.rng.one_in(2).then(|| "more".to_owned()),
            ..CheckFindings::default()
        })
    }

    /// A person sets a status by hand, or changes a row.
    fn someone_edits(&mut self) -> Option<Input> {
        let ledger = self.engine.ledger();
        let mut table = Vec::new();
        ledger
            .plan()
            .render(&mut table, |task, column| ledger.cell(task, column))
            .expect("memory");
        let before = Sheet::read(&table[..], Origin::Session).expect("our own table");
        let tasks: Vec<_> = ledger.plan().tasks().collect();
        let task = *self.rng.pick(&tasks);
        if matches!(ledger.task(task).progress, TaskProgress::Open { .. }) {
            return None;
        }
        let status = *self
            .rng
            .pick(&[Status::Pending, Status::Completed, Status::Skipped]);
        let mut table = Vec::new();
        let edited = |at, column: &str| match column {
            "status" if at == task => Some(status.as_str().into()),
            _ => ledger.cell(at, column),
        };
        ledger.plan().render(&mut table, edited).expect("memory");
        let after = Sheet::read(&table[..], Origin::Session).expect("our own table");
        let patch = before.diff(&after, &["wave", "findings", "error"]);
        let plan = seal(ledger.plan().sheet().apply(&patch), &self.team)
            .expect("a plan")
            .0;
        Some(Input::TableEdited {
            patch,
            plan: Box::new(plan),
        })
    }

    fn step(&mut self, input: Input) -> Option<RunOutcome> {
        if let Input::Closed { worker } = &input {
            self.workers.remove(worker);
        }
        let actions = self.engine.step(Timestamp(self.now), input);
        // Group commit: sometimes what is written is also synced.
        if self.rng.one_in(2) {
            self.synced = self.journal.len();
        }
        let crash_at =
            (self.crashes < MAX_CRASHES && self.rng.one_in(40)).then(|| self.rng.below(actions.len() + 1));
        let mut ending = None;
        for (at, action) in actions.into_iter().enumerate() {
            if crash_at == Some(at) {
                self.crash();
                return self.begin();
            }
            ending = self.perform(action).or(ending);
        }
        if crash_at.is_some() {
            self.crash();
            return self.begin();
        }
        assert!(
            self.engine.running() <= self.options.concurrency,
            "more workers than slots"
        );
        self.check_replay();
        ending
    }

    fn perform(&mut self, action: Action) -> Option<RunOutcome> {
        match action {
            Action::Record(event) => self.record(event),
            Action::Spawn(assignment) => {
                let (id, task) = (assignment.worker, assignment.id);
                self.check_may_start(&task);
                let waits = self.disk.waits(Timestamp(self.now)).count();
                assert_eq!(waits, 0, "{task} is started though its service is waited for");
                let worker = Worker::new(&mut self.rng, task, assignment.attempt);
                assert!(
                    self.workers.insert(id, worker).is_none(),
                    "a worker id was used twice"
                );
            }
            Action::Send { worker, turn, .. } => {
                assert!(u64::from(turn) <= MOST_TURNS, "the conversation has no end");
                self.workers
                    .get_mut(&worker)
                    .expect("only open workers are spoken to")
                    .receive(turn);
            }
            Action::Close { worker, .. } => match self.workers.get_mut(&worker) {
                Some(open) => open.closing = true,
                None => {
                    // There was only its examination.
                    self.examined.insert(worker, true);
                }
            },
            Action::RefuseReport { worker, .. } => {
                self.workers
                    .get_mut(&worker)
                    .expect("only open workers report")
                    .left = None;
            }
            Action::Ask(question) => {
                let choices = question.kind.choices();
                let answer: Answer = self.rng.pick(&choices).answer.clone();
                return self.step(Input::Answered {
                    question: question.id,
                    given: GivenAnswer::by(AnsweredBy::Person, answer),
                });
            }
            Action::Reply { .. } => unreachable!("these workers ask nothing"),
            Action::CheckBeforeStart { worker, .. } | Action::CheckClaim { worker, .. } => {
                self.examined.insert(worker, false);
            }
            Action::Restore { .. } => self.seen.rolled_back += 1,
            Action::Expand { .. } => unreachable!("these plans stay as they are"),
            Action::Finish(ending) => {
                assert!(
                    self.workers.is_empty(),
                    "workers are left behind: {:?}",
                    self.workers.keys()
                );
                return Some(ending);
            }
            Action::Merge { .. } => panic!("everybody works in the project"),
            Action::WriteWave { .. }
            | Action::KeepFindings { .. }
            | Action::WriteInteractive { .. }
            | Action::PublishWave { .. }
            | Action::SharePoolEvent { .. }
            | Action::Notify(_) => {}
        }
        None
    }

    fn record(&mut self, event: Event) {
        match &event {
            Event::SentBack { task, attempt, .. } => {
                self.seen.sent_back += 1;
                let before = self.journal.iter().filter(
                    |e| matches!(e, Event::SentBack { task: t, attempt: a, .. } if t == task && a == attempt),
                );
                // Twice for its report, twice for its work.
                assert!(before.count() < 4, "{task} was sent back without an end");
            }
            Event::AttemptFailed { attempt, .. } => {
                self.seen.retries += 1;
                assert!(*attempt < 60, "attempts have no end");
            }
            Event::Postponed { .. } => self.seen.postponed += 1,
            Event::Finished { result, stop, .. } => {
                assert!(
                    !matches!(stop, StopReason::RateLimited | StopReason::Quota),
                    "a service that has to be waited for cost a task"
                );
                self.seen.completed += u64::from(result.status == Status::Completed);
                self.seen.timeouts += u64::from(stop.as_str() == "timeout");
            }
            Event::Skipped { .. } => self.seen.skips += 1,
            Event::PolicyDecided { decision, .. } if decision.outcome == PolicyOutcome::Revise => {
                self.seen.revised += 1;
                let is_loop = matches!(decision.by, Policy::Loop { .. });
                let most = if is_loop { 3 } else { 2 };
                assert!(decision.round < most, "{} goes back without an end", decision.by);
            }
            _ => {}
        }
        self.disk.apply(&event);
        self.journal.push(event);
    }

    /// The state that the journal alone gives.
    fn replayed(&self) -> Ledger {
        let mut ledger = Ledger::new(Arc::clone(&self.team), self.plan.clone());
        for event in &self.journal {
            ledger.apply(event);
        }
        ledger
    }

    /// The coordinator dies; the guardian ends the workers; what they left in the channel stays.
    fn crash(&mut self) {
        self.crashes += 1;
        self.seen.crashes += 1;
        if self.rng.one_in(3) {
            self.seen.power_losses += 1;
            let kept = self.synced + self.rng.below(self.journal.len() - self.synced + 1);
            self.journal.truncate(kept);
        }
        for worker in std::mem::take(&mut self.workers).into_values() {
            if let Some(body) = worker.left {
                self.seen.recovered += 1;
                self.inbox.push(RecoveredReport {
                    task: worker.task,
                    attempt: worker.attempt,
                    body,
                });
            }
        }
        self.restart();
    }

    fn restart(&mut self) {
        self.examined.clear();
        self.synced = self.journal.len();
        self.disk = self.replayed();
        self.engine = Engine::new(self.replayed(), self.options.clone());
    }
}
