//! The end of a run: nothing is left running, everything is on disk.

use super::lookout::TICK;
use super::{DriveError, Driver, documents, session, trees};
use wavecrew_core::engine::Ledger;
use wavecrew_core::event::RunOutcome;
use wavecrew_core::view::report_markdown;
use wavecrew_process::end_all_descendants;
use wavecrew_session::{PublishOutcome, SessionState, atomic};

/// How often the final table is offered while somebody is writing it.
const TRIES: usize = 20;

impl Driver<'_> {
    /// Ends every process, then writes the final files. After a failure only the processes are ended: what is on
    /// disk is what the journal says.
    pub(super) async fn wind_up(
        mut self,
        outcome: Result<RunOutcome, DriveError>,
    ) -> Result<(RunOutcome, Ledger), DriveError> {
        let table = self.table.stop();
        self.shorts.flush();
        self.guardian.shutdown().await;
        end_all_descendants();
        self.pools.leave(self.clock.now());
        let ending = match outcome {
            Ok(ending) => ending,
            Err(error) => {
                // As far as the disk still lets us: the state says that it can be continued.
                self.session.info.state = SessionState::Stopped;
                let _ = self.session.dir.write_info(&self.session.info);
                return Err(error);
            }
        };
        self.session.journal.sync()?;
        self.session.dir.attempts().sweep()?;
        // Gone with their workers already, but for what could not be removed.
        let _ = std::fs::remove_dir_all(self.session.dir.scratch_folder());
        let ledger = self.engine.ledger();
        for notice in trees::sweep_all(&trees::of(&self.session), ledger) {
            self.surface.reporter.notice(&notice);
        }
        let bytes = session::render(ledger);
        if let Some(mut table) = table {
            for _ in 0..TRIES {
                match table.publish(&bytes)? {
                    // An edit stays where it is: the next run finds it and follows it.
                    PublishOutcome::Published | PublishOutcome::TableEdit(_) => break,
                    PublishOutcome::StillChanging => tokio::time::sleep(TICK).await,
                }
            }
        }
        self.session.info.state = match ending {
            RunOutcome::Completed => SessionState::Completed,
            RunOutcome::Failed => SessionState::Failed,
            RunOutcome::Interrupted | RunOutcome::LimitReached { .. } | RunOutcome::Blocked { .. } => {
                SessionState::Stopped
            }
            RunOutcome::Cancelled => SessionState::Cancelled,
            RunOutcome::Stalled { .. } => SessionState::Stalled,
        };
        atomic::write(&self.session.dir.results_csv(), &bytes)?;
        let mut report = report_markdown(ledger, &self.session.meta());
        report += &documents::sections(&self.session.dir, ledger);
        atomic::write(&self.session.dir.context_md(), report.as_bytes())?;
        self.session.dir.write_info(&self.session.info)?;
        Ok((ending, self.engine.into_ledger()))
    }
}
