//! Requests of a person for single tasks during the run: cancel one, run one again, send a message to its
//! worker.

use super::Engine;
use super::action::Notice;
use super::input::WorkerId;
use super::ledger::TaskProgress;
use crate::event::{Event, Status};
use crate::id::TaskIx;

/// The error of a task that a person cancelled.
const CANCELLED: &str = "Cancelled by a person";

/// The journal's note about a message that no worker could read.
pub const NOT_DELIVERED: &str = "message not delivered";

impl Engine {
    pub(super) fn cancel_task(&mut self, id: &str) {
        let Some(task) = self.ledger.plan().find(id) else {
            return;
        };
        match self.worker_of(task) {
            Some(worker) => {
                if !self.cancel_worker(worker, CANCELLED) {
                    self.note(format!("{id} has reported already and is not cancelled"));
                }
            }
            None if self.ledger.task(task).progress == TaskProgress::Done => {
                self.note(format!("{id} has a result already and is not cancelled"));
            }
            None => self.record(Event::Skipped {
                task: id.to_owned(),
                error: CANCELLED.to_owned(),
            }),
        }
    }

    pub(super) fn retry_task(&mut self, id: &str) {
        let Some(task) = self.ledger.plan().find(id) else {
            return;
        };
        if !matches!(self.ledger.status(task), Status::Failed | Status::Skipped) {
            return self.note(format!("{id} has neither failed nor been skipped"));
        }
        self.reset_by_hand(task, "a person asked for it");
        self.reschedule();
    }

    /// Resets the task and what was skipped because of it.
    pub(super) fn reset_by_hand(&mut self, task: TaskIx, why: &str) {
        for again in self.ledger.to_retry(&[task]) {
            let task = self.task_id(again);
            self.record(Event::Reset {
                task,
                why: why.to_owned(),
            });
        }
    }

    pub(super) fn send_message(&mut self, id: &str, text: &str) {
        let worker = self.ledger.plan().find(id).and_then(|task| self.worker_of(task));
        let is_sent = worker.is_some_and(|worker| {
            self.send_to_working(worker, format!("A message from the person you work for: {text}"))
        });
        if !is_sent {
            self.note(format!("no worker of {id} can read a message now"));
            self.record(Event::Acted {
                at: self.now,
                action: NOT_DELIVERED.to_owned(),
                task: Some(id.to_owned()),
                via: "engine".to_owned(),
            });
        }
    }

    fn worker_of(&self, task: TaskIx) -> Option<WorkerId> {
        let mut live = self.live.iter();
        live.find(|(_, attempt)| attempt.task == task && attempt.is_unrecorded())
            .map(|(worker, _)| *worker)
    }

    fn note(&mut self, text: String) {
        self.notify(Notice::Note(text));
    }
}
