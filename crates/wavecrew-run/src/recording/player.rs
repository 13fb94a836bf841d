//! A cassette as an agent: each turn is a process of this very program that does again what was recorded. What it
//! prints is understood as the recorded agent's.

use super::index::{Cassette, CassetteError, Entry};
use super::play::SPOKEN;
use super::{End, PREFIX};
use crate::agent_name::by_name;
use std::path::Path;
use std::rc::Rc;
use wavecrew_agents::launch::{Launch, Request, Stdin};
use wavecrew_agents::stream::Usage;
use wavecrew_agents::{Agent, AttemptAgent, AttemptKey, OutputReader, RecordedEnd, ResumeBy};

/// The first word of a process that plays.
pub const PLAY: &str = "__replay";

/// All of a cassette.
#[derive(Debug)]
pub(crate) struct Player {
    cassette: Cassette,
}

impl Player {
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        let cassette = Cassette::open(path)?;
        Ok(Self { cassette })
    }
}

impl Agent for Player {
    fn launch(&self, request: &Request<'_>) -> Launch {
        launch(&self.cassette.path, None, request)
    }

    fn listener(&self, _before: Usage) -> Option<OutputReader> {
        None
    }

    fn resume_by(&self) -> ResumeBy {
        ResumeBy::Never
    }

    fn part(&self, of: &AttemptKey<'_>) -> Option<Result<AttemptAgent, String>> {
        Some(self.cassette.attempt(of.task, of.attempt).and_then(|turns| {
            let first = turns.first().ok_or("the attempt has no turns")?;
            if let End::NotStarted(error) = &first.end {
                return Err(error.clone());
            }
            let voice = by_name(&first.agent).ok().filter(|_| !first.agent.starts_with(PREFIX));
            let differs = !first.print.is_empty() && first.print != of.print;
            let remark = differs.then(|| {
                format!(
                    "{}: the row or its instruction is not the one that was recorded; the recording is played all the \
                     same",
                    of.task
                )
            });
            Ok(AttemptAgent {
                agent: Rc::new(Recorded {
                    path: self.cassette.path.to_string_lossy().into_owned(),
                    turns: turns.to_vec(),
                    voice,
                }),
                remark,
            })
        }))
    }
}

/// One attempt of a cassette.
#[derive(Debug)]
struct Recorded {
    path: String,
    turns: Vec<Entry>,
    /// Who was recorded; nobody for an agent that this version does not know.
    voice: Option<Rc<dyn Agent>>,
}

impl Agent for Recorded {
    fn launch(&self, request: &Request<'_>) -> Launch {
        let mut launch = launch(Path::new(&self.path), self.turns.first(), request);
        // Who was spoken to is spoken to again: the player answers as was recorded.
        if let Some(voice) = &self.voice
            && let stdin @ Stdin::Interactive(_) = voice.launch(request).stdin
        {
            launch.args.push(SPOKEN.to_owned());
            launch.stdin = stdin;
        }
        launch
    }

    fn listener(&self, before: Usage) -> Option<OutputReader> {
        self.voice.as_ref()?.listener(before)
    }

    fn resume_by(&self) -> ResumeBy {
        self.voice
            .as_ref()
            .map_or(ResumeBy::Never, |voice| voice.resume_by())
    }

    fn recorded_end(&self, turn: u32) -> Option<RecordedEnd> {
        let from = self.turns.iter().skip_while(|entry| entry.turn != turn);
        // One process plays a turn and those that it went on in.
        let last = from.map(|entry| &entry.end).find(|end| **end != End::WentOn);
        Some(match last {
            Some(End::Stopped { stop, error }) => RecordedEnd::Stopped {
                stop: *stop,
                error: error.clone(),
            },
            Some(End::Exit(_) | End::Signal(_) | End::WentOn | End::NotStarted(_)) | None => {
                RecordedEnd::Ended
            }
        })
    }
}

fn launch(path: &Path, first: Option<&Entry>, request: &Request<'_>) -> Launch {
    // Without a program of our own there is nothing that could play; the start then fails with this name.
    let program = std::env::current_exe().unwrap_or_else(|_| "wavecrew".into());
    let (offset, attempt) = first.map_or((0, 1), |entry| (entry.offset, entry.attempt));
    Launch {
        program: program.to_string_lossy().into_owned(),
        args: vec![
            PLAY.to_owned(),
            path.to_string_lossy().into_owned(),
            offset.to_string(),
            attempt.to_string(),
        ],
        env: Vec::new(),
        files: Vec::new(),
        stdin: Stdin::Text(request.prompt.to_owned()),
    }
}
