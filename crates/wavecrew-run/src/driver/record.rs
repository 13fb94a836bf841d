//! Events on their way: into the journal first, then to everyone who shows them.

use super::{DriveError, Driver};
use wavecrew_core::event::Event;

impl Driver<'_> {
    /// Journals what is to be recorded, then tells the reporter.
    pub(super) fn record(&mut self, events: &mut Vec<Event>) -> Result<(), DriveError> {
        if events.is_empty() {
            return Ok(());
        }
        if events.iter().all(|event| matches!(event, Event::Spawned { .. })) {
            // Of use to who comes after a crash: it may wait for the next event of a busy run, but no longer.
            self.session.journal.append_later(events)?;
        } else {
            self.session.journal.append(events)?;
            self.committer.wake();
        }
        for event in events.drain(..) {
            if matches!(
                event,
                Event::Finished { .. }
                    | Event::Skipped { .. }
                    | Event::Reset { .. }
                    | Event::MergeFailed { .. }
                    | Event::PolicyDecided { .. }
                    | Event::Reworked { .. }
                    | Event::RolledBack { .. }
            ) {
                self.table.mark_dirty();
            }
            match event {
                Event::PolicyDecided { .. } => self.write_loop_state()?,
                Event::WorktreeMerged { .. } => self.any_merged = true,
                _ => {}
            }
            self.announce(&event);
            self.tape_event(&event);
            self.surface.reporter.event(&event, self.engine.ledger());
        }
        Ok(())
    }
}
