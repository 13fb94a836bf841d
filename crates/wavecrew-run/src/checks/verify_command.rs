//! The person's own check: a command that has to succeed before a claim of success counts.

use super::program::{CheckProgram, ResultFormat};
use crate::event_loop::{DriveError, Driver};
use std::ffi::OsString;
use std::time::Duration;
use wavecrew_core::engine::{CheckOutcome, WorkerId};
use wavecrew_core::event::Verdict;
use wavecrew_core::id::TaskIx;
use wavecrew_core::worker_variables;
use wavecrew_session::atomic;

/// Longer values are passed in files: the system allows at most 128 KiB per variable.
const MAX_VARIABLE_BYTES: usize = 100 << 10;

/// A command that checks each task before it counts as done, and its time limit.
#[derive(Clone, Debug)]
pub struct Verify {
    /// For `sh -c`, in the folder of the task's worker.
    pub command: String,
    pub limit: Duration,
}

impl Driver<'_> {
    pub(super) fn start_verify_command(
        &mut self,
        worker: WorkerId,
        task: TaskIx,
        outputs: &[(String, String)],
    ) -> Result<(), DriveError> {
        let (Some(verify), Some(state)) = (self.session.verify.clone(), self.workers.get(&worker)) else {
            let outcome = CheckOutcome::Confirmed {
                verdict: Verdict::Verified,
                measured: Vec::new(),
            };
            self.claim_checked(worker, outcome);
            return Ok(());
        };
        let plan = self.engine.ledger().plan();
        let id = plan.id(task);
        let result = outputs.iter().find(|(name, _)| name == "result");
        let paths = &self.session.dir;
        let variable = |name: &str, value: &str| -> Result<(OsString, OsString), DriveError> {
            if value.len() <= MAX_VARIABLE_BYTES {
                return Ok((name.into(), value.into()));
            }
            let path = paths.check_input(id, name);
            atomic::write_volatile(&path, value.as_bytes())?;
            Ok((format!("{name}_PATH").into(), path.into()))
        };
        let mut env = vec![
            variable(worker_variables::TASK, id)?,
            variable("WAVECREW_ROW", plan.cell(task, "row"))?,
            variable("WAVECREW_RESULT", result.map_or("", |(_, value)| value))?,
        ];
        let temp = self.sandbox.temp_folder(&format!("verify-{}", state.number));
        env.extend(
            temp.iter()
                .map(|folder| ("TMPDIR".into(), folder.clone().into_os_string())),
        );
        let program = CheckProgram {
            task,
            command_line: vec!["sh".to_owned(), "-c".to_owned(), verify.command],
            folder: state.folder.clone(),
            confinement: self.sandbox.confine_check(&state.folder, temp.as_deref()),
            env,
            limit: verify.limit,
            result: ResultFormat::ExitCode,
        };
        self.start_check_program(worker, program)
    }
}
