//! Checks: compare a worker's report with facts before it counts.
//!
//! A claim of success is first compared with the disk and with git ([`claims`]). If it holds, the check of its role
//! ([`role_check`]) or the person's own command ([`verify_command`]) runs as a program ([`program`]), whose result becomes
//! the outcome.

pub mod claims;
pub(crate) mod guard;
pub(crate) mod program;
mod restore;
pub(crate) mod role_check;
mod verify_command;

pub use verify_command::Verify;

use crate::event_loop::{DriveError, Driver};
use crate::worktree::tasks::file_merged_beside_checkout;
use role_check::Stage;
use std::path::Path;
use wavecrew_core::claim::checked_file;
use wavecrew_core::engine::{CheckFindings, CheckOutcome, Input, Ledger, WorkerId};
use wavecrew_core::id::TaskIx;

impl Driver<'_> {
    /// Checks a claim of success; the outcome follows as an input. What is in doubt goes back to a worker that was not
    /// `asked` yet.
    pub(crate) fn check_claim(
        &mut self,
        worker: WorkerId,
        task: TaskIx,
        outputs: &[(String, String)],
        asked: bool,
    ) -> Result<(), DriveError> {
        let ledger = self.engine.ledger();
        let merged_file = |path: &str| {
            let file = || file_merged_beside_checkout(&self.session, path);
            self.any_merged.then(file).flatten()
        };
        let sources = claims::Sources {
            session: self.session.dir.path(),
            project: self
                .workers
                .get(&worker)
                .map_or(&self.session.project, |state| &state.folder),
            beside: &merged_file,
        };
        let (outcome, doubts) = claims::check(
            &sources,
            &ledger.team,
            ledger.plan(),
            task,
            outputs,
            self.started_from(worker, task),
        );
        let guarded = self.check_guarded(worker, task);
        let doubts = joined(doubts, guarded.doubts());
        let outcome = if guarded.has_no_problems() {
            with_checked_files(outcome, self.session.dir.path(), ledger, task)
        } else {
            guarded.outcome()
        };
        let role = ledger.team.role(ledger.plan().role(task));
        let has_role_check = role.is_some_and(|role| role.check.is_some());
        let holds = matches!(
            outcome,
            CheckOutcome::Confirmed { .. } | CheckOutcome::Measured(_)
        );
        if let (true, Some(reason)) = (holds, doubts) {
            if !asked {
                self.claim_checked(worker, CheckOutcome::Ask(reason));
                return Ok(());
            }
            self.inputs.push_back(Input::Doubted { worker, reason });
        }
        match outcome {
            CheckOutcome::Confirmed { .. } | CheckOutcome::Measured(_) if has_role_check => {
                self.start_role_check(worker, task, Stage::After(outputs))
            }
            CheckOutcome::Confirmed { .. } | CheckOutcome::Measured(_) if self.session.verify.is_some() => {
                self.start_verify_command(worker, task, outputs)
            }
            outcome => {
                self.claim_checked(worker, outcome);
                Ok(())
            }
        }
    }

    /// The commit that a task's work began with.
    fn started_from(&self, worker: WorkerId, task: TaskIx) -> Option<&str> {
        let worktree = self.engine.ledger().task(task).open_worktree();
        worktree
            .map(|worktree| worktree.base.as_str())
            .or_else(|| self.head_at_start(worker))
    }

    fn claim_checked(&mut self, worker: WorkerId, outcome: CheckOutcome) {
        self.inputs.push_back(Input::ClaimChecked { worker, outcome });
    }
}

/// Both reasons, if there are any.
fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    let all: Vec<String> = one.into_iter().chain(other).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Records what the owed files were when they were checked, so that later checks can rely on them.
fn with_checked_files(
    outcome: CheckOutcome,
    session_dir: &Path,
    ledger: &Ledger,
    task: TaskIx,
) -> CheckOutcome {
    let CheckOutcome::Confirmed { verdict, measured } = outcome else {
        return outcome;
    };
    let delivered = claims::delivered(session_dir, &ledger.team, ledger.plan(), task);
    let facts: Vec<(String, String)> = delivered
        .iter()
        .filter_map(|name| Some(checked_file(name, &std::fs::read(session_dir.join(name)).ok()?)))
        .collect();
    if facts.is_empty() {
        return CheckOutcome::Confirmed { verdict, measured };
    }
    CheckOutcome::Measured(CheckFindings {
        verdict,
        measured,
        facts,
        ..CheckFindings::default()
    })
}
