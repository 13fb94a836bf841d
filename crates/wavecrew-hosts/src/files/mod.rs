//! Moves the files of a worker between machines: [`scan`] makes a [`Snapshot`] of a folder from
//! content-addressed objects, [`write_snapshot`] writes it on another machine, and the changes made there
//! come back. Sends no bytes itself: see [`objects`](crate::objects).

mod cache;
mod changes;
mod scan;
mod snapshot;
mod write;

pub use cache::HashCache;
pub use changes::{Change, Changes};
pub use scan::{ScanError, Scanned, Selection, scan, scan_file};
pub use snapshot::{Entry, Snapshot};
pub(crate) use write::MAPPED_BYTES;
pub use write::write_snapshot;
