//! Writes generated tests into the project: new files only, and only tests that assert something.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use wavecrew_syntax::{Grammar, errors, interferences, tests};
use wavecrew_testgen::diff::TestFile;

use crate::report::WrittenTests;

/// Where tests usually are, the likeliest first.
const FOLDERS: [&str; 3] = ["tests", "test", "testing"];

/// Writes the files, each under an unused name. A file that team testing would refuse is not written: one
/// with a syntax error, without an assertion, or that acts on the framework.
pub fn write_tests(top: &Path, files: Vec<TestFile>) -> io::Result<Vec<WrittenTests>> {
    let mut written = Vec::new();
    for file in files {
        let name = PathBuf::from(&file.name);
        if !is_acceptable(&name, &file.text) {
            continue;
        }
        let folder = match name.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            Some(_) | None => test_folder(top),
        };
        fs::create_dir_all(top.join(&folder))?;
        let path = write_new(
            top,
            &folder.join(name.file_name().unwrap_or_default()),
            &file.text,
        )?;
        written.push(WrittenTests {
            file: path,
            tests: file.tests,
            kind: file.kind,
        });
    }
    Ok(written)
}

/// Whether the static checks of generated tests accept a file.
pub fn is_acceptable(name: &Path, text: &str) -> bool {
    let Some(grammar) = Grammar::of(name) else {
        return false;
    };
    let found = tests(grammar, text);
    errors(grammar, text).is_empty()
        && interferences(grammar, text).is_empty()
        && !found.is_empty()
        && found.iter().all(|test| !test.assertions.is_empty())
}

fn test_folder(top: &Path) -> PathBuf {
    FOLDERS
        .iter()
        .map(PathBuf::from)
        .find(|folder| top.join(folder).is_dir())
        .unwrap_or_else(|| PathBuf::from(FOLDERS[0]))
}

/// Writes a file that does not exist yet, with a number in its name where necessary. Returns its path below `top`.
fn write_new(top: &Path, wanted: &Path, text: &str) -> io::Result<PathBuf> {
    let name = wanted
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let (stem, ending) = name.split_once('.').unwrap_or((&name, ""));
    for number in 1_u32.. {
        let path = match number {
            1 => wanted.to_owned(),
            _ => wanted.with_file_name(format!("{stem}_{number}.{ending}")),
        };
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(top.join(&path))
        {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no name is free"))
}
