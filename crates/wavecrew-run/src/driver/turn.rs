//! Turns of a worker's conversation: how each is started, and what is made of its end.

use super::output::Output;
use super::worker::{ProcessEnded, Unsaid, open_streams};
use super::{DriveError, Driver};
use crate::agent::launch::{McpServer, Request};
use crate::agent::stream::{End, Expects, FailKind, Outcome, Stopped};
use crate::agent::{Memory, Replayed};
use crate::process::{Exit as ProcessExit, Spawn};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_core::engine::{Exit, Input, MAX_REPORT_BYTES, SpawnError, TurnEnd, WorkerId};
use wavecrew_core::event::StopReason;
use wavecrew_core::team::Access;
use wavecrew_store::{SessionDir, StoreError, Token};

/// How long an agent whose turn is cut short may take to keep its conversation.
const CUT_SHORT: Duration = Duration::from_secs(3);
/// The name of our tools in the agents' configuration.
const TOOLS: &str = "wavecrew";

impl Driver<'_> {
    pub(super) fn send(&mut self, worker: WorkerId, turn: u32, text: String) -> Result<(), DriveError> {
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        let answers_report = state.report_seen;
        if state.agent.memory() == Memory::None || state.alive.is_empty() {
            state.output.new_turn();
            self.start_turn(worker, turn, &text)?;
        } else {
            // Two processes in one conversation would spoil it: the turn under way is cut short.
            state.unsaid = Some(Unsaid {
                turn,
                text,
                answers_report,
            });
            for key in &state.alive {
                self.guardian.close(*key, CUT_SHORT);
            }
        }
        // What is answered was not accepted, so that there may be another.
        self.refuse_report(worker, "it was sent back")
    }

    /// Starts a process for a turn of the worker's conversation.
    pub(super) fn start_turn(
        &mut self,
        worker: WorkerId,
        turn: u32,
        message: &str,
    ) -> Result<(), DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let prompt_file = self.session.dir.prompt_file(id, attempt, turn);
        let session_dir = self.session.dir.path();
        let mut env = vec![
            variable("WAVECREW_PROMPT_FILE", &prompt_file),
            variable("WAVECREW_SESSION_DIR", session_dir),
            variable("WAVECREW_RESULT_FILE", &state.result_file),
            variable("WAVECREW_TASK", id),
            variable("WAVECREW_ROLE", &state.assignment.role),
            variable("WAVECREW_ATTEMPT", attempt.to_string()),
            variable("WAVECREW_TURN", turn.to_string()),
            variable("WAVECREW_TOKEN", state.token.as_str()),
        ];
        let tools = self.surface.worker_tools.as_ref().map(|words| tools(words, &env));
        let scratch = scratch_folder(&self.session.dir).join(format!("{id}.{attempt}"));
        let role = self.engine.ledger().team.role(&state.assignment.role);
        let launch = state.agent.launch(&Request {
            prompt: message,
            access: role.map_or(Access::Source, |role| role.access),
            model: None,
            mcp: tools.as_ref(),
            schema: None,
            conversation: state.talk.next_turn(),
            scratch: &scratch,
            folders: &[session_dir.to_owned()],
            extra: &[],
        });
        write_files(&scratch, &launch.files)?;
        let stdin = write_prompt(&prompt_file, &launch.stdin)?;
        env.extend(launch.env.iter().map(|(name, value)| variable(name, value)));
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
        state.alive.push(key);
        state.turn = turn;
        self.processes.insert(key, (worker, streams.exited));
        let cwd = state.folder.clone();
        self.tape_begin(worker, key, turn);
        let spec = Spawn {
            program: self.session.resolve(launch.program.as_ref()),
            args: launch.args.into_iter().map(OsString::from).collect(),
            cwd,
            env_set: env,
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
        state.output.end_turn();
        self.tape_exit(worker, end.key, end.exit);
        self.note_conversation(worker);
        if self.begin_again(worker, end.exit)? || self.say_unsaid(worker)? {
            return Ok(());
        }
        let reports = self.reports_of(worker)?;
        let state = &self.workers[&worker];
        // While another turn of the conversation goes on, only a report ends this one.
        if state.alive.is_empty() || !reports.is_empty() {
            let stopped = state.closing.is_some();
            let received = state.report_seen || !reports.is_empty();
            let mut end = turn_end(&state.output, end.exit, stopped, received, reports);
            if let Some(replayed) = state.agent.replayed(state.turn) {
                as_recorded(&mut end, replayed);
            }
            self.tape_spent(worker, end.spent);
            self.inputs.push_back(Input::TurnEnded { worker, end });
        }
        self.closed_if_gone(worker);
        Ok(())
    }

    /// Looks whether agents have named their conversations.
    pub(super) fn note_conversations(&mut self) {
        let untold = self.workers.iter().filter(|(_, state)| !state.talk.told);
        let remembering = untold.filter(|(_, state)| state.agent.memory() != Memory::None);
        let workers: Vec<WorkerId> = remembering.map(|(worker, _)| *worker).collect();
        for worker in workers {
            self.note_conversation(worker);
        }
    }

    /// Tells the engine of the conversation once the agent has named it.
    fn note_conversation(&mut self, worker: WorkerId) {
        let Some(state) = self.workers.get_mut(&worker) else {
            return;
        };
        let memory = state.agent.memory();
        if memory == Memory::None || state.talk.told {
            return;
        }
        let told = state.output.conversation();
        if let Some((conversation, model, version)) = told {
            state.talk.begun(memory, Some(&conversation));
            state.talk.told = true;
            self.inputs.push_back(Input::Conversing {
                worker,
                conversation,
                model,
                version,
            });
        } else if state.alive.is_empty() {
            state.talk.begun(memory, None);
        }
    }

    /// A conversation of a former attempt that is not there any more is begun anew, with the same message.
    fn begin_again(&mut self, worker: WorkerId, exit: ProcessExit) -> Result<bool, DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        if !state.talk.inherited || state.closing.is_some() {
            return Ok(false);
        }
        // It has had its one chance.
        state.talk.inherited = false;
        let outcome = state.output.outcome(end_of(exit), Expects::Nothing);
        let failure = outcome.and_then(|outcome| outcome.failure);
        if failure.is_none_or(|failure| failure.kind != FailKind::NoConversation) {
            return Ok(false);
        }
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let Ok(message) = fs::read_to_string(self.session.dir.prompt_file(id, attempt, 1)) else {
            return Ok(false);
        };
        state.talk.lost();
        state.output.new_turn();
        self.start_turn(worker, 1, &message)?;
        Ok(true)
    }

    /// Starts the turn that waited for the end of this one, unless this one brought a report after all.
    fn say_unsaid(&mut self, worker: WorkerId) -> Result<bool, DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let Some(unsaid) = state.unsaid.take_if(|_| state.closing.is_none()) else {
            return Ok(false);
        };
        if !unsaid.answers_report && state.output.answer().is_some() {
            return Ok(false);
        }
        state.output.new_turn();
        self.start_turn(worker, unsaid.turn, &unsaid.text)?;
        Ok(true)
    }

    /// Everything that may be the worker's report, most trustworthy channel first.
    fn reports_of(&mut self, worker: WorkerId) -> Result<Vec<String>, DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let mut reports = Vec::new();
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        if state.closing.is_none()
            && !state.report_seen
            && let Some(report) = self.session.dir.attempts().take_report(id, attempt)?
        {
            state.report_seen = true;
            let body = self.redactor.text(&String::from_utf8_lossy(&report));
            self.tape_report(worker, &body);
            reports.push(body);
        }
        if let Some(report) = read_result_file(&self.workers[&worker].result_file)? {
            let body = self.redactor.text(&report);
            self.tape_result_file(worker, &body);
            reports.push(body);
        }
        reports.extend(self.workers[&worker].output.answer());
        Ok(reports)
    }
}

