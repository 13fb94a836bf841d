//! Starts workers: finds the agent, prepares folder, token and output, and begins the first turn.

use super::Worker;
use super::conversation::{WorkerConversation, conversation_id};
use super::files::WorkerFiles;
use super::output::Output;
use crate::agent_name::{AgentError, by_name};
use crate::event_loop::{DriveError, Driver};
use crate::recording::OutputLines;
use std::rc::Rc;
use std::time::Instant;
use wavecrew_agents::stream::{Usage, UsageScope};
use wavecrew_agents::{Agent, AttemptKey, ResumeBy};
use wavecrew_core::engine::{Assignment, Input, Notice, Resume, SpawnError, WorkerId};
use wavecrew_core::prompt::resumed_message;

impl Driver<'_> {
    pub(crate) fn start_worker(&mut self, assignment: Assignment) -> Result<(), DriveError> {
        let worker = assignment.worker;
        let agent = self.agent(&assignment.agent).map_err(|error| error.to_string());
        let ready = agent.and_then(|agent| Ok((agent, self.worker_folder(&assignment)?)));
        let (agent, folder) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                self.fail_start(worker, error);
                return Ok(());
            }
        };
        let fingerprint = self.row_fingerprint(assignment.task);
        let part = agent.part(&AttemptKey {
            task: &assignment.id,
            attempt: assignment.attempt,
            print: &fingerprint,
        });
        let agent = match part {
            None => agent,
            Some(Ok(part)) => {
                if let Some(remark) = part.remark {
                    self.context.reporter.notice(&Notice::Note(remark));
                }
                part.agent
            }
            Some(Err(error)) => {
                self.fail_start(worker, error);
                return Ok(());
            }
        };
        let message = self.first_message(&assignment);
        let (id, attempt) = (assignment.id.as_str(), assignment.attempt);
        let memory = agent.resume_by();
        let resume = assignment.resume.clone().filter(|_| memory != ResumeBy::Never);
        let message = match resume {
            Some(_) => resumed_message(&message),
            None => message,
        };
        let used_before = resume.as_ref().map_or(Usage::NONE, usage_of_resumed);
        let new_id = match memory {
            ResumeBy::Never => String::new(),
            ResumeBy::OurId | ResumeBy::ItsId => conversation_id()?,
        };
        let token = self.attempts.open_attempt(id, attempt)?;
        let limit = self
            .session
            .log_bytes
            .unwrap_or(self.engine.ledger().team.limits_for(&assignment.role).log_bytes);
        let now = Instant::now();
        let output = Output::new(
            self.session.dir.log_file(id, attempt),
            limit,
            agent.listener(used_before),
            Rc::clone(&self.redactor),
        )
        .recorded(self.session.recorder.as_ref().map(|_| OutputLines::default()));
        let files = WorkerFiles::of(&self.session.dir, id, attempt);
        let state = Worker {
            output: Rc::new(output),
            conversation: WorkerConversation::new(new_id, resume.map(|resume| resume.conversation)),
            agent,
            folder,
            pending_message: None,
            files,
            token,
            started: now,
            last_output: now,
            alive: Vec::new(),
            turn: 1,
            question_files: Vec::new(),
            report_received: false,
            closing: None,
            turn_deadline: None,
            assignment,
        };
        self.workers.insert(worker, state);
        self.note_worker_count();
        self.start_turn(worker, 1, &message)
    }

    /// The worker cannot be started, and another try would not help.
    fn fail_start(&mut self, worker: WorkerId, error: String) {
        let error = SpawnError::Permanent(error);
        self.inputs.push_back(Input::SpawnFailed { worker, error });
        self.inputs.push_back(Input::Closed { worker });
    }

    /// The agent of this name, created once.
    fn agent(&mut self, name: &str) -> Result<Rc<dyn Agent>, AgentError> {
        if let Some(agent) = self.agents.get(name) {
            return Ok(Rc::clone(agent));
        }
        let agent = by_name(name)?;
        self.agents.insert(name.to_owned(), Rc::clone(&agent));
        Ok(agent)
    }
}

/// What a conversation had used before it was interrupted.
fn usage_of_resumed(resume: &Resume) -> Usage {
    Usage {
        scope: UsageScope::Conversation,
        input: resume.spent.input,
        cached: resume.spent.cached,
        output: resume.spent.output,
        cost: resume.spent.cost,
    }
}
