//! Sends the messages of one turn to its coordinator, in order. What arrives during a transfer, or shortly after the first
//! message, is combined into one: a short turn needs one transfer.

use super::turn::HostContext;
use crate::mail;
use std::time::Duration;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, timeout_at};
use wavecrew_remote::wire::{AttemptToken, FromHost, OUTPUT_CHUNK, bundle, encode};

/// Messages of one turn that wait to be sent. More output waits in the worker's pipes.
const OUTBOX: usize = 16;
/// How long a message that only shows progress waits for the next one.
const SHORTLY: Duration = Duration::from_millis(10);

#[derive(Clone)]
pub(super) struct Outbox {
    queue: Sender<Letter>,
}

struct Letter {
    payload: Vec<u8>,
    /// The coordinator removes it from the stream by itself.
    alone: bool,
    /// Nothing waits for it.
    shows_progress: bool,
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
                let (together, left) = together(first, &mut letters).await;
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
            shows_progress: matches!(
                message,
                FromHost::Accepted { .. } | FromHost::Spawned { .. } | FromHost::Output { .. }
            ),
        };
        // It ends only with the turn.
        let _ = self.queue.send(letter).await;
    }
}

/// Combines a message with the following ones that fit, and returns the first one that does not.
async fn together(first: Letter, letters: &mut Receiver<Letter>) -> (Vec<Vec<u8>>, Option<Letter>) {
    let until = Instant::now() + SHORTLY;
    let mut length = first.payload.len();
    let mut may_wait = first.shows_progress;
    let mut all = vec![first.payload];
    if first.alone {
        return (all, None);
    }
    loop {
        let next = match letters.try_recv() {
            Ok(next) => Some(next),
            Err(TryRecvError::Empty) if may_wait => timeout_at(until, letters.recv()).await.ok().flatten(),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        };
        let Some(next) = next else { return (all, None) };
        length += next.payload.len();
        if next.alone || length > 2 * OUTPUT_CHUNK {
            return (all, Some(next));
        }
        may_wait &= next.shows_progress;
        all.push(next.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(size: usize, alone: bool) -> Letter {
        Letter {
            payload: vec![0; size],
            alone,
            shows_progress: !alone,
        }
    }

    #[tokio::test]
    async fn what_waits_goes_together_but_a_request_goes_alone() {
        let (queue, mut letters) = channel(OUTBOX);
        let sizes = [
            (1, false),
            (2, false),
            (3, true),
            (4, false),
            (2 * OUTPUT_CHUNK, false),
        ];
        for (size, alone) in sizes {
            queue.try_send(letter(size, alone)).ok().unwrap();
        }
        let mut sent = Vec::new();
        let mut next = letters.try_recv().ok();
        while let Some(first) = next.take() {
            let (all, left) = together(first, &mut letters).await;
            sent.push(all.iter().map(Vec::len).collect::<Vec<_>>());
            next = left.or_else(|| letters.try_recv().ok());
        }
        assert_eq!(sent, [vec![1, 2], vec![3], vec![4], vec![2 * OUTPUT_CHUNK]]);
    }

    #[tokio::test]
    async fn progress_waits_for_the_end_of_a_short_turn() {
        let (queue, mut letters) = channel(OUTBOX);
        let later = tokio::spawn(async move {
            let end = Letter {
                shows_progress: false,
                ..letter(2, false)
            };
            queue.try_send(end).ok().unwrap();
            queue
        });
        let (all, _) = together(letter(1, false), &mut letters).await;
        assert_eq!(all.len(), 2);
        let _queue = later.await.unwrap();
        let (all, _) = together(letter(1, false), &mut letters).await;
        assert_eq!(all.len(), 1, "a long turn shows that it began");
    }
}
