//! Questions to the person who started the run.

use super::relay::unexpected;
use super::{Refused, RelayReply, RelayRequest, WorkerCommands};
use std::sync::mpsc::{Receiver, channel};
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
    source: Source,
    since: Instant,
}

/// Where the answer comes from.
#[derive(Debug)]
enum Source {
    Files {
        asks: WorkerQuestions,
        name: String,
    },
    /// A thread that waits for the run's answer.
    Relay(Receiver<Result<RelayReply, Refused>>),
}

impl WorkerCommands {
    /// Puts a question to the person.
    pub fn ask(&self, question: &str, options: Vec<String>) -> Result<PendingAnswer, Refused> {
        let question = question.trim();
        if question.is_empty() {
            return Err(Refused::request(
                "the question is empty",
                "write what you want to know",
            ));
        }
        let size = question.chars().count();
        if size > MAX_QUESTION {
            let message = format!("the question has {size} characters, the limit is {MAX_QUESTION}");
            return Err(Refused::request(message, "ask for one thing, in a few sentences"));
        }
        let options = options.into_iter().map(|option| self.redactor.text(&option));
        let options: Vec<String> = options.collect();
        let question = self.redactor.text(question);
        if let Some(relay) = self.relay.clone() {
            let (answers, source) = channel();
            std::thread::spawn(move || answers.send(relay.call(RelayRequest::Ask { question, options })));
            return Ok(PendingAnswer {
                source: Source::Relay(source),
                since: Instant::now(),
            });
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
        let ask = WorkerQuestion { question, options };
        let asks = who.session.worker_questions();
        Ok(PendingAnswer {
            source: Source::Files {
                name: asks.put(&who.task, who.attempt, &ask)?,
                asks,
            },
            since: Instant::now(),
        })
    }
}

impl PendingAnswer {
    /// The answer, if there is one.
    pub fn poll(&self) -> Result<Option<String>, Refused> {
        match &self.source {
            Source::Files { asks, name } => {
                if let Some(answer) = asks.answer_to(name)? {
                    return Ok(Some(answer));
                }
            }
            Source::Relay(answers) => match answers.try_recv() {
                Ok(Ok(RelayReply::Answered { text })) => return Ok(Some(text)),
                Ok(Ok(other)) => return Err(unexpected(&other)),
                Ok(Err(refused)) => return Err(refused),
                Err(_) => {}
            },
        }
        if self.since.elapsed() < TIMEOUT {
            return Ok(None);
        }
        Err(Refused::request(
            "the run did not answer",
            "decide yourself, and mention it in your findings",
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

/// Withdraws the question if the worker no longer waits for the answer.
impl Drop for PendingAnswer {
    fn drop(&mut self) {
        if let Source::Files { asks, name } = &self.source {
            asks.forget(name);
        }
    }
}
