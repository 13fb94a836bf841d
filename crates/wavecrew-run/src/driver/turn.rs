//! Turns of a worker's conversation: how each is started, and what is made of its end.

use super::files::{scratch_folder, write_files, write_prompt};
use super::output::Output;
use super::worker::{Life, Unsaid, open_streams};
use super::{DriveError, Driver, usage};
use crate::agent::launch::{McpServer, Request, Stdin};
use crate::agent::stream::{End, Expects, FailKind, Failure, Outcome, Stopped};
use crate::agent::{Adapter, Memory, Replayed};
use crate::process::{Exit as ProcessExit, Spawn};
use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};
use wavecrew_core::engine::{Exit, Input, SpawnError, TurnEnd, Voice, WorkerId};
use wavecrew_core::event::StopReason;
use wavecrew_core::team::Access;
use wavecrew_core::time::Timestamp;
use wavecrew_store::{StoreError, random_name};

/// How long an agent whose turn is cut short may take to keep its conversation.
pub(super) const CUT_SHORT: Duration = Duration::from_secs(3);
/// The name of our tools in the agents' configuration.
const TOOLS: &str = "wavecrew";

impl Driver<'_> {
    pub(super) fn send(&mut self, worker: WorkerId, turn: u32, text: String) -> Result<(), DriveError> {
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        let answers_report = state.report_seen;
        let waits = state.output.converses() && !state.output.turn_open();
        if state.agent.memory() == Memory::None || state.alive.is_empty() || waits {
            state.output.new_turn();
            self.start_turn(worker, turn, &text)?;
        } else {
            // Two processes in one conversation would spoil it: the turn under way is cut short.
            state.unsaid = Some(Unsaid {
                turn,
                text,
                answers_report,
            });
            if state.output.converses() {
                state.output.cut_short();
            } else {
                for key in &state.alive {
                    self.guardian.close(*key, CUT_SHORT);
                }
            }
        }
        // What is answered was not accepted, so that there may be another.
        self.refuse_report(worker, "it was sent back")
    }

    /// Begins a turn of the worker's conversation: with the process that is spoken to, or else with a new one.
    pub(super) fn start_turn(
        &mut self,
        worker: WorkerId,
        turn: u32,
        message: &str,
    ) -> Result<(), DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let prompt_file = self.session.dir.prompt_file(id, attempt, turn);
        if state.output.converses() {
            write_prompt(&prompt_file, message)?;
            state.output.say(message);
            return Ok(());
        }
        let session_dir = self.session.dir.path();
        let mut env = vec![
            variable(
                "WAVECREW_PROMPT_FILE",
                if turn == 1 {
                    &state.files.prompt
                } else {
                    &prompt_file
                },
            ),
            variable("WAVECREW_SESSION_DIR", session_dir),
            variable("WAVECREW_RESULT_FILE", &state.files.result),
            variable("WAVECREW_TASK", id),
            variable("WAVECREW_ROLE", &state.assignment.role),
            variable("WAVECREW_ATTEMPT", attempt.to_string()),
            variable("WAVECREW_TURN", turn.to_string()),
            variable("WAVECREW_TOKEN", state.token.as_str()),
        ];
        if state.output.voice() == Voice::Quiet {
            env.push(variable("WAVECREW_USAGE_FILE", &state.files.usage));
        }
        // A program that is no known agent has no use for them.
        let offered = self.surface.worker_tools.as_ref();
        let offered = offered.filter(|_| state.output.voice() == Voice::Telling);
        let tools = offered.map(|words| tools(words, &env));
        let scratch = scratch_folder(&self.session.dir).join(format!("{id}.{attempt}"));
        let role = self.engine.ledger().team.role(&state.assignment.role);
        let settings = self.surface.agent_settings.of(&state.assignment.agent);
        let launch = state.agent.launch(&Request {
            prompt: message,
            mode: state.assignment.mode,
            access: role.map_or(Access::Source, |role| role.access),
            model: settings.model.as_deref(),
            mcp: tools.as_ref(),
            schema: None,
            conversation: state.talk.next_turn(),
            project: &state.folder,
            scratch: &scratch,
            folders: &[session_dir.to_owned()],
            extra: &settings.args,
        });
        write_files(&scratch, &launch.files)?;
        let (prompt, dialogue) = match launch.stdin {
            Stdin::Text(text) if turn == 1 => {
                let stdin = self.shorts.write_prompt(&mut state.files, &prompt_file, &text)?;
                (stdin, None)
            }
            Stdin::Text(text) => (write_prompt(&prompt_file, &text)?, None),
            Stdin::Spoken(dialogue) => (write_prompt(&prompt_file, message)?, Some(dialogue)),
        };
        env.extend(launch.env.iter().map(|(name, value)| variable(name, value)));
        let key = self.next_key;
        self.next_key += 1;
        let spoken = dialogue.map(|dialogue| (dialogue, message));
        let news = self.process_news.clone();
        let life = match spoken {
            Some(_) => Life::Watched,
            None => Life::Young,
        };
        let opened = open_streams(key, &state.output, news, prompt, spoken, life);
        let streams = match opened {
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
        self.processes.insert(key, (worker, streams.life));
        self.young.push_back((Instant::now(), key));
        let cwd = state.folder.clone();
        self.tape_begin(worker, key, turn);
        let spec = Spawn {
            program: self.session.resolve(launch.program.as_ref()),
            args: launch.args.into_iter().map(OsString::from).collect(),
            cwd,
            env_set: env,
            env_remove: Vec::new(),
            stdin: streams.stdin,
            stdout: streams.stdout,
            stderr: streams.stderr,
        };
        Ok(self.guardian.spawn(key, spec)?)
    }

    pub(super) fn process_ended(&mut self, key: u64, exit: ProcessExit) -> Result<(), DriveError> {
        let Some((worker, _)) = self.processes.remove(&key) else {
            return Ok(());
        };
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        state.alive.retain(|alive| *alive != key);
        state.output.end_turn();
        state.output.hang_up();
        self.tape_exit(worker, key, exit);
        self.note_conversation(worker);
        if self.begin_again(worker, exit)? || self.say_unsaid(worker)? {
            return Ok(());
        }
        self.end_turn(worker, exit)?;
        self.closed_if_gone(worker);
        Ok(())
    }

    /// A process that is spoken to waits for the next message.
    pub(super) fn turn_over(&mut self, key: u64) -> Result<(), DriveError> {
        let Some((worker, _)) = self.processes.get(&key) else {
            return Ok(());
        };
        let worker = *worker;
        let Some(state) = self.workers.get_mut(&worker) else {
            return Ok(());
        };
        if state.closing.is_some() {
            // What it ended with is told with the end of its process.
            if let Some((_, grace)) = state.last_call.take() {
                self.guardian.close(key, grace);
            }
            return Ok(());
        }
        self.note_conversation(worker);
        if self.say_unsaid(worker)? {
            return Ok(());
        }
        self.end_turn(worker, ProcessExit::Code(0))
    }

    /// Ends processes that were asked to end their turn first, and did not in time.
    pub(super) fn look_at_last_calls(&mut self) {
        for state in self.workers.values_mut() {
            if let Some((_, grace)) = state.last_call.take_if(|(until, _)| Instant::now() >= *until) {
                for key in &state.alive {
                    self.guardian.close(*key, grace);
                }
            }
        }
    }

    /// Tells the engine what became of a turn.
    fn end_turn(&mut self, worker: WorkerId, exit: ProcessExit) -> Result<(), DriveError> {
        let reports = self.reports_of(worker)?;
        if reports.is_empty() {
            // A worker whose session was taken away is not to blame for what it could not hand in.
            self.look_for_the_session()?;
        }
        let state = &self.workers[&worker];
        // While another turn of the conversation goes on, only a report ends this one.
        if state.alive.is_empty() || state.output.converses() || !reports.is_empty() {
            let stopped = state.closing.is_some();
            // The answer is a candidate, but nothing that was handed in.
            let answers = usize::from(state.output.answer().is_some());
            let received = state.report_seen || reports.len() > answers;
            let now = self.clock.now();
            let mut end = turn_end(
                state.agent.as_ref(),
                &state.output,
                exit,
                stopped,
                received,
                reports,
                now,
            );
            if state.output.voice() == Voice::Quiet
                && let Some(told) = self.shorts.read(&state.files, &state.files.usage)?
            {
                usage::complete(&mut end, &told);
            }
            if let Some(replayed) = state.agent.replayed(state.turn) {
                as_recorded(&mut end, replayed);
            }
            self.tape_spent(worker, end.spent);
            self.inputs.push_back(Input::TurnEnded { worker, end });
        }
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
            && let Some(report) = self.attempts.take_report(id, attempt)?
        {
            state.report_seen = true;
            let body = self.redactor.text(&String::from_utf8_lossy(&report));
            self.tape_report(worker, &body);
            reports.push(body);
        }
        let files = &self.workers[&worker].files;
        if let Some(report) = self.shorts.read(files, &files.result)? {
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
    agent: &dyn Adapter,
    output: &Output,
    exit: ProcessExit,
    stopped: bool,
    received: bool,
    reports: Vec<String>,
    now: Timestamp,
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
            model: None,
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
            Some(failure) => failure_words(agent, output, failure),
            None => output.last_words(),
        },
        spent,
        model: output.model(),
        retry_after: failure.and_then(|failure| failure.wait(now)),
    }
}

