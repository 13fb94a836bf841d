//! Workers of the simulation: what they do next, from fast and honest to hung and lying.

use std::time::Duration;
use wavecrew_core::engine::{Input, OutputMode, SpawnError, TurnEnd, TurnExit, WorkerId};
use wavecrew_core::event::{ProcessId, StopReason, TokenUsage};
use wavecrew_test_support::simulation::Rng;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Habit {
    Fast,
    /// Takes many steps, shows signs of life.
    Slow,
    /// Never prints anything.
    Hang,
    /// Exits without a word.
    Die,
    /// Reports for another task first; corrects it when asked.
    LieThenMend,
    /// Reports for another task, always.
    Lie,
    /// Reports while running, then again at the end with another status.
    Twice,
    /// Prints nothing until it is asked to end, then reports.
    Late,
    /// Reports a failure.
    Fail,
    Temporary,
    NoProgram,
    /// Its service has enough of it.
    Limited,
    /// Its account is used up, for a time that may be known.
    UsedUp,
}

const HABITS: [Habit; 17] = [
    Habit::Fast,
    Habit::Fast,
    Habit::Fast,
    Habit::Fast,
    Habit::Slow,
    Habit::Hang,
    Habit::Die,
    Habit::LieThenMend,
    Habit::Lie,
    Habit::Twice,
    Habit::Late,
    Habit::Fail,
    Habit::Temporary,
    Habit::NoProgram,
    Habit::Limited,
    Habit::Limited,
    Habit::UsedUp,
];

pub struct Worker {
    pub task: String,
    pub attempt: u32,
    habit: Habit,
    started: bool,
    turn: u32,
    steps: usize,
    /// The report it left in the channel, if any: it outlives a crash of the coordinator.
    pub left: Option<String>,
    pub closing: bool,
    exited: bool,
    /// Tokens of each turn.
    tokens: u64,
    /// Its score for the work that it rates, if it does: hundredths.
    score: u64,
}

/// The most that a turn uses.
pub const MOST_TOKENS: u64 = 100;
/// Turns of an attempt: the first, its repairs, the feedback on its measured work, and the request to finish.
pub const MOST_TURNS: u64 = 6;

fn report(task: &str, status: &str, score: u64) -> String {
    // Some supervisors report something that is not a score.
    let (score, verdict) = match score {
        0..12 => ("7".to_owned(), "WHAT"),
        12..70 => (format!("0.{:02}", score / 2), "BLOCK"),
        _ => (format!("0.{score}"), "APPROVE"),
    };
    format!(
        r#"{{"id":"{task}","status":"{status}","findings":"{task} is done","score":{score},"verdict":"{verdict}"}}"#
    )
}

impl Worker {
    pub fn new(rng: &mut Rng, task: String, attempt: u32) -> Self {
        let habit = *rng.pick(&HABITS);
        let steps = rng.below(6);
        Self {
            task,
            attempt,
            habit,
            started: false,
            turn: 1,
            steps,
            left: None,
            closing: false,
            exited: false,
            tokens: rng.number() % (MOST_TOKENS + 1),
            score: rng.number() % 100,
        }
    }

    pub fn receive(&mut self, turn: u32) {
        self.turn = turn;
        self.exited = false;
    }

    /// What this worker does next, if it does anything.
    pub fn act(&mut self, worker: WorkerId) -> Option<Input> {
        if self.closing {
            return Some(self.end(worker));
        }
        if !self.started {
            self.started = true;
            let error = match self.habit {
                Habit::Temporary => SpawnError::Temporary("no more processes".to_owned()),
                Habit::NoProgram => SpawnError::Permanent("no such program".to_owned()),
                _ => {
                    let process = ProcessId {
                        pid: 7,
                        start_time: worker.0,
                        boot_id: String::new(),
                        host: None,
                    };
                    let output_mode = OutputMode::Silent;
                    return Some(Input::Spawned {
                        worker,
                        process,
                        output_mode,
                    });
                }
            };
            return Some(Input::SpawnFailed { worker, error });
        }
        if self.exited {
            return None;
        }
        match self.habit {
            Habit::Hang | Habit::Late | Habit::Temporary | Habit::NoProgram => None,
            Habit::Slow if self.steps > 0 => {
                self.steps -= 1;
                Some(Input::Activity { worker })
            }
            Habit::Twice if self.left.is_none() => {
                let body = report(&self.task, "completed", self.score);
                self.left = Some(body.clone());
                Some(Input::Reported { worker, body })
            }
            Habit::Fast | Habit::Slow => Some(self.exit(
                worker,
                TurnExit::Code(0),
                vec![report(&self.task, "completed", self.score)],
            )),
            Habit::Twice | Habit::Fail => Some(self.exit(
                worker,
                TurnExit::Code(0),
                vec![report(&self.task, "failed", self.score)],
            )),
            Habit::Limited => Some(self.turned_away(worker, StopReason::RateLimited)),
            Habit::UsedUp => Some(self.turned_away(worker, StopReason::Quota)),
            Habit::Die => Some(self.exit(worker, TurnExit::Signal(11), vec![])),
            Habit::LieThenMend if self.turn > 1 => Some(self.exit(
                worker,
                TurnExit::Code(0),
                vec![report(&self.task, "completed", self.score)],
            )),
            Habit::LieThenMend | Habit::Lie => Some(self.exit(
                worker,
                TurnExit::Code(0),
                vec![report("someone-else", "completed", self.score)],
            )),
        }
    }

    /// The coordinator ends it: a late worker gets its report in just before the channel closes.
    fn end(&mut self, worker: WorkerId) -> Input {
        if self.habit == Habit::Late && self.left.is_none() && self.started {
            let body = report(&self.task, "completed", self.score);
            self.left = Some(body.clone());
            return Input::Reported { worker, body };
        }
        Input::Closed { worker }
    }

    fn turned_away(&mut self, worker: WorkerId, stop: StopReason) -> Input {
        let retry_after = (self.steps > 3).then(|| Duration::from_secs(self.steps as u64 * 100));
        let mut input = self.exit(worker, TurnExit::Reason(stop), vec![]);
        if let Input::TurnEnded { end, .. } = &mut input {
            end.retry_after = retry_after;
        }
        input
    }

    fn exit(&mut self, worker: WorkerId, exit: TurnExit, reports: Vec<String>) -> Input {
        self.exited = true;
        Input::TurnEnded {
            worker,
            end: TurnEnd {
                exit,
                reports,
                last_output: String::new(),
                spent: TokenUsage {
                    output: self.tokens,
                    ..TokenUsage::default()
                },
                model: None,
                retry_after: None,
            },
        }
    }
}
