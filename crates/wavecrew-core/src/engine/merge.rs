//! Worktrees of tasks: when they are merged, and what that means for their tasks.

use super::action::Action;
use super::input::{MergeOutcome, WorkerId};
use super::{Engine, Isolation};
use crate::event::{Event, WorktreeRecord};
use crate::id::TaskIx;
use crate::team::Workspace;

impl Engine {
    /// Where the worker of a task works.
    pub(super) fn workspace(&self, task: TaskIx) -> Workspace {
        let role = self.ledger.team.role(self.ledger.plan().role(task));
        let wanted = role.map_or(Workspace::Project, |role| role.workspace);
        match (self.options.isolation, wanted) {
            (Isolation::Everybody, _) => Workspace::Worktree,
            (Isolation::Never, Workspace::Worktree) => Workspace::Project,
            (Isolation::ByRole | Isolation::Never, wanted) => wanted,
        }
    }

    pub(super) fn worktree_made(&mut self, worker: WorkerId, worktree: WorktreeRecord) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        if self.ledger.task(attempt.task).open_worktree() != Some(&worktree) {
            let task = self.task_id(attempt.task);
            self.record(Event::WorktreeMade { task, worktree });
        }
    }

    /// Merges the worktrees of all completed tasks; returns whether a merge is under way.
    pub(super) fn merge_worktrees(&mut self) -> bool {
        if self.merging.is_empty() {
            let tasks = self.ledger.unmerged();
            if tasks.is_empty() {
                return false;
            }
            let plan = self.ledger.plan();
            self.merging = tasks.iter().map(|&task| plan.id(task).to_owned()).collect();
            self.out.push(Action::Merge { tasks });
        }
        true
    }

    pub(super) fn merge_done(&mut self, task: String, outcome: MergeOutcome) {
        if !self.merging.remove(&task) {
            return;
        }
        match outcome {
            MergeOutcome::Merged { commit } => self.record(Event::WorktreeMerged {
                task,
                commit: Some(commit),
            }),
            MergeOutcome::Nothing => self.record(Event::WorktreeMerged { task, commit: None }),
            MergeOutcome::Refused(error) => {
                let ix = self.ledger.plan().find(&task);
                let at = self.now;
                self.record(Event::MergeFailed { at, task, error });
                if let Some(task) = ix {
                    self.write_interactive_result(task);
                }
            }
        }
    }
}
