//! One packet with its descriptors over the socket, never blocking. Texts too long for a packet travel in a memory file.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::wire::Request;

/// Longer ones go through a memory file: the kernel's limit for a packet is the send buffer, about 200 kB.
const INLINE: usize = 16 << 10;
/// The tag of a packet whose text is in its first descriptor.
const IN_FILE: u8 = b'M';
/// A memory file and three streams.
const MOST_FDS: usize = 4;

/// Ready to be sent, as often as it takes.
#[derive(Debug)]
pub struct Packet {
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
}

/// What arrived.
#[derive(Debug)]
pub enum Received {
    Packet {
        bytes: Vec<u8>,
        fds: Vec<OwnedFd>,
    },
    /// This process had no room for the descriptors; only the head is certain.
    WithoutFds {
        bytes: Vec<u8>,
    },
    Ended,
}

impl Packet {
    pub fn new(bytes: Vec<u8>, fds: Vec<OwnedFd>) -> Result<Self, Errno> {
        if bytes.len() <= INLINE {
            return Ok(Self { bytes, fds });
        }
        let file = File::from(memfd_create("request", MemfdFlags::CLOEXEC)?);
        (&file)
            .write_all(&bytes)
            .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
        let fds = [OwnedFd::from(file)].into_iter().chain(fds).collect();
        // The head names the request even when the file does not arrive.
        let bytes = [&[IN_FILE], &bytes[..Request::HEAD]].concat();
        Ok(Self { bytes, fds })
    }

    /// `AGAIN`: the socket is full. `TOOMANYREFS`: too many descriptors are on their way; later.
    pub fn send(&self, socket: impl AsFd) -> Result<(), Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fds: Vec<BorrowedFd<'_>> = self.fds.iter().map(AsFd::as_fd).collect();
        if !fds.is_empty() {
            let fits = ancillary.push(SendAncillaryMessage::ScmRights(&fds));
            debug_assert!(fits, "there is space for every descriptor of a request");
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(&self.bytes)], &mut ancillary, flags))?;
        Ok(())
    }
}

/// Takes one packet; `AGAIN` when there is none.
pub fn receive(socket: impl AsFd) -> Result<Received, Errno> {
    let mut buffer = [0; INLINE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let mut slices = [IoSliceMut::new(&mut buffer)];
    let message = retry_on_intr(|| recvmsg(&socket, &mut slices, &mut ancillary, flags))?;
    let mut fds: Vec<OwnedFd> = Vec::new();
    for part in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            fds.extend(received);
        }
    }
    let bytes = &buffer[..message.bytes];
    if bytes.is_empty() {
        return Ok(Received::Ended);
    }
    let cut = message.flags.contains(ReturnFlags::CTRUNC);
    let bytes = match bytes.strip_prefix(&[IN_FILE]) {
        None => bytes.to_vec(),
        Some(head) if cut => head.to_vec(),
        Some(_) if fds.is_empty() => return Err(Errno::PROTO),
        Some(_) => read_whole(&File::from(fds.remove(0)))?,
    };
    Ok(if cut {
        Received::WithoutFds { bytes }
    } else {
        Received::Packet { bytes, fds }
    })
}

fn read_whole(file: &File) -> Result<Vec<u8>, Errno> {
    let read = || {
        let len = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    };
    read().map_err(|e: std::io::Error| Errno::from_io_error(&e).unwrap_or(Errno::IO))
}
