//! What workers say while their turn goes on besides reports: questions, over the line that they are spoken to on or as
//! files, and what they use.

use super::{DriveError, Driver};
use wavecrew_agents::Redactor;
use wavecrew_core::engine::{Input, Permission, Reply, WorkerId, WorkerRequest};
use wavecrew_core::sanitise::sanitise;
use wavecrew_core::view::one_line;
use wavecrew_session::WorkerQuestion;
use wavecrew_session::worker_questions::belongs_to;

impl Driver<'_> {
    pub(super) fn look_for_questions(&mut self) {
        for (worker, state) in &self.workers {
            for (key, request) in state.output.take_questions() {
                let (worker, request) = (*worker, shown(request, &self.redactor));
                self.inputs.push_back(Input::WorkerAsks { worker, key, request });
            }
        }
        let asks = self.session.dir.worker_questions();
        for name in asks.open() {
            if self.workers.values().any(|state| state.asks.contains(&name)) {
                continue;
            }
            let of_it = |state: &super::Worker| {
                state.closing.is_none() && belongs_to(&name, &state.assignment.id, state.assignment.attempt)
            };
            let found = self.workers.iter_mut().find(|(_, state)| of_it(state));
            let (Some((worker, state)), Some(WorkerQuestion { question, options })) =
                (found, asks.read(&name))
            else {
                // Of a worker that is gone, or no question.
                asks.forget(&name);
                continue;
            };
            state.asks.push(name.clone());
            let request = shown(WorkerRequest::Question { question, options }, &self.redactor);
            let worker = *worker;
            self.inputs.push_back(Input::WorkerAsks {
                worker,
                key: name,
                request,
            });
        }
    }

    /// Answers a question where it was asked.
    pub(super) fn reply(&mut self, worker: WorkerId, key: &str, reply: &Reply) -> Result<(), DriveError> {
        let Some(state) = self.workers.get(&worker) else {
            return Ok(());
        };
        if !state.asks.iter().any(|name| name == key) {
            state.output.reply(key, reply);
            return Ok(());
        }
        let words = match reply {
            Reply::Text(words) => words,
            Reply::Permission(Permission::Granted) => "yes",
            Reply::Permission(Permission::Denied) => "no",
        };
        Ok(self.session.dir.worker_questions().answer(key, words)?)
    }

    /// Tells the engine what turns use, where agents tell it before they end.
    pub(super) fn look_at_usage(&mut self) {
        for (worker, state) in &self.workers {
            if let Some(spent) = state.output.using() {
                self.inputs.push_back(Input::UsageSoFar {
                    worker: *worker,
                    spent,
                    model: state.output.model(),
                });
            }
        }
    }
}

/// Without secrets, and safe to show.
fn shown(request: WorkerRequest, redactor: &Redactor) -> WorkerRequest {
    let clean = |text: String| one_line(&sanitise(redactor.text(&text).as_bytes()));
    match request {
        WorkerRequest::Permission(what) => WorkerRequest::Permission(clean(what)),
        WorkerRequest::Question { question, options } => WorkerRequest::Question {
            question: clean(question),
            options: options.into_iter().map(clean).collect(),
        },
    }
}
