//! What workers leave behind that are gone almost at once: their prompts and logs. The first of a run have files of
//! their own, as all others do; after many in a row, the text of each goes into a pack, because making and removing files
//! would cost more than the workers. While such a worker runs, its files have names that workers take in turns.

use super::files::{make_private, read_result_file, write_prompt};
use rustix::fs::{Access, AtFlags, accessat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_session::{Pack, SessionDir, SessionError};

/// A worker that is gone by then was short.
pub(super) const SHORT: Duration = Duration::from_millis(200);
/// After so many short workers in a row the next one will be short.
const IN_A_ROW: usize = 64;

pub(super) struct Shorts {
    prompts: Pack,
    logs: Pack,
    folder: PathBuf,
    /// The same once it is there: from here the way to its files is short.
    opened: Option<File>,
    /// Short workers since the last one that was not.
    in_a_row: usize,
    /// Files that no worker has now.
    free: Vec<Shared>,
    shared: usize,
    logs_kept: usize,
}

/// Files for one worker after the other.
pub(super) struct Shared {
    /// Counted from 1.
    number: usize,
    /// Whether somebody has had them.
    used: bool,
}

/// The files that a worker is told of.
pub(super) struct Place {
    /// Its first prompt.
    pub prompt: PathBuf,
    /// It may leave its report there.
    pub result: PathBuf,
    /// It may say there what it used.
    pub usage: PathBuf,
    shared: Option<Shared>,
}

impl Place {
    /// Files that bear the name of the attempt.
    pub fn own(session: &SessionDir, task: &str, attempt: u32) -> Self {
        Self {
            prompt: session.prompt_file(task, attempt, 1),
            result: session.result_file(task, attempt),
            usage: session.usage_file(task, attempt),
            shared: None,
        }
    }
}

impl Shorts {
    pub fn of(session: &SessionDir) -> Self {
        Self {
            prompts: Pack::in_folder(session.prompts_folder()),
            logs: Pack::in_folder(session.logs_folder()),
            folder: session.scratch_folder(),
            opened: None,
            in_a_row: 0,
            free: Vec::new(),
            shared: 0,
            logs_kept: 0,
        }
    }

    /// The files of the next worker, which would be `own`.
    pub fn place(&mut self, own: Place) -> Place {
        if self.in_a_row < IN_A_ROW {
            return own;
        }
        let shared = self.free.pop().unwrap_or_else(|| {
            self.shared += 1;
            Shared {
                number: self.shared,
                used: false,
            }
        });
        let named = |kind| self.folder.join(format!("{kind}-{}", shared.number));
        Place {
            prompt: named("prompt"),
            result: named("result"),
            usage: named("usage"),
            shared: Some(shared),
        }
    }

    /// The prompt as a file that is also the worker's stdin; for good it is kept under the name `own`.
    pub fn write_prompt(
        &mut self,
        place: &mut Place,
        own: &Path,
        text: &str,
    ) -> Result<OwnedFd, SessionError> {
        let Some(shared) = &mut place.shared else {
            return write_prompt(&place.prompt, text);
        };
        let name = own.file_name().unwrap_or(own.as_os_str());
        self.prompts.add(&name.to_string_lossy(), text.as_bytes())?;
        if !shared.used {
            make_private(&self.folder)?;
            self.opened = File::open(&self.folder).ok();
        }
        let failed = |source| SessionError::Io {
            operation: "write",
            path: place.prompt.clone(),
            source,
        };
        let file = overwrite(&place.prompt, text).map_err(failed)?;
        shared.used = true;
        Ok(file.into())
    }

    /// What the worker left in one of its files, if anything.
    pub fn read(&self, place: &Place, file: &Path) -> Result<Option<String>, SessionError> {
        // Most leave nothing, and where the files are shared it is cheap to see that.
        if let (Some(_), Some(folder), Some(name)) = (&place.shared, &self.opened, file.file_name())
            && accessat(folder, name, Access::EXISTS, AtFlags::empty()) == Err(Errno::NOENT)
        {
            return Ok(None);
        }
        read_result_file(file)
    }

    /// The worker with these files is gone.
    pub fn gone(&mut self, place: Place, lived: Duration) {
        self.in_a_row = if lived < SHORT { self.in_a_row + 1 } else { 0 };
        self.free.extend(place.shared);
    }

    /// Puts on disk what gathered since the last time. What cannot be kept costs logs and prompts, not the run.
    pub fn flush(&mut self) {
        let _ = self.prompts.flush();
        let _ = self.logs.flush();
    }

    /// A log that has no file yet. One that cannot be kept costs the log, not the run.
    pub fn keep_log(&mut self, path: &Path, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        if self.logs_kept < IN_A_ROW {
            self.logs_kept += 1;
            let _ = fs::write(path, text);
        } else if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            let _ = self.logs.add(name, text);
        }
    }
}

