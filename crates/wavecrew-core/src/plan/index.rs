//! Ids → rows. Large tables are generated, and generated ids count upwards: for them an id's row is worked out from
//! its number and no id is hashed. All others are found by hash, and what is found is always compared.

use super::graph::all;
use crate::id::TaskIx;
use crate::sheet::Sheet;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::OnceLock;

/// Ids looked up together.
pub(super) const BATCH: usize = 256;

/// The rows of a table by the text in one of its columns.
#[derive(Clone, Debug)]
pub(super) struct Index {
    column: usize,
    keys: Vec<Key>,
    /// Rows by hash, made when the first id has to be looked up that way.
    rows: OnceLock<HashTable<TaskIx>>,
}

/// An id that a task names, and the row it was found to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    pub task: TaskIx,
    pub id: &'a str,
    pub row: Option<TaskIx>,
    key: Key,
}

impl<'a> Link<'a> {
    /// `own` is the id of the task itself: if ids count upwards, the difference to it leads to the row.
    pub fn new(task: TaskIx, own: &str, id: &'a str) -> Self {
        let guess = || (i64::from(task.0) + number(id)? - number(own)?).try_into().ok();
        Self {
            task,
            id,
            row: guess().map(TaskIx),
            key: Key::of(id),
        }
    }
}

impl Index {
    /// `again` is told each row whose id an earlier one has, and the earlier one. Rows without an id are not found.
    pub fn of(sheet: &Sheet, column: usize, again: impl FnMut(TaskIx, TaskIx)) -> Self {
        let mut keys = Vec::with_capacity(sheet.rows());
        let mut last = "";
        let mut ascending = true;
        for row in 0..sheet.rows() {
            let id = sheet.cell(row, column);
            ascending &= (last.len(), last) < (id.len(), id);
            last = id;
            keys.push(Key::of(id));
        }
        let index = Self {
            column,
            keys,
            rows: OnceLock::new(),
        };
        // Ids that grow from row to row are different ones.
        if !ascending {
            index.rows.get_or_init(|| index.hashed(sheet, again));
        }
        index
    }

    pub fn find(&self, sheet: &Sheet, id: &str) -> Option<TaskIx> {
        self.find_key(sheet, id, Key::of(id))
    }

