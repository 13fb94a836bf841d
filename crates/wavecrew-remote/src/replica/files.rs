//! The files of a session besides its journal: pieces by their hash, and one list of all files, which is
//! replaced as a whole, so that a reader gets a consistent set.

use std::collections::{BTreeMap, HashSet};

use async_nats::jetstream;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::journal::COORDINATOR;
use super::{RETRY, ReplicaError, ReplicaSettings, open_stream, publish_after};
use crate::connect::Connection;
use crate::names::Names;

const PIECE: usize = 512 * 1024;

/// A file, by its path in the session folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    pub path: String,
    pub bytes: Vec<u8>,
}

/// Path to the hashes of its pieces.
type List = BTreeMap<String, Vec<String>>;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Listing {
    files: List,
}

pub(super) struct Files {
    context: jetstream::Context,
    stream: Stream,
    names: Names,
    run: String,
    holder: String,
    /// The sequence of the last list.
    last: u64,
    stored: HashSet<String>,
    current: List,
    nonce: String,
    sent: u64,
}

impl Files {
    pub(super) async fn open(
        connection: &Connection,
        names: &Names,
        settings: &ReplicaSettings,
    ) -> Result<Self, ReplicaError> {
        Ok(Self {
            context: connection.jetstream.clone(),
            stream: open_stream(connection, names.session_stream()).await?,
            names: names.clone(),
            run: settings.run.clone(),
            holder: settings.holder.clone(),
            last: 0,
            stored: HashSet::new(),
            current: List::new(),
            nonce: nkeys::KeyPair::new_user().public_key(),
            sent: 0,
        })
    }

    /// Reads the existing files. Sets the position for the next list.
    pub(super) async fn read(&mut self) -> Result<Vec<SessionFile>, ReplicaError> {
        let subject = self.names.session_files(&self.run);
        let Some((sequence, bytes)) = self.last_message(&subject).await else {
            return Ok(Vec::new());
        };
        self.last = sequence;
        let listing: Listing =
            serde_json::from_slice(&bytes).map_err(|error| ReplicaError::Refused(error.to_string()))?;
        let mut found = Vec::new();
        for (path, pieces) in &listing.files {
            let mut bytes = Vec::new();
            for piece in pieces {
                let subject = self.names.session_piece(&self.run, piece);
                let missing = || ReplicaError::Refused(format!("a piece of `{path}` is missing"));
                let (_, found) = self.last_message(&subject).await.ok_or_else(missing)?;
                bytes.extend_from_slice(&found);
                self.stored.insert(piece.clone());
            }
            found.push(SessionFile {
                path: path.clone(),
                bytes,
            });
        }
        self.current = listing.files;
        Ok(found)
    }

    pub(super) async fn put(&mut self, files: Vec<SessionFile>) -> Result<(), ReplicaError> {
        let mut list = List::new();
        for SessionFile { path, bytes } in files {
            let mut pieces = Vec::new();
            for piece in bytes.chunks(PIECE) {
                let hash = format!("{:032x}", xxh3_128(piece));
                if !self.stored.contains(&hash) {
                    self.store(&hash, piece).await?;
                    self.stored.insert(hash.clone());
                }
                pieces.push(hash);
            }
            list.insert(path, pieces);
        }
        if list == self.current {
            return Ok(());
        }
        let listing = Listing { files: list };
        let payload = serde_json::to_vec(&listing).expect("plain data");
        let message = PublishMessage::build()
            .payload(payload.into())
            .header(COORDINATOR, self.holder.as_str());
        self.sent += 1;
        let id = format!("{}-{}", self.nonce, self.sent);
        let subject = self.names.session_files(&self.run);
        self.last = publish_after(&self.context, &self.stream, &subject, self.last, message, &id)
            .await
            .map_err(|failure| failure.of(&self.run))?;
        self.current = listing.files;
        self.forget_old_pieces().await;
        Ok(())
    }

    async fn store(&self, hash: &str, piece: &[u8]) -> Result<(), ReplicaError> {
        let subject = self.names.session_piece(&self.run, hash);
        loop {
            let sent = self
                .context
                .publish(subject.clone(), piece.to_owned().into())
                .await;
            let stored = match sent {
                Ok(confirmation) => confirmation.await,
                Err(error) => Err(error),
            };
            match stored {
                Ok(_) => return Ok(()),
                Err(error) if super::is_full(&error) => return Err(ReplicaError::Refused(error.to_string())),
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// Removes pieces that no file uses. One that stays by accident only uses space.
    async fn forget_old_pieces(&mut self) {
        let used: HashSet<&String> = self.current.values().flatten().collect();
        let old: Vec<String> = self
            .stored
            .iter()
            .filter(|piece| !used.contains(piece))
            .cloned()
            .collect();
        for piece in old {
            let subject = self.names.session_piece(&self.run, &piece);
            let _ = self.stream.purge().filter(subject).await;
            self.stored.remove(&piece);
        }
    }

    async fn last_message(&self, subject: &str) -> Option<(u64, Vec<u8>)> {
        loop {
            match self.stream.get_last_raw_message_by_subject(subject).await {
                Ok(found) => return Some((found.sequence, found.payload.to_vec())),
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => return None,
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }
}
