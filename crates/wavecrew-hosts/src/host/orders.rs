//! Messages of coordinators. Only messages that a trusted run has signed are executed.

use super::HostNews;
use super::serve::Host;
use super::turn::ToTurn;
use async_nats::jetstream::Message;
use wavecrew_remote::sign::NotTrusted;
use wavecrew_remote::wire::{AttemptToken, Refusal, ToHost, decode};

impl Host {
    pub(super) async fn handle(&mut self, message: Message) {
        let payload = message.payload.clone();
        // If it is lost with this process, it is offered again, because its lease has no holder.
        let _ = message.ack().await;
        let Ok((order, rest)) = decode::<ToHost>(&payload) else {
            return;
        };
        let bytes = payload.slice_ref(rest);
        if let Err(error) = self.check_signature(&message, &order) {
            return self.distrust(&order, &error);
        }
        match order {
            ToHost::Turn(wire) => self.offered(*wire, bytes),
            ToHost::Input { attempt, last, .. } => self.order(&attempt, ToTurn::Input { bytes, last }),
            ToHost::Reply {
                attempt,
                number,
                reply,
                ..
            } => self.order(&attempt, ToTurn::Reply { number, reply }),
            ToHost::Close { attempt, grace, .. } => {
                let pending = self
                    .pending
                    .iter()
                    .position(|pending| pending.wire.attempt == attempt);
                match pending.and_then(|at| self.pending.remove(at)) {
                    Some(pending) => self.refuse(&pending.wire, Refusal::Withdrawn),
                    None => self.order(&attempt, ToTurn::Close { grace }),
                }
            }
            ToHost::Unknown => {}
        }
    }

    /// A message must be signed by the run that it names.
    fn check_signature(&mut self, message: &Message, order: &ToHost) -> Result<(), NotTrusted> {
        let Some(attempt) = attempt_of(order) else {
            return Ok(());
        };
        self.settings.trust.check(
            (self.context.names.project(), &attempt.run),
            message.headers.as_ref(),
            &message.subject,
            &message.payload,
        )
    }

    /// Nothing of such a message is executed. Only the run of a person whom the host does not know gets an answer:
    /// anything else may be forged, and must not end somebody's turn.
    fn distrust(&self, order: &ToHost, error: &NotTrusted) {
        if let Some(attempt) = attempt_of(order) {
            let _ = self.news.send(HostNews::NotTrusted {
                run: attempt.run.clone(),
                reason: error.to_string(),
            });
        }
        if let (ToHost::Turn(wire), Some(key)) = (order, error.stranger())
            && !self.running.contains_key(&wire.attempt.token)
        {
            let key = key.to_owned();
            self.refuse(wire, Refusal::NotTrusted { key });
        }
    }

    fn order(&self, attempt: &AttemptToken, order: ToTurn) {
        if let Some(running) = self.running.get(&attempt.token) {
            let _ = running.orders.send(order);
        }
    }
}

fn attempt_of(order: &ToHost) -> Option<&AttemptToken> {
    match order {
        ToHost::Turn(turn) => Some(&turn.attempt),
        ToHost::Input { attempt, .. } | ToHost::Close { attempt, .. } | ToHost::Reply { attempt, .. } => {
            Some(attempt)
        }
        ToHost::Unknown => None,
    }
}
