//! The end of a run: ends every process and writes the final files.

use super::run_loop::TICK;
use super::unprotected::{restored_journal, set_aside};
use crate::event_loop::{DriveError, Driver};
use crate::session::{OpenSession, report};
use crate::table::render;
use crate::worktree::tasks::{remove_all_merged, session_worktrees};
use wavecrew_core::engine::{Ledger, Notice};
use wavecrew_core::event::RunOutcome;
use wavecrew_core::view::report_markdown;
use wavecrew_process::end_all_descendants;
use wavecrew_session::worker_file::remove_any;
use wavecrew_session::{PublishOutcome, SessionState, TableFile, atomic, table_mark};

/// How often the final table is published again while another program is writing it.
const PUBLISH_TRIES: usize = 20;

impl Driver<'_> {
    /// Ends every process, then writes the final files. After a failure it only ends the processes: the journal is what
    /// counts then.
    pub(super) async fn shutdown(
        mut self,
        outcome: Result<RunOutcome, DriveError>,
    ) -> Result<(RunOutcome, Ledger), DriveError> {
        self.finish_merges().await;
        let suspects = self.suspects();
        let browser_edits = std::mem::take(&mut self.edits_in_browser);
        let table = self.table.stop();
        self.packed_files.flush();
        self.places.shutdown(outcome.is_err()).await;
        end_all_descendants();
        // From now on, nothing can change it.
        let _ = self.session.journal.restore_if_changed();
        if self.session.journal.take_restored() {
            self.context.reporter.notice(&restored_journal(&suspects));
        }
        self.appended_files.clean(&self.redactor);
        self.pools.sign_off(self.clock.now());
        let ending = match outcome {
            Ok(ending) => ending,
            Err(error) => {
                // If the disk allows it, records that the session can be resumed.
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
        self.sandbox.remove_folders();
        self.agent_files.remove();
        for notice in remove_all_merged(&session_worktrees(&self.session), self.engine.ledger()) {
            self.context.reporter.notice(&notice);
        }
        self.session.info.state = session_state(&ending);
        let sandbox = self.sandbox.summary();
        let table = match table {
            Some(table) => {
                publish_last(table, &self.session, self.engine.ledger(), |edit| {
                    let own = browser_edits.contains(&table_mark(edit));
                    (!own && !suspects.is_empty()).then_some(&suspects[..])
                })
                .await?
            }
            None => None,
        };
        if let Some(problem) = table {
            let note = format!("An edit of tasks.csv was set aside: {problem}");
            self.context.reporter.notice(&Notice::Note(note));
        }
        write_final_files(&self.session, self.engine.ledger(), &sandbox)?;
        Ok((ending, self.engine.into_ledger()))
    }
}

/// Publishes the final table. An edit stays in place, and the next run applies it, unless it can be the work of `suspects`: then
/// it is set aside. Returns why.
async fn publish_last<'a>(
    mut table: TableFile,
    session: &OpenSession,
    ledger: &Ledger,
    suspects: impl Fn(&[u8]) -> Option<&'a [String]>,
) -> Result<Option<String>, DriveError> {
    let bytes = render(ledger);
    let mut problem = None;
    for _ in 0..PUBLISH_TRIES {
        match table.publish(&bytes)? {
            PublishOutcome::Published => break,
            PublishOutcome::TableEdit(edit) => match suspects(&edit) {
                Some(suspects) => problem = Some(set_aside(&session.dir, &edit, suspects)?),
                None => break,
            },
            PublishOutcome::StillChanging => tokio::time::sleep(TICK).await,
        }
    }
    Ok(problem)
}

fn write_final_files(session: &OpenSession, ledger: &Ledger, sandbox: &str) -> Result<(), DriveError> {
    atomic::write(&session.dir.results_csv(), &render(ledger))?;
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
