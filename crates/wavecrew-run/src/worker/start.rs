//! Starts workers: finds the agent, prepares folder, token and output, and begins the first turn.

use super::Worker;
use super::conversation::{WorkerConversation, conversation_id};
use super::output::Output;
use super::packed_files::WorkerFiles;
use crate::agent_name::{AgentError, by_name};
use crate::event_loop::{DriveError, Driver};
use crate::recording::OutputLines;
use std::rc::Rc;
use std::time::Instant;
use wavecrew_agents::{Agent, AttemptKey, OutputReader, ResumeBy};
use wavecrew_core::engine::{Assignment, Input, Notice, OutputMode, SpawnError, WorkerId};
use wavecrew_core::event::TokenUsage;
use wavecrew_core::prompt::resumed_message;

impl Driver<'_> {
    pub(crate) fn start_worker(&mut self, assignment: Assignment) -> Result<(), DriveError> {
        let worker = assignment.worker;
        let agent = self.agent_for(&assignment);
        let ready = agent.and_then(|agent| Ok((agent, self.worker_folder(&assignment)?)));
        let (agent, folder) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                self.fail_start(worker, error);
                return Ok(());
            }
        };
        let mut message = self.first_message(&assignment);
        let resume_by = agent.resume_by();
        let resume = assignment.resume.clone().filter(|_| resume_by != ResumeBy::Never);
        if resume.is_some() {
            message = resumed_message(&message);
        }
        let used_before = resume
            .as_ref()
            .map_or_else(TokenUsage::default, |resume| resume.spent);
        let new_id = match resume_by {
            ResumeBy::Never => String::new(),
            ResumeBy::OurId | ResumeBy::ItsId => conversation_id()?,
        };
        let output = self.open_output(&assignment, agent.output_reader(used_before));
        let token = self.attempts.open_attempt(&assignment.id, assignment.attempt)?;
        let number = token.slot().unwrap_or_default();
        let files = WorkerFiles::own(&self.session.dir, &assignment.id, assignment.attempt, number);
        let files = match output.mode() {
            OutputMode::Silent => self.packed_files.assign(files, number),
            OutputMode::Streaming => files,
        };
        let now = Instant::now();
        let state = Worker {
            token,
            number,
            temp: None,
            host: None,
            output: Rc::new(output),
            conversation: WorkerConversation::new(new_id, resume.map(|resume| resume.conversation)),
            agent,
            folder,
            pending_message: None,
            files,
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

    fn open_output(&self, assignment: &Assignment, reader: Option<OutputReader>) -> Output {
        let team = &self.engine.ledger().team;
        let limit = self.session.log_bytes;
        let limit = limit.unwrap_or_else(|| team.limits_for(&assignment.role).log_bytes);
        let log = self.session.dir.log_file(&assignment.id, assignment.attempt);
        let lines = self.session.recorder.as_ref().map(|_| OutputLines::default());
        Output::new(log, limit, reader, Rc::clone(&self.redactor)).recorded(lines)
    }

    /// The agent for an attempt, or why there is none.
    fn agent_for(&mut self, assignment: &Assignment) -> Result<Rc<dyn Agent>, String> {
        let agent = self.agent(&assignment.agent).map_err(|error| error.to_string())?;
        let fingerprint = self.row_fingerprint(assignment.task);
        let of_attempt = agent.for_attempt(&AttemptKey {
            task: &assignment.id,
            attempt: assignment.attempt,
            fingerprint: &fingerprint,
        });
        let Some(of_attempt) = of_attempt else {
            return Ok(agent);
        };
        let of_attempt = of_attempt?;
        if let Some(note) = of_attempt.note {
            self.context.reporter.notice(&Notice::Note(note));
        }
        Ok(of_attempt.agent)
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
