//! The coordinator's messages on the bus, for people and workers. A bus that cannot be written does not stop the run.

use crate::event_loop::Driver;
use wavecrew_core::event::{Event, Policy, PolicyOutcome, Status};
use wavecrew_core::view::count;
use wavecrew_session::Message;
use wavecrew_session::bus::COORDINATOR;

impl Driver<'_> {
    pub(super) fn announce(&self, event: &Event) {
        let (kind, summary) = match event {
            Event::RunStarted { .. } => {
                let info = &self.session.info;
                let what = info.pipeline.as_deref().unwrap_or("the table as it is");
                ("pipeline_selected", format!("{what}, team {}", info.team))
            }
            Event::WaveStarted { wave } => {
                let tasks = self.engine.ledger().plan().wave_tasks(*wave).len();
                ("task_unblocked", format!("wave {wave}: {}", count(tasks, "task")))
            }
            Event::Finished { task, result, .. } if result.status == Status::Failed => {
                ("error", format!("{task} failed: {}", result.error))
            }
            Event::PolicyDecided { decision, .. } => {
                let kind = match (&decision.by, decision.outcome) {
                    (Policy::Loop { .. }, PolicyOutcome::Revise) => "gc_loop_trigger",
                    (Policy::Checkpoint { .. }, _) => "checkpoint_verdict",
                    (
                        Policy::Loop { .. }
                        | Policy::Gate { .. }
                        | Policy::Expansion { .. }
                        | Policy::Other(_),
                        _,
                    ) => "quality_gate",
                };
                let (task, outcome) = (&decision.task, decision.outcome.as_str());
                (kind, format!("{task}: {outcome}: {}", decision.why))
            }
            Event::RunEnded { ending, .. } => ("shutdown", format!("the run ended: {ending}")),
            _ => return,
        };
        let message = Message::new(&self.clock.now().to_string(), COORDINATOR, kind, &summary);
        let _ = self.session.dir.bus().post(message);
    }
}