fn overwrite(path: &Path, text: &str) -> io::Result<File> {
    // One that a worker has taken away is made again.
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    // What is left of a longer one, or of what its worker wrote there.
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
    use std::io::Read;
    use wavecrew_session::PackReader;

    /// Every text of a folder by its name, in a file or in a pack, and in one of them only.
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

    fn files(folder: PathBuf, kind: &str) -> usize {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().unwrap() == kind).count()
    }

    /// Of different lengths, so that files are taken over by longer and by shorter ones.
    fn text(number: usize) -> String {
        format!("told {number} {}", "x".repeat(number * 7 % 50))
    }

    /// Writes the prompt of the task of this number and reads it as a worker would.
    fn told(shorts: &mut Shorts, session: &SessionDir, number: usize) -> Place {
        let task = format!("t{number}");
        let own = session.prompt_file(&task, 1, 1);
        let mut place = shorts.place(Place::own(session, &task, 1));
        let stdin = shorts.write_prompt(&mut place, &own, &text(number)).unwrap();
        let mut read = String::new();
        File::from(stdin).read_to_string(&mut read).unwrap();
        assert_eq!(read, text(number));
        place
    }

    #[test]
    fn nothing_is_lost_however_many_there_are() {
        const COUNT: usize = 3 * IN_A_ROW;
        const AT_ONCE: usize = 3;
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut shorts = Shorts::of(&session);
        let mut running = VecDeque::new();
        for number in 0..COUNT {
            running.push_back((told(&mut shorts, &session, number), number));
            if running.len() > AT_ONCE
                && let Some((place, number)) = running.pop_front()
            {
                let as_long_as_it_runs = fs::read_to_string(&place.prompt).unwrap();
                assert_eq!(as_long_as_it_runs, text(number));
                shorts.gone(place, Duration::ZERO);
                let log = session.log_file(&format!("t{number}"), 1);
                shorts.keep_log(&log, text(number).as_bytes());
            }
        }
        shorts.flush();
        let all = (0..COUNT).map(|number| (format!("t{number}.1.1.md"), text(number)));
        assert_eq!(texts(session.prompts_folder()), all.collect());
        assert_eq!(files(session.prompts_folder(), "md"), IN_A_ROW + AT_ONCE);
        assert_eq!(
            fs::read_dir(session.scratch_folder()).unwrap().count(),
            AT_ONCE + 1
        );
        let ended = (0..COUNT - AT_ONCE).map(|number| (format!("t{number}.1.log"), text(number)));
        assert_eq!(texts(session.logs_folder()), ended.collect());
        assert_eq!(files(session.logs_folder(), "log"), IN_A_ROW);
    }

    #[test]
    fn a_worker_that_takes_its_time_gets_the_next_ones_files_of_their_own() {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut shorts = Shorts::of(&session);
        for number in 0..=IN_A_ROW {
            let place = told(&mut shorts, &session, number);
            assert_eq!(place.shared.is_some(), number == IN_A_ROW);
            shorts.gone(place, if number == IN_A_ROW { SHORT } else { Duration::ZERO });
        }
        assert!(told(&mut shorts, &session, 99).shared.is_none());
    }

    #[test]
    fn what_a_worker_wrote_into_its_prompt_is_not_told_to_the_next_one() {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut shorts = Shorts::of(&session);
        for number in 0..IN_A_ROW + 3 {
            let place = told(&mut shorts, &session, number);
            fs::write(&place.prompt, "note to self ".repeat(20)).unwrap();
            shorts.gone(place, Duration::ZERO);
        }
        assert_eq!(shorts.shared, 1, "all of them had the same file");
    }

    #[test]
    fn a_shared_file_that_a_worker_took_away_is_made_again() {
        let root = tempfile::tempdir().unwrap();
        let session = SessionDir::create(root.path(), "s", &[]).unwrap();
        let mut shorts = Shorts::of(&session);
        for number in 0..IN_A_ROW + 3 {
            let place = told(&mut shorts, &session, number);
            fs::remove_file(&place.prompt).unwrap();
            shorts.gone(place, Duration::ZERO);
        }
        shorts.flush();
        assert_eq!(texts(session.prompts_folder()).len(), 3);
    }
}
