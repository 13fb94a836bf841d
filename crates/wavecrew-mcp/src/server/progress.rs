//! Progress notifications of long calls, for clients that ask for them.

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use std::time::Duration;
use tokio::time::Instant;

/// Clients give up on calls without notifications.
const AT_LEAST_EVERY: Duration = Duration::from_secs(20);
/// Progress has to grow with each notification, also when no further row is done.
const A_LITTLE: f64 = 1.0 / 65536.0;

/// The progress of a call.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ProgressCounts {
    pub done: usize,
    pub failed: usize,
    pub running: usize,
    pub total: usize,
    /// In dollars, if agents report it.
    pub cost: Option<f64>,
}

impl ProgressCounts {
    fn message(&self) -> String {
        let Self {
            done,
            failed,
            running,
            total,
            cost,
        } = self;
        let cost = cost.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
        format!("{done} of {total} done ({failed} failed), {running} running{cost}")
    }
}

pub(super) struct Progress {
    token: Option<ProgressToken>,
    /// The last notification.
    last: Option<(ProgressCounts, f64, Instant)>,
}

impl Progress {
    pub fn of(context: &RequestContext<RoleServer>) -> Self {
        Self {
            token: context.meta.get_progress_token(),
            last: None,
        }
    }

    pub async fn notify(&mut self, now: ProgressCounts, context: &RequestContext<RoleServer>) {
        let Some(token) = self.token.clone() else { return };
        let last = self.last.as_ref();
        if last.is_some_and(|(counts, _, at)| *counts == now && at.elapsed() < AT_LEAST_EVERY) {
            return;
        }
        let value = next_value(now.done, last.map(|(_, value, _)| *value));
        #[expect(clippy::cast_precision_loss, reason = "tables are shorter than 2^52 rows")]
        let total = now.total as f64;
        let note = ProgressNotificationParam::new(token, value)
            .with_total(total)
            .with_message(now.message());
        self.last = Some((now, value, Instant::now()));
        // The client may be gone.
        let _ = context.peer.notify_progress(note).await;
    }
}

/// What is done, or a little more than the last value.
fn next_value(done: usize, last: Option<f64>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "as above")]
    let done = done as f64;
    match last {
        Some(last) if last >= done => last + A_LITTLE,
        Some(_) | None => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_always_grows() {
        let mut reported = None;
        let mut last = -1.0;
        for done in [0, 0, 0, 1, 1, 5, 5] {
            let value = next_value(done, reported);
            assert!(value > last);
            (reported, last) = (Some(value), value);
        }
        assert_eq!(next_value(6, reported).to_bits(), 6.0_f64.to_bits());
    }

    #[test]
    fn the_message_includes_the_cost() {
        let counts = ProgressCounts {
            done: 2,
            failed: 1,
            running: 3,
            total: 9,
            cost: Some(0.125),
        };
        assert_eq!(counts.message(), "2 of 9 done (1 failed), 3 running, $0.12");
    }
}
