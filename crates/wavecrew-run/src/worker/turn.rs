//! Turns of a worker's conversation: sends messages, starts processes, interrupts the current turn for the next.

use super::files::{create_private_folder, write_files, write_prompt};
use super::streams::{ProcessState, open_streams};
use super::{PendingMessage, Worker};
use crate::event_loop::{DriveError, Driver};
use crate::place::{Wanted, WorkerFacts};
use crate::session::resolve_program;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wavecrew_agents::ResumeBy;
use wavecrew_agents::launch::{McpServer, Request, Stdin};
use wavecrew_core::engine::{Assignment, Input, OutputMode, SpawnError, WorkerId};
use wavecrew_core::team::{Access, Workspace};
use wavecrew_core::worker_variables;
use wavecrew_process::sandbox::Confinement;

/// How long an agent whose turn is interrupted may take to save its conversation.
pub(super) const INTERRUPT_GRACE: Duration = Duration::from_secs(3);
/// The name of our MCP server in the agents' configuration.
const TOOLS: &str = "wavecrew";

impl Driver<'_> {
    pub(crate) fn send(&mut self, worker: WorkerId, turn: u32, text: String) -> Result<(), DriveError> {
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        let answers_report = state.report_received;
        let waits = state.output.is_interactive() && !state.output.turn_open();
        if state.agent.resume_by() == ResumeBy::Never || state.alive.is_empty() || waits {
            state.output.start_turn();
            self.start_turn(worker, turn, &text)?;
        } else {
            // Two processes in one conversation would corrupt it: the current turn is interrupted first.
            state.pending_message = Some(PendingMessage {
                turn,
                text,
                answers_report,
            });
            if state.output.is_interactive() {
                state.output.interrupt_turn();
            } else {
                for key in &state.alive {
                    self.places.close(*key, INTERRUPT_GRACE);
                }
            }
        }
        // A report that is answered was not accepted: the worker may submit another one.
        self.refuse_report(worker, "it was sent back")
    }

    /// Starts the turn that waited for the end of this one, unless this one ended with a report. Returns whether it did.
    pub(super) fn send_pending(&mut self, worker: WorkerId) -> Result<bool, DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let Some(pending) = state.pending_message.take_if(|_| state.closing.is_none()) else {
            return Ok(false);
        };
        if !pending.answers_report && state.output.answer().is_some() {
            return Ok(false);
        }
        state.output.start_turn();
        self.start_turn(worker, pending.turn, &pending.text)?;
        Ok(true)
    }

    /// Starts a turn: in the interactive process if there is one, else in a new process.
    pub(super) fn start_turn(
        &mut self,
        worker: WorkerId,
        turn: u32,
        message: &str,
    ) -> Result<(), DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let number = state.number;
        let prompt_file = self.session.dir.prompt_file(id, attempt, turn);
        if state.output.is_interactive() {
            write_prompt(&prompt_file, message)?;
            state.output.send_message(message);
            return Ok(());
        }
        let session_dir = self.session.dir.path();
        let mut env = state.environment(session_dir, &prompt_file, turn);
        let temp = if turn == 1 {
            self.sandbox.temp_folder(&number.to_string())
        } else {
            None
        };
        state.temp = temp.or_else(|| state.temp.take());
        env.extend(state.temp.as_ref().map(|folder| variable("TMPDIR", folder)));
        let left = self
            .engine
            .time_limit(state.assignment.task)
            .saturating_sub(state.started.elapsed());
        let deadline = SystemTime::now().checked_add(left);
        let deadline = deadline.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        env.extend(deadline.map(|at| variable(worker_variables::DEADLINE, at.as_secs().to_string())));
        // A program that is not a known agent does not use tools.
        let offered = self.context.worker_tools.as_ref();
        let offered = offered.filter(|_| state.output.mode() == OutputMode::Streaming);
        let tools = offered.map(|command| tool_server(command, &env));
        let scratch = match state.agent.resume_by() {
            ResumeBy::Never => self.session.dir.inbox(number).join("agent"),
            ResumeBy::OurId | ResumeBy::ItsId => self.agent_files.of_worker(id, attempt),
        };
        let role = self.engine.ledger().team.role(&state.assignment.role);
        let settings = self.context.agent_settings.of(&state.assignment.agent);
        let launch = state.agent.launch(&Request {
            prompt: message,
            mode: state.assignment.mode,
            access: role.map_or(Access::Source, |role| role.access),
            model: settings.model.as_deref(),
            mcp: tools.as_ref(),
            conversation: state.conversation.for_next_turn(),
            project: &state.folder,
            scratch: &scratch,
            folders: &[session_dir.to_owned()],
            confined: self.sandbox.is_on(),
            extra: &settings.args,
        });
        write_files(&scratch, &launch.files)?;
        let (prompt, protocol) = match launch.stdin {
            Stdin::Text(text) if turn == 1 => {
                let stdin = self
                    .packed_files
                    .write_prompt(&mut state.files, &prompt_file, &text)?;
                (stdin, None)
            }
            Stdin::Text(text) => (write_prompt(&prompt_file, &text)?, None),
            Stdin::Interactive(protocol) => (write_prompt(&prompt_file, message)?, Some(protocol)),
        };
        env.extend(launch.env.iter().map(|(name, value)| variable(name, value)));
        let key = self.next_key;
        self.next_key += 1;
        let interactive = protocol.map(|protocol| (protocol, message));
        let events = self.worker_events.clone();
        let process_state = match interactive {
            Some(_) => ProcessState::Watched,
            None => ProcessState::Unwatched,
        };
        let opened = open_streams(key, &state.output, events, prompt, interactive, process_state);
        let streams = match opened {
            Ok(streams) => streams,
            Err(error) => {
                let error = SpawnError::Temporary(error.to_string());
                self.inputs.push_back(Input::SpawnFailed { worker, error });
                self.finish_closing(worker);
                return Ok(());
            }
        };
        state.alive.push(key);
        state.turn = turn;
        let program = resolve_program(&self.session.project, launch.program.as_ref());
        let (mut spawn, process_state) = streams.spawn(program, launch.args, state.folder.clone(), env);
        let mode = state.output.mode();
        let facts = self.facts(worker, turn, &scratch, left);
        spawn.confinement = self.confinement(mode, &facts);
        self.processes.insert(key, (worker, process_state));
        self.unwatched.push_back((Instant::now(), key));
        self.record_turn_start(worker, key, turn);
        Ok(self.places.spawn_worker(key, spawn, facts)?)
    }
}

