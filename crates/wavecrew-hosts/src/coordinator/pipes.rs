//! Passes the output of one turn to the driver, in order, and its end only after its files have arrived.

use super::apply::return_changes;
use super::run::Shared;
use super::turns::Ended;
use crate::objects::{AtHand, ObjectId};
use crate::path_map::PathMap;
use crate::task::Root;
use bytes::Bytes;
use rustix::io::ioctl_fionbio;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;
use tokio::sync::mpsc::UnboundedReceiver;
use wavecrew_process::ProcessExit;
use wavecrew_process::sandbox::Confinement;
use wavecrew_remote::wire::OutputStream;

/// A message from the host of one turn.
pub(super) enum Work {
    /// Replaces paths of another coordinator with those of this one, from now on.
    Paths(PathMap),
    Output {
        stream: OutputStream,
        offset: u64,
        bytes: Bytes,
    },
    Exited {
        exit: ProcessExit,
        leftovers: u32,
        files: Option<ObjectId>,
        /// Objects that came with the message.
        inline: Vec<(ObjectId, usize)>,
        objects: Bytes,
        roots: Vec<Root>,
        host: String,
    },
}

/// One of the two pipes that the driver reads.
struct Pipe {
    sender: Option<Sender>,
    written: u64,
}

impl Pipe {
    fn new(fd: OwnedFd) -> Self {
        let sender = ioctl_fionbio(&fd, true)
            .map_err(std::io::Error::from)
            .and_then(|()| Sender::from_owned_fd_unchecked(fd));
        Self {
            sender: sender.ok(),
            written: 0,
        }
    }

    /// Writes only new bytes, because a message may arrive twice.
    async fn write(&mut self, offset: u64, bytes: &[u8], map: &PathMap) {
        let known = usize::try_from(self.written.saturating_sub(offset)).unwrap_or(usize::MAX);
        let Some(new) = bytes.get(known..).filter(|new| !new.is_empty()) else {
            return;
        };
        self.written += new.len() as u64;
        if let Some(sender) = &mut self.sender
            && sender.write_all(&map.bytes(new)).await.is_err()
        {
            // The driver has stopped reading.
            self.sender = None;
        }
    }
}

/// Passes output to the driver until the turn has ended.
pub(super) async fn carry(
    key: u64,
    stdout: OwnedFd,
    stderr: OwnedFd,
    confinement: Option<Arc<Confinement>>,
    mut queue: UnboundedReceiver<Work>,
    shared: Arc<Shared>,
) {
    let (mut stdout, mut stderr) = (Pipe::new(stdout), Pipe::new(stderr));
    let mut map = PathMap::default();
    while let Some(work) = queue.recv().await {
        match work {
            Work::Paths(paths) => map = paths,
            Work::Output {
                stream,
                offset,
                bytes,
            } => {
                let pipe = match stream {
                    OutputStream::Stdout => &mut stdout,
                    OutputStream::Stderr => &mut stderr,
                };
                pipe.write(offset, &bytes, &map).await;
            }
            Work::Exited {
                exit,
                leftovers,
                files,
                inline,
                objects,
                roots,
                host,
            } => {
                let at_hand =
                    AtHand::with(&shared.cache, &inline, &objects).map_err(|error| error.to_string());
                let returned = match (files, at_hand) {
                    (Some(id), Ok(at_hand)) => {
                        return_changes(&shared, id, at_hand, &roots, &map, &host, confinement.clone()).await
                    }
                    (None, Ok(_)) => Ok(Vec::new()),
                    (_, Err(damaged)) => Err(damaged),
                };
                let ended = match returned {
                    Ok(notes) => Ended::Exited {
                        exit,
                        leftovers,
                        notes,
                    },
                    Err(error) => Ended::FilesLost(error),
                };
                shared.ended(key, ended);
                return;
            }
        }
    }
}