    /// Finds many ids at once, step by step for all of them: a look at memory takes long, and in a loop with nothing
    /// else in it many go on together.
    pub fn find_all(&self, sheet: &Sheet, links: &mut [Link<'_>]) {
        let fits = |link: &Link<'_>, row: TaskIx| self.keys.get(row.index()) == Some(&link.key);
        for link in links.iter_mut() {
            link.row = link.row.filter(|row| fits(link, *row));
        }
        let is_open = |link: &Link<'_>| link.row.is_none_or(|row| !self.is(sheet, row, link.id, link.key));
        if !links.iter().any(is_open) {
            return;
        }
        let rows = self.rows(sheet);
        for link in links.iter_mut().filter(|link| is_open(link)) {
            link.row = rows.find(link.key.hash(link.id), |_| true).copied();
        }
        for link in links.iter_mut() {
            if is_open(link) {
                link.row = self.find_key(sheet, link.id, link.key);
            }
        }
    }

    fn find_key(&self, sheet: &Sheet, id: &str, key: Key) -> Option<TaskIx> {
        self.rows(sheet)
            .find(key.hash(id), |row| self.is(sheet, *row, id, key))
            .copied()
    }

    fn is(&self, sheet: &Sheet, row: TaskIx, id: &str, key: Key) -> bool {
        self.keys[row.index()] == key && (key.is_whole() || sheet.cell(row.index(), self.column) == id)
    }

    fn rows(&self, sheet: &Sheet) -> &HashTable<TaskIx> {
        self.rows
            .get_or_init(|| self.hashed(sheet, |_, _| unreachable!("ids that grow are different")))
    }

    fn hashed(&self, sheet: &Sheet, mut again: impl FnMut(TaskIx, TaskIx)) -> HashTable<TaskIx> {
        let id = |row: TaskIx| sheet.cell(row.index(), self.column);
        let hash = |row: &TaskIx| self.keys[row.index()].hash(id(*row));
        let mut rows = HashTable::with_capacity(self.keys.len());
        let mut hashes = Vec::with_capacity(BATCH);
        let mut all = all(self.keys.len())
            .filter(|row| self.keys[row.index()].len > 0)
            .peekable();
        while all.peek().is_some() {
            hashes.extend(all.by_ref().take(BATCH).map(|row| (row, hash(&row))));
            // Found or not, afterwards the places where the rows go are near.
            std::hint::black_box(
                hashes
                    .iter()
                    .filter(|(_, hash)| rows.find(*hash, |_| true).is_some())
                    .count(),
            );
            for (row, of_row) in hashes.drain(..) {
                let same = |other: &TaskIx| self.is(sheet, *other, id(row), self.keys[row.index()]);
                match rows.find(of_row, same) {
                    Some(earlier) => again(row, *earlier),
                    None => drop(rows.insert_unique(of_row, row, hash)),
                }
            }
        }
        rows
    }
}

/// The number an id ends in.
fn number(id: &str) -> Option<i64> {
    let digits = id.bytes().rev().take_while(u8::is_ascii_digit).count();
    // More digits than any row has are no row's number.
    if digits == 0 || digits > 12 {
        return None;
    }
    Some(
        id.bytes()
            .skip(id.len() - digits)
            .fold(0, |number, digit| number * 10 + i64::from(digit - b'0')),
    )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Origin;

    fn sheet(ids: &[String]) -> Sheet {
        let text = ids.iter().fold(String::from("id\n"), |text, id| text + id + "\n");
        Sheet::read(text.as_bytes(), Origin::User).expect("a good table")
    }

    #[test]
    fn ids_of_every_length_are_told_apart() {
        // Every id of one repeated letter, and each with one letter changed at each place.
        let mut ids = vec!["b".to_owned()];
        for len in 1..=40 {
            let base = "a".repeat(len);
            for at in 0..len {
                let mut id = base.clone();
                id.replace_range(at..=at, "c");
                ids.push(id);
            }
            ids.push(base);
        }
        let sheet = sheet(&ids);
        let index = Index::of(&sheet, 0, |row, earlier| panic!("{row:?} taken for {earlier:?}"));
        for (row, id) in all(ids.len()).zip(&ids) {
            assert_eq!(index.find(&sheet, id), Some(row), "{id}");
            assert_eq!(index.find(&sheet, &format!("{id}d")), None);
        }
    }

    #[test]
    fn a_guess_by_number_is_only_a_guess() {
        // Counting upwards with a gap, another prefix, leading zeros, and an id too long for a key.
        let long = "a-very-long-prefix-indeed-7";
        let ids = ["T-1", "T-2", "T-5", "T-06", "U-08", long].map(str::to_owned);
        let sheet = sheet(&ids);
        let index = Index::of(&sheet, 0, |_, _| panic!("all are different"));
        for (own, own_id) in (0u32..).zip(&ids) {
            let names = [
                "T-1",
                "T-2",
                "T-5",
                "T-06",
                "U-08",
                long,
                "T-3",
                "T-6",
                "T-08",
                "none",
                "9",
                "a-very-long-prefix-instead-7",
            ];
            let mut links = names.map(|id| Link::new(TaskIx(own), own_id, id));
            index.find_all(&sheet, &mut links);
            let found: Vec<_> = links.iter().map(|link| link.row.map(|row| row.0)).collect();
            let expected = [
                Some(0),
                Some(1),
                Some(2),
                Some(3),
                Some(4),
                Some(5),
                None,
                None,
                None,
                None,
                None,
                None,
            ];
            assert_eq!(found, expected, "from {own_id}");
        }
    }

    #[test]
    fn rows_without_order_are_still_unique_or_told() {
        let sheet = sheet(&["b", "a", "b", "a"].map(str::to_owned));
        let mut again = Vec::new();
        Index::of(&sheet, 0, |row, earlier| again.push((row.0, earlier.0)));
        assert_eq!(again, [(2, 0), (3, 1)]);
    }
}
