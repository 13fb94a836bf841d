//! Runs the user's own git. Names are zero-terminated, so that they may contain any character.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use wavecrew_process::git_command;

/// Names between zero bytes.
pub fn names(output: &[u8]) -> impl Iterator<Item = PathBuf> {
    output
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
}

/// What git printed; `None` when it failed.
pub fn run(project: &Path, args: &[&str]) -> io::Result<Option<Vec<u8>>> {
    let output = git_command(project, args).stderr(Stdio::null()).output()?;
    Ok(output.status.success().then_some(output.stdout))
}
