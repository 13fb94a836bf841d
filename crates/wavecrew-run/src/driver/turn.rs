//! Turns of a worker's conversation: how each is started, or cut short for the next.

use super::files::{write_files, write_prompt};
use super::worker::{Life, Unsaid, open_streams};
use super::{DriveError, Driver};
use std::ffi::OsString;
use std::time::{Duration, Instant};
use wavecrew_agents::Memory;
use wavecrew_agents::launch::{McpServer, Request, Stdin};
use wavecrew_core::engine::{Input, OutputMode, SpawnError, WorkerId};
use wavecrew_core::team::Access;
use wavecrew_process::Spawn;

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

    /// Starts the turn that waited for the end of this one, unless this one brought a report after all.
    pub(super) fn say_unsaid(&mut self, worker: WorkerId) -> Result<bool, DriveError> {
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
        if state.output.output_mode() == OutputMode::Silent {
            env.push(variable("WAVECREW_USAGE_FILE", &state.files.usage));
        }
        // A program that is no known agent has no use for them.
        let offered = self.surface.worker_tools.as_ref();
        let offered = offered.filter(|_| state.output.output_mode() == OutputMode::Streaming);
        let tools = offered.map(|words| tools(words, &env));
        let scratch = self.session.dir.scratch_of(id, attempt);
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
                let error = SpawnError::Temporary(error.to_string());
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
