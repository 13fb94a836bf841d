//! Questions to the person who started the run.

use super::{Refused, WorkerCommands};
use std::thread::sleep;
use std::time::{Duration, Instant};
use wavecrew_session::{WorkerQuestion, WorkerQuestions};

/// How often to check for the answer.
pub const POLL: Duration = Duration::from_millis(100);
/// A run answers much sooner, even if no person does.
const TIMEOUT: Duration = Duration::from_mins(5);
/// Characters of a question.
const MAX_QUESTION: usize = 4000;

/// A question without an answer yet.
#[derive(Debug)]
pub struct PendingAnswer {
    asks: WorkerQuestions,
    name: String,
    since: Instant,
}

impl WorkerCommands {
    /// Puts a question to the person.
    pub fn ask(&self, question: &str, options: Vec<String>) -> Result<PendingAnswer, Refused> {
        let question = question.trim();
        if question.is_empty() {
            return Err(Refused::request(
                "the question is empty",
                "say what you want to know",
            ));
        }
        let size = question.chars().count();
        if size > MAX_QUESTION {
            let message = format!("the question has {size} characters, the limit is {MAX_QUESTION}");
            return Err(Refused::request(message, "ask for one thing, in a few sentences"));
        }
        let who = &self.who;
        if let Some(refusal) = who
            .session
            .attempts()
            .check(&who.task, who.attempt, who.token()?)?
        {
            return Err(Refused::request(
                refusal.to_string(),
                "the task is already finished",
            ));
        }
        let ask = WorkerQuestion {
            question: self.redactor.text(question),
            options: options
                .into_iter()
                .map(|option| self.redactor.text(&option))
                .collect(),
        };
        let asks = who.session.worker_questions();
        Ok(PendingAnswer {
            name: asks.put(&who.task, who.attempt, &ask)?,
            asks,
            since: Instant::now(),
        })
    }
}

impl PendingAnswer {
    /// The answer, if there is one.
    pub fn poll(&self) -> Result<Option<String>, Refused> {
        if let Some(answer) = self.asks.answer_to(&self.name)? {
            return Ok(Some(answer));
        }
        if self.since.elapsed() < TIMEOUT {
            return Ok(None);
        }
        Err(Refused::request(
            "the run did not answer",
            "decide yourself, and say so in your findings",
        ))
    }

    /// Blocks until there is an answer.
    pub fn wait(self) -> Result<String, Refused> {
        loop {
            if let Some(answer) = self.poll()? {
                return Ok(answer);
            }
            sleep(POLL);
        }
    }
}

/// Withdraws the question if nobody waits for the answer any more.
impl Drop for PendingAnswer {
    fn drop(&mut self) {
        self.asks.forget(&self.name);
    }
}
