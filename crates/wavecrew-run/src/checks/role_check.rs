//! The check of a role: a program of our own measures the work, before the worker starts and after it has reported.

use super::program::{CheckProgram, ResultFormat};
use crate::event_loop::{DriveError, Driver};
use crate::worktree::WorktreeError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use wavecrew_core::engine::{CheckOutcome, WorkerId};
use wavecrew_core::id::TaskIx;
use wavecrew_session::atomic;

/// The program has time limits of its own; this one ends it if it hangs.
const LIMIT: Duration = Duration::from_hours(2);

/// When a task is checked.
#[derive(Clone, Copy)]
pub(crate) enum Stage<'a> {
    Before,
    /// With the values that the worker reported.
    After(&'a [(String, String)]),
}

impl Driver<'_> {
    /// Starts the check of a task's role; the outcome follows as an input.
    pub(crate) fn start_role_check(
        &mut self,
        worker: WorkerId,
        task: TaskIx,
        stage: Stage<'_>,
    ) -> Result<(), DriveError> {
        let ledger = self.engine.ledger();
        let (plan, id) = (ledger.plan(), ledger.plan().id(task).to_owned());
        let attempt = ledger.task(task).attempts.to_string();
        let kind = ledger.team.role(plan.role(task)).and_then(|role| role.check);
        let Some(kind) = kind else {
            return Ok(());
        };
        let folder = match self.check_folder(worker, task) {
            Ok(folder) => folder,
            Err(error) => {
                self.claim_checked(worker, CheckOutcome::Contradicted(error));
                return Ok(());
            }
        };
        let (stage, reported) = match stage {
            Stage::Before => ("before", &[][..]),
            Stage::After(reported) => ("after", reported),
        };
        let report: BTreeMap<&str, &str> = reported.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let report = serde_json::to_string(&report).expect("plain data");
        let report_file = self.session.dir.checked_report(&id);
        atomic::write_volatile(&report_file, report.as_bytes())?;
        let mut command_line = self.context.check_program.clone();
        for (flag, value) in [
            ("--session", &*self.session.dir.path().to_string_lossy()),
            ("--project", &self.session.project.to_string_lossy()),
            ("--task", &id),
            ("--attempt", &attempt),
            ("--what", kind.as_str()),
            ("--stage", stage),
            ("--report", &report_file.to_string_lossy()),
        ] {
            command_line.extend([flag.to_owned(), value.to_owned()]);
        }
        let base = self.session.info.base_commit.iter().map(|base| ("--base", base));
        let states = self
            .guards
            .known_states
            .iter()
            .map(|state| ("--known-state", state));
        for (flag, value) in base.chain(states) {
            command_line.extend([flag.to_owned(), value.clone()]);
        }
        let program = CheckProgram {
            task,
            command_line,
            folder,
            env: Vec::new(),
            limit: LIMIT,
            result: ResultFormat::Report,
            confinement: None,
        };
        self.start_check_program(worker, program)
    }

    /// The folder in which a task is checked: that of its worker.
    fn check_folder(&mut self, worker: WorkerId, task: TaskIx) -> Result<PathBuf, String> {
        let ledger = self.engine.ledger();
        let path = match self.workers.get(&worker) {
            Some(worker) => worker.folder.clone(),
            None => self.session.task_folder(ledger.plan().id(task))?,
        };
        match ledger.task(task).open_worktree() {
            // A confined worker can empty its worktree, but not remove the folder itself.
            Some(worktree)
                if !path.is_dir()
                    || !self
                        .session
                        .dir
                        .path()
                        .join(&worktree.folder)
                        .join(".git")
                        .exists() =>
            {
                let branch = worktree.branch.clone();
                Err(WorktreeError::Gone { path, branch }.to_string())
            }
            Some(_) | None => Ok(path),
        }
    }
}
