//! `tasks.csv` as a file that two sides write: the engine publishes it, people edit it, and no edit is lost.
//!
//! A new version is exchanged with the old one in a single step, and the old file is inspected afterwards: if
//! it is not the version that was published before, it is a person's edit. Knows nothing of the table's
//! content; the caller merges edits.
//!
//! Files beside the table: `.tasks.part` is being written and can be deleted; `.tasks.next` is about to be
//! exchanged or was just exchanged; `.tasks.edit` is an edit that was found, kept until the caller has
//! handled it.

mod record;

use crate::atomic::{self, folder_of, sync_folder};
use crate::error::{IoContext, SessionError};
use crate::file_stamp::FileStamp;
use crate::session::SessionDir;
use crate::worker_file::{self, WorkerFile, open_read, remove_any};
use record::{Fingerprint, Record};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of a table that are read.
const MAX_TABLE: u64 = 1 << 30;

/// Keeps an edit that cannot be used as `tasks.rejected-N.csv`, for its author to repair.
pub fn save_rejected_edit(session: &SessionDir, bytes: &[u8]) -> Result<PathBuf, SessionError> {
    let table = session.tasks_csv();
    let mut temp = atomic::temp_with(&table, bytes, atomic::PRIVATE)?;
    temp.as_file().sync_all().context("sync", temp.path())?;
    let mut number = 1;
    loop {
        let path = table.with_file_name(format!("tasks.rejected-{number}.csv"));
        match temp.persist_noclobber(&path) {
            Ok(_) => {
                sync_folder(folder_of(&path))?;
                return Ok(path);
            }
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => temp = error.file,
            Err(error) => return Err(error.error).context("create", &path),
        }
        number += 1;
    }
}

/// The fingerprint of a version of the table, as text.
pub fn table_mark(bytes: &[u8]) -> String {
    Fingerprint::of(bytes).to_string()
}

#[derive(PartialEq, Eq, Debug)]
#[must_use]
pub enum PublishOutcome {
    Published,
    /// A person's version was found. Merge it (or set it aside), record that, then publish again.
    TableEdit(Vec<u8>),
    /// The file is being written; try again later.
    StillChanging,
}

#[derive(Debug)]
pub struct TableFile {
    path: PathBuf,
    record: Record,
    /// The edit that was given to the caller, until the next version is published.
    handled: Option<Fingerprint>,
    /// The table's file as it was when its content was last known.
    known: Option<FileStamp>,
    /// A changed file that may still be growing, and since when.
    changing: Option<(FileStamp, Instant)>,
    saved_edit: SavedEdit,
    quiet_time: Duration,
    replace_method: ReplaceMethod,
}

/// The state of `.tasks.edit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SavedEdit {
    Nothing,
    Waiting,
    /// The caller has the edit; the next publish removes it.
    Given,
}

/// How a version is put in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReplaceMethod {
    Exchange,
    /// For file systems that cannot exchange files: check once more, then replace.
    Replace,
}

enum TableState {
    Absent,
    Known,
    StillChanging,
    Edit(Vec<u8>, FileStamp, Fingerprint),
}

