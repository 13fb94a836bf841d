//! Requests of workers during a turn: permissions and questions, in the stream of an interactive worker or as files. Also
//! collects the token usage of running turns.

use crate::event_loop::{DriveError, Driver};
use wavecrew_agents::Redactor;
use wavecrew_core::engine::{Input, Permission, Reply, WorkerId, WorkerRequest};
use wavecrew_core::sanitise::sanitise;
use wavecrew_core::view::one_line;
use wavecrew_session::WorkerQuestion;
use wavecrew_session::worker_questions::belongs_to;

impl Driver<'_> {
    pub(crate) fn collect_worker_requests(&mut self) {
        for (worker, state) in &self.workers {
            for (key, request) in state.output.take_requests() {
                let (worker, request) = (*worker, cleaned(request, &self.redactor));
                self.inputs.push_back(Input::WorkerAsks { worker, key, request });
            }
        }
        let asks = self.session.dir.worker_questions();
        for name in asks.open() {
            if self
                .workers
                .values()
                .any(|state| state.question_files.contains(&name))
            {
                continue;
            }
            let asked_by = |state: &super::Worker| {
                state.closing.is_none() && belongs_to(&name, &state.assignment.id, state.assignment.attempt)
            };
            let found = self.workers.iter_mut().find(|(_, state)| asked_by(state));
            let (Some((worker, state)), Some(WorkerQuestion { question, options })) =
                (found, asks.read(&name))
            else {
                // Of a worker that has ended, or not a question.
                asks.forget(&name);
                continue;
            };
            state.question_files.push(name.clone());
            let request = cleaned(WorkerRequest::Question { question, options }, &self.redactor);
            let worker = *worker;
            self.inputs.push_back(Input::WorkerAsks {
                worker,
                key: name,
                request,
            });
        }
    }

    /// Answers a request where it was made.
    pub(crate) fn reply(&mut self, worker: WorkerId, key: &str, reply: &Reply) -> Result<(), DriveError> {
        let Some(state) = self.workers.get(&worker) else {
            return Ok(());
        };
        if !state.question_files.iter().any(|name| name == key) {
            state.output.reply(key, reply);
            return Ok(());
        }
        let answer = match reply {
            Reply::Text(text) => text,
            Reply::Permission(Permission::Granted) => "yes",
            Reply::Permission(Permission::Denied) => "no",
        };
        Ok(self.session.dir.worker_questions().answer(key, answer)?)
    }

    /// Passes the token usage of running turns to the engine.
    pub(crate) fn collect_usage(&mut self) {
        for (worker, state) in &self.workers {
            if let Some(spent) = state.output.current_usage() {
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
fn cleaned(request: WorkerRequest, redactor: &Redactor) -> WorkerRequest {
    let clean = |text: String| one_line(&sanitise(redactor.text(&text).as_bytes()));
    match request {
        WorkerRequest::Permission(what) => WorkerRequest::Permission(clean(what)),
        WorkerRequest::Question { question, options } => WorkerRequest::Question {
            question: clean(question),
            options: options.into_iter().map(clean).collect(),
        },
    }
}
