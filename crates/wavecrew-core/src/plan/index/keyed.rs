//! Ids in any order, found by hash. A short id is all in its key, so that it is compared without a look at the table.

use crate::id::TaskIx;
use crate::plan::graph::all;
use crate::sheet::Sheet;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Ids looked up together.
pub(in crate::plan) const BATCH: usize = 256;

/// The rows of a table by the text in one of its columns.
#[derive(Clone, Debug)]
pub(in crate::plan) struct Keyed {
    column: usize,
    rows: HashTable<Row>,
}

/// A row and its id's key, word by word so that nothing is wasted between them.
#[derive(Clone, Copy, Debug)]
struct Row {
    first: u64,
    last: u64,
    len: u32,
    task: TaskIx,
}

impl Row {
    fn new(key: Key, task: TaskIx) -> Self {
        let Key { len, first, last } = key;
        Self {
            first,
            last,
            len,
            task,
        }
    }

    fn key(&self) -> Key {
        let Self { len, first, last, .. } = *self;
        Key { len, first, last }
    }
}

/// An id that a task names, and the row it was found to be.
#[derive(Clone, Copy, Debug)]
pub(in crate::plan) struct Link<'a> {
    pub task: TaskIx,
    pub id: &'a str,
    pub row: Option<TaskIx>,
}

impl Keyed {
    pub(super) fn of(sheet: &Sheet, column: usize, mut again: impl FnMut(TaskIx, TaskIx)) -> Self {
        let id = |task: TaskIx| sheet.cell(task.index(), column);
        let mut index = Self {
            column,
            rows: HashTable::with_capacity(sheet.rows()),
        };
        let mut batch = Vec::with_capacity(BATCH);
        let mut tasks = all(sheet.rows()).filter(|task| !id(*task).is_empty()).peekable();
        while tasks.peek().is_some() {
            batch.extend(tasks.by_ref().take(BATCH).map(|task| {
                let key = Key::of(id(task));
                (key.hash(id(task)), Row::new(key, task))
            }));
            // Found or not, afterwards the places where the rows go are near.
            index.bring_near(batch.iter().map(|(hash, _)| *hash));
            for (hash, row) in batch.drain(..) {
                match index.at(sheet, id(row.task), row.key(), hash) {
                    Some(earlier) => again(row.task, earlier),
                    None => drop(
                        index
                            .rows
                            .insert_unique(hash, row, |row| row.key().hash(id(row.task))),
                    ),
                }
            }
        }
        index
    }

    pub(super) fn find(&self, sheet: &Sheet, id: &str) -> Option<TaskIx> {
        let key = Key::of(id);
        self.at(sheet, id, key, key.hash(id))
    }

    /// Finds many ids at once, step by step for all of them: a look at memory takes long, and in a loop with nothing
    /// else in it many go on together.
    pub fn find_all(&self, sheet: &Sheet, links: &mut [Link<'_>]) {
        self.bring_near(links.iter().map(|link| Key::of(link.id).hash(link.id)));
        for link in links {
            link.row = self.find(sheet, link.id);
        }
    }

    fn bring_near(&self, hashes: impl Iterator<Item = u64>) {
        let near = hashes.filter(|hash| self.rows.find(*hash, |_| true).is_some());
        std::hint::black_box(near.count());
    }

    fn at(&self, sheet: &Sheet, id: &str, key: Key, hash: u64) -> Option<TaskIx> {
        let same = |row: &Row| {
            row.key() == key && (key.is_whole() || sheet.cell(row.task.index(), self.column) == id)
        };
        self.rows.find(hash, same).map(|row| row.task)
    }
}

/// The length of an id, its first and its last bytes: all there is to know of an id of up to 16 bytes. In words and
/// not in an array, so that it never has to go through memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    len: u32,
    first: u64,
    last: u64,
}

impl Key {
    fn of(id: &str) -> Self {
        let bytes = id.as_bytes();
        let eight = bytes.first_chunk::<8>().zip(bytes.last_chunk::<8>());
        let four = bytes.first_chunk::<4>().zip(bytes.last_chunk::<4>());
        let (first, last) = if let Some((first, last)) = eight {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else if let Some((first, last)) = four {
            (
                u64::from(u32::from_le_bytes(*first)),
                u64::from(u32::from_le_bytes(*last)),
            )
        } else {
            // Up to three bytes: one is enough for the first word.
            let at = |n: usize| u64::from(bytes.get(n).copied().unwrap_or_default());
            (at(0), at(1) << 8 | at(2))
        };
        Self {
            len: u32::try_from(id.len()).unwrap_or(u32::MAX),
            first,
            last,
        }
    }

    /// Whether the key says all about its id.
    fn is_whole(self) -> bool {
        self.len <= 16
    }

    fn hash(self, id: &str) -> u64 {
        let mut hasher = FxHasher::default();
        if self.is_whole() {
            hasher.write_u64(self.first);
            hasher.write_u64(self.last);
        } else {
            hasher.write(id.as_bytes());
        }
        hasher.finish()
    }
}