impl TableFile {
    /// `quiet_time` is how long a changed file must rest before it counts as a finished edit.
    pub fn open(session: &SessionDir, quiet_time: Duration) -> Result<Self, SessionError> {
        let record = Record::load(session.published_table())?;
        let mut table = Self {
            path: session.tasks_csv(),
            record,
            handled: None,
            known: None,
            changing: None,
            saved_edit: SavedEdit::Nothing,
            quiet_time,
            replace_method: ReplaceMethod::Exchange,
        };
        table.finish_interrupted_publish()?;
        Ok(table)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A finished edit by another program, returned once. Needs one stat if there is none.
    ///
    /// Publish again only after the edit is recorded or set aside: that is when its file may be replaced.
    pub fn check(&mut self) -> Result<Option<Vec<u8>>, SessionError> {
        Ok(match self.find_edit()? {
            TableState::Edit(bytes, ..) => Some(bytes),
            TableState::Absent | TableState::Known | TableState::StillChanging => None,
        })
    }

    /// Makes `bytes` the table, durably, unless the file has a person's edit.
    pub fn publish(&mut self, bytes: &[u8]) -> Result<PublishOutcome, SessionError> {
        match self.find_edit()? {
            TableState::Edit(edit, ..) => return Ok(PublishOutcome::TableEdit(edit)),
            TableState::StillChanging => return Ok(PublishOutcome::StillChanging),
            TableState::Absent | TableState::Known => {}
        }
        if self.saved_edit == SavedEdit::Given {
            let edit = self.beside("edit");
            fs::remove_file(&edit).context("remove", &edit)?;
            self.saved_edit = SavedEdit::Nothing;
        }
        self.swap_in(bytes)
    }

    fn find_edit(&mut self) -> Result<TableState, SessionError> {
        let edit = self.beside("edit");
        if self.saved_edit == SavedEdit::Waiting {
            let look = self.read_state(&edit)?;
            if let TableState::Edit(.., fingerprint) = &look {
                self.handled = Some(*fingerprint);
            }
            match look {
                TableState::StillChanging => return Ok(look),
                TableState::Edit(..) => {
                    self.saved_edit = SavedEdit::Given;
                    return Ok(look);
                }
                TableState::Known => self.saved_edit = SavedEdit::Given,
                TableState::Absent => self.saved_edit = SavedEdit::Nothing,
            }
        }
        let path = self.path.clone();
        let look = self.read_state(&path)?;
        if let TableState::Edit(_, stamp, fingerprint) = &look {
            self.handled = Some(*fingerprint);
            self.known = Some(*stamp);
        }
        Ok(look)
    }

    fn read_state(&mut self, path: &Path) -> Result<TableState, SessionError> {
        match fs::symlink_metadata(path) {
            // Something replaced it. Waiting for a pipe or a device would never end, and a link leads elsewhere.
            Ok(found) if !found.is_file() => {
                remove_any(path);
                return Ok(TableState::Absent);
            }
            Ok(found) if self.known == Some(FileStamp::of(&found)) => return Ok(TableState::Known),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(TableState::Absent),
            Err(error) => return Err(error).context("look at", path),
        }
        // An editor may remove the file before it replaces it.
        let WorkerFile::Regular(mut file) = open_read(path).context("open", path)? else {
            return Ok(TableState::StillChanging);
        };
        let stamp = stamp_of(&file, path)?;
        let mut bytes = Vec::new();
        (&mut file)
            .take(MAX_TABLE)
            .read_to_end(&mut bytes)
            .context("read", path)?;
        if stamp_of(&file, path)? != stamp {
            return Ok(TableState::StillChanging);
        }
        let fingerprint = Fingerprint::of(&bytes);
        if self.is_known(fingerprint) {
            if path == self.path {
                self.known = Some(stamp);
                self.record.in_place(fingerprint);
            }
            return Ok(TableState::Known);
        }
        Ok(if self.is_finished(stamp) {
            TableState::Edit(bytes, stamp, fingerprint)
        } else {
            TableState::StillChanging
        })
    }

    fn is_known(&self, fingerprint: Fingerprint) -> bool {
        self.handled == Some(fingerprint) || self.record.contains(fingerprint)
    }

    /// By the file's own time, or, when clocks disagree, by how long it was seen unchanged.
    fn is_finished(&mut self, stamp: FileStamp) -> bool {
        let since = match self.changing {
            Some((seen, since)) if seen == stamp => since,
            _ => self.changing.insert((stamp, Instant::now())).1,
        };
        stamp.age().is_some_and(|age| age >= self.quiet_time) || since.elapsed() >= self.quiet_time
    }

    fn swap_in(&mut self, bytes: &[u8]) -> Result<PublishOutcome, SessionError> {
        let (part, next) = (self.beside("part"), self.beside("next"));
        let mut file = worker_file::create(&part)?;
        file.write_all(bytes).context("write", &part)?;
        file.sync_all().context("sync", &part)?;
        // Before the exchange, so that after a crash both versions are known as ours.
        let version = Fingerprint::of(bytes);
        self.record.add(version)?;
        fs::rename(&part, &next).context("rename", &part)?;
        let came_out = self.exchange(&next)?;
        self.record.in_place(version);
        self.known = Some(stamp_of(&file, &self.path)?);
        let publish = if came_out {
            self.handle_replaced(&next)?
        } else {
            PublishOutcome::Published
        };
        sync_folder(folder_of(&self.path))?;
        Ok(publish)
    }

    /// Puts `next` in place; true if `next` now has the earlier version.
    fn exchange(&mut self, next: &Path) -> Result<bool, SessionError> {
        while self.replace_method == ReplaceMethod::Exchange {
            match renameat_with(CWD, next, CWD, &self.path, RenameFlags::EXCHANGE) {
                Ok(()) => return Ok(true),
                // There is no table: the first one, or a person removed it.
                Err(Errno::NOENT) => {
                    match renameat_with(CWD, next, CWD, &self.path, RenameFlags::NOREPLACE) {
                        Ok(()) => return Ok(false),
                        Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno).context("create", &self.path),
                    }
                }
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    self.replace_method = ReplaceMethod::Replace;
                }
                Err(errno) => return Err(errno).context("exchange", &self.path),
            }
        }
        let aside = self.beside("edit");
        let old = self.path.clone();
        if let TableState::Edit(..) | TableState::StillChanging = self.read_state(&old)? {
            fs::rename(&old, &aside).context("set aside", &old)?;
            self.saved_edit = SavedEdit::Waiting;
        }
        fs::rename(next, &self.path).context("replace", &self.path)?;
        Ok(false)
    }

    /// Inspects the version that the exchange returned.
    fn handle_replaced(&mut self, next: &Path) -> Result<PublishOutcome, SessionError> {
        let came_out = Fingerprint::of_file(next)?;
        if came_out.is_none_or(|version| self.is_known(version)) {
            self.handled = None;
            remove_any(next);
            return Ok(PublishOutcome::Published);
        }
        let edit = self.beside("edit");
        fs::rename(next, &edit).context("set aside", next)?;
        self.saved_edit = SavedEdit::Waiting;
        Ok(match self.find_edit()? {
            TableState::Edit(bytes, ..) => PublishOutcome::TableEdit(bytes),
            TableState::Absent | TableState::Known | TableState::StillChanging => {
                PublishOutcome::StillChanging
            }
        })
    }

    fn finish_interrupted_publish(&mut self) -> Result<(), SessionError> {
        let (part, next, edit) = (self.beside("part"), self.beside("next"), self.beside("edit"));
        remove_any(&part);
        if fs::symlink_metadata(&next).is_ok() {
            if Fingerprint::of_file(&next)?.is_none_or(|version| self.is_known(version)) {
                remove_any(&next);
            } else {
                fs::rename(&next, &edit).context("set aside", &next)?;
            }
        }
        match fs::symlink_metadata(&edit) {
            Ok(found) if found.is_file() => self.saved_edit = SavedEdit::Waiting,
            Ok(_) => remove_any(&edit),
            Err(_) => {}
        }
        Ok(())
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(format!(".tasks.{name}"))
    }
}

fn stamp_of(file: &File, path: &Path) -> Result<FileStamp, SessionError> {
    Ok(FileStamp::of(&file.metadata().context("look at", path)?))
}

#[cfg(test)]
mod tests;
