//! Finds the two versions of a request.

use std::io;
use std::path::{Path, PathBuf};

use wavecrew_process::{git_bytes, git_command, git_output, git_text};

/// The request of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// A revision, or a range such as `main..topic`.
    pub revision: Option<String>,
    /// The new version is what is staged.
    pub staged: bool,
    /// Only what is not committed yet.
    pub worktree: bool,
}

/// The two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revisions {
    /// A commit.
    pub old: String,
    /// The name of the old version.
    pub old_name: String,
    pub new: NewVersion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewVersion {
    Worktree,
    Staged,
    Commit { commit: String, name: String },
}

impl NewVersion {
    pub fn name(&self) -> &str {
        match self {
            Self::Worktree => "working tree",
            Self::Staged => "staged changes",
            Self::Commit { name, .. } => name,
        }
    }

    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Worktree | Self::Staged => None,
            Self::Commit { commit, .. } => Some(commit),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    #[error("{} is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("git refuses to read {}, because it belongs to another user", .0.display())]
    OtherOwner(PathBuf),
    #[error("git knows no revision `{0}` here")]
    Unknown(String),
    #[error("the repository has no commit yet, so there is no old version")]
    NoCommit,
    #[error("the only commit has no predecessor, and nothing is uncommitted")]
    OnlyCommit,
    #[error("`{0}` names two versions: `--staged` and `--worktree` name one too")]
    RangeAndFlag(String),
    #[error("cannot run git: {0}")]
    Unusable(#[from] io::Error),
}

impl RevisionError {
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoRepository(_) => {
                "the old version comes from git: run `git init`, commit, and change something"
            }
            Self::OtherOwner(_) => {
                "if you trust it: `git config --global --add safe.directory FOLDER`, or change the owner of its files"
            }
            Self::Unknown(_) => "name a commit, a branch or a tag: `git log --oneline` shows some",
            Self::NoCommit => "commit the old version first",
            Self::OnlyCommit => "change something, or name two revisions",
            Self::RangeAndFlag(_) => "use one of them",
            Self::Unusable(_) => "check that git is installed and that the folder can be read",
        }
    }
}

/// The top folder of the repository around a folder.
pub fn top_of(folder: &Path) -> Result<PathBuf, RevisionError> {
    match git_output(git_command(folder, &["rev-parse", "--show-toplevel"])) {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Ok(PathBuf::from(text.trim_end_matches('\n')))
        }
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("dubious ownership") => {
            Err(RevisionError::OtherOwner(folder.to_owned()))
        }
        Ok(_) => Err(RevisionError::NoRepository(folder.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(RevisionError::NoRepository(folder.to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether an argument names a revision or a range of two.
pub fn is_revision(top: &Path, word: &str) -> io::Result<bool> {
    let ends = word.split_once("...").or_else(|| word.split_once(".."));
    Ok(match ends {
        Some((old, new)) => commit(top, or_head(old))?.is_some() && commit(top, or_head(new))?.is_some(),
        None => commit(top, word)?.is_some(),
    })
}

/// Finds the two versions.
pub fn resolve(top: &Path, selection: &Selection) -> Result<Revisions, RevisionError> {
    let new = if selection.staged {
        NewVersion::Staged
    } else {
        NewVersion::Worktree
    };
    let Some(word) = &selection.revision else {
        let head = commit(top, "HEAD")?.ok_or(RevisionError::NoCommit)?;
        return if selection.staged || selection.worktree {
            Ok(Revisions {
                old: head,
                old_name: "HEAD".to_owned(),
                new,
            })
        } else {
            default(top, head)
        };
    };
    let known = |word: &str| -> Result<String, RevisionError> {
        commit(top, word)?.ok_or_else(|| RevisionError::Unknown(word.to_owned()))
    };
    let (old, old_name, name) = if let Some((old, name)) = word.split_once("...") {
        let (old, name) = (or_head(old), or_head(name));
        let base = merge_base(top, &known(old)?, &known(name)?)?;
        let base = base.ok_or_else(|| RevisionError::Unknown(word.clone()))?;
        (base, format!("merge base of {old} and {name}"), name)
    } else if let Some((old, name)) = word.split_once("..") {
        (known(or_head(old))?, or_head(old).to_owned(), or_head(name))
    } else {
        return Ok(Revisions {
            old: known(word)?,
            old_name: word.clone(),
            new,
        });
    };
    if selection.staged || selection.worktree {
        return Err(RevisionError::RangeAndFlag(word.clone()));
    }
    Ok(Revisions {
        old_name,
        new: NewVersion::Commit {
            commit: known(name)?,
            name: name.to_owned(),
        },
        old,
    })
}

/// The merge base with the default branch; on that branch itself what is uncommitted, else the last commit.
fn default(top: &Path, head: String) -> Result<Revisions, RevisionError> {
    for branch in default_branches(top)? {
        if let Some(tip) = commit(top, &branch)?
            && let Some(base) = merge_base(top, &head, &tip)?
            && base != head
        {
            return Ok(Revisions {
                old: base,
                old_name: format!("merge base with {branch}"),
                new: NewVersion::Worktree,
            });
        }
    }
    let status = ["status", "--porcelain", "-z", "--untracked-files=normal"];
    let is_clean = git_bytes(top, &status)?.is_none_or(|listed| listed.is_empty());
    let (old, old_name) = if is_clean {
        let parent = commit(top, "HEAD~1")?.ok_or(RevisionError::OnlyCommit)?;
        (parent, "HEAD~1")
    } else {
        (head, "HEAD")
    };
    Ok(Revisions {
        old,
        old_name: old_name.to_owned(),
        new: NewVersion::Worktree,
    })
}

/// Names that the default branch may have, the likeliest first.
fn default_branches(top: &Path) -> io::Result<Vec<String>> {
    let of_remote = git_text(
        top,
        &["rev-parse", "--abbrev-ref", "--verify", "--quiet", "origin/HEAD"],
    )?;
    Ok(of_remote
        .into_iter()
        .filter(|name| !name.is_empty() && name != "origin/HEAD")
        .chain(["main", "master"].map(str::to_owned))
        .collect())
}

fn or_head(word: &str) -> &str {
    if word.is_empty() { "HEAD" } else { word }
}

/// The commit that an argument names.
fn commit(top: &Path, word: &str) -> io::Result<Option<String>> {
    // A leading dash would be read as an option.
    if word.starts_with('-') || word.is_empty() {
        return Ok(None);
    }
    let name = format!("{word}^{{commit}}");
    git_text(
        top,
        &["rev-parse", "--verify", "--quiet", "--end-of-options", &name],
    )
}

fn merge_base(top: &Path, one: &str, other: &str) -> io::Result<Option<String>> {
    git_text(top, &["merge-base", one, other])
}
