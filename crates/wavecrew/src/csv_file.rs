//! A CSV file that a person named: opens it, reads it, and finds lines of it again to show them.

use crate::exit::Failure;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use wavecrew_core::plan::{self, Plan, Problem, Warning};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;

/// A line longer than this is cut when it is shown.
const SHOWN_BYTES: usize = 16 << 10;

pub struct CsvFile {
    path: PathBuf,
    file: File,
}

pub type Sealed = Result<(Plan, Vec<Warning>), Vec<Problem>>;

impl CsvFile {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let file = File::open(path).map_err(|e| {
            let message = format!("{shown} cannot be read: {}", plain(&e));
            match e.kind() {
                io::ErrorKind::NotFound => Failure::with_help(
                    message,
                    "name a CSV file with at least the columns `id` and `description`",
                ),
                _ => Failure::input(message),
            }
        })?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(Failure::with_help(
                format!("{shown} is a directory"),
                "name the CSV file in it",
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Reads and checks the table.
    pub fn plan(&self, team: &Team) -> Sealed {
        plan::seal(Sheet::read(&self.file, Origin::User)?, team)
    }

    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The text of some lines, as far as it can be read again: a pipe cannot.
    pub fn lines(&self, wanted: &[u32]) -> BTreeMap<u32, String> {
        let mut found = BTreeMap::new();
        let Some(&last) = wanted.iter().max() else {
            return found;
        };
        let Ok(file) = File::open(&self.path) else {
            return found;
        };
        let mut reader = BufReader::new(file);
        for line in 1..=last {
            let keep = wanted.contains(&line) || line == 1;
            match read_line(&mut reader, keep) {
                Ok(Some(text)) if keep => drop(found.insert(line, text)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        found
    }
}

/// The next line without its end, cut when it is long; empty when nobody wants it.
fn read_line(reader: &mut impl BufRead, keep: bool) -> io::Result<Option<String>> {
    let mut text = Vec::new();
    let read = if keep {
        reader
            .by_ref()
            .take(SHOWN_BYTES as u64)
            .read_until(b'\n', &mut text)?
    } else {
        reader.skip_until(b'\n')?
    };
    if read == 0 {
        return Ok(None);
    }
    if text.len() == SHOWN_BYTES && text.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
    }
    let text = String::from_utf8_lossy(&text);
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// The system's words without its error number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
