//! One worktree: created or reused, committed, removed.

use super::error::WorktreeError;
use super::git::Git;
use super::submodules;
use serde::Serialize;
use std::path::{Path, PathBuf};
use wavecrew_session::WORKFLOW_FOLDER;

/// A worktree, and the commit it was created from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    project: PathBuf,
    pub path: PathBuf,
    pub branch: String,
    pub base: String,
}

/// A worktree that was kept because it has changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptWorktree {
    pub worktree: PathBuf,
    pub branch: String,
    /// The size of the change, as git prints it.
    pub diff: String,
}

impl Worktree {
    /// Whether worktrees can be created here; the reason if not.
    pub fn check_possible(project: &Path) -> Result<(), WorktreeError> {
        let git = Git::at(project);
        let inside = git.output(&["rev-parse", "--is-inside-work-tree"])?;
        if !inside.status.success() || inside.stdout.trim_ascii() != b"true" {
            return Err(WorktreeError::NotARepository);
        }
        match git.commit("HEAD")? {
            Some(_) => Ok(()),
            None => Err(WorktreeError::NoCommit),
        }
    }

    /// Creates a worktree from the project's checkout, or reuses the existing one.
    pub fn open(project: &Path, path: &Path, branch: &str) -> Result<Self, WorktreeError> {
        let head = head(&Git::at(project))?;
        Self::open_at(project, path, branch, &head)
    }

