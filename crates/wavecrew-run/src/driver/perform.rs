//! Performs the engine's actions, in order.

use super::worker::{ProcessEnded, Worker, open_streams};
use super::{DriveError, Driver, output::Output, session};
use crate::agent::Agent;
use crate::process::Spawn;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use wavecrew_core::engine::{
    Action, Assignment, Input, MAX_REPORT_BYTES, SpawnError, TurnEnd, WorkerId, final_object,
};
use wavecrew_core::prompt::{Briefing, first_message};
use wavecrew_store::{StoreError, Token, atomic};

/// A worker younger than this has hardly reported by command yet.
const REPORTS_AFTER: Duration = Duration::from_millis(200);

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
            Action::Send { worker, turn, text } => self.send(worker, turn, &text)?,
            Action::RefuseReport { worker, reason } => self.refuse_report(worker, &reason)?,
            Action::CheckClaim {
                worker,
                task,
                outputs,
            } => {
                let (ledger, dir) = (self.engine.ledger(), &self.session.dir);
                let verdict = super::claims::check(
                    dir.path(),
                    &self.session.project,
                    &ledger.team,
                    ledger.plan(),
                    task,
                    &outputs,
                );
                self.inputs.push_back(Input::ClaimChecked { worker, verdict });
            }
            Action::Close { worker, grace } => self.close(worker, grace)?,
            Action::KeepFindings { task, text, .. } => {
                let id = self.engine.ledger().plan().id(task);
                atomic::write(&self.session.dir.full_findings(id), text.as_bytes())?;
            }
            Action::WriteInteractive { task } => {
                session::write_interactive(&self.session, self.engine.ledger(), task)?
            }
            Action::Merged { wave } => self.merged(wave)?,
            Action::Ask(question) => {
                let Some(asker) = self.surface.asker.clone() else {
                    let answer = wavecrew_core::engine::Answer::Abort;
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
            Action::Tell(notice) => self.surface.reporter.notice(&notice),
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
        if !self.agents.contains_key(&assignment.agent) {
            match Agent::parse(&assignment.agent) {
                Ok(agent) => drop(self.agents.insert(assignment.agent.clone(), agent)),
                Err(error) => {
                    let error = SpawnError::Permanent(error.to_string());
                    self.inputs.push_back(Input::SpawnFailed { worker, error });
                    self.inputs.push_back(Input::Closed { worker });
                    return Ok(());
                }
            }
        }
        let ledger = self.engine.ledger();
        self.surroundings.refresh(&self.session.dir, &ledger.team, ledger);
        let message = first_message(&Briefing {
            team: &ledger.team,
            plan: ledger.plan(),
            task: assignment.task,
            request: &self.session.info.request,
            session_dir: &self.session.dir.path().to_string_lossy(),
            extra_instruction: self.surface.instruction.as_deref(),
            prev_context: &assignment.prev_context,
            discoveries: &self.surroundings.discoveries,
            wisdom: &self.surroundings.wisdom,
            artifacts_complete: assignment.attempt > 1
                && super::claims::artifacts_complete(
                    self.session.dir.path(),
                    &ledger.team,
                    ledger.plan(),
                    assignment.task,
                ),
        });
        let (id, attempt) = (assignment.id.as_str(), assignment.attempt);
        let token = Token::random()?;
        self.session.dir.attempts().open_attempt(id, attempt, &token)?;
        let limit = self
            .session
            .log_bytes
            .unwrap_or(ledger.team.limits_for(&assignment.role).log_bytes);
        let now = Instant::now();
        let state = Worker {
            output: Rc::new(Output::new(self.session.dir.log_file(id, attempt), limit)),
            result_file: self.session.dir.result_file(id, attempt),
            token,
            started: now,
            last_output: now,
            alive: Vec::new(),
            report_seen: false,
            closing: None,
            assignment,
        };
        self.workers.insert(worker, state);
        self.start_turn(worker, 1, &message)
    }

    fn send(&mut self, worker: WorkerId, turn: u32, text: &str) -> Result<(), DriveError> {
        let Some(state) = self.workers.get(&worker) else {
            return Ok(());
        };
        state.output.new_turn();
        self.start_turn(worker, turn, text)
    }

    /// Starts a process for a turn of the worker's conversation.
    fn start_turn(&mut self, worker: WorkerId, turn: u32, message: &str) -> Result<(), DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let prompt_file = self.session.dir.prompt_file(id, attempt, turn);
        let stdin = write_prompt(&prompt_file, message)?;
        let key = self.next_key;
        self.next_key += 1;
        let streams = match open_streams(key, &state.output, self.ended.clone()) {
            Ok(streams) => streams,
            Err(error) => {
                let error = SpawnError::Shortage(error.to_string());
                self.inputs.push_back(Input::SpawnFailed { worker, error });
                self.closed_if_gone(worker);
                return Ok(());
            }
        };
        let (program, args) = self.agents[&state.assignment.agent].program();
        let set = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let env_set = vec![
            (
                OsString::from("WAVECREW_PROMPT_FILE"),
                prompt_file.into_os_string(),
            ),
            (
                OsString::from("WAVECREW_SESSION_DIR"),
                self.session.dir.path().as_os_str().to_owned(),
            ),
            (
                OsString::from("WAVECREW_RESULT_FILE"),
                state.result_file.as_os_str().to_owned(),
            ),
            set("WAVECREW_TASK", id),
            set("WAVECREW_ROLE", &state.assignment.role),
            set("WAVECREW_ATTEMPT", &attempt.to_string()),
            set("WAVECREW_TURN", &turn.to_string()),
            set("WAVECREW_TOKEN", state.token.as_str()),
        ];
        state.alive.push(key);
        self.processes.insert(key, (worker, streams.exited));
        let spec = Spawn {
            program: self.session.resolve(&program),
            args,
            cwd: self.session.project.clone(),
            env_set,
            env_remove: Vec::new(),
            stdin,
            stdout: streams.stdout,
            stderr: streams.stderr,
        };
        Ok(self.guardian.spawn(key, spec)?)
    }

    pub(super) fn process_ended(&mut self, end: &ProcessEnded) -> Result<(), DriveError> {
        let Some((worker, _)) = self.processes.remove(&end.key) else {
            return Ok(());
        };
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        state.alive.retain(|key| *key != end.key);
        let reports = self.reports_of(worker)?;
        let state = &self.workers[&worker];
        // While another turn of the conversation goes on, only a report ends this one.
        if state.alive.is_empty() || !reports.is_empty() {
            let end = TurnEnd {
                exit: Self::exit_of(end.exit),
                reports,
                last_words: state.output.last_words(),
            };
            self.inputs.push_back(Input::TurnEnded { worker, end });
        }
        self.closed_if_gone(worker);
        Ok(())
    }

    /// Everything that may be the worker's report, most trustworthy channel first.
    fn reports_of(&mut self, worker: WorkerId) -> Result<Vec<String>, DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let mut reports = Vec::new();
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        if state.closing.is_none() && !state.report_seen {
            if let Some(report) = self.session.dir.attempts().take_report(id, attempt)? {
                state.report_seen = true;
                reports.push(String::from_utf8_lossy(&report).into_owned());
            }
        }
        if let Some(report) = read_result_file(&state.result_file) {
            reports.push(report);
        }
        reports.extend(
            state
                .output
                .with_stdout(|text| final_object(text).map(str::to_owned)),
        );
        Ok(reports)
    }

    /// Reports that came by command while the worker goes on.
    pub(super) fn look_for_reports(&mut self) -> Result<(), DriveError> {
        let attempts = self.session.dir.attempts();
        for (worker, state) in &mut self.workers {
            if state.output.was_active() {
                state.last_output = Instant::now();
                self.inputs.push_back(Input::Activity { worker: *worker });
            }
            if state.report_seen || state.closing.is_some() || state.started.elapsed() < REPORTS_AFTER {
                continue;
            }
            if let Some(report) = attempts.take_report(&state.assignment.id, state.assignment.attempt)? {
                state.report_seen = true;
                let body = String::from_utf8_lossy(&report).into_owned();
                self.inputs.push_back(Input::Reported {
                    worker: *worker,
                    body,
                });
            }
        }
        Ok(())
    }

    fn refuse_report(&mut self, worker: WorkerId, reason: &str) -> Result<(), DriveError> {
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        if state.report_seen && state.closing.is_none() {
            let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
            self.session.dir.attempts().reject_report(id, attempt, reason)?;
            state.report_seen = false;
        }
        Ok(())
    }

    fn close(&mut self, worker: WorkerId, grace: Duration) -> Result<(), DriveError> {
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let closed = self.session.dir.attempts().close_attempt(id, attempt)?;
        if let Some(report) = closed.report.as_ref().filter(|_| !state.report_seen) {
            // It got in before the channel closed.
            let body = String::from_utf8_lossy(report).into_owned();
            self.inputs.push_back(Input::Reported { worker, body });
        }
        state.closing = Some(closed);
        for key in &state.alive {
            self.guardian.close(*key, grace);
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
        state.output.finish();
        let _ = fs::remove_file(&state.result_file);
        if closed.report.is_some() {
            self.settled
                .push((state.assignment.id, state.assignment.attempt, closed));
        }
        self.inputs.push_back(Input::Closed { worker });
    }

    fn merged(&mut self, wave: u32) -> Result<(), DriveError> {
        self.forget_settled()?;
        match fs::remove_file(self.session.dir.wave_csv(wave)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::Io {
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
        let attempts = self.session.dir.attempts();
        for (id, attempt, closed) in self.settled.drain(..) {
            attempts.forget(&id, attempt, &closed)?;
        }
        Ok(())
    }
}

/// The prompt as a file that is also the worker's stdin: nothing has to be pumped, and one that does not read it is
/// no error.
fn write_prompt(path: &Path, message: &str) -> Result<OwnedFd, StoreError> {
    let write = || -> io::Result<File> {
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        file.write_all(message.as_bytes())?;
        file.rewind()?;
        Ok(file)
    };
    let failed = |source| StoreError::Io {
        operation: "write",
        path: path.to_owned(),
        source,
    };
    write().map(OwnedFd::from).map_err(failed)
}

/// The result file, if the worker wrote one; taken away so that the next turn starts without it.
fn read_result_file(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let mut bytes = Vec::new();
    // One more than is taken, so that too much is noticed.
    file.take(MAX_REPORT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    let _ = fs::remove_file(path);
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}
