//! Ids → rows. Stores four bytes per row; the ids themselves stay in the sheet.

use crate::id::TaskIx;
use crate::sheet::Sheet;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    rows: HashTable<Entry>,
}

/// Half of the hash beside the row: a look at the table alone tells most ids apart.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    row: TaskIx,
}

impl Index {
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            rows: HashTable::with_capacity(rows),
        }
    }

    pub fn find(&self, sheet: &Sheet, column: usize, id: &str) -> Option<TaskIx> {
        let hash = hash(id);
        let same = |e: &Entry| e.hash == low(hash) && sheet.cell(e.row.index(), column) == id;
        self.rows.find(hash, same).map(|e| e.row)
    }

    /// Adds a row, or gives the earlier one that has the same id.
    pub fn insert(&mut self, sheet: &Sheet, column: usize, row: TaskIx) -> Result<(), TaskIx> {
        let id = sheet.cell(row.index(), column);
        let hash = hash(id);
        let same = |e: &Entry| e.hash == low(hash) && sheet.cell(e.row.index(), column) == id;
        if let Some(earlier) = self.rows.find(hash, same) {
            return Err(earlier.row);
        }
        let rehash = |e: &Entry| self::hash(sheet.cell(e.row.index(), column));
        self.rows
            .insert_unique(hash, Entry { hash: low(hash), row }, rehash);
        Ok(())
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(id.as_bytes());
    hasher.finish()
}

/// The lower middle: the table itself uses the lowest and the highest bits.
fn low(hash: u64) -> u32 {
    u32::try_from((hash >> 24) & u64::from(u32::MAX)).expect("masked to 32 bits")
}
