//! Reads the messages of a stream through a durable consumer: unacknowledged messages are delivered again.
//! Runs as a task of its own, so that nothing else waits while NATS is unreachable.

use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::{self, Message};
use futures_util::StreamExt;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;

/// How long one request for messages holds.
const EXPIRES: Duration = Duration::from_secs(10);
/// The interval of heartbeats of the server. Without them, the consumer's node is gone.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Between two attempts to read.
const RETRY: Duration = Duration::from_millis(250);

/// The messages of a durable consumer, until the receiver is dropped.
pub fn consume(
    context: jetstream::Context,
    stream: String,
    name: String,
    config: pull::Config,
) -> UnboundedReceiver<Message> {
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        let reading = async {
            loop {
                // After any error, tries again.
                let _ = read(&context, &stream, &name, &config, &sender).await;
                sleep(RETRY).await;
            }
        };
        tokio::select! {
            () = reading => {}
            () = sender.closed() => {}
        }
    });
    receiver
}

async fn read(
    context: &jetstream::Context,
    stream: &str,
    name: &str,
    config: &pull::Config,
    sender: &UnboundedSender<Message>,
) -> Option<()> {
    let stream = context.get_stream_no_info(stream).await.ok()?;
    let consumer: Consumer<pull::Config> = stream.get_or_create_consumer(name, config.clone()).await.ok()?;
    let messages = consumer.stream().expires(EXPIRES).heartbeat(HEARTBEAT).messages();
    let mut messages = messages.await.ok()?;
    while let Some(Ok(message)) = messages.next().await {
        sender.send(message).ok()?;
    }
    Some(())
}
