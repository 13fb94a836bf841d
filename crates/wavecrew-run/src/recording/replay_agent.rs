//! A cassette as an agent: each turn is a process of this program that repeats what was recorded. Its output is parsed as
//! that of the recorded agent.

use super::cassette::{Cassette, CassetteError, Entry};
use super::replay::INTERACTIVE;
use super::{End, PREFIX};
use crate::agent_name::by_name;
use std::path::Path;
use std::rc::Rc;
use wavecrew_agents::launch::{Launch, Request, Stdin};
use wavecrew_agents::{Agent, AttemptAgent, AttemptKey, OutputReader, RecordedEnd, ResumeBy};
use wavecrew_core::event::TokenUsage;

/// The first argument of a process that replays a turn.
pub const REPLAY: &str = "__replay";

/// A whole cassette.
#[derive(Debug)]
pub(crate) struct ReplayAgent {
    cassette: Cassette,
}

impl ReplayAgent {
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        let cassette = Cassette::open(path)?;
        Ok(Self { cassette })
    }
}

impl Agent for ReplayAgent {
    fn launch(&self, request: &Request<'_>) -> Launch {
        launch(&self.cassette.path, None, request)
    }

    fn for_attempt(&self, key: &AttemptKey<'_>) -> Option<Result<AttemptAgent, String>> {
        Some(self.cassette.attempt(key.task, key.attempt).and_then(|turns| {
            let first = turns.first().ok_or("the attempt has no turns")?;
            if let End::NotStarted(error) = &first.end {
                return Err(error.clone());
            }
            let recorded_agent = by_name(&first.agent).ok().filter(|_| !first.agent.starts_with(PREFIX));
            let differs = !first.print.is_empty() && first.print != key.fingerprint;
            let note = differs.then(|| {
                format!(
                    "{}: the row or its instruction has changed since the recording; the recording is replayed anyway",
                    key.task
                )
            });
            Ok(AttemptAgent {
                agent: Rc::new(RecordedAttempt {
                    path: self.cassette.path.to_string_lossy().into_owned(),
                    turns: turns.to_vec(),
                    recorded_agent,
                }),
                note,
            })
        }))
    }
}

/// One attempt of a cassette.
#[derive(Debug)]
struct RecordedAttempt {
    path: String,
    turns: Vec<Entry>,
    /// `None` if this version does not know the agent.
    recorded_agent: Option<Rc<dyn Agent>>,
}

impl Agent for RecordedAttempt {
    fn launch(&self, request: &Request<'_>) -> Launch {
        let mut launch = launch(Path::new(&self.path), self.turns.first(), request);
        // An interactive agent is replayed interactively.
        if let Some(agent) = &self.recorded_agent
            && let stdin @ Stdin::Interactive(_) = agent.launch(request).stdin
        {
            launch.args.push(INTERACTIVE.to_owned());
            launch.stdin = stdin;
        }
        launch
    }

    fn output_reader(&self, before: TokenUsage) -> Option<OutputReader> {
        self.recorded_agent.as_ref()?.output_reader(before)
    }

    fn resume_by(&self) -> ResumeBy {
        self.recorded_agent
            .as_ref()
            .map_or(ResumeBy::Never, |agent| agent.resume_by())
    }

    fn recorded_end(&self, turn: u32) -> Option<RecordedEnd> {
        let from = self.turns.iter().skip_while(|entry| entry.turn != turn);
        // One process replays a turn and those that it continued in.
        let last = from.map(|entry| &entry.end).find(|end| **end != End::Continued);
        Some(match last {
            Some(End::Stopped { stop, error }) => RecordedEnd::Stopped {
                stop: *stop,
                error: error.clone(),
            },
            Some(End::Exit(_) | End::Signal(_) | End::Continued | End::NotStarted(_)) | None => {
                RecordedEnd::Ended
            }
        })
    }
}

fn launch(path: &Path, first: Option<&Entry>, request: &Request<'_>) -> Launch {
    // If our own program is not found, the start fails with this name.
    let program = std::env::current_exe().unwrap_or_else(|_| "wavecrew".into());
    // The worker's folder may be a worktree; a relative path is seen from the project.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (offset, attempt) = first.map_or((0, 1), |entry| (entry.offset, entry.attempt));
    Launch {
        args: vec![
            REPLAY.to_owned(),
            path.to_string_lossy().into_owned(),
            offset.to_string(),
            attempt.to_string(),
        ],
        ..Launch::new(&program.to_string_lossy(), request.prompt)
    }
}
