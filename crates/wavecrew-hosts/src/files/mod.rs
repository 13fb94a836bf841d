//! The files of a worker on their way: a [`Snapshot`] of a folder as content-addressed objects, [`scan`]ned on one machine,
//! [`write_snapshot`] on another, and what changed there on the way back. Moves no bytes over the network: see
//! [`objects`](crate::objects).

mod cache;
mod changes;
mod scan;
mod snapshot;
mod write;

pub use cache::HashCache;
pub use changes::{Change, Changes};
pub use scan::{ScanError, Scanned, Selection, scan};
pub use snapshot::{Entry, Snapshot};
pub(crate) use write::MAPPED_BYTES;
pub use write::{map_paths, write_snapshot};
