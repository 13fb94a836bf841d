//! One worker as the driver sees it: its processes, its output, its report channel.

use super::output::{Output, Stream};
use crate::process::{Exit, output_pipe, pump};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use wavecrew_core::engine::Assignment;
use wavecrew_store::{Closed, Token};

/// A process of a worker has ended and everything it printed has been taken in.
pub(super) struct ProcessEnded {
    pub key: u64,
    pub exit: Exit,
}

pub(super) struct Worker {
    pub assignment: Assignment,
    pub token: Token,
    pub output: Rc<Output>,
    pub started: Instant,
    pub last_output: Instant,
    pub result_file: PathBuf,
    /// Keys of processes that live or are being started.
    pub alive: Vec<u64>,
    /// A report of the channel was handed to the engine and not refused.
    pub report_seen: bool,
    /// The engine wants it ended.
    pub closing: Option<Closed>,
}

/// The ends of a new process's output, and what tells its pumps that it is gone.
pub(super) struct Streams {
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub exited: watch::Sender<Option<Exit>>,
}

/// Opens pipes and starts the pumps that take in what comes through them, until the process is gone.
pub(super) fn open_streams(
    key: u64,
    output: &Rc<Output>,
    ended: UnboundedSender<ProcessEnded>,
) -> io::Result<Streams> {
    let (out_from, stdout) = output_pipe()?;
    let (err_from, stderr) = output_pipe()?;
    let (exited, exit) = watch::channel(None::<Exit>);
    let output = Rc::clone(output);
    tokio::task::spawn_local(async move {
        let gone = |mut exit: watch::Receiver<Option<Exit>>| async move {
            // The driver drops its end when nothing was started.
            let _ = exit.wait_for(Option::is_some).await;
        };
        // A pipe that cannot be read any more has nothing more to say.
        let _ = tokio::join!(
            pump(&out_from, gone(exit.clone()), |chunk| output
                .take_in(Stream::Stdout, chunk)),
            pump(&err_from, gone(exit.clone()), |chunk| output
                .take_in(Stream::Stderr, chunk)),
        );
        gone(exit.clone()).await;
        let exit = *exit.borrow();
        if let Some(exit) = exit {
            let _ = ended.send(ProcessEnded { key, exit });
        }
    });
    Ok(Streams {
        stdout,
        stderr,
        exited,
    })
}
