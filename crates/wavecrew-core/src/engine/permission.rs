//! Questions of workers: an agent wants to do what the access of its role does not cover, and waits. A person may allow
//! it; without one, or without an answer in time, it is denied.

use super::action::{About, Action, Permission, Question};
use super::input::{Answer, WorkerId};
use super::{Asking, Engine};
use crate::event::Event;
use crate::time::{Timestamp, human};
use std::time::Duration;

/// How long a worker waits for a person. Its other clocks go on.
const PATIENCE: Duration = Duration::from_mins(2);

/// A question that a person has been asked.
pub(super) struct Asked {
    question: u32,
    worker: WorkerId,
    key: String,
    until: Timestamp,
}

impl Engine {
    pub(super) fn asks(&mut self, worker: WorkerId, key: String, text: &str) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        if self.options.asking == Asking::Defaults {
            let permission = Permission::Denied;
            return self.out.push(Action::Reply {
                worker,
                key,
                permission,
            });
        }
        let task = self.ledger.plan().id(attempt.task);
        let text = format!(
            "{task} wants to: {text} (denied unless allowed within {})",
            human(PATIENCE)
        );
        let question = self.ledger.questions;
        self.record(Event::Asked {
            question,
            text: text.clone(),
        });
        self.asked.push(Asked {
            question,
            worker,
            key,
            until: self.now.plus(PATIENCE),
        });
        self.out.push(Action::Ask(Question {
            id: question,
            text,
            about: About::Permission,
        }));
    }

    /// Whether the answer was to a question of a worker.
    pub(super) fn permission_answered(&mut self, question: u32, answer: Answer) -> bool {
        let Some(at) = self.asked.iter().position(|asked| asked.question == question) else {
            return false;
        };
        let Asked { worker, key, .. } = self.asked.swap_remove(at);
        let (permission, said) = match answer {
            Answer::Allow => (Permission::Granted, "allow"),
            Answer::Deny | Answer::Retry | Answer::Abort | Answer::GoOn | Answer::Revise => {
                (Permission::Denied, "deny")
            }
        };
        self.record(Event::Answered {
            question,
            answer: said.to_owned(),
        });
        if self.live.contains_key(&worker) {
            self.out.push(Action::Reply {
                worker,
                key,
                permission,
            });
        }
        true
    }

    /// Nobody answered in time, or nobody waits for the answer any more.
    pub(super) fn look_at_permissions(&mut self) {
        let (now, live) = (self.now, &self.live);
        let due = |asked: &&Asked| now >= asked.until || !live.contains_key(&asked.worker);
        let due: Vec<u32> = self
            .asked
            .iter()
            .filter(due)
            .map(|asked| asked.question)
            .collect();
        for question in due {
            self.permission_answered(question, Answer::Deny);
        }
    }
}
