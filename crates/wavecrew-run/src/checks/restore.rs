//! Restores the measured files of an earlier attempt after a worse round of a loop.

use crate::event_loop::{DriveError, Driver};
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::Path;
use wavecrew_core::id::TaskIx;
use wavecrew_session::IoContext;

/// The list of a saved attempt: `rounds/TASK.ATTEMPT/` contains these folders and files of the session.
#[derive(Deserialize)]
struct SavedAttempt {
    folders: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
}

impl Driver<'_> {
    pub(crate) fn restore_measured_files(&mut self, task: TaskIx, attempt: u32) -> Result<(), DriveError> {
        let session = self.session.dir.path();
        let id = self.engine.ledger().plan().id(task);
        let round = self.session.dir.round(id, attempt);
        let saved = round.root();
        let Ok(text) = fs::read(self.session.dir.round_list(id, attempt)) else {
            return Ok(());
        };
        let Ok(SavedAttempt { folders, files }) = serde_json::from_slice(&text) else {
            return Ok(());
        };
        for folder in folders {
            let target = session.join(&folder);
            restore_folder(&saved.join(&folder), &target).context("restore", &target)?;
        }
        for file in files {
            let target = session.join(&file);
            fs::copy(saved.join(&file), &target).context("restore", &target)?;
        }
        Ok(())
    }
}

/// Replaces a folder by its copy.
fn restore_folder(from: &Path, to: &Path) -> io::Result<()> {
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) | Ok(()) => {}
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            restore_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_restored_completely() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("saved"), folder.path().join("now"));
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(from.join("sub/a"), "old").unwrap();
        fs::write(to.join("b"), "new").unwrap();
        restore_folder(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("sub/a")).unwrap(), "old");
        assert!(!to.join("b").exists());
    }
}
