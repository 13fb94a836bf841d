//! Runs the user's own git. Names are zero-terminated, so that they may contain any character.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use wavecrew_process::{git_command, git_output};

/// Names between zero bytes.
pub fn names(output: &[u8]) -> impl Iterator<Item = PathBuf> {
    output
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
}

/// The output of git; `None` if it failed.
pub fn run(project: &Path, args: &[&str]) -> io::Result<Option<Vec<u8>>> {
    let output = git_output(git_command(project, args))?;
    Ok(output.status.success().then_some(output.stdout))
}
