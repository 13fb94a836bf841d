//! The worktrees of a job's rows: created when a row starts, removed after its worker has ended unless they have changes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use wavecrew_core::engine::{Ledger, TaskProgress};
use wavecrew_run::event_loop::Running;
use wavecrew_run::session::Folders;
use wavecrew_run::worktree::{KeptWorktree, Worktree, WorktreeError, ref_part};
use wavecrew_session::SessionDir;

/// The worktrees of a job.
pub(super) struct JobWorktrees {
    project: PathBuf,
    folder: PathBuf,
    session: String,
    cleaned_up: HashSet<String>,
    kept: HashMap<String, KeptWorktree>,
}

impl JobWorktrees {
    pub fn new(project: &Path, dir: &SessionDir) -> Self {
        Self {
            project: project.to_owned(),
            folder: dir.worktrees_folder(),
            session: dir.id().to_owned(),
            cleaned_up: HashSet::new(),
            kept: HashMap::new(),
        }
    }

    /// Returns the folder of each row.
    pub fn folders(&self) -> Folders {
        let (project, folder, session) = (self.project.clone(), self.folder.clone(), self.session.clone());
        Box::new(move |task: &str| {
            let worktree = open(&project, &folder, &session, task).map_err(|error| error.to_string())?;
            Ok(worktree.project_folder())
        })
    }

    /// Removes the unchanged worktrees of rows that are done and whose worker has ended.
    pub fn clean_up(&mut self, running: &[Running], ledger: &Ledger) {
        let busy: HashSet<&str> = running.iter().map(|worker| worker.task.as_str()).collect();
        let plan = ledger.plan();
        let done = plan
            .tasks()
            .filter(|task| matches!(ledger.task(*task).progress, TaskProgress::Done))
            .map(|task| plan.id(task))
            .filter(|id| !busy.contains(id) && !self.cleaned_up.contains(*id))
            .map(str::to_owned)
            .collect::<Vec<_>>();
        for task in done {
            if self.folder.join(&task).join(".git").exists() {
                let kept = open(&self.project, &self.folder, &self.session, &task)
                    .and_then(|worktree| worktree.remove_if_unchanged());
                match kept {
                    Ok(Some(kept)) => drop(self.kept.insert(task.clone(), kept)),
                    Ok(None) => {}
                    // It stays, and the row has the error.
                    Err(error) => {
                        let kept = KeptWorktree {
                            worktree: self.folder.join(&task),
                            branch: branch(&self.session, &task),
                            diff: error.to_string(),
                        };
                        self.kept.insert(task.clone(), kept);
                    }
                }
            }
            self.cleaned_up.insert(task);
        }
    }

    /// The worktree of a row, if it was kept.
    pub fn kept(&self, task: &str) -> Option<&KeptWorktree> {
        self.kept.get(task)
    }
}

fn branch(session: &str, task: &str) -> String {
    format!("wavecrew/{session}/{}", ref_part(task))
}

fn open(project: &Path, folder: &Path, session: &str, task: &str) -> Result<Worktree, WorktreeError> {
    Worktree::open(project, &folder.join(task), &branch(session, task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_row_may_be_called_like_a_file_that_git_takes_for_its_own() {
        let project = tempfile::tempdir().unwrap();
        for words in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "x"]] {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@y"])
                .args(words);
            let done = git.current_dir(project.path()).status().unwrap();
            assert!(done.success(), "{words:?}");
        }
        let folder = project.path().join("worktrees");
        for task in ["Cargo.lock", "Cargo.toml"] {
            let worktree = open(project.path(), &folder, "s", task).unwrap();
            assert_eq!(worktree.remove_if_unchanged(), Ok(None), "{task}");
        }
    }
}
