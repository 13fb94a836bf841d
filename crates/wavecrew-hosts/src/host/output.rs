//! Sends the output of a worker to the coordinator: whole lines, with the coordinator's paths and without the
//! host's secrets.

use super::outbox::Outbox;
use super::turn::HostContext;
use crate::path_map::PathMap;
use memchr::memrchr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;
use wavecrew_agents::Redactor;
use wavecrew_remote::wire::{AttemptToken, FromHost, OUTPUT_CHUNK, OutputStream};

/// A line without an end is sent after this much silence.
const PARTIAL: Duration = Duration::from_millis(300);

/// One stream of a process.
#[derive(Debug)]
pub(super) struct Lines {
    held: Vec<u8>,
    ready: Vec<u8>,
    offset: u64,
}

impl Lines {
    pub fn new() -> Self {
        Self {
            held: Vec::new(),
            ready: Vec::new(),
            offset: 0,
        }
    }

    pub fn add(&mut self, chunk: &[u8], map: &PathMap, redactor: &Redactor) {
        self.held.extend_from_slice(chunk);
        let complete = match memrchr(b'\n', &self.held) {
            Some(end) => end + 1,
            // The line is too long to wait for its end.
            None if self.held.len() > OUTPUT_CHUNK => self.held.len(),
            None => return,
        };
        let rest = self.held.split_off(complete);
        self.finish_held(map, redactor);
        self.held = rest;
    }

    fn finish_held(&mut self, map: &PathMap, redactor: &Redactor) {
        let mapped = map.bytes(&self.held);
        self.ready.extend_from_slice(&redactor.bytes(&mapped));
        self.held.clear();
    }

    /// The bytes to send now, with their offset. At the end of the stream, an unfinished line too.
    pub fn take(&mut self, map: &PathMap, redactor: &Redactor, at_end: bool) -> Option<(u64, Vec<u8>)> {
        if at_end {
            self.finish_held(map, redactor);
        }
        if self.ready.is_empty() {
            return None;
        }
        let rest = self.ready.split_off(self.ready.len().min(OUTPUT_CHUNK));
        let bytes = std::mem::replace(&mut self.ready, rest);
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        Some((offset, bytes))
    }

    pub fn length(&self) -> u64 {
        self.offset
    }

    /// Whether a line has begun and not ended.
    pub fn has_partial(&self) -> bool {
        !self.held.is_empty()
    }
}

/// One output stream on its way to the coordinator.
pub(super) struct CarriedStream {
    pub stream: OutputStream,
    pub outbox: Outbox,
    pub attempt: AttemptToken,
    pub turn: u32,
    pub map: PathMap,
    pub context: Arc<HostContext>,
}

impl CarriedStream {
    /// Sends what a process prints, until its end. Returns the number of bytes.
    pub async fn carry(self, fd: OwnedFd) -> u64 {
        let mut lines = Lines::new();
        let Ok(mut reader) = Receiver::from_owned_fd_unchecked(fd) else {
            return 0;
        };
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = if lines.has_partial() {
                let Ok(read) = timeout(PARTIAL, reader.read(&mut buffer)).await else {
                    self.send(&mut lines, true).await;
                    continue;
                };
                read
            } else {
                reader.read(&mut buffer).await
            };
            match read {
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    lines.add(&buffer[..length], &self.map, &self.context.redactor);
                    self.send(&mut lines, false).await;
                }
            }
        }
        self.send(&mut lines, true).await;
        lines.length()
    }

    async fn send(&self, lines: &mut Lines, at_end: bool) {
        while let Some((offset, bytes)) = lines.take(&self.map, &self.context.redactor, at_end) {
            let message = FromHost::Output {
                attempt: self.attempt.clone(),
                turn: self.turn,
                stream: self.stream,
                offset,
            };
            self.outbox.send(&message, &bytes).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_comes_in_two_pieces_is_mapped() {
        let map = PathMap::new([("/host/p".into(), "/home/me/pro".into())]);
        let redactor = Redactor::new(std::iter::empty());
        let mut lines = Lines::new();
        lines.add(b"at /hos", &map, &redactor);
        assert_eq!(lines.take(&map, &redactor, false), None);
        lines.add(b"t/p/x\nand /host", &map, &redactor);
        let first = lines.take(&map, &redactor, false).unwrap();
        assert_eq!(first, (0, b"at /home/me/pro/x\n".to_vec()));
        lines.add(b"/p", &map, &redactor);
        let last = lines.take(&map, &redactor, true).unwrap();
        assert_eq!(last, (18, b"and /home/me/pro".to_vec()));
        assert_eq!(lines.length(), 34);
    }
}
