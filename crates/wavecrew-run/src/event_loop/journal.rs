//! Records events: into the journal first, then to the message bus, the recording and the reporter.

use crate::event_loop::{DriveError, Driver};
use wavecrew_core::event::Event;
use wavecrew_core::view::loop_state;
use wavecrew_session::atomic;

impl Driver<'_> {
    pub(super) fn record(&mut self, events: &mut Vec<Event>) -> Result<(), DriveError> {
        if events.is_empty() {
            return Ok(());
        }
        if events.iter().all(|event| matches!(event, Event::Spawned { .. })) {
            // Only needed after a crash: in a busy run it may wait for the next event, but no longer.
            self.session.journal.append_later(events)?;
        } else {
            self.session.journal.append(events)?;
            self.journal_sync.wake();
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
            self.record_attempt_event(&event);
            self.context.reporter.event(&event, self.engine.ledger());
        }
        Ok(())
    }

    fn write_loop_state(&self) -> Result<(), DriveError> {
        if let Some((file, state)) = loop_state(self.engine.ledger()) {
            let text = serde_json::to_vec_pretty(&state).expect("plain data");
            atomic::write_volatile(&self.session.dir.path().join(file), &text)?;
        }
        Ok(())
    }
}
