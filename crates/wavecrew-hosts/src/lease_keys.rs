//! The keys of leases in their bucket: writes that name the revision they replace, and reads.

use async_nats::jetstream::kv::{Operation, Store, UpdateErrorKind};
use std::time::Duration;
use tokio::time::timeout;
use wavecrew_remote::lease::LeaseRecord;

/// If no answer arrives within this time, the operation may have happened or not: the protocol asks again.
const ANSWERED_WITHIN: Duration = Duration::from_secs(4);

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Done { revision: u64 },
    Conflict,
    Unknown,
}

pub async fn write(store: &Store, key: &str, expected: u64, record: &LeaseRecord) -> Written {
    let bytes = serde_json::to_vec(record).expect("plain data");
    match timeout(ANSWERED_WITHIN, store.update(key, bytes.into(), expected)).await {
        Ok(Ok(revision)) => Written::Done { revision },
        Ok(Err(error)) if error.kind() == UpdateErrorKind::WrongLastRevision => Written::Conflict,
        Ok(Err(_)) | Err(_) => Written::Unknown,
    }
}

/// The content of the key; `Err` without an answer.
pub async fn read(store: &Store, key: &str) -> Result<Option<(u64, LeaseRecord)>, ()> {
    match timeout(ANSWERED_WITHIN, store.entry(key)).await {
        Ok(Ok(Some(entry))) if entry.operation == Operation::Put => {
            Ok(Some((entry.revision, record(&entry.value))))
        }
        Ok(Ok(Some(entry))) => Ok(Some((entry.revision, LeaseRecord::Unknown))),
        Ok(Ok(None)) => Ok(None),
        Ok(Err(_)) | Err(_) => Err(()),
    }
}

pub fn record(value: &[u8]) -> LeaseRecord {
    serde_json::from_slice(value).unwrap_or(LeaseRecord::Unknown)
}
