//! The worktrees of a run's tasks: created when a worker starts, merged when the engine requests it, removed
//! when all their work is merged.

use super::{Merged, Published, SessionWorktrees};
use crate::event_loop::Driver;
use crate::session::OpenSession;
use crate::table::expansion::planned_title;
use std::path::PathBuf;
use std::time::Duration;
use wavecrew_core::engine::{
    Assignment, Input, Ledger, MergeOutcome, Notice, TaskProgress, TaskWorktree, WorktreeState,
};
use wavecrew_core::event::WorktreeRecord;
use wavecrew_core::id::TaskIx;
use wavecrew_core::prompt::fill;
use wavecrew_core::team::{DEFAULT_COMMIT, Workspace};

/// The work of one task that is to be merged.
struct TaskMerge {
    task: String,
    worktree: WorktreeRecord,
    message: String,
}

impl Driver<'_> {
    /// The working folder of a task's worker; its worktree is created if necessary.
    pub(crate) fn worker_folder(&mut self, assignment: &Assignment) -> Result<PathBuf, String> {
        self.guard(assignment);
        if assignment.workspace != Workspace::Worktree {
            return self.session.task_folder(&assignment.id);
        }
        let opened = session_worktrees(&self.session).open(&assignment.id, assignment.worktree.as_ref());
        let (opened, worktree) = opened.map_err(|error| error.to_string())?;
        let worker = assignment.worker;
        self.inputs.push_back(Input::WorktreeMade { worker, worktree });
        Ok(opened.project_folder())
    }

    /// Merges the work of tasks on another thread, one after the other.
    pub(crate) fn merge_tasks(&mut self, tasks: &[TaskIx]) {
        let merges: Vec<TaskMerge> = tasks.iter().filter_map(|&task| self.task_merge(task)).collect();
        let (worktrees, outcomes) = (session_worktrees(&self.session), self.merges.clone());
        let merging = std::thread::spawn(move || {
            for TaskMerge {
                task,
                worktree,
                message,
            } in merges
            {
                let outcome = match worktrees.merge(&task, &worktree, &message) {
                    Ok(Merged::Nothing) => MergeOutcome::Nothing,
                    Ok(Merged::Commit { commit, .. }) => MergeOutcome::Merged { commit },
                    Err(error) => MergeOutcome::Refused(error.to_string()),
                };
                // If the run has ended, git shows the merge when it is resumed.
                let _ = outcomes.send((task, outcome));
            }
        });
        self.merging.retain(|earlier| !earlier.is_finished());
        self.merging.push(merging);
    }

    /// Waits for running merges, but not without a limit: git may hang on a file server.
    pub(crate) async fn finish_merges(&self) {
        const TRIES: usize = 1000;
        for _ in 0..TRIES {
            if self.merging.iter().all(std::thread::JoinHandle::is_finished) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn task_merge(&self, task: TaskIx) -> Option<TaskMerge> {
        let ledger = self.engine.ledger();
        let (plan, worktree) = (ledger.plan(), ledger.task(task).open_worktree()?.clone());
        let role = ledger.team.role(plan.role(task));
        let template = role.map_or(DEFAULT_COMMIT, |role| &role.commit);
        let planned = planned_title(self.session.dir.path(), &ledger.team, plan, task);
        let message = fill(template, |column| match column {
            "title" => Some(planned.as_deref().unwrap_or(plan.title(task))),
            column => Some(plan.cell(task, column)),
        });
        Some(TaskMerge {
            task: plan.id(task).to_owned(),
            worktree,
            message,
        })
    }
}

/// The worktrees of a session.
pub(crate) fn session_worktrees(session: &OpenSession) -> SessionWorktrees {
    SessionWorktrees::new(&session.project, &session.dir)
}

/// The commit with the merged work, if that is not in the checkout.
pub(crate) fn merged_beside_checkout(session: &OpenSession) -> Option<String> {
    session_worktrees(session).merged_beside().ok()?
}

/// Whether the work of any task is merged.
pub(crate) fn any_merged(ledger: &Ledger) -> bool {
    ledger.plan().tasks().any(|task| {
        let worktree = ledger.task(task).worktree.as_deref();
        worktree.is_some_and(|worktree| matches!(worktree.state, WorktreeState::Merged { .. }))
    })
}

/// A file of the merged work, if that is not in the checkout.
pub(crate) fn file_merged_beside_checkout(session: &OpenSession, path: &str) -> Option<Vec<u8>> {
    session_worktrees(session).file_in(&merged_beside_checkout(session)?, path)
}

/// Removes the worktrees of a wave whose work is merged. Those that stay are reported at the end of the run.
pub(crate) fn remove_merged_of_wave(worktrees: &SessionWorktrees, ledger: &Ledger, wave: u32) {
    for &task in ledger.plan().wave_tasks(wave) {
        let _ = remove_if_merged(worktrees, ledger, task);
    }
}

/// Removes all worktrees whose work is merged; reports what is kept, and where merged work is.
pub(crate) fn remove_all_merged(worktrees: &SessionWorktrees, ledger: &Ledger) -> Vec<Notice> {
    let plan = ledger.plan();
    let with_worktree: Vec<TaskIx> = plan
        .tasks()
        .filter(|&task| ledger.task(task).worktree.is_some())
        .collect();
    let mut notes: Vec<String> = with_worktree
        .iter()
        .filter_map(|&task| remove_if_merged(worktrees, ledger, task))
        .collect();
    if !with_worktree.is_empty() {
        notes.extend(published(worktrees));
    }
    notes.into_iter().map(Notice::Note).collect()
}

/// Removes the worktree of a finished task; returns the reason if it is kept.
fn remove_if_merged(worktrees: &SessionWorktrees, ledger: &Ledger, task: TaskIx) -> Option<String> {
    let (id, state) = (ledger.plan().id(task), ledger.task(task));
    let TaskWorktree {
        worktree,
        state: merged,
    } = state.worktree.as_deref()?;
    if state.progress != TaskProgress::Done || !worktrees.exists(worktree) {
        return None;
    }
    match (worktrees.remove_if_merged(worktree), merged) {
        (Ok(true), _) => None,
        (Ok(false), WorktreeState::Merged { .. }) => {
            Some(kept(id, worktree, "it has changes from after the merge"))
        }
        (Ok(false), WorktreeState::Open | WorktreeState::Refused) => {
            Some(kept(id, worktree, "its work is not merged"))
        }
        (Err(error), _) => Some(format!("The worktree of {id} is kept: {error}")),
    }
}

fn kept(id: &str, worktree: &WorktreeRecord, why: &str) -> String {
    let WorktreeRecord { folder, branch, .. } = worktree;
    format!("The worktree of {id} is kept, because {why}: {folder} in the session folder, branch {branch}")
}

/// Where merged work is that is not in the checkout.
fn published(worktrees: &SessionWorktrees) -> Option<String> {
    match worktrees.publish() {
        Ok(Published::Nothing) => None,
        Ok(Published::Branch(branch)) => Some(format!(
            "Your checkout has uncommitted changes or is on no branch, so nothing was merged into it; the work is on branch \
             {branch}: `git merge {branch}`"
        )),
        Ok(Published::Held { branch, name }) => Some(format!(
            "Branch {branch} is checked out or has your own commits; newer work is at {name}: `git merge {name}`"
        )),
        Err(error) => Some(format!("The merged work has no branch yet: {error}")),
    }
}
