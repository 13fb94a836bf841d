//! One worker as the driver sees it: its processes, its output, its report channel.

use super::output::{Output, Stream};
use super::shorts::Place;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use wavecrew_agents::launch::Conversation;
use wavecrew_agents::{Adapter, Dialogue, Memory};
use wavecrew_core::engine::Assignment;
use wavecrew_process::{Exit, input_pipe, output_pipe, pump, take_rest};
use wavecrew_session::{ClosedAttempt, Token};

/// Something happened to a process of a worker, and everything that it had printed by then was taken in.
pub enum ProcessNews {
    /// A turn of its conversation is over; it waits to be spoken to.
    TurnOver {
        key: u64,
    },
    Ended {
        key: u64,
        exit: Exit,
    },
}

pub(super) struct Worker {
    pub assignment: Assignment,
    pub token: Token,
    pub output: Rc<Output>,
    pub started: Instant,
    pub last_output: Instant,
    pub files: Place,
    /// Keys of processes that live or are being started.
    pub alive: Vec<u64>,
    pub agent: Rc<dyn Adapter>,
    /// Where it works.
    pub folder: PathBuf,
    /// The latest one that was started.
    pub turn: u32,
    pub talk: Talk,
    /// What is to be said once the turn under way is over.
    pub unsaid: Option<Unsaid>,
    /// Its questions that came as files, by their names.
    pub asks: Vec<String>,
    /// A report of the channel was handed to the engine and not refused.
    pub report_seen: bool,
    /// The engine wants it ended.
    pub closing: Option<ClosedAttempt>,
    /// Its turn was asked to end before its process is; until when, and the grace after that.
    pub last_call: Option<(Instant, Duration)>,
}

/// A message for the next turn.
pub(super) struct Unsaid {
    pub turn: u32,
    pub text: String,
    /// It answers a report, so that whatever else this turn says is no report.
    pub answers_report: bool,
}

/// The worker's conversation with its agent.
pub struct Talk {
    /// For a conversation that is yet to begin.
    fresh: String,
    /// The one to go on with.
    known: Option<String>,
    /// It was begun by a former attempt, and may be lost.
    pub inherited: bool,
    /// Its id is on record.
    pub told: bool,
}

impl Talk {
    pub fn new(fresh: String, resume: Option<String>) -> Self {
        Self {
            fresh,
            inherited: resume.is_some(),
            known: resume,
            told: false,
        }
    }

    pub fn next_turn(&self) -> Conversation<'_> {
        match &self.known {
            Some(id) => Conversation::Resume { id },
            None => Conversation::New { id: &self.fresh },
        }
    }

    /// What the agent said its conversation is, or what it was told to call it.
    pub fn begun(&mut self, memory: Memory, told: Option<&str>) {
        match (told, memory) {
            (Some(id), Memory::Named | Memory::Own) => self.known = Some(id.to_owned()),
            (None, Memory::Named) if self.known.is_none() => self.known = Some(self.fresh.clone()),
            (_, Memory::None) | (None, Memory::Named | Memory::Own) => {}
        }
    }

    /// The conversation to resume is not there: begin one.
    pub fn lost(&mut self) {
        (self.known, self.inherited, self.told) = (None, false, false);
    }
}

/// What the pumps of a process know of it.
#[derive(Clone, Copy)]
pub enum Life {
    /// It may be gone before long: what it prints waits in its pipes, because watching them would cost more than reading them.
    Young,
    /// It lives, and what it prints is taken in as it comes.
    Watched,
    Gone(Exit),
}

/// The ends of a new process's streams, and what tells its pumps how it is.
pub struct Streams {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub life: watch::Sender<Life>,
}

/// Opens pipes and starts the pumps that take in what comes through them, until the process is gone. It reads `prompt`, or
/// is spoken to: then it is told the message.
pub fn open_streams(
    key: u64,
    output: &Rc<Output>,
    news: UnboundedSender<ProcessNews>,
    prompt: OwnedFd,
    spoken: Option<(Box<dyn Dialogue>, &str)>,
    life: Life,
) -> io::Result<Streams> {
    let (out_from, stdout) = output_pipe()?;
    let (err_from, stderr) = output_pipe()?;
    let (life, mut lives) = watch::channel(life);
    let (speaker, output) = (output, Rc::clone(output));
    tokio::task::spawn_local(async move {
        let gone = |mut lives: watch::Receiver<Life>| async move {
            // The driver drops its end when nothing was started.
            let _ = lives.wait_for(|life| matches!(life, Life::Gone(_))).await;
        };
        let printed = |chunk: &[u8]| {
            output.take_in(Stream::Stdout, chunk);
            if output.take_turn_over() {
                let _ = news.send(ProcessNews::TurnOver { key });
            }
        };
        let complained = |chunk: &[u8]| output.take_in(Stream::Stderr, chunk);
        let grown = lives.wait_for(|life| !matches!(life, Life::Young)).await;
        let watched = grown.is_ok_and(|life| matches!(*life, Life::Watched));
        // A pipe that cannot be read any more has nothing more to say.
        let _ = if watched {
            tokio::join!(
                pump(out_from, gone(lives.clone()), printed),
                pump(err_from, gone(lives.clone()), complained),
            )
        } else {
            (take_rest(out_from, printed), take_rest(err_from, complained))
        };
        gone(lives.clone()).await;
        let life = *lives.borrow();
        if let Life::Gone(exit) = life {
            let _ = news.send(ProcessNews::Ended { key, exit });
        }
    });
    let stdin = match spoken {
        None => prompt,
        Some((dialogue, message)) => {
            let (stdin, way_in) = open_line()?;
            speaker.converse(dialogue, way_in);
            speaker.say(message);
            stdin
        }
    };
    Ok(Streams {
        stdin,
        stdout,
        stderr,
        life,
    })
}

/// A stdin that stays open, and the way into it: what is sent there is written in order, until the sender is dropped.
fn open_line() -> io::Result<(OwnedFd, UnboundedSender<String>)> {
    let (stdin, mut into) = input_pipe()?;
    let (line, mut texts) = unbounded_channel::<String>();
    tokio::task::spawn_local(async move {
        while let Some(text) = texts.recv().await {
            // One that does not read any more is about to end.
            if into.write_all(text.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    Ok((stdin, line))
}
