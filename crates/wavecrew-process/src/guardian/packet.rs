//! Sends and receives one packet with its descriptors, never blocking. A message that is too long for a
//! packet is sent in a memory file.

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

use super::wire::KEY_LENGTH;

/// Longer messages go through a memory file: the kernel's limit for a packet is the send buffer, about 200 kB.
const INLINE_LIMIT: usize = (16 << 10) - 1;
/// The first byte of a packet: the message follows, or is in the first descriptor.
const INLINE: u8 = b'I';
const IN_FILE: u8 = b'F';
/// A memory file and three streams.
const MAX_FDS: usize = 4;

/// Can be sent again when the socket was full.
#[derive(Debug)]
pub struct Packet {
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
}

#[derive(Debug)]
pub enum Received {
    Packet {
        bytes: Vec<u8>,
        fds: Vec<OwnedFd>,
    },
    /// This process could not receive the descriptors; only the key of the message is certain.
    WithoutFds {
        bytes: Vec<u8>,
    },
    Ended,
}

impl Packet {
    pub fn new(bytes: &[u8], fds: Vec<OwnedFd>) -> Result<Self, Errno> {
        if bytes.len() <= INLINE_LIMIT {
            let bytes = [&[INLINE], bytes].concat();
            return Ok(Self { bytes, fds });
        }
        let file = File::from(memfd_create("request", MemfdFlags::CLOEXEC)?);
        (&file)
            .write_all(bytes)
            .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
        let fds = [OwnedFd::from(file)].into_iter().chain(fds).collect();
        // The key is known even when the file does not arrive.
        let bytes = [&[IN_FILE], &bytes[..KEY_LENGTH]].concat();
        Ok(Self { bytes, fds })
    }

    /// `AGAIN`: the socket is full. `TOOMANYREFS`: too many descriptors are in flight. Both: try again later.
    pub fn send(&self, socket: impl AsFd) -> Result<(), Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
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

/// Receives one packet; `AGAIN` when there is none.
pub fn receive(socket: impl AsFd) -> Result<Received, Errno> {
    let mut buffer = [0; 1 + INLINE_LIMIT];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
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
    let Some((tag, bytes)) = buffer[..message.bytes].split_first() else {
        return Ok(Received::Ended);
    };
    let cut = message.flags.contains(ReturnFlags::CTRUNC);
    let bytes = match *tag {
        IN_FILE if !cut && fds.is_empty() => return Err(Errno::PROTO),
        IN_FILE if !cut => read_whole(&File::from(fds.remove(0)))?,
        _ => bytes.to_vec(),
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
