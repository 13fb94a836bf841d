//! What workers leave behind that were gone almost at once: their prompts and logs. The first of a run have files of
//! their own, as the others do; when there are many, the text of the older ones moves into packs, because making and
//! removing files would cost more than the workers. Decides nothing about workers that live longer.

use super::files::write_prompt;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_store::{Pack, SessionDir, StoreError};

/// A worker that is gone by then was short.
pub(super) const SHORT: Duration = Duration::from_millis(200);
/// Short workers of a run that have files of their own.
const OWN_FILES: usize = 64;

pub(super) struct Shorts {
    prompts: Pack,
    logs: Pack,
    /// Prompts of workers that are gone, the oldest first.
    past: VecDeque<Prompt>,
    logs_kept: usize,
}

/// The prompt of a worker that may turn out to be short.
pub(super) struct Prompt {
    path: PathBuf,
    text: String,
}

impl Shorts {
    pub fn of(session: &SessionDir) -> Self {
        Self {
            prompts: Pack::in_folder(session.prompts_folder()),
            logs: Pack::in_folder(session.logs_folder()),
            past: VecDeque::new(),
            logs_kept: 0,
        }
    }

    /// The prompt as a file that is also the worker's stdin.
    pub fn write_prompt(&mut self, path: PathBuf, text: String) -> Result<(OwnedFd, Prompt), StoreError> {
        let stdin = match self.reuse(&path, &text) {
            Some(file) => file.into(),
            None => write_prompt(&path, &text)?,
        };
        Ok((stdin, Prompt { path, text }))
    }

    /// Its worker is gone, and was short.
    pub fn prompt_past(&mut self, prompt: Prompt) {
        self.past.push_back(prompt);
    }

    /// The file of the oldest prompt, once its text is in the pack. `None` when there is none to spare, or when somebody
    /// took it away.
    fn reuse(&mut self, path: &Path, text: &str) -> Option<File> {
        if self.past.len() <= OWN_FILES {
            return None;
        }
        let oldest = self.past.pop_front()?;
        let name = oldest.path.file_name()?.to_str()?;
        self.prompts.add(name, oldest.text.as_bytes()).ok()?;
        fs::rename(&oldest.path, path).ok()?;
        overwrite(path, text, oldest.text.len()).ok()
    }

    /// A log that has no file yet. One that cannot be kept costs the log, not the run.
    pub fn keep_log(&mut self, path: &Path, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        if self.logs_kept < OWN_FILES {
            self.logs_kept += 1;
            let _ = fs::write(path, text);
        } else if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            let _ = self.logs.add(name, text);
        }
    }
}

fn overwrite(path: &Path, text: &str, before: usize) -> io::Result<File> {
    let mut file = File::options().read(true).write(true).open(path)?;
    file.write_all(text.as_bytes())?;
    if text.len() < before {
        file.set_len(text.len() as u64)?;
    }
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read;
    use wavecrew_store::PackReader;

    /// Every text of a folder by its name, in a file or in a pack; a text in both must be the same.
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
            assert_eq!(*found.entry(entry.name).or_insert(text.clone()), text);
        }
        found
    }

    fn files(folder: PathBuf, kind: &str) -> usize {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().unwrap() == kind).count()
    }

    /// Of different lengths, so that files are taken over by longer and by shorter ones.
    fn text(number: usize) -> String {
        format!("told {number} {}", "x".repeat(number * 7 % 50))
    }

    #[test]
    fn nothing_is_lost_however_many_there_are() {
        const COUNT: usize = 3 * OWN_FILES;
        const AT_ONCE: usize = 3;
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut shorts = Shorts::of(&session);
        let mut running = VecDeque::new();
        for number in 0..COUNT {
            let path = session.prompt_file(&format!("t{number}"), 1, 1);
            let (stdin, prompt) = shorts.write_prompt(path.clone(), text(number)).unwrap();
            let mut read = String::new();
            File::from(stdin).read_to_string(&mut read).unwrap();
            assert_eq!(read, text(number));
            running.push_back((path, prompt, number));
            if running.len() > AT_ONCE
                && let Some((path, prompt, number)) = running.pop_front()
            {
                assert_eq!(
                    fs::read_to_string(path).unwrap(),
                    text(number),
                    "as long as it runs"
                );
                shorts.prompt_past(prompt);
                let log = session.log_file(&format!("t{number}"), 1);
                shorts.keep_log(&log, text(number).as_bytes());
            }
        }
        let all = (0..COUNT).map(|number| (format!("t{number}.1.1.md"), text(number)));
        assert_eq!(texts(session.prompts_folder()), all.collect());
        assert!(files(session.prompts_folder(), "md") <= OWN_FILES + AT_ONCE + 1);
        let ended = (0..COUNT - AT_ONCE).map(|number| (format!("t{number}.1.log"), text(number)));
        assert_eq!(texts(session.logs_folder()), ended.collect());
        assert_eq!(files(session.logs_folder(), "log"), OWN_FILES);
    }

    #[test]
    fn a_prompt_that_somebody_removed_is_still_in_the_pack() {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut shorts = Shorts::of(&session);
        for number in 0..OWN_FILES + 3 {
            let path = session.prompt_file(&format!("t{number}"), 1, 1);
            let (_, prompt) = shorts.write_prompt(path, text(number)).unwrap();
            shorts.prompt_past(prompt);
            if number == 0 {
                fs::remove_file(session.prompt_file("t0", 1, 1)).unwrap();
            }
        }
        assert_eq!(texts(session.prompts_folder()).len(), OWN_FILES + 3);
    }
}
