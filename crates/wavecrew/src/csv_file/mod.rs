//! A CSV file that a person named: opens it, reads it, and finds lines of it again to show them.

mod convert;

use crate::exit::Failure;
use convert::ConvertError;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use wavecrew_core::plan::{self, Plan, Problem, Warning};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;
use wavecrew_session::SessionPaths;

/// A line longer than this is cut when it is shown.
const SHOWN_BYTES: usize = 16 << 10;

pub struct CsvFile {
    path: PathBuf,
    source: Source,
}

enum Source {
    File(File),
    /// The table converted to UTF-8 with commas, if it had another format.
    Converted(String),
}

pub type Sealed = Result<(Plan, Vec<Warning>), Vec<Problem>>;

impl CsvFile {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let cannot_read = |e: &io::Error| format!("{shown} cannot be read: {}", without_number(e));
        let file = File::open(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Failure::with_help(
                cannot_read(&e),
                "name a CSV file with at least the columns `id` and `description`",
            ),
            _ => Failure::input(cannot_read(&e)),
        })?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(Failure::with_help(
                format!("{shown} is a directory"),
                "name the CSV file in it",
            ));
        }
        let converted = match file.metadata() {
            // A pipe can be read only once.
            Ok(found) if found.is_file() => convert::convert(&file).map_err(|problem| match problem {
                ConvertError::Io(e) => Failure::input(cannot_read(&e)),
                ConvertError::Looks { like, help } => Failure::with_help(
                    format!("{shown} is not comma-separated UTF-8: it looks like {like}"),
                    help,
                ),
            })?,
            Ok(_) | Err(_) => None,
        };
        Ok(Self {
            path: path.to_owned(),
            source: converted.map_or(Source::File(file), Source::Converted),
        })
    }

    /// Reads and checks the table.
    pub fn plan(&self, team: &Team) -> Sealed {
        let sheet = match &self.source {
            Source::File(file) => Sheet::read(file, Origin::User),
            Source::Converted(text) => Sheet::read(text.as_bytes(), Origin::User),
        };
        let (plan, warnings) = plan::seal(sheet?, team)?;
        // A table with completed tasks comes from a session: their results are beside it.
        let session = SessionPaths::at(self.path.parent().unwrap_or(Path::new("")));
        let lost = plan::unresolvable_deps(&plan, team, |id| {
            File::open(session.interactive_result(id)).is_ok()
        });
        if lost.is_empty() {
            Ok((plan, warnings))
        } else {
            Err(lost)
        }
    }

    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The text of some lines, if the file can be read again; a pipe cannot.
    pub fn lines(&self, numbers: &[u32]) -> BTreeMap<u32, String> {
        let mut reader: Box<dyn BufRead> = match &self.source {
            Source::Converted(text) => Box::new(text.as_bytes()),
            Source::File(_) => match File::open(&self.path) {
                Ok(file) => Box::new(BufReader::new(file)),
                Err(_) => return BTreeMap::new(),
            },
        };
        let mut found = BTreeMap::new();
        for line in 1..=numbers.iter().copied().max().unwrap_or(0) {
            let keep = numbers.contains(&line) || line == 1;
            match read_line(&mut reader, keep) {
                Ok(Some(text)) if keep => drop(found.insert(line, text)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        found
    }
}

/// The next line without its end, cut when it is long; empty if it is not requested.
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

/// The system's error text without the error number.
fn without_number(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
