//! Sends messages reliably: each is repeated until the stream confirms it, and its id makes it count once.

use async_nats::HeaderMap;
use async_nats::jetstream::{self, ErrorCode};
use bytes::Bytes;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use wavecrew_remote::sign::RunKey;

/// How long a confirmation may take before the message is sent again.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(5);
const SLOWEST_RETRY: Duration = Duration::from_secs(2);

/// The message can never arrive.
#[derive(Debug, thiserror::Error)]
#[error("a message cannot be sent: {0}")]
pub struct Undeliverable(pub String);

/// Sends a message and waits until it is stored. Waits while NATS is unreachable; drop the future to cancel.
/// A coordinator signs what it sends to hosts with the `key` of its run.
pub async fn send(
    context: &jetstream::Context,
    subject: &str,
    id: &str,
    payload: Bytes,
    key: Option<&RunKey>,
) -> Result<(), Undeliverable> {
    let mut pause = Duration::from_millis(50);
    loop {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", id);
        if let Some(key) = key {
            key.sign(&mut headers, subject, &payload);
        }
        let sent = context
            .publish_with_headers(subject.to_owned(), headers, payload.clone())
            .await;
        let confirmed = match sent {
            Ok(confirmation) => match timeout(CONFIRMED_WITHIN, confirmation).await {
                Ok(confirmed) => confirmed.map(drop),
                Err(_) => continue,
            },
            Err(error) => Err(error),
        };
        let Err(error) = confirmed else { return Ok(()) };
        if is_permanent(&error) {
            return Err(Undeliverable(error.to_string()));
        }
        sleep(pause).await;
        pause = (pause * 2).min(SLOWEST_RETRY);
    }
}

fn is_permanent(error: &jetstream::context::PublishError) -> bool {
    let source = std::error::Error::source(error);
    let inner = source.and_then(|source| source.downcast_ref::<jetstream::Error>());
    let too_large = error.kind() == jetstream::context::PublishErrorKind::MaxPayloadExceeded;
    too_large
        || inner.is_some_and(|inner| {
            [
                ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM,
                ErrorCode::STREAM_SEALED,
            ]
            .contains(&inner.error_code())
        })
}
