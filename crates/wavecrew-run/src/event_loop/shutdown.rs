//! The end of a run: ends every process and writes the final files.

use super::run_loop::TICK;
use crate::event_loop::{DriveError, Driver};
use crate::session::{OpenSession, report};
use crate::table::render;
use crate::worktree::tasks::{remove_all_merged, session_worktrees};
use wavecrew_core::engine::Ledger;
use wavecrew_core::event::RunOutcome;
use wavecrew_core::view::report_markdown;
use wavecrew_process::end_all_descendants;
use wavecrew_session::worker_file::remove_any;
use wavecrew_session::{PublishOutcome, SessionState, TableFile, atomic};

/// How often the final table is published again while somebody is writing it.
const PUBLISH_TRIES: usize = 20;

impl Driver<'_> {
    /// Ends every process, then writes the final files. After a failure it only ends the processes: the journal is what
    /// counts then.
    pub(super) async fn shutdown(
        mut self,
        outcome: Result<RunOutcome, DriveError>,
    ) -> Result<(RunOutcome, Ledger), DriveError> {
        self.finish_merges().await;
        let table = self.table.stop();
        self.packed_files.flush();
        self.places.shutdown().await;
        end_all_descendants();
        self.appended_files.clean(&self.redactor);
        self.pools.sign_off(self.clock.now());
        let ending = match outcome {
            Ok(ending) => ending,
            Err(error) => {
                // If the disk allows it, the state says that the session can be resumed.
                self.session.info.state = SessionState::Stopped;
                let _ = self.session.dir.write_info(&self.session.info);
                return Err(error);
            }
        };
        self.session.journal.sync()?;
        self.session.dir.attempts().sweep()?;
        // A worker that was ended while it reported leaves an unfinished file.
        self.session.dir.sweep()?;
        // Only what could not be removed with its worker is left.
        remove_any(&self.session.dir.scratch_folder());
        remove_any(&self.session.dir.worker_questions_folder());
        self.sandbox.remove_temp_folder();
        self.agent_files.remove();
        for notice in remove_all_merged(&session_worktrees(&self.session), self.engine.ledger()) {
            self.context.reporter.notice(&notice);
        }
        self.session.info.state = session_state(&ending);
        let sandbox = self.sandbox.summary();
        write_final_files(&self.session, self.engine.ledger(), table, &sandbox).await?;
        Ok((ending, self.engine.into_ledger()))
    }
}

async fn write_final_files(
    session: &OpenSession,
    ledger: &Ledger,
    table: Option<TableFile>,
    sandbox: &str,
) -> Result<(), DriveError> {
    let bytes = render(ledger);
    if let Some(mut table) = table {
        for _ in 0..PUBLISH_TRIES {
            match table.publish(&bytes)? {
                // An edit stays in place: the next run applies it.
                PublishOutcome::Published | PublishOutcome::TableEdit(_) => break,
                PublishOutcome::StillChanging => tokio::time::sleep(TICK).await,
            }
        }
    }
    atomic::write(&session.dir.results_csv(), &bytes)?;
    let mut text = report_markdown(ledger, &session.meta());
    text += &report::sections(&session.dir, ledger);
    text += &format!("\nSandbox: {sandbox}.\n");
    atomic::write(&session.dir.context_md(), text.as_bytes())?;
    Ok(session.dir.write_info(&session.info)?)
}

fn session_state(ending: &RunOutcome) -> SessionState {
    match ending {
        RunOutcome::Completed => SessionState::Completed,
        RunOutcome::Failed => SessionState::Failed,
        RunOutcome::Interrupted | RunOutcome::LimitReached { .. } | RunOutcome::Blocked { .. } => {
            SessionState::Stopped
        }
        RunOutcome::Cancelled => SessionState::Cancelled,
        RunOutcome::Stalled { .. } => SessionState::Stalled,
    }
}
