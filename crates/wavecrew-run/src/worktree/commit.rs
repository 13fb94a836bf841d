//! Looks up what a commit contains. Read-only.

use super::error::WorktreeError;
use super::git::Git;
use std::path::Path;

/// What a reported commit contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitContent {
    /// It exists and contains all the files.
    All,
    NoSuchCommit,
    /// It was there before the work began.
    Earlier,
    /// It changes nothing.
    Empty,
    /// It is not on the branch that is checked out.
    OtherBranch,
    /// It does not contain this file.
    Missing(String),
}

/// Looks for a commit in the history of a folder's checkout, and for files in it, by their paths in the folder.
pub fn commit_contains(
    folder: &Path,
    commit: &str,
    files: &[&str],
    started_from: Option<&str>,
) -> Result<CommitContent, WorktreeError> {
    let git = Git::at(folder);
    let is_name = commit.len() >= 4 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = if is_name { git.commit(commit)? } else { None };
    let Some(commit) = found else {
        return Ok(CommitContent::NoSuchCommit);
    };
    if !git.contains("HEAD", &commit)? {
        return Ok(CommitContent::OtherBranch);
    }
    if let Some(base) = started_from
        && git.contains(base, &commit).unwrap_or(false)
    {
        return Ok(CommitContent::Earlier);
    }
    let parent = format!("{commit}^");
    if git.commit(&parent)?.is_some() && git.test(&["diff", "--quiet", &parent, &commit])? {
        return Ok(CommitContent::Empty);
    }
    for file in files {
        let path = folder.join(file);
        let path = path.strip_prefix(folder).unwrap_or(&path);
        let name = format!("{commit}:./{}", path.to_string_lossy());
        let there = git.output(&["cat-file", "-e", &name])?;
        if !there.status.success() {
            return Ok(CommitContent::Missing((*file).to_owned()));
        }
    }
    Ok(CommitContent::All)
}
