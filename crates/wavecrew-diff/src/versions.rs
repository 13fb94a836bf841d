//! The two versions as folders: complete copies of the project, with the files of each version in place.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use wavecrew_process::{git_bytes, git_command, git_names};
use wavecrew_session::WORKFLOW_FOLDER;

use crate::project_copy;
use crate::revision::{NewVersion, Revisions};

/// How a file changed from the old version to the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Added,
    Removed,
    Edited,
}

/// Both versions in a temporary folder, which is removed on drop.
#[derive(Debug)]
pub struct VersionFolders {
    _folder: TempDir,
    pub old: PathBuf,
    pub new: PathBuf,
    pub changes: BTreeMap<PathBuf, Change>,
}

/// The changes between the versions, by path below the top folder.
pub fn changes(top: &Path, revisions: &Revisions) -> io::Result<BTreeMap<PathBuf, Change>> {
    let mut changes = match &revisions.new {
        NewVersion::Worktree => {
            let mut changes = listed(top, &[&revisions.old])?;
            let untracked =
                git_bytes(top, &["ls-files", "--others", "--exclude-standard", "-z"])?.unwrap_or_default();
            changes.extend(git_names(&untracked).map(|path| (path, Change::Added)));
            changes
        }
        NewVersion::Staged => listed(top, &["--cached", &revisions.old])?,
        NewVersion::Commit { commit, .. } => listed(top, &[&revisions.old, commit])?,
    };
    changes.retain(|path, _| !path.starts_with(WORKFLOW_FOLDER));
    Ok(changes)
}

impl VersionFolders {
    /// Makes both folders from the files of the working tree, which may be a copy of it. Files of the new version for which
    /// `restore` is true are those of the old one.
    pub fn make(
        top: &Path,
        files: &Path,
        revisions: &Revisions,
        changes: BTreeMap<PathBuf, Change>,
        restore: impl Fn(&Path) -> bool,
    ) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("wavecrew-diff-").tempdir()?;
        let root = folder.path().canonicalize()?;
        let (old, new) = (root.join("old"), root.join("new"));
        project_copy::copy(files, &new)?;
        match &revisions.new {
            NewVersion::Worktree => {}
            NewVersion::Staged => place(top, &new, None, &listed(top, &[])?)?,
            NewVersion::Commit { commit, .. } => {
                place(top, &new, Some((commit, &root)), &against_worktree(top, commit)?)?;
            }
        }
        project_copy::copy(files, &old)?;
        let since_old = against_worktree(top, &revisions.old)?;
        place(top, &old, Some((&revisions.old, &root)), &since_old)?;
        let restored: BTreeMap<PathBuf, Change> = changes
            .iter()
            .filter(|(path, _)| restore(path))
            .map(|(path, change)| (path.clone(), *change))
            .collect();
        place(top, &new, Some((&revisions.old, &root)), &restored)?;
        Ok(Self {
            _folder: folder,
            old,
            new,
            changes,
        })
    }
}

/// The differences between the worktree and a commit.
fn against_worktree(top: &Path, commit: &str) -> io::Result<BTreeMap<PathBuf, Change>> {
    let mut found = listed(top, &[commit])?;
    let untracked =
        git_bytes(top, &["ls-files", "--others", "--exclude-standard", "-z"])?.unwrap_or_default();
    found.extend(git_names(&untracked).map(|path| (path, Change::Added)));
    Ok(found)
}

/// The differences that `git diff` lists, from its first version to its second one.
fn listed(top: &Path, versions: &[&str]) -> io::Result<BTreeMap<PathBuf, Change>> {
    let mut args = vec!["diff", "--name-status", "--no-renames", "-z"];
    args.extend(versions);
    args.push("--");
    let output = git_bytes(top, &args)?.ok_or_else(|| io::Error::other("git diff fails"))?;
    let mut parts = git_names(&output);
    let mut found = BTreeMap::new();
    while let (Some(status), Some(path)) = (parts.next(), parts.next()) {
        let change = match status.to_string_lossy().as_ref() {
            "A" => Change::Added,
            "D" => Change::Removed,
            _ => Change::Edited,
        };
        found.insert(path, change);
    }
    Ok(found)
}

/// Puts the files of the first version of some changes into a folder: edited and removed ones are written, added ones are
/// deleted. The files come from a commit, through an index in the given folder, or from the repository's own index.
fn place(
    top: &Path,
    into: &Path,
    commit: Option<(&str, &Path)>,
    changes: &BTreeMap<PathBuf, Change>,
) -> io::Result<()> {
    let mut wanted = Vec::new();
    for (path, change) in changes {
        match change {
            Change::Added => match fs::remove_file(into.join(path)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            },
            Change::Removed | Change::Edited => {
                wanted.extend_from_slice(path.as_os_str().as_encoded_bytes());
                wanted.push(0);
            }
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let prefix = format!("--prefix={}/", into.display());
    let mut checkout = git_command(
        top,
        &["checkout-index", "--force", "--quiet", "-z", "--stdin", &prefix],
    );
    if let Some((commit, folder)) = commit {
        let index = folder.join("index");
        let mut read = git_command(top, &["read-tree", commit]);
        read.env("GIT_INDEX_FILE", &index);
        if !read.stderr(Stdio::null()).output()?.status.success() {
            return Err(io::Error::other(format!("git cannot read {commit}")));
        }
        checkout.env("GIT_INDEX_FILE", &index);
    }
    let mut child = checkout
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&wanted)?;
    }
    if child.wait()?.success() {
        Ok(())
    } else {
        Err(io::Error::other("git cannot write the files of a version"))
    }
}
