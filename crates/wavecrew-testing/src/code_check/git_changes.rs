//! The changes in a working copy since a commit, including those that a worker hides from git. Reads with
//! git, changes nothing.

use super::file_kind::{FileKind, kind_of};
use std::fs;
use std::path::{Path, PathBuf};
use wavecrew_process::{git_bytes, git_names};
use wavecrew_session::WORKFLOW_FOLDER;

/// A working copy, and the commit that its work began with.
pub struct Changes {
    /// From the project's folder, sorted.
    pub files: Vec<FileChange>,
    /// The branch that is checked out; none with a detached head.
    pub branch: Option<String>,
    /// Whether the history still begins with that commit.
    pub continues: bool,
}

/// One changed file.
pub struct FileChange {
    pub path: String,
    pub kind: FileKind,
    /// Its content at the commit; `None` if it did not exist.
    pub before: Option<String>,
    /// Its content now; `None` if it does not exist.
    pub after: Option<String>,
}

impl FileChange {
    pub fn is_new(&self) -> bool {
        self.before.is_none()
    }

    pub fn texts(&self) -> (&str, &str) {
        (
            self.before.as_deref().unwrap_or_default(),
            self.after.as_deref().unwrap_or_default(),
        )
    }
}

impl Changes {
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }
}

/// The differences from the commit, committed or not; `None` without a repository.
pub fn since(folder: &Path, base: &str) -> Option<Changes> {
    let tracked = listed(
        folder,
        &["diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", base],
    )?;
    let below = git(folder, &["rev-parse", "--show-prefix"])?;
    let below = below.trim_end_matches('\n');
    let tracked = tracked.iter().map(|name| {
        name.strip_prefix(below).map_or_else(
            || format!("{}{name}", "../".repeat(below.matches('/').count())),
            str::to_owned,
        )
    });
    let fresh = listed(folder, &["ls-files", "--others", "--exclude-standard", "-z"])?;
    let ours = |name: &String| !Path::new(name).starts_with(WORKFLOW_FOLDER);
    let mut names: Vec<String> = tracked.chain(fresh).chain(hidden(folder)).filter(ours).collect();
    names.sort_unstable();
    names.dedup();
    let change = |path: String| {
        let before = git(folder, &["cat-file", "blob", &format!("{base}:./{path}")]);
        let after = fs::read(folder.join(&path));
        FileChange {
            kind: kind_of(&path),
            before,
            after: after
                .ok()
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            path,
        }
    };
    let files = names
        .into_iter()
        .map(change)
        .filter(|change| change.before != change.after || folder.join(&change.path).is_dir());
    let branch = git(folder, &["symbolic-ref", "-q", "--short", "HEAD"]);
    Some(Changes {
        files: files.collect(),
        branch: branch.map(|name| name.trim().to_owned()),
        continues: git(folder, &["merge-base", "--is-ancestor", base, "HEAD"]).is_some(),
    })
}

/// Files that git skips (`assume-unchanged`, `skip-worktree`), and ignored files that affect tests.
fn hidden(folder: &Path) -> Vec<String> {
    let all = listed(folder, &["ls-files", "-v", "-z"]).unwrap_or_default();
    let flagged = all.iter().filter_map(|line| {
        let (flag, name) = line.split_once(' ')?;
        let is_hidden = flag == "S" || flag.chars().all(|c| c.is_ascii_lowercase());
        is_hidden.then(|| name.to_owned())
    });
    let ignored = [
        "ls-files",
        "--others",
        "--ignored",
        "--exclude-standard",
        "--directory",
        "-z",
    ];
    let ignored = listed(folder, &ignored).unwrap_or_default();
    let acting = |name: &String| !name.ends_with('/') && kind_of(name) == FileKind::Settings;
    flagged.chain(ignored.into_iter().filter(acting)).collect()
}

/// The output of git; `None` if it fails. The settings of the repository cannot start programs.
pub fn git(folder: &Path, words: &[&str]) -> Option<String> {
    let printed = git_bytes(folder, words).ok()??;
    Some(String::from_utf8_lossy(&printed).into_owned())
}

/// The names that git lists with `-z`.
fn listed(folder: &Path, words: &[&str]) -> Option<Vec<String>> {
    let printed = git_bytes(folder, words).ok()??;
    let name = |path: PathBuf| path.to_string_lossy().into_owned();
    Some(git_names(&printed).map(name).collect())
}

/// New files with these texts.
#[cfg(test)]
pub fn changes(files: &[(&str, &str)]) -> Changes {
    let change = |(path, text): &(&str, &str)| FileChange {
        path: (*path).to_owned(),
        kind: kind_of(path),
        before: None,
        after: Some((*text).to_owned()),
    };
    Changes {
        files: files.iter().map(change).collect(),
        branch: None,
        continues: true,
    }
}
