//! Follows a journal that another process writes: reads new events, each only once.

use super::recover::read_lines;
use crate::error::{IoContext, SessionError};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

#[derive(Debug)]
pub struct JournalTail {
    path: PathBuf,
    /// Bytes and lines that were read.
    bytes: u64,
    lines: usize,
}

impl JournalTail {
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            bytes: 0,
            lines: 0,
        }
    }

    /// Adds the new events. With an error, those before the damage are added.
    pub fn catch_up<E: DeserializeOwned>(&mut self, events: &mut Vec<E>) -> Result<(), SessionError> {
        let mut file = File::open(&self.path).context("open", &self.path)?;
        let length = file.metadata().context("look at", &self.path)?.len();
        if length == self.bytes {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.bytes))
            .context("read", &self.path)?;
        let mut added = Vec::new();
        file.read_to_end(&mut added).context("read", &self.path)?;
        let (bytes, lines) = read_lines(&self.path, &added, self.lines, events)?;
        self.bytes += bytes as u64;
        self.lines = lines;
        Ok(())
    }
}
