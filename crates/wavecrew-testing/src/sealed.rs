//! The facts that checks rely on, stored where no worker needs to write: fingerprints and copies of the
//! scope, the list of the project's files, the baseline, results and checked tests, in the user's state
//! folder. If a worker changes one of them in the session, the change is detected and undone. Sessions
//! without such a record are used as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::rounds::{self, write_atomically};
use wavecrew_core::state_folder::state_folder;
use wavecrew_session::SessionPaths;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    session: PathBuf,
    /// All fingerprints that a file or folder of the session had when a check wrote it: rolling back restores an older one.
    facts: BTreeMap<PathBuf, Vec<String>>,
}

/// Where the record of a session is; `None` without a home.
struct RecordFolder(PathBuf);

impl RecordFolder {
    fn of(session: &Path) -> Option<Self> {
        let session = session.canonicalize().ok()?;
        let name = format!("{:032x}", xxh3_128(session.as_os_str().as_encoded_bytes()));
        let state = state_folder(|name| env::var_os(name))?;
        Some(Self(state.join("sealed").join(name)))
    }

    fn record(&self) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.0.join("record.json")).ok()?).ok()
    }

    fn write(&self, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec(record).map_err(io::Error::other)?;
        fs::create_dir_all(&self.0)?;
        write_atomically(&self.0.join("record.json"), &text)
    }

    /// The last copy of a fact.
    fn copy(&self, fact: &Path) -> PathBuf {
        self.0.join("last").join(fact)
    }
}

/// Writes a fact atomically, and seals it.
pub fn write(session: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_atomically(path, bytes)?;
    seal(session, path)
}

/// Makes a file, or a folder of tests, a fact.
pub fn seal(session: &Path, path: &Path) -> io::Result<()> {
    let (Some(place), Ok(fact)) = (RecordFolder::of(session), path.strip_prefix(session)) else {
        return Ok(());
    };
    let mut record = match place.record() {
        Some(record) => record,
        None => first_record(&place, session)?,
    };
    if add(&place, &mut record, session, fact)? {
        place.write(&record)?;
    }
    Ok(())
}

/// Creates the record of a session that has none: existing facts are recorded as they are.
fn first_record(place: &RecordFolder, session: &Path) -> io::Result<Record> {
    remove_stale_records(place);
    let mut record = Record {
        session: session.to_owned(),
        ..Record::default()
    };
    // Before the copies: another run that cleans up at this moment sees whose folder this is.
    place.write(&record)?;
    for fact in facts(session, &record) {
        add(place, &mut record, session, &fact)?;
    }
    Ok(record)
}

/// Adds the current state of a fact; false if it does not exist.
fn add(place: &RecordFolder, record: &mut Record, session: &Path, fact: &Path) -> io::Result<bool> {
    let path = session.join(fact);
    let Some(print) = fingerprint(&path)? else {
        return Ok(false);
    };
    let known = record.facts.entry(fact.to_owned()).or_default();
    known.retain(|one| *one != print);
    known.push(print);
    let copy = place.copy(fact);
    if path.is_dir() {
        rounds::mirror(&path, &copy)?;
    } else {
        fs::create_dir_all(copy.parent().unwrap_or(&place.0))?;
        fs::copy(path, copy)?;
    }
    Ok(true)
}

/// Removes a fact, because its subject was removed.
pub fn forget(session: &Path, path: &Path) -> io::Result<()> {
    let (Some(place), Ok(fact)) = (RecordFolder::of(session), path.strip_prefix(session)) else {
        return Ok(());
    };
    let Some(mut record) = place.record() else {
        return Ok(());
    };
    if record.facts.remove(fact).is_some() {
        fs::remove_file(place.copy(fact))?;
        place.write(&record)?;
    }
    Ok(())
}