    /// Creates a worktree from a commit, or reuses the existing one.
    pub(super) fn open_at(
        project: &Path,
        path: &Path,
        branch: &str,
        from: &str,
    ) -> Result<Self, WorktreeError> {
        let git = Git::at(project);
        let shown = path.to_string_lossy();
        if !path.join(".git").exists() {
            if path.exists() && path.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(WorktreeError::InTheWay {
                    path: path.to_owned(),
                });
            }
            // Git forgets a folder that was removed by hand, so that its branch can be used again.
            git.run(&["worktree", "prune"])?;
            match git.commit(&format!("refs/heads/{branch}"))? {
                Some(_) => git.run(&["worktree", "add", "--quiet", &shown, branch])?,
                None => git.run(&["worktree", "add", "--quiet", "-b", branch, &shown, from])?,
            };
            let root = PathBuf::from(git.run(&["rev-parse", "--show-toplevel"])?);
            submodules::check_out(&root, path)?;
        }
        // The base is where the branch leaves the commits of the project.
        let base = Git::at(path).run(&["merge-base", "HEAD", from])?;
        Ok(Self::existing(project, path, branch, &base))
    }

    /// A worktree that was created before.
    pub(super) fn existing(project: &Path, path: &Path, branch: &str, base: &str) -> Self {
        Self {
            project: project.to_owned(),
            path: path.to_owned(),
            branch: branch.to_owned(),
            base: base.to_owned(),
        }
    }

    pub(super) fn git(&self) -> Git {
        Git::at(&self.path)
    }

    /// Removes the lock of a git that was killed in this worktree. Only while no worker runs in it.
    pub(super) fn remove_stale_lock(&self) -> Result<(), WorktreeError> {
        let path = ["rev-parse", "--path-format=absolute", "--git-path", "index.lock"];
        // Usually there is none.
        let _ = std::fs::remove_file(self.git().run(&path)?);
        Ok(())
    }

    pub(super) fn full_branch(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    pub fn exists(&self) -> bool {
        self.path.join(".git").exists()
    }

    /// The folder in the worktree that corresponds to the project folder.
    pub fn project_folder(&self) -> PathBuf {
        match Git::at(&self.project).run(&["rev-parse", "--show-prefix"]) {
            Ok(prefix) if !prefix.is_empty() => self.path.join(prefix),
            Ok(_) | Err(_) => self.path.clone(),
        }
    }

    /// Commits everything that is uncommitted. Of the person's settings it uses only the committer's name.
    pub fn commit_all(&self, message: &str) -> Result<(), WorktreeError> {
        let git = self.git();
        let unmerged = git.run(&["diff", "--name-only", "--diff-filter=U"])?;
        if !unmerged.is_empty() {
            return Err(WorktreeError::Unfinished {
                path: self.path.clone(),
                files: unmerged.lines().map(str::to_owned).collect(),
            });
        }
        let excluded = session_folder_excluded(&Git::at(&self.project))?;
        git.run(&["add", "--all", "--", ":(top)", &excluded])?;
        if git.test(&["diff", "--cached", "--quiet"])? {
            return Ok(());
        }
        let mut words = git.identity()?.to_vec();
        words.extend(["commit", "--quiet", "--no-verify", "--message", message]);
        git.run(&words)?;
        Ok(())
    }

    /// The commit of its branch, if the worktree is on that branch.
    pub(super) fn tip(&self) -> Result<String, WorktreeError> {
        let (git, branch) = (self.git(), self.full_branch());
        let tip = git.commit(&branch)?;
        let on = git.output(&["symbolic-ref", "--quiet", "HEAD"])?;
        let on = String::from_utf8_lossy(&on.stdout).trim().to_owned();
        let checked_out = head(&git)?;
        match tip {
            // A detached head is fine as long as nothing was committed to it.
            Some(tip) if on == branch || (on.is_empty() && tip == checked_out) => Ok(tip),
            Some(_) | None => Err(WorktreeError::WrongBranch {
                path: self.path.clone(),
                branch: self.branch.clone(),
                found: match on.strip_prefix("refs/heads/") {
                    Some(name) => format!("branch `{name}`"),
                    None => format!("commit {}, which is on no branch", short(&checked_out)),
                },
            }),
        }
    }

    /// Whether it contains anything uncommitted.
    pub(super) fn has_uncommitted(&self) -> Result<bool, WorktreeError> {
        let words = [
            "status",
            "--porcelain",
            "--untracked-files=all",
            "--ignore-submodules=none",
        ];
        Ok(!self.git().run(&words)?.is_empty())
    }

    /// Removes the worktree and its branch if all its work is in `head`; returns whether it did.
    pub(super) fn remove_if_merged(&self, head: &str) -> Result<bool, WorktreeError> {
        let git = Git::at(&self.project);
        let branch = self.full_branch();
        if self.exists() {
            let checked_out = super::lifecycle::head(&self.git())?;
            if self.has_uncommitted()? || !git.contains(head, &checked_out)? {
                return Ok(false);
            }
        } else {
            git.run(&["worktree", "prune"])?;
        }
        match git.commit(&branch)? {
            Some(tip) if !git.contains(head, &tip)? => return Ok(false),
            Some(_) | None => {}
        }
        if self.exists() {
            let path = self.path.to_string_lossy();
            let mut words = vec!["worktree", "remove", &path];
            if self.path.join(".gitmodules").exists() {
                // Git requires this for every worktree with submodules. Nothing in it is uncommitted (see above).
                words.insert(2, "--force");
            }
            git.run(&words)?;
        }
        if let Some(tip) = git.commit(&branch)? {
            git.run(&["update-ref", "-d", &branch, &tip])?;
        }
        Ok(true)
    }

    /// Removes the worktree and its branch if nothing was changed in it; otherwise returns what is kept.
    pub fn remove_if_unchanged(&self) -> Result<Option<KeptWorktree>, WorktreeError> {
        if self.remove_if_merged(&self.base)? {
            return Ok(None);
        }
        let git = self.git();
        // So that new files count too; their content is not added.
        git.run(&["add", "--intent-to-add", "--all"])?;
        Ok(Some(KeptWorktree {
            worktree: self.path.clone(),
            branch: self.branch.clone(),
            diff: git.run(&["diff", "--shortstat", &self.base])?.trim().to_owned(),
        }))
    }
}

/// The pathspec that excludes the folder of sessions. The project may lie below the root of its repository.
pub(super) fn session_folder_excluded(project: &Git) -> Result<String, WorktreeError> {
    let below = project.run(&["rev-parse", "--show-prefix"])?;
    Ok(format!(":(top,exclude,literal){below}{WORKFLOW_FOLDER}"))
}

/// The commit that is checked out.
pub(super) fn head(git: &Git) -> Result<String, WorktreeError> {
    git.commit("HEAD")?.ok_or(WorktreeError::NoCommit)
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
