//! Performs the engine's actions, in order.

use super::conversation::conversation_id;
use super::examine::Stage;
use super::files::remove_scratch;
use super::output::{Activity, Output};
use super::shorts::{Place, SHORT};
use super::turn::CUT_SHORT;
use super::worker::{Talk, Worker};
use super::{DriveError, Driver, session};
use crate::agent_name::{AgentError, by_name};
use crate::recording::Tape;
use std::fs;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};
use wavecrew_agents::stream::{Span, Usage};
use wavecrew_agents::{Adapter, Attempted, Memory};
use wavecrew_core::engine::{
    Action, Assignment, CheckOutcome, Input, Notice, OutputMode, Resume, SpawnError, WorkerId,
};
use wavecrew_core::prompt::{Briefing, Revision, first_message, resumed_message};
use wavecrew_core::team::Workspace;
use wavecrew_session::{SessionError, atomic};

impl Driver<'_> {
    pub(super) fn perform(&mut self, actions: Vec<Action>) -> Result<(), DriveError> {
        let mut events = Vec::new();
        for action in actions {
            if let Action::Record(event) = action {
                events.push(event);
                continue;
            }
            // Record before effect.
            self.record(&mut events)?;
            self.act(action)?;
        }
        self.record(&mut events)
    }

    fn act(&mut self, action: Action) -> Result<(), DriveError> {
        match action {
            Action::Record(_) => unreachable!("recorded by the caller"),
            Action::WriteWave { wave, rows } => self.write_wave(wave, &rows)?,
            Action::Spawn(assignment) => self.spawn(*assignment)?,
            Action::Send { worker, turn, text } => self.send(worker, turn, text)?,
            Action::RefuseReport { worker, reason } => self.refuse_report(worker, &reason)?,
            Action::CheckClaim {
                worker,
                task,
                outputs,
            } => {
                let (ledger, dir) = (self.engine.ledger(), &self.session.dir);
                let state = self.workers.get(&worker);
                let apart = |path: &str| {
                    let file = || super::trees::file_beside(&self.session, path);
                    self.any_merged.then(file).flatten()
                };
                let outcome = super::claims::check(
                    dir.path(),
                    state.map_or(&self.session.project, |state| &state.folder),
                    &ledger.team,
                    ledger.plan(),
                    task,
                    &outputs,
                    &apart,
                );
                let examined = ledger
                    .team
                    .role(ledger.plan().role(task))
                    .and_then(|role| role.check);
                match outcome {
                    CheckOutcome::Confirmed { .. } if examined.is_some() => {
                        self.examine(worker, task, Stage::After(&outputs))?;
                    }
                    CheckOutcome::Confirmed { .. } if self.session.verify.is_some() => {
                        self.start_check(worker, task, &outputs)?;
                    }
                    outcome => self.inputs.push_back(Input::ClaimChecked { worker, outcome }),
                }
            }
            Action::CheckBeforeStart { worker, task, .. } => self.examine(worker, task, Stage::Before)?,
            Action::Restore { task, attempt } => self.restore(task, attempt)?,
            Action::Expand { task } => self.expand(task),
            Action::Close { worker, grace } => self.close(worker, grace)?,
            Action::KeepFindings { task, text, .. } => {
                let id = self.engine.ledger().plan().id(task);
                atomic::write(&self.session.dir.full_findings(id), text.as_bytes())?;
            }
            Action::WriteInteractive { task } => {
                session::write_interactive(&self.session.dir, self.engine.ledger(), task)?;
            }
            Action::PublishWave { wave } => {
                super::trees::sweep_wave(&super::trees::of(&self.session), self.engine.ledger(), wave);
                self.merged(wave)?;
            }
            Action::Merge { tasks } => self.land(&tasks),
            Action::SharePoolEvent { pool, event } => self.share(&pool, event),
            Action::Reply { worker, key, reply } => self.reply(worker, &key, &reply)?,
            Action::Ask(question) => {
                let Some(asker) = self.surface.asker.clone() else {
                    let answer = question.kind.unanswered();
                    self.inputs.push_back(Input::Answered {
                        question: question.id,
                        answer,
                    });
                    return Ok(());
                };
                let answers = self.answers.clone();
                std::thread::spawn(move || {
                    let answer = asker(&question);
                    let _ = answers.send((question.id, answer));
                });
            }
            Action::Notify(notice) => self.surface.reporter.notice(&notice),
            Action::Finish(ending) => self.ending = Some(ending),
        }
        Ok(())
    }

    fn write_wave(&self, wave: u32, rows: &[(wavecrew_core::id::TaskIx, String)]) -> Result<(), DriveError> {
        let ledger = self.engine.ledger();
        let tasks: Vec<_> = rows.iter().map(|(task, _)| *task).collect();
        let contexts: std::collections::HashMap<_, _> =
            rows.iter().map(|(task, text)| (*task, text)).collect();
        let mut bytes = Vec::new();
        ledger
            .plan()
            .render_rows(&mut bytes, &tasks, "prev_context", |task, column| match column {
                "prev_context" => contexts.get(&task).map(|text| text.as_str().into()),
                _ => ledger.cell(task, column),
            })
            .expect("writing to memory");
        Ok(atomic::write_volatile(&self.session.dir.wave_csv(wave), &bytes)?)
    }

    fn spawn(&mut self, assignment: Assignment) -> Result<(), DriveError> {
        let worker = assignment.worker;
        let agent = self.agent(&assignment.agent).map_err(|error| error.to_string());
        let ready = agent.and_then(|agent| Ok((agent, self.folder_for(&assignment)?)));
        let (agent, folder) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                self.never_started(worker, error);
                return Ok(());
            }
        };
        let print = self.print(assignment.task);
        let part = agent.part(&Attempted {
            task: &assignment.id,
            attempt: assignment.attempt,
            print: &print,
        });
        let agent = match part {
            None => agent,
            Some(Ok(part)) => {
                if let Some(remark) = part.remark {
                    self.surface.reporter.notice(&Notice::Note(remark));
                }
                part.agent
            }
            Some(Err(error)) => {
                self.never_started(worker, error);
                return Ok(());
            }
        };
        let message = self.first_message_of(&assignment);
        let (id, attempt) = (assignment.id.as_str(), assignment.attempt);
        let memory = agent.memory();
        let resume = assignment.resume.clone().filter(|_| memory != Memory::None);
        let message = match resume {
            Some(_) => resumed_message(&message),
            None => message,
        };
        let before = resume.as_ref().map_or(Usage::NONE, used_before);
        let fresh = match memory {
            Memory::None => String::new(),
            Memory::Named | Memory::Own => conversation_id()?,
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
            agent.listener(before),
            Rc::clone(&self.redactor),
        )
        .taped(self.session.recorder.as_ref().map(|_| Tape::default()));
        let files = Place::own(&self.session.dir, id, attempt);
        let files = match output.output_mode() {
            OutputMode::Silent => self.shorts.place(files),
            OutputMode::Streaming => files,
        };
        let state = Worker {
            output: Rc::new(output),
            talk: Talk::new(fresh, resume.map(|resume| resume.conversation)),
            agent,
            folder,
            unsaid: None,
            files,
            token,
            started: now,
            last_output: now,
            alive: Vec::new(),
            turn: 1,
            asks: Vec::new(),
            report_seen: false,
            closing: None,
            last_call: None,
            assignment,
        };
        self.workers.insert(worker, state);
        self.count_workers();
        self.start_turn(worker, 1, &message)
    }

    fn first_message_of(&mut self, assignment: &Assignment) -> String {
        let ledger = self.engine.ledger();
        self.surroundings
            .refresh(&self.session.dir, &ledger.team, ledger, &self.redactor);
        let brief = assignment.rework.as_ref().map(|rework| self.brief_of(rework));
        let revision = assignment.rework.as_ref().map(|rework| Revision {
            round: rework.round,
            by: &rework.by,
            why: &rework.why,
            brief: brief.as_deref().unwrap_or_default(),
        });
        let beside = (self.any_merged && assignment.workspace == Workspace::Project)
            .then(|| super::trees::beside(&self.session))
            .flatten();
        first_message(&Briefing {
            team: &ledger.team,
            plan: ledger.plan(),
            task: assignment.task,
            request: &self.session.info.request,
            session_dir: &self.session.dir.path().to_string_lossy(),
            extra_instruction: self.surface.instruction.as_deref(),
            prev_context: &assignment.prev_context,
            discoveries: &self.surroundings.discoveries,
            wisdom: &self.surroundings.wisdom,
            revision,
            found: assignment.found.as_deref(),
            // Whoever wants it done again does not want to hear of it as it was.
            artifacts_complete: ledger.task(assignment.task).stop.is_some()
                && assignment.rework.is_none()
                && super::claims::artifacts_complete(
                    self.session.dir.path(),
                    &ledger.team,
                    ledger.plan(),
                    assignment.task,
                ),
            merged_beside: beside.as_deref(),
        })
    }

    /// There is no worker, and another try would not make one.
    fn never_started(&mut self, worker: WorkerId, error: String) {
        let error = SpawnError::Permanent(error);
        self.inputs.push_back(Input::SpawnFailed { worker, error });
        self.inputs.push_back(Input::Closed { worker });
    }

    /// The agent of this name, made once.
    fn agent(&mut self, name: &str) -> Result<Rc<dyn Adapter>, AgentError> {
        if let Some(agent) = self.agents.get(name) {
            return Ok(Rc::clone(agent));
        }
        let agent = by_name(name)?;
        self.agents.insert(name.to_owned(), Rc::clone(&agent));
        Ok(agent)
    }

    /// Reports that came by command while the worker goes on.
    pub(super) fn look_for_reports(&mut self) -> Result<(), DriveError> {
        let attempts = &self.attempts;
        let mut reports = Vec::new();
        for (worker, state) in &mut self.workers {
            match state.output.was_active() {
                Activity::None => {}
                activity => {
                    if activity == Activity::Output {
                        state.last_output = Instant::now();
                    }
                    self.inputs.push_back(Input::Activity { worker: *worker });
                }
            }
            if state.started.elapsed() >= SHORT {
                state.output.surface();
            }
            // A younger one has hardly reported by command yet.
            if state.report_seen || state.closing.is_some() || state.started.elapsed() < SHORT {
                continue;
            }
            if let Some(report) = attempts.take_report(&state.assignment.id, state.assignment.attempt)? {
                state.report_seen = true;
                state.output.note_report();
                reports.push((*worker, self.redactor.text(&String::from_utf8_lossy(&report))));
            }
        }
        for (worker, body) in reports {
            self.tape_report(worker, &body);
            self.inputs.push_back(Input::Reported { worker, body });
        }
        Ok(())
    }

    pub(super) fn refuse_report(&mut self, worker: WorkerId, reason: &str) -> Result<(), DriveError> {
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        if state.report_seen && state.closing.is_none() {
            let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
            self.attempts.reject_report(id, attempt, reason)?;
            state.report_seen = false;
        }
        Ok(())
    }

    fn close(&mut self, worker: WorkerId, grace: Duration) -> Result<(), DriveError> {
        let Some(state) = self.workers.get_mut(&worker) else {
            // There was only an examination, or not even that.
            self.close_checks(worker);
            self.inputs.push_back(Input::Closed { worker });
            return Ok(());
        };
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let closed = self.attempts.close_attempt(id, attempt)?;
        let late = closed.report.as_ref().filter(|_| !state.report_seen);
        let late = late.map(|report| self.redactor.text(&String::from_utf8_lossy(report)));
        state.closing = Some(closed);
        if state.output.turn_open() {
            // An agent that ends its turn itself keeps its conversation and its tools in order.
            state.output.cut_short();
            state.last_call = Some((Instant::now() + CUT_SHORT, grace));
        } else {
            state.output.hang_up();
            for key in &state.alive {
                self.guardian.close(*key, grace);
            }
        }
        self.close_checks(worker);
        if let Some(body) = late {
            // It got in before the channel closed.
            self.tape_report(worker, &body);
            self.inputs.push_back(Input::Reported { worker, body });
        }
        self.closed_if_gone(worker);
        Ok(())
    }

    /// Says that the worker is gone once it was to be ended and none of its processes is left.
    pub(super) fn closed_if_gone(&mut self, worker: WorkerId) {
        let Some(state) = self.workers.get_mut(&worker) else {
            return;
        };
        if !state.alive.is_empty() {
            return;
        }
        let Some(closed) = state.closing.take() else {
            return;
        };
        let state = self.workers.remove(&worker).expect("looked up above");
        for name in &state.asks {
            self.session.dir.worker_questions().forget(name);
        }
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        if let Some(text) = state.output.finish() {
            self.shorts
                .keep_log(&self.session.dir.log_file(id, attempt), &text);
        }
        if state.agent.memory() != Memory::None {
            remove_scratch(&self.session.dir, &state.assignment.id, state.assignment.attempt);
        }
        self.count_workers();
        if closed.report.is_some() {
            self.note_late_edits(&state);
        }
        self.shorts.gone(state.files, state.started.elapsed());
        if closed.report.is_some() {
            self.settled
                .push((state.assignment.id, state.assignment.attempt, closed));
        }
        self.inputs.push_back(Input::Closed { worker });
    }

    fn merged(&mut self, wave: u32) -> Result<(), DriveError> {
        self.forget_settled()?;
        match fs::remove_file(self.session.dir.wave_csv(wave)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SessionError::Io {
                operation: "remove",
                path: self.session.dir.wave_csv(wave),
                source: error,
            }
            .into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes reports whose results are durable.
    pub(super) fn forget_settled(&mut self) -> Result<(), DriveError> {
        if self.settled.is_empty() {
            return Ok(());
        }
        self.session.journal.sync()?;
        for (id, attempt, closed) in self.settled.drain(..) {
            self.attempts.forget(&id, attempt, &closed)?;
        }
        Ok(())
    }
}

/// What a conversation had used when it was cut off.
fn used_before(resume: &Resume) -> Usage {
    Usage {
        span: Span::Conversation,
        input: resume.spent.input,
        cached: resume.spent.cached,
        output: resume.spent.output,
        cost: resume.spent.cost,
    }
}
