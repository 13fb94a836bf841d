//! One worktree: made, taken up, committed, removed.

use super::error::TreeError;
use super::git::Git;
use super::submodules;
use serde::Serialize;
use std::path::{Path, PathBuf};
use wavecrew_session::WORKFLOW_FOLDER;

/// A worktree, and the commit it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    project: PathBuf,
    pub path: PathBuf,
    pub branch: String,
    pub base: String,
}

/// What was left of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    pub worktree: PathBuf,
    pub branch: String,
    /// How much changed, in git's words.
    pub diff: String,
}

impl Worktree {
    /// Whether worktrees can be made here; the reason if not.
    pub fn possible(project: &Path) -> Result<(), TreeError> {
        let git = Git::at(project);
        let inside = git.output(&["rev-parse", "--is-inside-work-tree"])?;
        if !inside.status.success() || inside.stdout.trim_ascii() != b"true" {
            return Err(TreeError::NotARepository);
        }
        match git.commit("HEAD")? {
            Some(_) => Ok(()),
            None => Err(TreeError::NoCommit),
        }
    }

    /// Makes a worktree from what is checked out in the project, or takes up the one that is there.
    pub fn open(project: &Path, path: &Path, branch: &str) -> Result<Self, TreeError> {
        let head = head(&Git::at(project))?;
        Self::open_from(project, path, branch, &head)
    }

    /// Makes a worktree from a commit, or takes up the one that is there.
    pub(super) fn open_from(
        project: &Path,
        path: &Path,
        branch: &str,
        from: &str,
    ) -> Result<Self, TreeError> {
        let git = Git::at(project);
        let shown = path.to_string_lossy();
        if !path.join(".git").exists() {
            if path.exists() && path.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(TreeError::InTheWay {
                    path: path.to_owned(),
                });
            }
            // A folder that was removed by hand is forgotten, so that its branch can be used again.
            git.run(&["worktree", "prune"])?;
            match git.commit(&format!("refs/heads/{branch}"))? {
                Some(_) => git.run(&["worktree", "add", "--quiet", &shown, branch])?,
                None => git.run(&["worktree", "add", "--quiet", "-b", branch, &shown, from])?,
            };
            let root = PathBuf::from(git.run(&["rev-parse", "--show-toplevel"])?);
            submodules::check_out(&root, path)?;
        }
        // What the branch was made from is where it leaves the commits of the project.
        let base = Git::at(path).run(&["merge-base", "HEAD", from])?;
        Ok(Self::known(project, path, branch, &base))
    }

    /// One that was made before.
    pub(super) fn known(project: &Path, path: &Path, branch: &str, base: &str) -> Self {
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

    pub(super) fn full_branch(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    pub fn is_there(&self) -> bool {
        self.path.join(".git").exists()
    }

    /// The place in the worktree that the project folder is in its repository.
    pub fn folder(&self) -> PathBuf {
        match Git::at(&self.project).run(&["rev-parse", "--show-prefix"]) {
            Ok(prefix) if !prefix.is_empty() => self.path.join(prefix),
            Ok(_) | Err(_) => self.path.clone(),
        }
    }

    /// Commits what was left uncommitted. Nothing of the person's takes part but the name of who commits.
    pub fn commit_rest(&self, message: &str) -> Result<(), TreeError> {
        let git = self.git();
        let unmerged = git.run(&["diff", "--name-only", "--diff-filter=U"])?;
        if !unmerged.is_empty() {
            return Err(TreeError::Unfinished {
                path: self.path.clone(),
                files: unmerged.lines().map(str::to_owned).collect(),
            });
        }
        let ours = ours(&Git::at(&self.project))?;
        git.run(&["add", "--all", "--", ":(top)", &ours])?;
        if git.asks(&["diff", "--cached", "--quiet"])? {
            return Ok(());
        }
        let mut words = git.identity()?.to_vec();
        words.extend(["commit", "--quiet", "--no-verify", "--message", message]);
        git.run(&words)?;
        Ok(())
    }

    /// The commit of its branch, once everything is on it.
    pub(super) fn tip(&self) -> Result<String, TreeError> {
        let (git, branch) = (self.git(), self.full_branch());
        let tip = git.commit(&branch)?;
        let on = git.output(&["symbolic-ref", "--quiet", "HEAD"])?;
        let on = String::from_utf8_lossy(&on.stdout).trim().to_owned();
        let checked_out = head(&git)?;
        match tip {
            // A detached head is fine as long as nothing was committed to it.
            Some(tip) if on == branch || (on.is_empty() && tip == checked_out) => Ok(tip),
            Some(_) | None => Err(TreeError::WrongBranch {
                path: self.path.clone(),
                branch: self.branch.clone(),
                found: match on.strip_prefix("refs/heads/") {
                    Some(name) => format!("branch `{name}`"),
                    None => format!("commit {}, which is on no branch,", short(&checked_out)),
                },
            }),
        }
    }

    /// Whether something lies in it that is in no commit.
    pub(super) fn has_uncommitted(&self) -> Result<bool, TreeError> {
        let words = [
            "status",
            "--porcelain",
            "--untracked-files=all",
            "--ignore-submodules=none",
        ];
        Ok(!self.git().run(&words)?.is_empty())
    }

    /// Removes the worktree and its branch, if all that it holds is in `head`; says whether it did.
    pub(super) fn remove_if_merged(&self, head: &str) -> Result<bool, TreeError> {
        let git = Git::at(&self.project);
        let branch = self.full_branch();
        if self.is_there() {
            let checked_out = super::tree::head(&self.git())?;
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
        if self.is_there() {
            let path = self.path.to_string_lossy();
            let mut words = vec!["worktree", "remove", &path];
            if self.path.join(".gitmodules").exists() {
                // Git wants this for every tree with submodules. Nothing in it is uncommitted, as was seen above.
                words.insert(2, "--force");
            }
            git.run(&words)?;
        }
        if let Some(tip) = git.commit(&branch)? {
            git.run(&["update-ref", "-d", &branch, &tip])?;
        }
        Ok(true)
    }

    /// Removes the worktree and its branch if nothing was changed in it; says what is kept otherwise.
    pub fn settle(&self) -> Result<Option<Kept>, TreeError> {
        if self.remove_if_merged(&self.base)? {
            return Ok(None);
        }
        let git = self.git();
        // So that new files count too; what they hold is not put anywhere.
        git.run(&["add", "--intent-to-add", "--all"])?;
        Ok(Some(Kept {
            worktree: self.path.clone(),
            branch: self.branch.clone(),
            diff: git.run(&["diff", "--shortstat", &self.base])?.trim().to_owned(),
        }))
    }
}

/// What is ours to leave alone, in the words of git: sessions lie there in the project, which may lie below the root of its
/// repository, and nothing else does.
pub(super) fn ours(project: &Git) -> Result<String, TreeError> {
    let below = project.run(&["rev-parse", "--show-prefix"])?;
    Ok(format!(":(top,exclude,literal){below}{WORKFLOW_FOLDER}"))
}

/// The commit that is checked out.
pub(super) fn head(git: &Git) -> Result<String, TreeError> {
    git.commit("HEAD")?.ok_or(TreeError::NoCommit)
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
