//! Sends the messages of one turn to its coordinator, in order. Output that arrives during a transfer is
//! combined into the next message.

use super::turn::HostContext;
use crate::mail;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use wavecrew_remote::wire::{AttemptToken, FromHost, OUTPUT_CHUNK, bundle, encode};

/// Messages of one turn that wait to be sent. More output waits in the worker's pipes.
const OUTBOX: usize = 16;

#[derive(Clone)]
pub(super) struct Outbox {
    queue: Sender<Letter>,
}

struct Letter {
    payload: Vec<u8>,
    /// The coordinator removes it from the stream by itself.
    alone: bool,
}

impl Outbox {
    pub fn start(context: &HostContext, attempt: &AttemptToken) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, mut letters) = channel(OUTBOX);
        let subject = (context.names).from_host(&context.host, &attempt.run, &attempt.token);
        let (jetstream, token) = (context.jetstream.clone(), attempt.token.clone());
        let task = tokio::spawn(async move {
            let mut number = 0_u64;
            let mut next = letters.recv().await;
            while let Some(first) = next.take() {
                let (together, left) = together(first, &mut letters);
                number += 1;
                let id = format!("{token}-from-{number}");
                let payload = bundle(&together).into();
                if mail::send(&jetstream, &subject, &id, payload, None)
                    .await
                    .is_err()
                {
                    return;
                }
                next = match left {
                    Some(left) => Some(left),
                    None => letters.recv().await,
                };
            }
        });
        (Self { queue }, task)
    }

    pub async fn send(&self, message: &FromHost, bytes: &[u8]) {
        let letter = Letter {
            payload: encode(message, bytes),
            alone: matches!(message, FromHost::Request { .. }),
        };
        // It ends only with the turn.
        let _ = self.queue.send(letter).await;
    }
}

/// Combines a message with the following ones that fit, and returns the first one that does not.
fn together(first: Letter, letters: &mut Receiver<Letter>) -> (Vec<Vec<u8>>, Option<Letter>) {
    let mut length = first.payload.len();
    let mut all = vec![first.payload];
    if first.alone {
        return (all, None);
    }
    while let Ok(next) = letters.try_recv() {
        length += next.payload.len();
        if next.alone || length > 2 * OUTPUT_CHUNK {
            return (all, Some(next));
        }
        all.push(next.payload);
    }
    (all, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_goes_together_but_a_request_goes_alone() {
        let (queue, mut letters) = channel(OUTBOX);
        let sizes = [
            (1, false),
            (2, false),
            (3, true),
            (4, false),
            (2 * OUTPUT_CHUNK, false),
        ];
        for (size, alone) in sizes {
            let payload = vec![0; size];
            queue.try_send(Letter { payload, alone }).ok().unwrap();
        }
        let mut sent = Vec::new();
        let mut next = letters.try_recv().ok();
        while let Some(first) = next.take() {
            let (all, left) = together(first, &mut letters);
            sent.push(all.iter().map(Vec::len).collect::<Vec<_>>());
            next = left.or_else(|| letters.try_recv().ok());
        }
        assert_eq!(sent, [vec![1, 2], vec![3], vec![4], vec![2 * OUTPUT_CHUNK]]);
    }
}
