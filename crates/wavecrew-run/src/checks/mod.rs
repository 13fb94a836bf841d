//! Checks: compare a worker's report with facts before it counts.
//!
//! A claim of success is first compared with the disk and with git ([`claims`]). If it holds, the check of its role
//! ([`role_check`]) or the person's own command ([`verify_command`]) runs as a program ([`program`]), whose result becomes
//! the outcome.

pub mod claims;
pub(crate) mod program;
mod restore;
pub(crate) mod role_check;
mod verify_command;

pub use verify_command::Verify;

use crate::event_loop::{DriveError, Driver};
use crate::worktree::tasks::file_merged_beside_checkout;
use role_check::Stage;
use wavecrew_core::engine::{CheckOutcome, Input, WorkerId};
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
        let (outcome, doubts) = claims::check(
            self.session.dir.path(),
            self.workers
                .get(&worker)
                .map_or(&self.session.project, |state| &state.folder),
            &ledger.team,
            ledger.plan(),
            task,
            outputs,
            &merged_file,
        );
        let role = ledger.team.role(ledger.plan().role(task));
        let has_role_check = role.is_some_and(|role| role.check.is_some());
        if let (CheckOutcome::Confirmed { .. }, Some(reason)) = (&outcome, doubts) {
            if !asked {
                self.claim_checked(worker, CheckOutcome::Ask(reason));
                return Ok(());
            }
            self.inputs.push_back(Input::Doubted { worker, reason });
        }
        match outcome {
            CheckOutcome::Confirmed { .. } if has_role_check => {
                self.start_role_check(worker, task, Stage::After(outputs))
            }
            CheckOutcome::Confirmed { .. } if self.session.verify.is_some() => {
                self.start_verify_command(worker, task, outputs)
            }
            outcome => {
                self.claim_checked(worker, outcome);
                Ok(())
            }
        }
    }

    fn claim_checked(&mut self, worker: WorkerId, outcome: CheckOutcome) {
        self.inputs.push_back(Input::ClaimChecked { worker, outcome });
    }
}
