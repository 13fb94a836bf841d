//! Reads the messages of a stream through a durable consumer: what is not acknowledged comes again.

use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::{self, Message};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use std::time::Duration;

/// How long one request for messages holds.
const EXPIRES: Duration = Duration::from_secs(10);
/// A server that has them says so this often. Without it, the consumer is at a node that is gone.
const HEARTBEAT: Duration = Duration::from_secs(2);

pub type Messages = BoxStream<'static, Result<Message, String>>;

/// The messages of a durable consumer; `None` if it cannot be opened now.
pub async fn consume(
    context: &jetstream::Context,
    stream: &str,
    name: &str,
    config: pull::Config,
) -> Option<Messages> {
    let stream = context.get_stream_no_info(stream).await.ok()?;
    let consumer: Consumer<pull::Config> = stream.get_or_create_consumer(name, config).await.ok()?;
    let messages = consumer
        .stream()
        .expires(EXPIRES)
        .heartbeat(HEARTBEAT)
        .messages()
        .await;
    let messages = messages.ok()?;
    Some(
        messages
            .map(|message| message.map_err(|error| error.to_string()))
            .boxed(),
    )
}
