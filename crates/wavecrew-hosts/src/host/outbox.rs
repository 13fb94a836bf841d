//! Sends the messages of one turn to its coordinator, in order.

use super::turn::HostContext;
use crate::mail;
use tokio::sync::mpsc::{Sender, channel};
use wavecrew_remote::wire::{AttemptToken, FromHost, encode};

/// Messages of one turn that wait to be sent. More output waits in the worker's pipes.
const OUTBOX: usize = 16;

#[derive(Clone)]
pub(super) struct Outbox {
    queue: Sender<Vec<u8>>,
}

impl Outbox {
    pub fn start(context: &HostContext, attempt: &AttemptToken) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, mut messages) = channel::<Vec<u8>>(OUTBOX);
        let subject = (context.names).from_host(&context.host, &attempt.run, &attempt.token);
        let (jetstream, token) = (context.jetstream.clone(), attempt.token.clone());
        let task = tokio::spawn(async move {
            let mut number = 0_u64;
            while let Some(payload) = messages.recv().await {
                number += 1;
                let id = format!("{token}-from-{number}");
                if mail::send(&jetstream, &subject, &id, payload.into(), None)
                    .await
                    .is_err()
                {
                    return;
                }
            }
        });
        (Self { queue }, task)
    }

    pub async fn send(&self, message: &FromHost, bytes: &[u8]) {
        // It ends only with the turn.
        let _ = self.queue.send(encode(message, bytes)).await;
    }
}
