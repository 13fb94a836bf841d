//! What a commit holds. Only looks.

use super::error::TreeError;
use super::git::Git;
use std::path::Path;

/// What was found of a commit that somebody named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// It is there, and all that was asked for is in it.
    All,
    NoSuchCommit,
    /// It is on another branch than the one that is checked out.
    Elsewhere,
    /// This file is not in it as it lies there.
    Without(String),
}

/// Looks for a commit below what is checked out in a folder, and for files, named from there, in it.
pub fn commit_holds(folder: &Path, commit: &str, files: &[&str]) -> Result<Holds, TreeError> {
    let git = Git::at(folder);
    let is_name = commit.len() >= 4 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = if is_name { git.commit(commit)? } else { None };
    let Some(commit) = found else {
        return Ok(Holds::NoSuchCommit);
    };
    if !git.contains("HEAD", &commit)? {
        return Ok(Holds::Elsewhere);
    }
    for file in files {
        let path = folder.join(file);
        let path = path.strip_prefix(folder).unwrap_or(&path);
        let name = format!("{commit}:./{}", path.to_string_lossy());
        let there = git.output(&["cat-file", "-e", &name])?;
        if !there.status.success() {
            return Ok(Holds::Without((*file).to_owned()));
        }
    }
    Ok(Holds::All)
}
