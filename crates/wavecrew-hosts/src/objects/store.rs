//! Moves objects between machines: one message per piece, in a stream of the project. A piece in the stream
//! is not sent again.

use super::{AtHand, ObjectCache, ObjectId, ObjectReader, is_object, listed, split};
use async_nats::jetstream::{self, ErrorCode, stream};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;
use wavecrew_process::LockAnyway;
use wavecrew_remote::names::Names;

/// How many pieces of one object are sent or received at the same time, and how many objects.
const IN_FLIGHT: usize = 16;
const OBJECTS_AT_ONCE: usize = 8;
/// A node of a cluster may not have yet a message that another node has confirmed.
const GET_TRIES: u32 = 8;
/// Pieces are removed from the stream after this time.
pub const MAX_AGE: Duration = Duration::from_hours(24 * 7);

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the object store is full: {0}")]
    Full(String),
    #[error("object {0} is not in the store")]
    Missing(ObjectId),
    #[error("the object store does not answer: {0}")]
    Unavailable(String),
    #[error("{0}")]
    Disk(#[from] io::Error),
}

/// What to send: bytes, or the file that contains them.
#[derive(Debug, Clone)]
pub enum Content {
    Bytes(Vec<u8>),
    File(PathBuf),
}

impl Content {
    /// The bytes of a small object.
    pub fn read(self, id: &ObjectId) -> io::Result<Vec<u8>> {
        let bytes = match self {
            Self::Bytes(bytes) => bytes,
            Self::File(path) => std::fs::read(path)?,
        };
        if is_object(id, &bytes) {
            Ok(bytes)
        } else {
            Err(changed())
        }
    }
}

fn changed() -> io::Error {
    io::Error::other("a file changed while it was read")
}

/// The objects of a project.
#[derive(Clone, Debug)]
pub struct ObjectStore {
    context: jetstream::Context,
    stream: stream::Stream<()>,
    names: Names,
    /// Pieces that the stream is known to have.
    known: Arc<Mutex<Option<HashSet<String>>>>,
    sent: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
}

impl ObjectStore {
    pub async fn open(context: &jetstream::Context, names: &Names) -> Result<Self, StoreError> {
        let stream = context.get_stream_no_info(names.object_stream()).await;
        Ok(Self {
            stream: stream.map_err(unavailable)?,
            context: context.clone(),
            names: names.clone(),
            known: Arc::default(),
            sent: Arc::default(),
            received: Arc::default(),
        })
    }

    /// Bytes sent and received by this process.
    pub fn moved(&self) -> (u64, u64) {
        (
            self.sent.load(Ordering::Relaxed),
            self.received.load(Ordering::Relaxed),
        )
    }

