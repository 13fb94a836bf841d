//! The journal of a session in its stream: the messages one after the other are the bytes of the file. A
//! message without bytes names the writer from there on.

use async_nats::jetstream;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use futures_util::StreamExt;

use super::{PublishFailure, RETRY, ReplicaError, ReplicaSettings, header, open_stream, publish_after};
use crate::connect::Connection;
use crate::names::Names;

/// The header that names the coordinator.
pub(super) const COORDINATOR: &str = "Wavecrew-Coordinator";
/// Bytes in one message: well below the 1 MB that a server accepts by default.
const PIECE: usize = 512 * 1024;
/// The header with the length of the journal: later bytes are cut off.
const LENGTH: &str = "Wavecrew-Length";

pub(super) struct JournalStream {
    context: jetstream::Context,
    stream: Stream,
    subject: String,
    run: String,
    holder: String,
    /// The sequence of the last message that this coordinator knows of.
    last: u64,
    /// Makes the ids of messages unique.
    nonce: String,
    sent: u64,
}

impl JournalStream {
    pub(super) async fn open(
        connection: &Connection,
        names: &Names,
        settings: &ReplicaSettings,
    ) -> Result<Self, ReplicaError> {
        Ok(Self {
            context: connection.jetstream.clone(),
            stream: open_stream(connection, names.journal_stream()).await?,
            subject: names.journal(&settings.run),
            run: settings.run.clone(),
            holder: settings.holder.clone(),
            last: 0,
            nonce: nkeys::KeyPair::new_user().public_key(),
            sent: 0,
        })
    }

    /// Who wrote last; `None` for an empty journal. Sets the end of the journal.
    pub(super) async fn last_holder(&mut self) -> Result<Option<String>, ReplicaError> {
        loop {
            match self.stream.get_last_raw_message_by_subject(&self.subject).await {
                Ok(found) => {
                    self.last = found.sequence;
                    let holder = header(&found.headers, COORDINATOR).unwrap_or("another process");
                    return Ok(Some(holder.to_owned()));
                }
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                    self.last = 0;
                    return Ok(None);
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// Writes a message after the last one, so that the earlier coordinator can no longer write, and reads
    /// all messages before it.
    pub(super) async fn take_over(&mut self) -> Result<(Vec<u8>, Option<String>), ReplicaError> {
        loop {
            let before = self.last_holder().await?;
            match self.publish(&[], None).await {
                Ok(()) => {
                    let bytes = match before {
                        Some(_) => self.read().await?,
                        None => Vec::new(),
                    };
                    return Ok((bytes, before));
                }
                // The earlier coordinator has written in between, which is allowed until now.
                Err(PublishFailure::TakenOver(_)) => {}
                Err(failure @ PublishFailure::Refused(_)) => return Err(failure.of(&self.run)),
            }
        }
    }

    pub(super) async fn append(&mut self, bytes: &[u8]) -> Result<(), ReplicaError> {
        for piece in bytes.chunks(PIECE) {
            let published = self.publish(piece, None).await;
            published.map_err(|failure| failure.of(&self.run))?;
        }
        Ok(())
    }

    pub(super) async fn cut(&mut self, length: u64) -> Result<(), ReplicaError> {
        let published = self.publish(&[], Some(length)).await;
        published.map_err(|failure| failure.of(&self.run))
    }

    async fn publish(&mut self, bytes: &[u8], length: Option<u64>) -> Result<(), PublishFailure> {
        self.sent += 1;
        let id = format!("{}-{}", self.nonce, self.sent);
        let mut message = PublishMessage::build()
            .payload(bytes.to_owned().into())
            .header(COORDINATOR, self.holder.as_str());
        if let Some(length) = length {
            message = message.header(LENGTH, length.to_string().as_str());
        }
        self.last = publish_after(
            &self.context,
            &self.stream,
            &self.subject,
            self.last,
            message,
            &id,
        )
        .await?;
        Ok(())
    }

    /// All bytes up to the last known message.
    async fn read(&self) -> Result<Vec<u8>, ReplicaError> {
        let mut bytes = Vec::new();
        let mut read_up_to = 0;
        while read_up_to < self.last {
            let config = OrderedConfig {
                filter_subject: self.subject.clone(),
                deliver_policy: DeliverPolicy::ByStartSequence {
                    start_sequence: read_up_to + 1,
                },
                ..OrderedConfig::default()
            };
            let opened = async {
                self.stream
                    .create_consumer(config)
                    .await
                    .ok()?
                    .messages()
                    .await
                    .ok()
            };
            let Some(mut messages) = opened.await else {
                tokio::time::sleep(RETRY).await;
                continue;
            };
            while read_up_to < self.last {
                // After any error, continues from the last position.
                let Some(Ok(message)) = messages.next().await else {
                    break;
                };
                let Ok(info) = message.info() else { break };
                read_up_to = info.stream_sequence;
                let length = message
                    .headers
                    .as_ref()
                    .and_then(|headers| header(headers, LENGTH));
                if let Some(length) = length.and_then(|length| length.parse().ok()) {
                    bytes.truncate(length);
                }
                bytes.extend_from_slice(&message.payload);
            }
        }
        Ok(bytes)
    }
}