/// What is told of a failure, and what a person can do about it.
pub fn failure_words(agent: &dyn Adapter, output: &Output, failure: &Failure) -> String {
    let words = output.shown(failure.message.as_bytes());
    match agent.advice(failure.kind) {
        Some(advice) => format!("{words} (help: {advice})"),
        None => words,
    }
}

/// What an agent said at the end of a turn of which no report is expected, or what went wrong.
pub fn last_message(agent: &dyn Adapter, output: &Output, exit: ProcessExit) -> Result<String, String> {
    let failed = match output.outcome(end_of(exit), Expects::Nothing) {
        None => (!exit.is_success()).then(|| output.last_words()),
        Some(outcome) => outcome
            .failure
            .map(|failure| failure_words(agent, output, &failure)),
    };
    match failed {
        None => Ok(output.message().unwrap_or_default()),
        // An agent that tells what went wrong need not tell how it ended.
        Some(words) if output.voice() == Voice::Telling && !words.is_empty() => Err(words),
        Some(words) => {
            let how = match exit {
                ProcessExit::Code(code) => format!("The agent exited with code {code}"),
                ProcessExit::Signal(signal) => format!("The agent was ended by signal {signal}"),
            };
            Err(if words.is_empty() {
                how
            } else {
                format!("{how}: {words}")
            })
        }
    }
}

/// No service wants to be waited for in a replay, and a clock that ended the worker need not run again.
fn as_recorded(end: &mut TurnEnd, replayed: Replayed) {
    end.retry_after = Some(Duration::ZERO);
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
pub fn conversation_id() -> Result<String, StoreError> {
    let hex = random_name()?;
    Ok(format!(
        "{}-{}-4{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    ))
}
