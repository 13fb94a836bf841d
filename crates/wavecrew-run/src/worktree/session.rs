//! The worktrees of a session: their names, their places, and the branch on which a person finds what came of them.

use super::error::TreeError;
use super::git::Git;
use super::land::{Landed, land};
use super::names::{session_branch, session_ref, task_branch};
use super::tree::{Worktree, head};
use std::path::{Path, PathBuf};
use wavecrew_core::event::WorktreeRecord;
use wavecrew_session::{SessionDir, SessionPaths};

/// Names that are tried for the tree of a task that has old ones.
const MOST_NAMES: u32 = 1000;

/// Where the worktrees of a session lie. Cheap to clone: holds nothing but names.
#[derive(Debug, Clone)]
pub struct SessionTrees {
    project: PathBuf,
    /// The session's folder.
    dir: PathBuf,
    session: String,
}

/// Where merged work that is not in the checkout is to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// Everything is in the checkout.
    Nothing,
    Branch(String),
    /// The branch was moved by a person, or is checked out; the work is under this other name.
    Held {
        branch: String,
        name: String,
    },
}

impl SessionTrees {
    pub fn new(project: &Path, dir: &SessionDir) -> Self {
        Self {
            project: project.to_owned(),
            dir: dir.path().to_owned(),
            session: dir.id().to_owned(),
        }
    }

    /// The tree of a task: the one it has, or a new one from all that is merged so far.
    pub fn open(
        &self,
        task: &str,
        known: Option<&WorktreeRecord>,
    ) -> Result<(Worktree, WorktreeRecord), TreeError> {
        if let Some(tree) = known {
            return self.take_up(tree);
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
            let there = Worktree::known(&self.project, &self.dir.join(&folder), &branch, &from);
            let is_old = there.is_there() || git.commit(&there.full_branch())?.is_some();
            // Old work stays where it is; an old tree without any is made anew.
            if is_old && !there.remove_if_merged(&from)? {
                continue;
            }
            let tree = Worktree::open_from(&self.project, &there.path, &branch, &from)?;
            let base = tree.base.clone();
            return Ok((tree, WorktreeRecord { branch, folder, base }));
        }
        Err(TreeError::InTheWay {
            path: SessionPaths::at(&self.dir).worktree(task),
        })
    }

    fn take_up(&self, tree: &WorktreeRecord) -> Result<(Worktree, WorktreeRecord), TreeError> {
        let path = self.dir.join(&tree.folder);
        Worktree::open_from(&self.project, &path, &tree.branch, &tree.base)?;
        Ok((self.known(tree), tree.clone()))
    }

    fn known(&self, tree: &WorktreeRecord) -> Worktree {
        Worktree::known(
            &self.project,
            &self.dir.join(&tree.folder),
            &tree.branch,
            &tree.base,
        )
    }

    /// Commits what is uncommitted in a tree and merges its branch.
    pub fn land(&self, task: &str, tree: &WorktreeRecord, message: &str) -> Result<Landed, TreeError> {
        let merged = format!("Merge {task} of {}", self.session);
        land(
            &self.project,
            &self.session,
            &self.dir,
            &self.known(tree),
            message,
            &merged,
        )
    }

    /// Removes a tree that holds nothing which is not merged; says whether it did.
    pub fn sweep(&self, tree: &WorktreeRecord) -> Result<bool, TreeError> {
        self.known(tree).remove_if_merged(&self.head()?)
    }

    /// Whether something of the tree is on disk.
    pub fn is_there(&self, tree: &WorktreeRecord) -> bool {
        self.dir.join(&tree.folder).exists()
    }

    /// The end of all that is merged so far.
    fn head(&self) -> Result<String, TreeError> {
        match self.beside()? {
            Some(commit) => Ok(commit),
            None => head(&Git::at(&self.project)),
        }
    }

    /// The end of all that is merged so far, where that is not in the checkout.
    pub fn beside(&self) -> Result<Option<String>, TreeError> {
        Ok(Git::at(&self.project).commit(&session_ref(&self.session))?)
    }

    /// A file as it is there, named from the project.
    pub fn file_beside(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        let name = format!("{commit}:./{path}");
        let output = Git::at(&self.project).output(&["cat-file", "blob", &name]).ok()?;
        output.status.success().then_some(output.stdout)
    }

    /// Puts what is merged beside the checkout on a branch.
    pub fn publish(&self) -> Result<Published, TreeError> {
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
