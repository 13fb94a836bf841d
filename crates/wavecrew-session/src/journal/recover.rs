//! Reads the bytes of a journal back into events. Decides what is a torn tail; never changes the file.

use super::{JOURNAL_FORMAT, PREFIX_LEN};
use crate::error::SessionError;
use memchr::memchr;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub wavecrew_journal: u32,
}

/// The repairs on opening a journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recovery {
    /// Bytes behind the last whole line: a write that a crash or a full disk cut short.
    pub cut_bytes: u64,
}

pub(super) struct Recovered<E> {
    pub events: Vec<E>,
    /// Zero when not even the header is whole.
    pub good_len: u64,
    pub recovery: Recovery,
}

pub(super) fn recover<E: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<Recovered<E>, SessionError> {
    let mut events = Vec::with_capacity(bytes.len() / 160);
    let (good, _) = read_lines(path, bytes, 0, &mut events)?;
    let cut_bytes = (bytes.len() - good) as u64;
    Ok(Recovered {
        events,
        good_len: good as u64,
        recovery: Recovery { cut_bytes },
    })
}

/// Reads whole lines behind the first `number` ones. Returns the length of what was read, and the number of its last line.
/// With an error, `events` has what stands before the damage.
pub(super) fn read_lines<E: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
    mut number: usize,
    events: &mut Vec<E>,
) -> Result<(usize, usize), SessionError> {
    let mut good = 0;
    while let Some(end) = memchr(b'\n', &bytes[good..]) {
        let json = match checked(&bytes[good..good + end]) {
            Ok(json) => json,
            Err(reason) if hides_good_line(&bytes[good..]) => {
                return Err(SessionError::Damaged {
                    path: path.to_owned(),
                    line: number + 1,
                    reason: reason.to_owned(),
                });
            }
            Err(_) => break,
        };
        number += 1;
        if number == 1 {
            check_header(path, json)?;
        } else {
            events.push(event(path, number, json)?);
        }
        good += end + 1;
    }
    Ok((good, number))
}

fn event<E: DeserializeOwned>(path: &Path, line: usize, json: &[u8]) -> Result<E, SessionError> {
    serde_json::from_slice(json).map_err(|error| SessionError::UnknownEvent {
        path: path.to_owned(),
        line,
        reason: error.to_string(),
    })
}

fn check_header(path: &Path, json: &[u8]) -> Result<(), SessionError> {
    let header: Header = serde_json::from_slice(json).map_err(|_| {
        SessionError::malformed(path, &"its first line is not the header of a wavecrew journal")
    })?;
    if header.wavecrew_journal > JOURNAL_FORMAT {
        let found = header.wavecrew_journal;
        return Err(SessionError::NewerFormat {
            path: path.to_owned(),
            found,
            known: JOURNAL_FORMAT,
        });
    }
    Ok(())
}

/// Whether a whole line follows the damage, be it behind a newline that was itself damaged.
fn hides_good_line(rest: &[u8]) -> bool {
    let mut lines = rest.split(|byte| *byte == b'\n');
    // What follows the last newline is not a line yet.
    lines.next_back();
    lines.any(|line| {
        let mut spaces = memchr::memchr_iter(b' ', line).filter(|at| *at >= PREFIX_LEN - 1);
        spaces.any(|at| checked(&line[at + 1 - PREFIX_LEN..]).is_ok())
    })
}

/// The JSON of a line whose checksum is right.
fn checked(line: &[u8]) -> Result<&[u8], &'static str> {
    if line.len() <= PREFIX_LEN || line[PREFIX_LEN - 1] != b' ' {
        return Err("it does not start with a checksum");
    }
    let json = &line[PREFIX_LEN..];
    let digits = &line[..PREFIX_LEN - 1];
    // The digits first: they are cheap to check, and a search for lines tries many places.
    let written = digits
        .iter()
        .try_fold(0_u32, |value, digit| Some(value << 4 | hex(*digit)?));
    match written {
        Some(crc) if crc == crc32fast::hash(json) => Ok(json),
        Some(_) => Err("its checksum does not match"),
        None => Err("it does not start with a checksum"),
    }
}

fn hex(digit: u8) -> Option<u32> {
    match digit {
        b'0'..=b'9' => Some(u32::from(digit - b'0')),
        b'a'..=b'f' => Some(u32::from(digit - b'a' + 10)),
        _ => None,
    }
}
