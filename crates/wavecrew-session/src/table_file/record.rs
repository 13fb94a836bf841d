//! Which versions of the table were published last, across restarts. Two slots of fixed size, overwritten in
//! turn, so that the version in place stays known while the next one is being recorded.

use crate::atomic::{PRIVATE, folder_of, sync_folder};
use crate::error::{IoContext, SessionError};
use crate::worker_file::{WorkerFile, open_read};
use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The fingerprint of a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fingerprint {
    len: u64,
    crc: u32,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}", self.len, self.crc)
    }
}

impl Fingerprint {
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            len: bytes.len() as u64,
            crc: crc32fast::hash(bytes),
        }
    }

    /// Without holding the whole file in memory. `None` for what is no regular file.
    pub fn of_file(path: &Path) -> Result<Option<Self>, SessionError> {
        let WorkerFile::Regular(mut file) = open_read(path).context("open", path)? else {
            return Ok(None);
        };
        let mut hasher = crc32fast::Hasher::new();
        let mut len = 0;
        let mut chunk = vec![0; 64 * 1024];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => {
                    return Ok(Some(Self {
                        len,
                        crc: hasher.finalize(),
                    }));
                }
                Ok(count) => {
                    hasher.update(&chunk[..count]);
                    len += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("read", path),
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    number: u64,
    version: Fingerprint,
}

const SLOT_LEN: usize = 60;

impl Slot {
    fn to_line(self) -> String {
        let fields = format!(
            "{:020} {:020} {:08x}",
            self.number, self.version.len, self.version.crc
        );
        format!("{fields} {:08x}\n", crc32fast::hash(fields.as_bytes()))
    }

    /// `None` for a slot that was never written, or whose writing was cut short.
    fn from_line(line: &[u8]) -> Option<Self> {
        let (fields, check) = std::str::from_utf8(line).ok()?.trim_end().rsplit_once(' ')?;
        if u32::from_str_radix(check, 16).ok()? != crc32fast::hash(fields.as_bytes()) {
            return None;
        }
        let mut fields = fields.split(' ');
        let number = fields.next()?.parse().ok()?;
        let len = fields.next()?.parse().ok()?;
        let crc = u32::from_str_radix(fields.next()?, 16).ok()?;
        Some(Self {
            number,
            version: Fingerprint { len, crc },
        })
    }
}

#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    file: Option<File>,
    slots: [Option<Slot>; 2],
    /// The version that is the table right now, as far as is known: its slot is not overwritten.
    in_place: Option<Fingerprint>,
}

impl Record {
    pub fn load(path: PathBuf) -> Result<Self, SessionError> {
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).context("read", &path),
        };
        let slot = |at: usize| Slot::from_line(bytes.get(at * SLOT_LEN..(at + 1) * SLOT_LEN)?);
        Ok(Self {
            slots: [slot(0), slot(1)],
            path,
            file: None,
            in_place: None,
        })
    }

    pub fn contains(&self, version: Fingerprint) -> bool {
        self.slots.iter().flatten().any(|slot| slot.version == version)
    }

    /// Records which version was found or put in place.
    pub fn in_place(&mut self, version: Fingerprint) {
        self.in_place = Some(version);
    }

    /// Records durably a version that is about to be published, beside the one in place.
    pub fn add(&mut self, version: Fingerprint) -> Result<(), SessionError> {
        let [first, second] = self.slots.map(|slot| slot.map_or(0, |slot| slot.number));
        let is_in_place = |slot: Option<Slot>| slot.is_some_and(|slot| Some(slot.version) == self.in_place);
        let older = match self.slots.map(is_in_place) {
            [true, false] => 1,
            [false, true] => 0,
            [true, true] | [false, false] => usize::from(second < first),
        };
        let slot = Slot {
            number: first.max(second) + 1,
            version,
        };
        let path = self.path.clone();
        let file = self.file()?;
        file.write_all_at(slot.to_line().as_bytes(), (older * SLOT_LEN) as u64)
            .context("write", &path)?;
        file.sync_data().context("sync", &path)?;
        self.slots[older] = Some(slot);
        Ok(())
    }

    fn file(&mut self) -> Result<&File, SessionError> {
        if self.file.is_none() {
            let mut options = File::options();
            options.write(true).create(true).truncate(false).mode(PRIVATE);
            self.file = Some(options.open(&self.path).context("open", &self.path)?);
            sync_folder(folder_of(&self.path))?;
        }
        Ok(self.file.as_ref().expect("it was just opened"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_versions_are_known_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tasks.published");
        let versions: Vec<_> = (0..5_u8).map(|n| Fingerprint::of(&[n])).collect();
        for (n, version) in versions.iter().enumerate() {
            let mut record = Record::load(path.clone()).unwrap();
            record.add(*version).unwrap();
            let known: Vec<_> = versions
                .iter()
                .map(|v| Record::load(path.clone()).unwrap().contains(*v))
                .collect();
            let expected: Vec<_> = (0..5).map(|at| at <= n && at + 1 >= n).collect();
            assert_eq!(known, expected, "after version {n}");
        }
    }

    #[test]
    fn versions_that_never_got_in_do_not_push_out_the_one_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = Record::load(dir.path().join("tasks.published")).unwrap();
        let current = Fingerprint::of(b"current");
        record.add(current).unwrap();
        record.in_place(current);
        for failed in [b"a", b"b", b"c"] {
            record.add(Fingerprint::of(failed)).unwrap();
            assert!(record.contains(current) && record.contains(Fingerprint::of(failed)));
        }
    }

    #[test]
    fn a_slot_has_its_length_and_a_torn_one_is_empty() {
        let slot = Slot {
            number: u64::MAX,
            version: Fingerprint {
                len: u64::MAX,
                crc: u32::MAX,
            },
        };
        let line = slot.to_line();
        assert_eq!(line.len(), SLOT_LEN);
        assert_eq!(Slot::from_line(line.as_bytes()), Some(slot));
        assert_eq!(Slot::from_line(&[0; SLOT_LEN]), None);
        assert_eq!(Slot::from_line(&line.as_bytes()[1..]), None);
    }
}
