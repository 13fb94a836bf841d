//! Standard streams of workers: their ends, and the pump that takes what a worker prints. Keeps no output.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;

use tokio::net::unix::pipe::{Receiver, Sender};

use rustix::pipe::{PipeFlags, pipe_with};

/// Read at once from one pipe before others get their turn.
const SHARE: usize = 1 << 20;
const CHUNK: usize = 64 << 10;

thread_local! {
    // One buffer for all pumps of the thread: a thousand idle workers must not cost a thousand buffers.
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK].into());
}

/// A pipe for what a worker prints: our end, and the end for [`super::Spawn`].
pub fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    Ok((reader, writer))
}

/// A pipe into a worker's stdin: the end for [`super::Spawn`], and ours. For a text that is known beforehand an opened file
/// serves better: nothing has to be pumped, and a worker that does not read it is no error.
pub fn input_pipe() -> io::Result<(OwnedFd, Sender)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    Ok((reader, Sender::from_owned_fd_unchecked(writer)?))
}

/// A stdin that is at its end.
pub fn no_input() -> io::Result<OwnedFd> {
    Ok(std::fs::File::open("/dev/null")?.into())
}

/// Hands everything that comes out of `from` to `on_chunk`, until its end or until `stop` is ready; what had been
/// written before `stop` is still delivered. Returns the number of bytes. A slow `on_chunk` slows the worker, never memory.
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
        match read_share(|buffer| from.try_read(buffer), &mut total, &mut on_chunk)? {
            Share::Ended => return Ok(total),
            Share::Empty => {}
            Share::More => tokio::task::yield_now().await,
        }
    }
}

/// Hands over what is in a pipe now. Asks the pipe itself: the reactor may not know yet. One share is more than a pipe holds;
/// whoever writes more after that is not our worker any more.
pub fn drain_pipe(from: impl AsFd, mut on_chunk: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut total = 0;
    let read = |buffer: &mut [u8]| Ok(rustix::io::read(from.as_fd(), buffer)?);
    read_share(read, &mut total, &mut on_chunk)?;
    Ok(total)
}

enum Share {
    Ended,
    Empty,
    More,
}

fn read_share(
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    total: &mut u64,
    on_chunk: &mut impl FnMut(&[u8]),
) -> io::Result<Share> {
    BUFFER.with_borrow_mut(|buffer| {
        let mut taken = 0;
        while taken < SHARE {
            match read(buffer) {
                Ok(0) => return Ok(Share::Ended),
                Ok(n) => {
                    taken += n;
                    *total += n as u64;
                    on_chunk(&buffer[..n]);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Share::Empty),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Share::More)
    })
}
