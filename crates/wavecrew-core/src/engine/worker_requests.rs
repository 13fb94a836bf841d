//! Requests of workers that wait for an answer: permission for what the access of their role does not cover, or a
//! question. Without an answer in time, permission is denied, and a worker with a question decides for itself.

use super::action::{Action, Permission, QuestionKind, Reply};
use super::input::{Answer, GivenAnswer, WorkerId, WorkerRequest};
use super::{AskMode, Engine};
use crate::event::AnsweredBy;
use crate::time::{Timestamp, human};
use std::time::Duration;

/// How long a worker waits for a person. Its other clocks keep running.
const PATIENCE: Duration = Duration::from_mins(2);

/// The answer to a worker's question when nobody answers.
pub const UNATTENDED: &str =
    "Nobody can answer. Decide yourself, and state in your findings what you decided and why.";

/// A request that waits for a person.
pub(super) struct PendingRequest {
    question: u32,
    worker: WorkerId,
    key: String,
    about: Subject,
    until: Timestamp,
}

#[derive(Clone, Copy)]
enum Subject {
    Permission,
    Advice,
}

impl Subject {
    fn without_answer(self) -> Reply {
        match self {
            Self::Permission => Reply::Permission(Permission::Denied),
            Self::Advice => Reply::Text(UNATTENDED.to_owned()),
        }
    }

    /// The reply to the worker, and the answer for the journal.
    fn answered(self, answer: Answer) -> (Reply, String) {
        match (self, answer) {
            (Self::Permission, Answer::Allow) => (Reply::Permission(Permission::Granted), "allow".to_owned()),
            (Self::Advice, Answer::Text(words)) => (Reply::Text(words.clone()), words),
            (
                Self::Permission,
                Answer::Deny
                | Answer::Retry
                | Answer::Abort
                | Answer::Proceed
                | Answer::Revise
                | Answer::Text(_),
            ) => (self.without_answer(), "deny".to_owned()),
            (
                Self::Advice,
                Answer::Allow
                | Answer::Deny
                | Answer::Retry
                | Answer::Abort
                | Answer::Proceed
                | Answer::Revise,
            ) => (self.without_answer(), String::new()),
        }
    }
}

impl Engine {
    pub(super) fn worker_asks(&mut self, worker: WorkerId, key: String, request: WorkerRequest) {
        let now = self.now;
        let Some(attempt) = self.live.get_mut(&worker) else {
            return;
        };
        // A worker that waits for an answer is not stalled.
        attempt.last_activity = now;
        let task = self.ledger.plan().id(attempt.task);
        let clock = human(PATIENCE);
        let (subject, text, kind) = match request {
            WorkerRequest::Permission(what) => (
                Subject::Permission,
                format!("{task} wants to: {what} (denied unless allowed within {clock})"),
                QuestionKind::Permission,
            ),
            WorkerRequest::Question { question, options } => (
                Subject::Advice,
                format!("{task} asks: {question} (decides itself unless answered within {clock})"),
                QuestionKind::Advice { options },
            ),
        };
        if self.options.ask_mode == AskMode::Defaults {
            let reply = subject.without_answer();
            return self.out.push(Action::Reply { worker, key, reply });
        }
        let question = self.ask(text, Vec::new(), kind, PATIENCE);
        self.asked.push(PendingRequest {
            question,
            worker,
            key,
            about: subject,
            until: now.plus(PATIENCE),
        });
    }

    /// Passes an answer to the worker that asked; returns it if no worker asked the question.
    pub(super) fn worker_answered(&mut self, question: u32, given: GivenAnswer) -> Option<GivenAnswer> {
        let Some(at) = self.asked.iter().position(|asked| asked.question == question) else {
            return Some(given);
        };
        let asked = self.asked.swap_remove(at);
        let (reply, answer) = asked.about.answered(given.answer.clone());
        self.record_answer(question, &given, &answer);
        let (now, worker) = (self.now, asked.worker);
        if let Some(attempt) = self.live.get_mut(&worker) {
            attempt.last_activity = now;
            let key = asked.key;
            self.out.push(Action::Reply { worker, key, reply });
        }
        None
    }

    /// Ends requests that nobody answered in time, and those whose worker has ended.
    pub(super) fn expire_worker_requests(&mut self) {
        let (now, live) = (self.now, &self.live);
        let due = |asked: &&PendingRequest| now >= asked.until || !live.contains_key(&asked.worker);
        let due: Vec<u32> = self
            .asked
            .iter()
            .filter(due)
            .map(|asked| asked.question)
            .collect();
        for question in due {
            self.worker_answered(question, GivenAnswer::by(AnsweredBy::Nobody, Answer::Deny));
        }
    }
}
