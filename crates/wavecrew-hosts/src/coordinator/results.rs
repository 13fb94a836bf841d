//! The messages of hosts to one run, in order, from the first in the stream. None is acknowledged: they stay
//! in the stream until the journal has their outcome, and are then removed.

use super::unneeded::Unneeded;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{self, Message};
use futures_util::StreamExt;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};

/// Between two attempts to read.
const RETRY: Duration = Duration::from_millis(500);
/// How long one request for messages lasts. After that, a lost node is detected.
const EXPIRES: Duration = Duration::from_secs(4);
/// How long a call may take.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// A message of a host.
pub(super) struct Incoming {
    pub message: Message,
    pub sequence: u64,
}

pub(super) struct Results {
    stream: Stream,
    filter: String,
    messages: Option<Ordered>,
    /// The last message that was read. Repeated messages are skipped.
    last: u64,
}

impl Results {
    pub async fn open(context: &jetstream::Context, stream: &str, filter: String) -> Option<Self> {
        let stream = context.get_stream(stream).await.ok()?;
        Some(Self {
            stream,
            filter,
            messages: None,
            last: 0,
        })
    }

    pub fn stream(&self) -> Stream {
        self.stream.clone()
    }

    /// The messages that are already in the stream.
    pub async fn stored(&mut self) -> Vec<Incoming> {
        let mut found = Vec::new();
        let mut left = self.connect().await;
        while left > 0 {
            let incoming = self.next().await;
            left = incoming.message.info().map_or(0, |info| info.pending);
            found.push(incoming);
        }
        found
    }

    /// All further messages, until the receiver is dropped.
    pub fn follow(mut self) -> UnboundedReceiver<Incoming> {
        let (sender, receiver) = unbounded_channel();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    incoming = self.next() => {
                        if sender.send(incoming).is_err() {
                            return;
                        }
                    }
                    () = sender.closed() => return,
                }
            }
        });
        receiver
    }

    /// The next message. Waits while there is none, and while NATS is away.
    async fn next(&mut self) -> Incoming {
        loop {
            let Some(messages) = &mut self.messages else {
                self.connect().await;
                continue;
            };
            let Some(Ok(message)) = messages.next().await else {
                self.messages = None;
                sleep(RETRY).await;
                continue;
            };
            let Ok(sequence) = message.info().map(|info| info.stream_sequence) else {
                continue;
            };
            if sequence > self.last {
                self.last = sequence;
                return Incoming { message, sequence };
            }
        }
    }

    /// Begins to read after the last message. Returns how many there are.
    async fn connect(&mut self) -> u64 {
        loop {
            let config = OrderedConfig {
                filter_subject: self.filter.clone(),
                deliver_policy: DeliverPolicy::ByStartSequence {
                    start_sequence: self.last + 1,
                },
                max_expires: EXPIRES,
                ..OrderedConfig::default()
            };
            let opened = async {
                let consumer = self.stream.create_consumer(config).await.ok()?;
                let pending = consumer.cached_info().num_pending;
                Some((consumer.messages().await.ok()?, pending))
            };
            if let Ok(Some((messages, pending))) = timeout(ANSWERED_WITHIN, opened).await {
                self.messages = Some(messages);
                return pending;
            }
            sleep(RETRY).await;
        }
    }
}

/// Removes what is no longer needed, one after the other. Messages that stay by accident expire.
#[derive(Clone)]
pub(super) struct Remover {
    queue: UnboundedSender<Unneeded>,
}

impl Remover {
    /// `filter` matches all messages of the run.
    pub fn start(stream: Stream, filter: String) -> Self {
        let (queue, queued) = unbounded_channel();
        tokio::spawn(remove(stream, filter, queued));
        Self { queue }
    }

    pub fn remove(&self, unneeded: Unneeded) {
        // The task ends with the run.
        let _ = self.queue.send(unneeded);
    }
}

async fn remove(stream: Stream, filter: String, mut queued: UnboundedReceiver<Unneeded>) {
    while let Some(unneeded) = queued.recv().await {
        match unneeded {
            Unneeded::UpTo(last) => {
                let purge = stream.purge().filter(&filter).sequence(last + 1);
                let _ = timeout(ANSWERED_WITHIN, purge).await;
            }
            Unneeded::Subject(subject) => purge(&stream, &subject).await,
            Unneeded::Message(sequence) => {
                let _ = timeout(ANSWERED_WITHIN, stream.delete_message(sequence)).await;
            }
        }
    }
}

/// Removes all messages of a subject.
pub(super) async fn purge(stream: &Stream, subject: &str) {
    let _ = timeout(ANSWERED_WITHIN, stream.purge().filter(subject)).await;
}
