//! Work that was done in trees of its own: when it is merged, and what that means for its tasks.

use super::action::Action;
use super::input::{MergeOutcome, WorkerId};
use super::{Engine, Isolation};
use crate::event::{Event, Tree};
use crate::id::{ExecMode, TaskIx};
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

    pub(super) fn tree_made(&mut self, worker: WorkerId, tree: Tree) {
        let Some(attempt) = self.live.get(&worker) else {
            return;
        };
        if self.ledger.task(attempt.task).open_tree() != Some(&tree) {
            let task = self.ledger.plan().id(attempt.task).to_owned();
            self.record(Event::TreeMade { task, tree });
        }
    }

    /// Has everything merged that is done and is not; whether something is being merged.
    pub(super) fn land(&mut self) -> bool {
        if self.landing.is_empty() {
            let tasks = self.ledger.unmerged();
            if tasks.is_empty() {
                return false;
            }
            let plan = self.ledger.plan();
            self.landing = tasks.iter().map(|&task| plan.id(task).to_owned()).collect();
            self.out.push(Action::Land { tasks });
        }
        true
    }

    pub(super) fn landed(&mut self, task: String, landing: MergeOutcome) {
        if !self.landing.remove(&task) {
            return;
        }
        match landing {
            MergeOutcome::Merged { commit } => self.record(Event::TreeMerged {
                task,
                commit: Some(commit),
            }),
            MergeOutcome::Nothing => self.record(Event::TreeMerged { task, commit: None }),
            MergeOutcome::Refused(error) => {
                let ix = self.ledger.plan().find(&task);
                let at = self.now;
                self.record(Event::TreeRefused { at, task, error });
                if let Some(task) = ix.filter(|&task| self.ledger.plan().mode(task) == ExecMode::Interactive)
                {
                    self.out.push(Action::WriteInteractive { task });
                }
            }
        }
    }
}
