//! Packs the prompts and logs of very short workers. Each worker has its own files at first. After many short workers in
//! a row, their texts go into a pack, because creating and removing files would cost more than the workers themselves.
//! While such a worker runs, it uses files that other workers use after it.

use super::files::{create_private_folder, write_prompt};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_session::worker_file::{create, open_own};
use wavecrew_session::{Pack, SessionDir, SessionError};

/// A worker that ends within this time is short.
pub(super) const SHORT: Duration = Duration::from_millis(200);
/// After this many short workers in a row, the next one is expected to be short too.
const IN_A_ROW: usize = 64;

pub(crate) struct PackedFiles {
    prompts: Pack,
    logs: Pack,
    session: SessionDir,
    /// Short workers since the last long one.
    in_a_row: usize,
    /// Numbers of shared files that exist.
    used: BTreeSet<u32>,
    logs_kept: usize,
}

/// Files that one worker after the other uses.
pub(crate) struct SharedFiles {
    number: u32,
}

/// The files that a worker knows by name.
pub(crate) struct WorkerFiles {
    /// Its first prompt.
    pub prompt: PathBuf,
    /// It may write its report here.
    pub result: PathBuf,
    /// It may write its token usage here.
    pub usage: PathBuf,
    shared: Option<SharedFiles>,
}

impl WorkerFiles {
    /// Files named after the attempt.
    pub fn own(session: &SessionDir, task: &str, attempt: u32, number: u32) -> Self {
        Self {
            prompt: session.prompt_file(task, attempt, 1),
            result: session.result_file(number),
            usage: session.usage_file(number),
            shared: None,
        }
    }
}

impl PackedFiles {
    pub fn of(session: &SessionDir) -> Self {
        Self {
            prompts: Pack::in_folder(session.prompts_folder()),
            logs: Pack::in_folder(session.logs_folder()),
            session: session.clone(),
            in_a_row: 0,
            used: BTreeSet::new(),
            logs_kept: 0,
        }
    }

    /// The files for the next worker: `own`, or shared ones if it is expected to be short.
    /// Which ones follows from the number of the attempt, which one worker has at a time.
    pub fn assign(&mut self, own: WorkerFiles, number: u32) -> WorkerFiles {
        if self.in_a_row < IN_A_ROW {
            return own;
        }
        WorkerFiles {
            prompt: self.session.shared_prompt(number),
            shared: Some(SharedFiles { number }),
            ..own
        }
    }

    /// Writes the prompt to a file that is also the worker's stdin. A shared file's text is packed under the name `own`.
    pub fn write_prompt(
        &mut self,
        files: &mut WorkerFiles,
        own: &Path,
        text: &str,
    ) -> Result<OwnedFd, SessionError> {
        let Some(shared) = &files.shared else {
            return write_prompt(&files.prompt, text);
        };
        let name = own.file_name().unwrap_or(own.as_os_str());
        self.prompts.add(&name.to_string_lossy(), text.as_bytes())?;
        if self.used.insert(shared.number) {
            create_private_folder(&self.session.scratch_folder())?;
        }
        let failed = |source| SessionError::Io {
            operation: "write",
            path: files.prompt.clone(),
            source,
        };
        Ok(overwrite(&files.prompt, text).map_err(failed)?.into())
    }

    /// The worker with these files has ended.
    pub fn release(&mut self, files: WorkerFiles, lived: Duration) {
        self.in_a_row = if lived < SHORT { self.in_a_row + 1 } else { 0 };
        drop(files);
    }

    /// Writes collected texts to disk. A failure loses logs and prompts, but does not fail the run.
    pub fn flush(&mut self) {
        let _ = self.prompts.flush();
        let _ = self.logs.flush();
    }

    /// Keeps a log that has no file yet. A failure loses the log, but does not fail the run.
    pub fn keep_log(&mut self, path: &Path, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        if self.logs_kept < IN_A_ROW {
            self.logs_kept += 1;
            let _ = create(path).map(|mut file| file.write_all(text));
        } else if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            let _ = self.logs.add(name, text);
        }
    }
}

