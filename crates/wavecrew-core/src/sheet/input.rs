//! The input in checked chunks: no NUL, only UTF-8, not too large. Refuses with the line.

use super::Problem;
use std::io::{self, Read};

/// One less than a `u32` can count: the last line may lack its end, which is added.
const MAX_FILE: u64 = u32::MAX as u64 - 1;
const CHUNK: usize = 256 << 10;

pub(super) struct Input<R> {
    reader: R,
    buffer: Vec<u8>,
    /// `buffer[at..valid]` is checked text; `buffer[valid..filled]` is the start of an incomplete character.
    at: usize,
    valid: usize,
    filled: usize,
    total: u64,
    ended: bool,
}

/// Why reading stops, and how far after the current position.
pub(super) enum Stop {
    Nul { lines: u32 },
    NotUtf8 { lines: u32, bytes: Vec<u8> },
    TooBig,
    Io(io::Error),
}

impl Stop {
    pub fn problem(self, line: u32) -> Problem {
        match self {
            Self::Nul { lines } => Problem::new(line + lines, "The file contains a NUL byte")
                .help("save the table as CSV text, UTF-8; a spreadsheet's own format cannot be read"),
            Self::NotUtf8 { lines, bytes } => {
                let bytes = bytes.escape_ascii();
                Problem::new(line + lines, format!("The text is not UTF-8: {bytes}"))
                    .help("save the table again with the encoding UTF-8")
            }
            Self::TooBig => {
                Problem::new(line, "The file is larger than 4 GiB").help("split it into several runs")
            }
            Self::Io(error) => Problem::new(0, format!("The file cannot be read: {error}")),
        }
    }
}

impl<R: Read> Input<R> {
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: vec![0; CHUNK],
            at: 0,
            valid: 0,
            filled: 0,
            total: 0,
            ended: false,
        }
    }

    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.valid]
    }

    /// Whether the last chunk is there.
    pub fn ended(&self) -> bool {
        self.ended
    }

    pub fn consume(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Reads the next chunk. Only called when all checked text is consumed.
    pub fn refill(&mut self) -> Result<(), Stop> {
        self.buffer.copy_within(self.valid..self.filled, 0);
        self.filled -= self.valid;
        self.at = 0;
        while self.filled < self.buffer.len() {
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(n) => {
                    self.filled += n;
                    self.total += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Stop::Io(e)),
            }
        }
        if self.total > MAX_FILE {
            return Err(Stop::TooBig);
        }
        self.check()
    }

    fn check(&mut self) -> Result<(), Stop> {
        let chunk = &self.buffer[..self.filled];
        if chunk.contains(&0) {
            let before = chunk.iter().take_while(|b| **b != 0);
            return Err(Stop::Nul {
                lines: breaks(before),
            });
        }
        self.valid = match std::str::from_utf8(chunk) {
            Ok(_) => self.filled,
            Err(e) if e.error_len().is_none() && !self.ended => e.valid_up_to(),
            Err(e) => {
                let (good, bad) = chunk.split_at(e.valid_up_to());
                let bytes = bad[..e.error_len().unwrap_or(bad.len())].to_vec();
                return Err(Stop::NotUtf8 {
                    lines: breaks(good.iter()),
                    bytes,
                });
            }
        };
        Ok(())
    }
}

/// Line breaks among some bytes.
pub(super) fn breaks<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    u32::try_from(bytes.filter(|b| **b == b'\n').count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_over_the_limit_is_refused() {
        let mut input = Input::new(io::repeat(b'x'));
        input.total = MAX_FILE - 10;
        let Err(stop) = input.refill() else {
            panic!("the limit was not seen")
        };
        assert_eq!(stop.problem(7).message, "The file is larger than 4 GiB");
    }
}