impl Driver<'_> {
    /// Facts about the worker for the place where it runs.
    fn facts(&self, worker: WorkerId, turn: u32, private: &Path, left: Duration) -> WorkerFacts {
        let state = &self.workers[&worker];
        let Assignment {
            id,
            role,
            agent,
            task,
            workspace,
            attempt,
            ..
        } = &state.assignment;
        let ledger = self.engine.ledger();
        let columns = ledger.team.columns.iter();
        let cells = columns.map(|column| ledger.plan().cell(*task, &column.name));
        WorkerFacts {
            task: id.clone(),
            attempt: *attempt,
            turn,
            role: role.clone(),
            access: ledger.team.role(role).map_or(Access::Source, |role| role.access),
            number: state.number,
            wanted: Wanted {
                agent: agent.clone(),
                label: None,
            },
            folder: state.folder.clone(),
            worktree: (*workspace == Workspace::Worktree).then(|| self.session.dir.worktree(id)),
            private: private.to_owned(),
            temp: state.temp.clone(),
            work_folders: ledger.team.folders.clone(),
            row: cells.flat_map(|cell| [cell, "\n"]).collect(),
            seconds_left: left.as_secs(),
        }
    }

    /// What the worker may do.
    fn confinement(&mut self, mode: OutputMode, facts: &WorkerFacts) -> Option<Arc<Confinement>> {
        if !self.sandbox.is_on() {
            return None;
        }
        if mode == OutputMode::Streaming {
            // Landlock rules need existing files, and the agent may want to write there.
            create_private_folder(&facts.private).ok()?;
        }
        self.sandbox.confine(&facts.confined())
    }
}

impl Worker {
    /// The variables from which the worker, its MCP server and its commands learn their task.
    fn environment(&self, session_dir: &Path, prompt_file: &Path, turn: u32) -> Vec<(OsString, OsString)> {
        let Assignment {
            id, role, attempt, ..
        } = &self.assignment;
        let prompt_file = if turn == 1 {
            &self.files.prompt
        } else {
            prompt_file
        };
        let mut env = vec![
            variable(worker_variables::PROMPT_FILE, prompt_file),
            variable(worker_variables::SESSION_DIR, session_dir),
            variable(worker_variables::RESULT_FILE, &self.files.result),
            variable(worker_variables::TASK, id),
            variable(worker_variables::ROLE, role),
            variable(worker_variables::ATTEMPT, attempt.to_string()),
            variable(worker_variables::TURN, turn.to_string()),
            variable(worker_variables::TOKEN, self.token.as_str()),
        ];
        if self.output.mode() == OutputMode::Silent {
            env.push(variable(worker_variables::USAGE_FILE, &self.files.usage));
        }
        env
    }
}

fn variable(name: &str, value: impl AsRef<std::ffi::OsStr>) -> (OsString, OsString) {
    (name.into(), value.as_ref().to_owned())
}

/// Our MCP server, which reads its task from its environment.
fn tool_server(command_line: &[String], env: &[(OsString, OsString)]) -> McpServer {
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    McpServer {
        name: TOOLS.to_owned(),
        command: command_line.first().cloned().unwrap_or_default(),
        args: command_line.iter().skip(1).cloned().collect(),
        env: env
            .iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
    }
}
