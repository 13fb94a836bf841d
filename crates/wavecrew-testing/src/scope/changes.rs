//! What changed, according to the user's own git.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use wavecrew_session::WORKFLOW_FOLDER;

use wavecrew_process::{git_bytes, git_names};

/// What was compared to find the files in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    LastCommit,
    Staged,
    Since(String),
    /// Paths of the request, whether changed or not.
    Named,
    /// Nothing: the whole project is in scope.
    Whole,
}

impl Base {
    /// Its value in `scope.json`.
    pub fn revision(&self) -> Option<&str> {
        match self {
            Self::LastCommit => Some("HEAD~1"),
            Self::Staged => Some("--cached"),
            Self::Since(revision) => Some(revision),
            Self::Named | Self::Whole => None,
        }
    }

    /// Follows `3 files`.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::LastCommit => "changed since HEAD~1 or untracked".to_owned(),
            Self::Staged => "uncommitted".to_owned(),
            Self::Since(revision) => format!("changed since {revision} or untracked"),
            Self::Named | Self::Whole => "in scope".to_owned(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    #[error("git knows no revision `{0}` here")]
    UnknownRevision(String),
    #[error("`--since {0}` requires a git repository")]
    NoRepository(String),
    #[error("cannot run git: {0}")]
    Unusable(#[from] io::Error),
}

impl ChangesError {
    pub fn help(&self) -> &'static str {
        match self {
            Self::UnknownRevision(_) => "name a commit, a branch or a tag: `git log --oneline` shows some",
            Self::NoRepository(_) => "omit --since to test the whole project",
            Self::Unusable(_) => "check that git is installed and that the folder can be read",
        }
    }
}

pub(super) struct Changes {
    pub base: Base,
    pub commit: Option<String>,
    /// Deleted ones too.
    pub files: BTreeSet<PathBuf>,
}

/// `None`: not a repository, or no git at all.
pub(super) fn changes(project: &Path, since: Option<&str>) -> Result<Option<Changes>, ChangesError> {
    let inside = git_bytes(project, &["rev-parse", "--is-inside-work-tree"]);
    let inside = match inside {
        Ok(answer) => answer.is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error.into()),
    };
    if !inside {
        return match since {
            Some(revision) => Err(ChangesError::NoRepository(revision.to_owned())),
            None => Ok(None),
        };
    }
    let verify = |revision: &str| {
        git_bytes(
            project,
            &["rev-parse", "--verify", "--quiet", "--end-of-options", revision],
        )
    };
    let commit = verify("HEAD")?.map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    let diff = |base: &str| {
        git_bytes(
            project,
            &[
                "diff",
                "--name-only",
                "--relative",
                "--no-renames",
                "-z",
                base,
                "--",
            ],
        )
    };
    let (base, listed) = match since {
        Some(revision) => {
            // A leading dash would be an option.
            let known = !revision.starts_with('-') && verify(&format!("{revision}^{{commit}}"))?.is_some();
            let listed = if known { diff(revision)? } else { None };
            let listed = listed.ok_or_else(|| ChangesError::UnknownRevision(revision.to_owned()))?;
            (Base::Since(revision.to_owned()), listed)
        }
        None if verify("HEAD~1")?.is_some() => (Base::LastCommit, diff("HEAD~1")?.unwrap_or_default()),
        // The first commit has no predecessor: all files that are not in it count, staged or not.
        None if commit.is_some() => (Base::Staged, diff("HEAD")?.unwrap_or_default()),
        None => (Base::Staged, diff("--cached")?.unwrap_or_default()),
    };
    let untracked =
        git_bytes(project, &["ls-files", "--others", "--exclude-standard", "-z"])?.unwrap_or_default();
    let files = git_names(&listed)
        .chain(git_names(&untracked))
        .filter(|path| !path.starts_with(WORKFLOW_FOLDER) && !path.starts_with(".git"))
        .collect();
    Ok(Some(Changes { base, commit, files }))
}