/// Removes the record of a session that was in this folder before.
pub fn discard(session: &Path) -> io::Result<()> {
    let Some(place) = RecordFolder::of(session) else {
        return Ok(());
    };
    match fs::remove_dir_all(&place.0) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Facts of a session that were changed, but not by a check, relative to the session. Undoes the changes.
pub fn restore_changed(session: &Path) -> io::Result<Vec<PathBuf>> {
    let Some((place, record)) = RecordFolder::of(session).and_then(|place| {
        let record = place.record()?;
        Some((place, record))
    }) else {
        return Ok(Vec::new());
    };
    let mut changed = Vec::new();
    for fact in facts(session, &record) {
        let path = session.join(&fact);
        let now = fingerprint(&path)?;
        let known = record.facts.get(&fact).map_or(&[][..], |known| known);
        let is_known = match &now {
            Some(print) => known.contains(print),
            None => known.is_empty(),
        };
        if is_known {
            continue;
        }
        let copy = place.copy(&fact);
        if copy.is_dir() {
            rounds::mirror(&copy, &path)?;
        } else if copy.is_file() {
            fs::copy(&copy, &path)?;
        } else if path.is_dir() {
            fs::remove_dir_all(&path)?;
        } else {
            fs::remove_file(&path)?;
        }
        changed.push(fact);
    }
    Ok(changed)
}

/// The files and folders that checks rely on, relative to the session: known ones, and others of the same
/// form.
fn facts(session: &Path, record: &Record) -> BTreeSet<PathBuf> {
    let paths = SessionPaths::relative();
    let mut facts: BTreeSet<PathBuf> = record.facts.keys().cloned().collect();
    facts.extend([
        paths.scope_json(),
        paths.project_copy_manifest(),
        paths.baseline(),
    ]);
    for (example, is_folder) in [(paths.run_result(""), false), (paths.checked_tests(""), true)] {
        let folder = if is_folder {
            Some(example.as_path())
        } else {
            example.parent()
        };
        let folder = folder.unwrap_or(Path::new(""));
        let entries = fs::read_dir(session.join(folder)).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let is_result = name.to_string_lossy().starts_with("run-");
            if is_folder || is_result {
                facts.insert(folder.join(name));
            }
        }
    }
    facts
}

/// `None` for a missing path, and for a folder without files.
fn fingerprint(path: &Path) -> io::Result<Option<String>> {
    if path.is_dir() {
        let is_empty = crate::layer::files(path)?.is_empty();
        return if is_empty {
            Ok(None)
        } else {
            rounds::fingerprint(path).map(Some)
        };
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(format!("{:032x}", xxh3_128(&bytes)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes the records of sessions that are gone. A folder without a record stays: another run may be about to write it.
fn remove_stale_records(place: &RecordFolder) {
    let entries = place.0.parent().and_then(|all| fs::read_dir(all).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let other = RecordFolder(entry.path());
        if other.record().is_some_and(|record| !record.session.exists()) {
            // A record that cannot be removed does no harm.
            let _ = fs::remove_dir_all(other.0);
        }
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn a_new_session_in_the_folder_of_a_deleted_one_starts_without_facts() {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("tst-1");
        fs::create_dir_all(session.join("results")).unwrap();
        write(&session, &session.join("results/run-L1.json"), b"old").unwrap();
        fs::remove_dir_all(&session).unwrap();

        fs::create_dir_all(session.join("results")).unwrap();
        discard(&session).unwrap();
        write(&session, &session.join("scope.json"), b"new").unwrap();
        assert!(restore_changed(&session).unwrap().is_empty());
        assert!(!session.join("results/run-L1.json").exists());
    }

    #[test]
    fn only_the_records_of_sessions_that_are_gone_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| RecordFolder(folder.path().join("sealed").join(name));
        let of = |session: &str| Record {
            session: folder.path().join(session),
            ..Record::default()
        };
        place("gone").write(&of("gone")).unwrap();
        place("here").write(&of("")).unwrap();
        // Another run has created its folder, and writes the record next.
        fs::create_dir_all(place("beginning").0.join("last")).unwrap();
        remove_stale_records(&place("own"));
        assert!(!place("gone").0.exists());
        assert!(place("here").0.exists());
        assert!(place("beginning").0.join("last").exists());
    }

    #[test]
    fn changed_facts_are_found_and_restored() {
        let session = tempfile::tempdir().unwrap();
        let session = session.path();
        fs::create_dir_all(session.join("results/kept/L1")).unwrap();
        let scope = session.join("scope.json");
        fs::write(&scope, "older").unwrap();
        // A session without a record is used as it is.
        assert!(restore_changed(session).unwrap().is_empty());
        write(session, &scope, b"one").unwrap();
        write(session, &scope, b"two").unwrap();
        let tests = session.join("results/kept/L1");
        fs::write(tests.join("test_a.py"), "a").unwrap();
        seal(session, &tests).unwrap();
        assert!(restore_changed(session).unwrap().is_empty());
        // Rolled back.
        fs::write(&scope, "one").unwrap();
        assert!(restore_changed(session).unwrap().is_empty());
        fs::write(&scope, "three").unwrap();
        fs::write(tests.join("test_a.py"), "b").unwrap();
        fs::write(session.join("results/run-L1.json"), "forged").unwrap();
        assert_eq!(
            restore_changed(session).unwrap(),
            ["results/kept/L1", "results/run-L1.json", "scope.json"].map(PathBuf::from)
        );
        assert_eq!(fs::read_to_string(&scope).unwrap(), "two");
        assert_eq!(fs::read_to_string(tests.join("test_a.py")).unwrap(), "a");
        assert!(!session.join("results/run-L1.json").exists());
        assert!(restore_changed(session).unwrap().is_empty());
    }
}
