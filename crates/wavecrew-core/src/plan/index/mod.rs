//! Ids → rows. Large tables are generated, and generated ids count upwards: for them an id's row is worked out from
//! its number, without a look at memory. All others are found by hash, and what is found is always compared.

mod counting;
mod keyed;

use crate::id::TaskIx;
use crate::sheet::Sheet;
use counting::Counting;
use keyed::Keyed;
pub(super) use keyed::{BATCH, Link};

/// The rows of a table by the text in one of its columns.
#[derive(Clone, Debug)]
pub(super) enum Index {
    Counting(Counting),
    Keyed(Keyed),
}

impl Index {
    /// `again` is told each row whose id an earlier one has, and the earlier one. Rows without an id are not found.
    pub fn of(sheet: &Sheet, column: usize, again: impl FnMut(TaskIx, TaskIx)) -> Self {
        match Counting::of(sheet, column) {
            Some(counting) => Self::Counting(counting),
            None => Self::Keyed(Keyed::of(sheet, column, again)),
        }
    }

    pub fn find(&self, sheet: &Sheet, id: &str) -> Option<TaskIx> {
        match self {
            Self::Counting(counting) => counting.find(id),
            Self::Keyed(keyed) => keyed.find(sheet, id),
        }
    }
}

#[cfg(test)]
mod tests;
