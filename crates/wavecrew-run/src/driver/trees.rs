//! Working copies of workers: made when a worker starts, merged when the engine says so, removed when nothing in them
//! is only there.

use super::expand::planned_title;
use super::{Driver, OpenSession};
use crate::worktree::{Landed, Published, SessionTrees};
use std::path::PathBuf;
use wavecrew_core::engine::{
    Assignment, Input, Ledger, MergeOutcome, Notice, TaskProgress, TaskWorktree, WorktreeState,
};
use wavecrew_core::event::WorktreeRecord;
use wavecrew_core::id::TaskIx;
use wavecrew_core::prompt::fill;
use wavecrew_core::team::{DEFAULT_COMMIT, Workspace};

/// The work of one task, on its way.
struct Cargo {
    task: String,
    tree: WorktreeRecord,
    message: String,
}

impl Driver<'_> {
    /// Where the worker of this task works; made if need be.
    pub(super) fn folder_for(&mut self, assignment: &Assignment) -> Result<PathBuf, String> {
        if assignment.workspace != Workspace::Worktree {
            return self.session.folder_of(&assignment.id);
        }
        let opened = of(&self.session).open(&assignment.id, assignment.worktree.as_ref());
        let (opened, worktree) = opened.map_err(|error| error.to_string())?;
        let worker = assignment.worker;
        self.inputs.push_back(Input::WorktreeMade { worker, worktree });
        Ok(opened.folder())
    }

    /// Merges on a thread of its own, one after the other.
    pub(super) fn land(&mut self, tasks: &[TaskIx]) {
        let cargo: Vec<Cargo> = tasks.iter().filter_map(|&task| self.cargo(task)).collect();
        let (trees, landings) = (of(&self.session), self.landings.clone());
        std::thread::spawn(move || {
            for Cargo { task, tree, message } in cargo {
                let landing = match trees.land(&task, &tree, &message) {
                    Ok(Landed::Nothing) => MergeOutcome::Nothing,
                    Ok(Landed::Merged { commit, .. }) => MergeOutcome::Merged { commit },
                    Err(error) => MergeOutcome::Refused(error.to_string()),
                };
                // A run that is over hears it from git when it is continued.
                let _ = landings.send((task, landing));
            }
        });
    }

    fn cargo(&self, task: TaskIx) -> Option<Cargo> {
        let ledger = self.engine.ledger();
        let (plan, tree) = (ledger.plan(), ledger.task(task).open_worktree()?.clone());
        let role = ledger.team.role(plan.role(task));
        let template = role.map_or(DEFAULT_COMMIT, |role| &role.commit);
        let planned = planned_title(self.session.dir.path(), &ledger.team, plan, task);
        let message = fill(template, |column| match column {
            "title" => Some(planned.as_deref().unwrap_or(plan.title(task))),
            column => Some(plan.cell(task, column)),
        });
        Some(Cargo {
            task: plan.id(task).to_owned(),
            tree,
            message,
        })
    }
}

/// The trees of a session.
pub(super) fn of(session: &OpenSession) -> SessionTrees {
    SessionTrees::new(&session.project, &session.dir)
}

/// The commit with what is merged, if that is not in the checkout.
pub(super) fn beside(session: &OpenSession) -> Option<String> {
    of(session).beside().ok()?
}

/// Whether the work of any task is merged. Looks at all of them.
pub(super) fn any_merged(ledger: &Ledger) -> bool {
    ledger.plan().tasks().any(|task| {
        let tree = ledger.task(task).worktree.as_deref();
        tree.is_some_and(|tree| matches!(tree.state, WorktreeState::Merged { .. }))
    })
}

/// A file of work that is merged, if that is not in the checkout.
pub(super) fn file_beside(session: &OpenSession, path: &str) -> Option<Vec<u8>> {
    of(session).file_beside(&beside(session)?, path)
}

/// Removes trees of a wave's tasks in which nothing is left that is only there. What stays is told at the end.
pub(super) fn sweep_wave(trees: &SessionTrees, ledger: &Ledger, wave: u32) {
    for &task in ledger.plan().wave_tasks(wave) {
        let _ = sweep(trees, ledger, task);
    }
}

/// Removes all such trees; says what is kept, and where merged work is.
pub(super) fn sweep_all(trees: &SessionTrees, ledger: &Ledger) -> Vec<Notice> {
    let plan = ledger.plan();
    let open_worktrees: Vec<TaskIx> = plan
        .tasks()
        .filter(|&task| ledger.task(task).worktree.is_some())
        .collect();
    let mut notes: Vec<String> = open_worktrees
        .iter()
        .filter_map(|&task| sweep(trees, ledger, task))
        .collect();
    if !open_worktrees.is_empty() {
        notes.extend(published(trees));
    }
    notes.into_iter().map(Notice::Note).collect()
}

/// Removes the tree of a task that has its result; says why if it is kept.
fn sweep(trees: &SessionTrees, ledger: &Ledger, task: TaskIx) -> Option<String> {
    let (id, state) = (ledger.plan().id(task), ledger.task(task));
    let TaskWorktree {
        worktree: tree,
        state: merged,
    } = state.worktree.as_deref()?;
    if state.progress != TaskProgress::Done || !trees.is_there(tree) {
        return None;
    }
    match (trees.sweep(tree), merged) {
        (Ok(true), _) => None,
        (Ok(false), WorktreeState::Merged { .. }) => {
            Some(kept(id, tree, "it has changes that came after the merge"))
        }
        (Ok(false), WorktreeState::Open | WorktreeState::Refused) => {
            Some(kept(id, tree, "its work is not merged"))
        }
        (Err(error), _) => Some(format!("The worktree of {id} is kept: {error}")),
    }
}

fn kept(id: &str, tree: &WorktreeRecord, why: &str) -> String {
    let WorktreeRecord { folder, branch, .. } = tree;
    format!("The worktree of {id} is kept, because {why}: {folder} in the session folder, branch {branch}")
}

/// Where a person finds merged work that is not in the checkout.
fn published(trees: &SessionTrees) -> Option<String> {
    match trees.publish() {
        Ok(Published::Nothing) => None,
        Ok(Published::Branch(branch)) => Some(format!(
            "The checkout was left alone, because it has changes of your own or is on no branch; the work is on \
             branch {branch}: `git merge {branch}`"
        )),
        Ok(Published::Held { branch, name }) => Some(format!(
            "Branch {branch} is checked out or has commits of your own; newer work is at {name}: `git merge {name}`"
        )),
        Err(error) => Some(format!("The merged work has no branch yet: {error}")),
    }
}
