//! The worktrees of a session: their names and folders, and the branch with the merged work.

use super::error::WorktreeError;
use super::git::Git;
use super::lifecycle::{Worktree, head};
use super::merge_task::{Merged, merge_worktree};
use super::names::{session_branch, session_ref, task_branch};
use std::path::{Path, PathBuf};
use wavecrew_core::event::WorktreeRecord;
use wavecrew_session::{SessionDir, SessionPaths};

/// Names that are tried for a task that has old worktrees.
const MOST_NAMES: u32 = 1000;

/// The worktrees of a session. Cheap to clone: contains only paths and names.
#[derive(Debug, Clone)]
pub struct SessionWorktrees {
    project: PathBuf,
    /// The session's folder.
    dir: PathBuf,
    session: String,
}

/// Where merged work is that is not in the checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// Everything is in the checkout.
    Nothing,
    Branch(String),
    /// A person moved the branch, or it is checked out; the work is in this ref.
    Held {
        branch: String,
        name: String,
    },
}

impl SessionWorktrees {
    pub fn new(project: &Path, dir: &SessionDir) -> Self {
        Self {
            project: project.to_owned(),
            dir: dir.path().to_owned(),
            session: dir.id().to_owned(),
        }
    }

    /// The worktree of a task: the existing one, or a new one from everything that is merged so far.
    pub fn open(
        &self,
        task: &str,
        known: Option<&WorktreeRecord>,
    ) -> Result<(Worktree, WorktreeRecord), WorktreeError> {
        if let Some(record) = known {
            return self.resume(record);
        }
        let git = Git::at(&self.project);
        let from = self.head()?;
        for number in 1..MOST_NAMES {
            let name = match number {
                1 => task.to_owned(),
                number => format!("{task}.{number}"),
            };
            let folder = SessionPaths::relative().worktree(&name);
            let folder = folder.to_string_lossy().into_owned();
            let branch = task_branch(&git, &self.session, &name)?;
            let existing = Worktree::existing(&self.project, &self.dir.join(&folder), &branch, &from);
            let is_old = existing.exists() || git.commit(&existing.full_branch())?.is_some();
            // Old work stays where it is; an old worktree without any is replaced.
            if is_old && !existing.remove_if_merged(&from)? {
                continue;
            }
            let worktree = Worktree::open_at(&self.project, &existing.path, &branch, &from)?;
            let base = worktree.base.clone();
            return Ok((worktree, WorktreeRecord { branch, folder, base }));
        }
        Err(WorktreeError::InTheWay {
            path: SessionPaths::at(&self.dir).worktree(task),
        })
    }

    fn resume(&self, record: &WorktreeRecord) -> Result<(Worktree, WorktreeRecord), WorktreeError> {
        let path = self.dir.join(&record.folder);
        Worktree::open_at(&self.project, &path, &record.branch, &record.base)?;
        let worktree = self.existing(record);
        worktree.remove_stale_lock()?;
        Ok((worktree, record.clone()))
    }

    fn existing(&self, record: &WorktreeRecord) -> Worktree {
        Worktree::existing(
            &self.project,
            &self.dir.join(&record.folder),
            &record.branch,
            &record.base,
        )
    }

    /// Commits what is uncommitted in a worktree and merges its branch.
    pub fn merge(&self, task: &str, record: &WorktreeRecord, message: &str) -> Result<Merged, WorktreeError> {
        let merge_message = format!("Merge {task} of {}", self.session);
        merge_worktree(
            &self.project,
            &self.session,
            &self.dir,
            &self.existing(record),
            message,
            &merge_message,
        )
    }

    /// Removes a worktree if all its work is merged; returns whether it did.
    pub fn remove_if_merged(&self, record: &WorktreeRecord) -> Result<bool, WorktreeError> {
        self.existing(record).remove_if_merged(&self.head()?)
    }

    /// Whether the worktree is on disk.
    pub fn exists(&self, record: &WorktreeRecord) -> bool {
        self.dir.join(&record.folder).exists()
    }

    /// The commit with everything that is merged so far.
    fn head(&self) -> Result<String, WorktreeError> {
        match self.merged_beside()? {
            Some(commit) => Ok(commit),
            None => head(&Git::at(&self.project)),
        }
    }

    /// The commit with everything that is merged so far, if that is not in the checkout.
    pub fn merged_beside(&self) -> Result<Option<String>, WorktreeError> {
        Ok(Git::at(&self.project).commit(&session_ref(&self.session))?)
    }

    /// A file of a commit, by its path in the project.
    pub fn file_in(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        let name = format!("{commit}:./{path}");
        let output = Git::at(&self.project).output(&["cat-file", "blob", &name]).ok()?;
        output.status.success().then_some(output.stdout)
    }

    /// Creates or moves the branch with merged work that is not in the checkout.
    pub fn publish(&self) -> Result<Published, WorktreeError> {
        let git = Git::at(&self.project);
        let name = session_ref(&self.session);
        let Some(commit) = git.commit(&name)? else {
            return Ok(Published::Nothing);
        };
        let branch = session_branch(&git, &self.session)?;
        let full = format!("refs/heads/{branch}");
        let there = git.commit(&full)?;
        let old = match &there {
            Some(old) if *old == commit => return Ok(Published::Branch(branch)),
            Some(old) => {
                let checked_out = git.run(&["for-each-ref", "--format=%(worktreepath)", &full])?;
                if !git.contains(&commit, old)? || !checked_out.is_empty() {
                    return Ok(Published::Held { branch, name });
                }
                old.as_str()
            }
            None => "",
        };
        git.run(&["update-ref", &full, &commit, old])?;
        Ok(Published::Branch(branch))
    }
}
