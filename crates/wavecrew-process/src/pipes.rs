//! Pipes for the standard streams of workers, and the pump that reads a worker's output. Stores no output.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;

use tokio::net::unix::pipe::{Receiver, Sender};

use rustix::pipe::{PipeFlags, pipe_with};

/// Bytes read from one pipe before others get their turn.
const TURN_LIMIT: usize = 1 << 20;
const CHUNK: usize = 64 << 10;

thread_local! {
    // One buffer for all pumps of the thread: a thousand idle workers must not need a thousand buffers.
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK].into());
}

/// A pipe for a worker's output: our end, and the end for [`super::Spawn`].
pub fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    Ok((reader, writer))
}

/// A pipe into a worker's stdin: the end for [`super::Spawn`], and ours. For a text that is known beforehand, prefer an open
/// file: nothing has to be written, and a worker may leave it unread.
pub fn input_pipe() -> io::Result<(OwnedFd, Sender)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    Ok((reader, Sender::from_owned_fd_unchecked(writer)?))
}

/// An empty stdin.
pub fn no_input() -> io::Result<OwnedFd> {
    Ok(std::fs::File::open("/dev/null")?.into())
}

/// Passes everything read from `from` to `on_chunk`, until its end or until `stop` is ready; what was written before `stop` is
/// still delivered. Returns the number of bytes. A slow `on_chunk` slows the worker down and uses no memory.
pub async fn pump(
    from: OwnedFd,
    stop: impl Future<Output = ()>,
    mut on_chunk: impl FnMut(&[u8]),
) -> io::Result<u64> {
    let mut stop = pin!(stop);
    let mut total = 0;
    let from = Receiver::from_owned_fd_unchecked(from)?;
    loop {
        tokio::select! {
            biased;
            ready = from.readable() => ready?,
            () = &mut stop => {
                return Ok(total + drain_pipe(&from, on_chunk)?);
            }
        }
        match read_turn(|buffer| from.try_read(buffer), &mut total, &mut on_chunk)? {
            TurnEnd::Ended => return Ok(total),
            TurnEnd::Empty => {}
            TurnEnd::More => tokio::task::yield_now().await,
        }
    }
}

/// Passes on the current content of a pipe. Reads the pipe directly, because the reactor may not have seen
/// the data yet. One turn reads more than a pipe holds: data that is written later is not our worker's.
pub fn drain_pipe(from: impl AsFd, mut on_chunk: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut total = 0;
    let read = |buffer: &mut [u8]| Ok(rustix::io::read(from.as_fd(), buffer)?);
    read_turn(read, &mut total, &mut on_chunk)?;
    Ok(total)
}

enum TurnEnd {
    Ended,
    Empty,
    More,
}

fn read_turn(
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    total: &mut u64,
    on_chunk: &mut impl FnMut(&[u8]),
) -> io::Result<TurnEnd> {
    BUFFER.with_borrow_mut(|buffer| {
        let mut taken = 0;
        while taken < TURN_LIMIT {
            match read(buffer) {
                Ok(0) => return Ok(TurnEnd::Ended),
                Ok(n) => {
                    taken += n;
                    *total += n as u64;
                    on_chunk(&buffer[..n]);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(TurnEnd::Empty),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(TurnEnd::More)
    })
}