fn overwrite(path: &Path, text: &str) -> io::Result<File> {
    // Creates it again if a worker has removed or replaced it.
    let mut file = open_own(path).map_err(io::Error::other)?;
    file.write_all(text.as_bytes())?;
    // Removes the rest of a longer prompt, or what a worker appended.
    let length = text.len() as u64;
    if file.metadata()?.len() != length {
        file.set_len(length)?;
    }
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, VecDeque};
    use std::fs;
    use std::io::Read;
    use wavecrew_session::PackReader;

    /// Every text of a folder by name; each must be in a file or in a pack, not in both.
    fn texts(folder: PathBuf) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|kind| kind != "pack") {
                let name = path.file_name().unwrap().to_str().unwrap();
                found.insert(name.to_owned(), fs::read_to_string(&path).unwrap());
            }
        }
        let mut packs = PackReader::new(folder);
        while let Some(entry) = packs.next_entry().unwrap() {
            let text = String::from_utf8(entry.text).unwrap();
            assert_eq!(found.insert(entry.name, text), None);
        }
        found
    }

    fn count_files(folder: PathBuf, kind: &str) -> usize {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().unwrap() == kind).count()
    }

    /// Of different lengths, so that files are overwritten by longer and by shorter ones.
    fn text(number: usize) -> String {
        format!("prompt {number} {}", "x".repeat(number * 7 % 50))
    }

    /// Writes the prompt of the task of this number and reads it as a worker would.
    fn start(packed: &mut PackedFiles, session: &SessionDir, number: usize, slot: u32) -> WorkerFiles {
        let task = format!("t{number}");
        let own = session.prompt_file(&task, 1, 1);
        let mut files = packed.assign(WorkerFiles::own(session, &task, 1, slot), slot);
        let stdin = packed.write_prompt(&mut files, &own, &text(number)).unwrap();
        let mut read = String::new();
        File::from(stdin).read_to_string(&mut read).unwrap();
        assert_eq!(read, text(number));
        files
    }

    #[test]
    fn no_text_is_lost_however_many_workers_there_are() {
        const COUNT: usize = 3 * IN_A_ROW;
        const AT_ONCE: usize = 3;
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut packed = PackedFiles::of(&session);
        let mut running = VecDeque::new();
        for number in 0..COUNT {
            let slot = u32::try_from(number % (AT_ONCE + 1)).unwrap();
            running.push_back((start(&mut packed, &session, number, slot), number));
            if running.len() > AT_ONCE
                && let Some((files, number)) = running.pop_front()
            {
                let while_it_runs = fs::read_to_string(&files.prompt).unwrap();
                assert_eq!(while_it_runs, text(number));
                packed.release(files, Duration::ZERO);
                let log = session.log_file(&format!("t{number}"), 1);
                packed.keep_log(&log, text(number).as_bytes());
            }
        }
        packed.flush();
        let all = (0..COUNT).map(|number| (format!("t{number}.1.1.md"), text(number)));
        assert_eq!(texts(session.prompts_folder()), all.collect());
        assert_eq!(count_files(session.prompts_folder(), "md"), IN_A_ROW + AT_ONCE);
        assert_eq!(
            fs::read_dir(session.scratch_folder()).unwrap().count(),
            AT_ONCE + 1
        );
        let ended = (0..COUNT - AT_ONCE).map(|number| (format!("t{number}.1.log"), text(number)));
        assert_eq!(texts(session.logs_folder()), ended.collect());
        assert_eq!(count_files(session.logs_folder(), "log"), IN_A_ROW);
    }

    #[test]
    fn after_a_long_worker_the_next_ones_have_their_own_files() {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut packed = PackedFiles::of(&session);
        for number in 0..=IN_A_ROW {
            let files = start(&mut packed, &session, number, 1);
            assert_eq!(files.shared.is_some(), number == IN_A_ROW);
            packed.release(files, if number == IN_A_ROW { SHORT } else { Duration::ZERO });
        }
        assert!(start(&mut packed, &session, 99, 1).shared.is_none());
    }

    #[test]
    fn a_workers_edits_of_its_prompt_do_not_reach_the_next_one() {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut packed = PackedFiles::of(&session);
        for number in 0..IN_A_ROW + 3 {
            let files = start(&mut packed, &session, number, 1);
            fs::write(&files.prompt, "note to self ".repeat(20)).unwrap();
            packed.release(files, Duration::ZERO);
        }
        assert_eq!(packed.used.len(), 1, "all of them had the same file");
    }

    #[test]
    fn a_shared_file_that_a_worker_removed_is_created_again() {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut packed = PackedFiles::of(&session);
        for number in 0..IN_A_ROW + 3 {
            let files = start(&mut packed, &session, number, 1);
            fs::remove_file(&files.prompt).unwrap();
            packed.release(files, Duration::ZERO);
        }
        packed.flush();
        assert_eq!(texts(session.prompts_folder()).len(), 3);
    }
}