    /// Asks the stream again which pieces it has, before the next object is sent.
    pub fn forget_known(&self) {
        *self.known() = None;
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Option<HashSet<String>>> {
        self.known.lock_anyway()
    }

    /// Learns what is in the stream, once.
    pub async fn load_known(&self) -> Result<(), StoreError> {
        if self.known().is_some() {
            return Ok(());
        }
        let subjects = self.stream.info_with_subjects(self.names.all_objects()).await;
        let subjects: Vec<(String, usize)> = subjects
            .map_err(unavailable)?
            .try_collect()
            .await
            .map_err(unavailable)?;
        let ids = subjects
            .into_iter()
            .filter_map(|(subject, _)| Some(subject.rsplit_once('.')?.1.to_owned()));
        *self.known() = Some(ids.collect());
        Ok(())
    }

    fn is_known(&self, id: &str) -> bool {
        self.known().as_ref().is_some_and(|known| known.contains(id))
    }

    /// The objects that are not known to be in the stream.
    pub fn missing<T: Clone>(&self, objects: &[(ObjectId, T)]) -> Vec<(ObjectId, T)> {
        let known = self.known();
        let is_known = |id: &ObjectId| known.as_ref().is_some_and(|known| known.contains(id.as_str()));
        let missing = objects.iter().filter(|(id, _)| !is_known(id));
        missing.cloned().collect()
    }

    /// Sends the pieces that the stream does not have.
    pub async fn put(&self, objects: Vec<(ObjectId, Content)>) -> Result<(), StoreError> {
        self.load_known().await?;
        futures_util::stream::iter(self.missing(&objects))
            .map(|(id, content)| self.put_one(id, content))
            .buffer_unordered(OBJECTS_AT_ONCE)
            .try_collect()
            .await
    }

    async fn put_one(&self, id: ObjectId, content: Content) -> Result<(), StoreError> {
        let (pieces, mut queue) = tokio::sync::mpsc::channel::<(ObjectId, Bytes)>(2);
        let store = self.clone();
        let split = tokio::task::spawn_blocking(move || {
            let mut keep = |id: &ObjectId, bytes: &[u8]| {
                if store.is_known(id.as_str()) {
                    return Ok(());
                }
                pieces
                    .blocking_send((id.clone(), Bytes::copy_from_slice(bytes)))
                    .map_err(io::Error::other)
            };
            match content {
                Content::Bytes(bytes) => split(&mut bytes.as_slice(), &mut keep),
                Content::File(path) => split(&mut std::fs::File::open(path)?, &mut keep),
            }
        });
        let sent = futures_util::stream::poll_fn(|context| queue.poll_recv(context))
            .map(|(piece, bytes)| self.send(piece, bytes))
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<Vec<ObjectId>>()
            .await;
        // Ends the splitting if sending has failed.
        drop(queue);
        let whole = split.await.map_err(io::Error::other)?;
        let pieces = sent?;
        if whole? != id {
            return Err(changed().into());
        }
        if let Some(known) = self.known().as_mut() {
            known.extend(pieces.into_iter().map(String::from));
            known.insert(id.into());
        }
        Ok(())
    }

    async fn send(&self, id: ObjectId, bytes: Bytes) -> Result<ObjectId, StoreError> {
        let length = bytes.len() as u64;
        let subject = self.names.object(id.as_str());
        let sent = self.context.publish(subject, bytes).await;
        let acknowledged = sent.map_err(|error| store_error(&error))?.await;
        match acknowledged {
            Ok(_) => {}
            Err(error) => return Err(store_error(&error)),
        }
        self.sent.fetch_add(length, Ordering::Relaxed);
        Ok(id)
    }

    /// Fetches objects to this machine's disk, with all their pieces, unless they are at hand.
    pub async fn fetch(&self, ids: Vec<ObjectId>, at_hand: &AtHand) -> Result<(), StoreError> {
        let mut wanted = ids;
        while !wanted.is_empty() {
            let mut lists = Vec::new();
            let mut pieces = HashSet::new();
            for id in wanted.drain(..) {
                match id.list() {
                    Some(list) if !at_hand.has(&id) => lists.push(list),
                    Some(_) => {}
                    None => {
                        pieces.insert(id);
                    }
                }
            }
            futures_util::stream::iter(pieces.into_iter().filter(|id| !at_hand.has(id)))
                .map(|id| self.get(id, at_hand.cache()))
                .buffer_unordered(IN_FLIGHT)
                .try_collect::<Vec<()>>()
                .await?;
            for list in lists {
                Box::pin(self.fetch(vec![list.clone()], at_hand)).await?;
                wanted.extend(listed(&at_hand.read(&list)?)?);
            }
        }
        Ok(())
    }

    async fn get(&self, id: ObjectId, cache: &ObjectCache) -> Result<(), StoreError> {
        let subject = self.names.object(id.as_str());
        let mut wait = Duration::from_millis(20);
        for _ in 0..GET_TRIES {
            match self.stream.direct_get_last_for_subject(subject.as_str()).await {
                Ok(message) => {
                    self.received
                        .fetch_add(message.payload.len() as u64, Ordering::Relaxed);
                    return Ok(cache.put(&id, &message.payload)?);
                }
                Err(error) if error.kind() == stream::DirectGetErrorKind::NotFound => {}
                Err(error) => return Err(unavailable(error)),
            }
            sleep(wait).await;
            wait *= 2;
        }
        Err(StoreError::Missing(id))
    }
}

fn unavailable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

fn store_error(error: &jetstream::context::PublishError) -> StoreError {
    let text = error.to_string();
    let full = [
        ErrorCode::STREAM_STORE_FAILED,
        ErrorCode::INSUFFICIENT_RESOURCES,
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
    ];
    let source = std::error::Error::source(error);
    let inner = source.and_then(|source| source.downcast_ref::<jetstream::Error>());
    if inner.is_some_and(|inner| full.contains(&inner.error_code()))
        || text.contains("maximum bytes exceeded")
    {
        StoreError::Full(text)
    } else {
        StoreError::Unavailable(text)
    }
}
