//! The standard streams of a worker's process, and the tasks that read them until it has exited.

use super::output::{Output, Stream};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use wavecrew_agents::InteractiveProtocol;
use wavecrew_process::{ProcessExit, Spawn, drain_pipe, input_pipe, output_pipe, pump};

/// Something happened to a worker's process, and everything it had printed by then is read.
pub enum WorkerEvent {
    /// A turn of an interactive process has ended; it waits for a message.
    TurnEnded {
        key: u64,
    },
    ProcessEnded {
        key: u64,
        exit: ProcessExit,
    },
}

/// What the readers of a process's output know about it.
#[derive(Clone, Copy)]
pub enum ProcessState {
    /// It may exit very soon. Its output stays in the pipes, because watching them would cost more than reading them.
    Unwatched,
    /// Its output is read as it comes.
    Watched,
    Exited(ProcessExit),
}

/// The streams of a new process, and the sender that informs its output readers.
pub struct Streams {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub state: watch::Sender<ProcessState>,
}

impl Streams {
    /// The start of a process with these streams.
    pub fn spawn(
        self,
        program: OsString,
        args: Vec<String>,
        cwd: PathBuf,
        env_set: Vec<(OsString, OsString)>,
    ) -> (Spawn, watch::Sender<ProcessState>) {
        let spawn = Spawn {
            program,
            args: args.into_iter().map(OsString::from).collect(),
            cwd,
            env_set,
            env_remove: Vec::new(),
            confinement: None,
            stdin: self.stdin,
            stdout: self.stdout,
            stderr: self.stderr,
        };
        (spawn, self.state)
    }
}

/// Opens pipes and starts the tasks that read them until the process has exited. The process reads `prompt` from stdin,
/// or, if it is interactive, the message in the form of its protocol.
pub fn open_streams(
    key: u64,
    output: &Rc<Output>,
    events: UnboundedSender<WorkerEvent>,
    prompt: OwnedFd,
    interactive: Option<(Box<dyn InteractiveProtocol>, &str)>,
    state: ProcessState,
) -> io::Result<Streams> {
    let (stdout_reader, stdout) = output_pipe()?;
    let (stderr_reader, stderr) = output_pipe()?;
    let (state, mut states) = watch::channel(state);
    let reader_output = Rc::clone(output);
    tokio::task::spawn_local(async move {
        let output = reader_output;
        let exited = |mut states: watch::Receiver<ProcessState>| async move {
            // The driver drops its end when nothing was started.
            let _ = states
                .wait_for(|state| matches!(state, ProcessState::Exited(_)))
                .await;
        };
        let on_stdout = |chunk: &[u8]| {
            output.add(Stream::Stdout, chunk);
            if output.take_turn_ended() {
                let _ = events.send(WorkerEvent::TurnEnded { key });
            }
        };
        let on_stderr = |chunk: &[u8]| output.add(Stream::Stderr, chunk);
        let decided = states
            .wait_for(|state| !matches!(state, ProcessState::Unwatched))
            .await;
        let watched = decided.is_ok_and(|state| matches!(*state, ProcessState::Watched));
        // A pipe that cannot be read has no more output.
        let _ = if watched {
            tokio::join!(
                pump(stdout_reader, exited(states.clone()), on_stdout),
                pump(stderr_reader, exited(states.clone()), on_stderr),
            )
        } else {
            (
                drain_pipe(stdout_reader, on_stdout),
                drain_pipe(stderr_reader, on_stderr),
            )
        };
        exited(states.clone()).await;
        let state = *states.borrow();
        if let ProcessState::Exited(exit) = state {
            let _ = events.send(WorkerEvent::ProcessEnded { key, exit });
        }
    });
    let stdin = match interactive {
        None => prompt,
        Some((protocol, message)) => {
            let (stdin, sender) = open_input()?;
            output.start_conversation(protocol, sender);
            output.send_message(message);
            stdin
        }
    };
    Ok(Streams {
        stdin,
        stdout,
        stderr,
        state,
    })
}

/// A stdin that stays open until the sender is dropped; texts are written in the order in which they are sent.
fn open_input() -> io::Result<(OwnedFd, UnboundedSender<String>)> {
    let (stdin, mut writer) = input_pipe()?;
    let (sender, mut texts) = unbounded_channel::<String>();
    tokio::task::spawn_local(async move {
        while let Some(text) = texts.recv().await {
            // A process that no longer reads is about to exit.
            if writer.write_all(text.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    Ok((stdin, sender))
}
