//! Questions to the person behind the run, which wait for the answer.

use super::{Refused, WorkerSide};
use std::thread::sleep;
use std::time::{Duration, Instant};
use wavecrew_session::{WorkerQuestion, WorkerQuestions};

/// How often the answer is looked for.
pub const LOOK: Duration = Duration::from_millis(100);
/// A run answers much sooner, even when nobody does.
const PATIENCE: Duration = Duration::from_mins(5);
/// Longer questions are for a document.
const MAX_QUESTION: usize = 4000;

/// A question that was asked.
#[derive(Debug)]
pub struct Waiting {
    asks: WorkerQuestions,
    name: String,
    since: Instant,
}

impl WorkerSide {
    /// WorkerQuestions; the answer is waited for with [`Waiting`].
    pub fn ask(&self, question: &str, options: Vec<String>) -> Result<Waiting, Refused> {
        let question = question.trim();
        if question.is_empty() {
            return Err(Refused::wish("there is no question", "say what you want to know"));
        }
        let size = question.chars().count();
        if size > MAX_QUESTION {
            let message = format!("the question has {size} characters, the limit is {MAX_QUESTION}");
            return Err(Refused::wish(message, "ask for one thing, in a few sentences"));
        }
        let who = &self.who;
        if let Some(refusal) = who
            .session
            .attempts()
            .check(&who.task, who.attempt, who.token()?)?
        {
            return Err(Refused::wish(
                refusal.to_string(),
                "nobody waits for this task any more",
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
        Ok(Waiting {
            name: asks.put(&who.task, who.attempt, &ask)?,
            asks,
            since: Instant::now(),
        })
    }
}

impl Waiting {
    /// The answer, once it is there.
    pub fn look(&self) -> Result<Option<String>, Refused> {
        if let Some(answer) = self.asks.answer_to(&self.name)? {
            return Ok(Some(answer));
        }
        if self.since.elapsed() < PATIENCE {
            return Ok(None);
        }
        Err(Refused::wish(
            "the run did not answer",
            "decide it yourself, and say so in your findings",
        ))
    }

    /// Blocks until it is there.
    pub fn wait(self) -> Result<String, Refused> {
        loop {
            if let Some(answer) = self.look()? {
                return Ok(answer);
            }
            sleep(LOOK);
        }
    }
}

/// Whoever goes away without the answer does not wait for it any more.
impl Drop for Waiting {
    fn drop(&mut self) {
        self.asks.forget(&self.name);
    }
}