/// What the engine is told of the end of a turn.
fn turn_end(
    output: &Output,
    exit: ProcessExit,
    stopped: bool,
    received: bool,
    reports: Vec<String>,
) -> TurnEnd {
    let end = if stopped {
        // By which clock, the engine knows; here it matters that the exit code means nothing.
        End::Stopped(Stopped::Timeout)
    } else {
        end_of(exit)
    };
    let spent = output.take_spent();
    let Some(Outcome { reason, failure }) = output.outcome(end, Expects::Report { received }) else {
        return TurnEnd {
            exit: Driver::exit_of(exit),
            reports,
            last_words: output.last_words(),
            spent,
            retry_after: None,
        };
    };
    let exit = match reason {
        // It said all it had to say; whether that is a report is for the engine to judge.
        StopReason::Ok | StopReason::NoReport | StopReason::SchemaInvalid => Exit::Code(0),
        StopReason::Timeout if stopped => Driver::exit_of(exit),
        reason => Exit::Reason(reason),
    };
    TurnEnd {
        exit,
        reports,
        last_words: match &failure {
            Some(failure) => output.shown(failure.message.as_bytes()),
            None => output.last_words(),
        },
        spent,
        retry_after: failure.and_then(|failure| failure.retry_after),
    }
}

/// No service wants to be waited for in a replay, and a clock that ended the worker need not run again.
fn as_recorded(end: &mut TurnEnd, replayed: Replayed) {
    end.retry_after = None;
    match replayed {
        Replayed::Ended => {}
        Replayed::Stopped { stop, error } => (end.exit, end.last_words) = (Exit::Reason(stop), error),
    }
}

