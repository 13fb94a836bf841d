//! Copies of a layer's tests: as last examined, so that weakening is seen; per round, so that a worse one can be taken
//! back; and the accepted suite.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::layer;

/// The layer's tests as they were when they were last examined and found honest.
pub fn kept(session: &Path, layer: &str) -> PathBuf {
    session.join("results/kept").join(layer)
}

/// The layer's tests without what is not worth keeping.
pub fn accepted(session: &Path, layer: &str) -> PathBuf {
    session.join("results/accepted").join(layer)
}

/// Tests that were set aside because they may show a defect of the code.
pub fn quarantine(session: &Path, layer: &str) -> PathBuf {
    session.join("results/quarantine").join(layer)
}

pub fn round(session: &Path, layer: &str, attempt: u32) -> PathBuf {
    session.join("results/rounds").join(format!("{layer}-{attempt}"))
}

pub fn run_file(session: &Path, layer: &str) -> PathBuf {
    session.join("results").join(format!("run-{layer}.json"))
}

pub fn feedback_file(session: &Path, layer: &str) -> PathBuf {
    session.join("results").join(format!("feedback-{layer}.md"))
}

/// Makes `to` hold the files of `from` and nothing else.
pub fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    let files = layer::files(from)?;
    fs::create_dir_all(to)?;
    for old in layer::files(to)? {
        if !files.contains(&old) {
            fs::remove_file(to.join(old))?;
        }
    }
    for file in files {
        let target = to.join(&file);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(from.join(&file), target)?;
    }
    Ok(())
}

/// Leaves nothing of a copy.
pub fn empty(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

/// Keeps a round: tests, result and accepted suite.
pub fn keep(session: &Path, layer: &str, attempt: u32, folder: &Path) -> io::Result<()> {
    let to = round(session, layer, attempt);
    mirror(folder, &to.join("tests"))?;
    mirror(&accepted(session, layer), &to.join("accepted"))?;
    fs::copy(run_file(session, layer), to.join("run.json")).map(drop)
}

/// Takes a round back: the session's tests and result are those of an earlier one again.
pub fn restore(session: &Path, layer: &str, attempt: u32, folder: &Path) -> io::Result<()> {
    let from = round(session, layer, attempt);
    if !from.join("run.json").exists() {
        return Err(io::Error::other(format!("round {attempt} of {layer} was not kept")));
    }
    mirror(&from.join("tests"), folder)?;
    mirror(&from.join("tests"), &kept(session, layer))?;
    mirror(&from.join("accepted"), &accepted(session, layer))?;
    fs::copy(from.join("run.json"), run_file(session, layer)).map(drop)
}