fn end_of(exit: ProcessExit) -> End {
    match exit {
        ProcessExit::Code(code) => End::Exit(code),
        ProcessExit::Signal(signal) => End::Signal(signal),
    }
}

fn variable(name: &str, value: impl AsRef<std::ffi::OsStr>) -> (OsString, OsString) {
    (name.into(), value.as_ref().to_owned())
}

/// Our own server of tools, which finds its task in its environment.
fn tools(words: &[String], env: &[(OsString, OsString)]) -> McpServer {
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    McpServer {
        name: TOOLS.to_owned(),
        command: words.first().cloned().unwrap_or_default(),
        args: words.iter().skip(1).cloned().collect(),
        env: env
            .iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
    }
}

/// An id for a conversation: random, in the form of a UUID.
pub(super) fn conversation_id() -> Result<String, StoreError> {
    let random = Token::random()?;
    let hex = random.as_str();
    Ok(format!(
        "{}-{}-4{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    ))
}

/// Where workers' private files lie; removed with the worker.
pub(super) fn scratch_folder(session: &SessionDir) -> PathBuf {
    session.run_folder().join("scratch")
}

/// Removes a worker's private files.
pub(super) fn remove_scratch(session: &SessionDir, id: &str, attempt: u32) {
    let folder = scratch_folder(session).join(format!("{id}.{attempt}"));
    // Most agents have none; what cannot be removed now is swept with the whole folder.
    let _ = fs::remove_dir_all(folder);
}

/// Files that only the user may read: some hold the worker's token.
fn write_files(scratch: &Path, files: &[(PathBuf, String)]) -> Result<(), StoreError> {
    if files.is_empty() {
        return Ok(());
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| StoreError::Io {
            operation: "write",
            path,
            source,
        }
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(scratch)
        .map_err(failed(scratch))?;
    for (path, content) in files {
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path);
        file.and_then(|mut file| file.write_all(content.as_bytes()))
            .map_err(failed(path))?;
    }
    Ok(())
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
///
/// A shortage of the machine must not cost a report, and what a worker may make of the name (a folder, a pipe that
/// nobody writes to) must not cost the run.
fn read_result_file(path: &Path) -> Result<Option<String>, StoreError> {
    let read = || -> io::Result<Option<Vec<u8>>> {
        let file = File::options()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(path)?;
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        // One more than is taken, so that too much is noticed.
        file.take(MAX_REPORT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    let bytes = match read() {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO) => {
                return Err(StoreError::Io {
                    operation: "read",
                    path: path.to_owned(),
                    source: error,
                });
            }
            _ => return Ok(None),
        },
    };
    let _ = fs::remove_file(path);
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    Ok((!text.is_empty()).then_some(text))
}
