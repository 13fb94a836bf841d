//! What changed between two versions of a table, row by row by id: the shape of a hand edit.

use super::{Sheet, SheetBuilder};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// The way from one table to another. Applied to the first it gives the second, apart from ignored columns.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Patch {
    /// The new header, when it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedCell>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<AddedRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// All ids in their new order, when it is not the old one with the added rows at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChangedCell {
    pub id: String,
    pub column: String,
    pub value: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AddedRow {
    pub id: String,
    /// One cell per column of the new header; ignored columns are empty.
    pub cells: Vec<String>,
}

impl Patch {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Sheet {
    /// What a person changed from `self` to `new`, apart from the columns in `ignore`. Both tables name their rows
    /// by unique `id`s, which validation has made sure of.
    pub fn diff(&self, new: &Sheet, ignore: &[&str]) -> Patch {
        let (ids, new_ids) = (self.ids(), new.ids());
        let old_rows = index(&ids);
        let kept: HashSet<&str> = new_ids.iter().copied().collect();
        // Column by column of the new table: its name, place, and place in the old one.
        let columns: Vec<_> = new
            .header
            .iter()
            .enumerate()
            .filter(|(_, name)| *name != "id" && !ignore.contains(&name.as_str()))
            .map(|(at, name)| (name, at, self.column(name)))
            .collect();
        let mut patch = Patch {
            header: (self.header != new.header).then(|| new.header.clone()),
            removed: ids
                .iter()
                .filter(|id| !kept.contains(**id))
                .map(|id| (*id).to_owned())
                .collect(),
            ..Patch::default()
        };
        for (row, id) in new_ids.iter().enumerate() {
            let Some(&old_row) = old_rows.get(id) else {
                let cell = |(at, name): (usize, &String)| {
                    if ignore.contains(&name.as_str()) {
                        ""
                    } else {
                        new.cell(row, at)
                    }
                    .to_owned()
                };
                let cells = new.header.iter().enumerate().map(cell).collect();
                patch.added.push(AddedRow {
                    id: (*id).to_owned(),
                    cells,
                });
                continue;
            };
            for &(name, at, old_at) in &columns {
                let value = new.cell(row, at);
                if old_at.map_or("", |old_at| self.cell(old_row, old_at)) != value {
                    patch.changed.push(ChangedCell {
                        id: (*id).to_owned(),
                        column: name.clone(),
                        value: value.to_owned(),
                    });
                }
            }
        }
        let plain = ids.iter().copied().filter(|id| kept.contains(id));
        let plain = plain.chain(patch.added.iter().map(|row| row.id.as_str()));
        if !plain.eq(new_ids.iter().copied()) {
            patch.order = Some(new_ids.iter().map(|id| (*id).to_owned()).collect());
        }
        patch
    }

    /// The table after a patch. Rows and columns that the patch names and the table lacks are passed over.
    #[must_use]
    pub fn apply(&self, patch: &Patch) -> Sheet {
        let header = patch.header.as_ref().unwrap_or(&self.header).clone();
        let ids = self.ids();
        let old_rows = index(&ids);
        let removed: HashSet<&str> = patch.removed.iter().map(String::as_str).collect();
        let added: HashMap<&str, &AddedRow> = patch.added.iter().map(|row| (row.id.as_str(), row)).collect();
        let changed: HashMap<(&str, &str), &str> = patch
            .changed
            .iter()
            .map(|c| ((c.id.as_str(), c.column.as_str()), c.value.as_str()))
            .collect();
        let kept = ids.iter().copied().filter(|id| !removed.contains(id));
        let order: Vec<&str> = match &patch.order {
            Some(order) => order.iter().map(String::as_str).collect(),
            None => kept
                .chain(patch.added.iter().map(|row| row.id.as_str()))
                .collect(),
        };
        let sources: Vec<Option<usize>> = header.iter().map(|name| self.column(name)).collect();
        let mut sheet = SheetBuilder::new(header.clone());
        for (n, id) in order.into_iter().enumerate() {
            // Where the row will stand in a file without line breaks in cells.
            let line = u32::try_from(n + 2).unwrap_or(u32::MAX);
            if let Some(row) = added.get(id).filter(|row| row.cells.len() == header.len()) {
                sheet.row(line, row.cells.iter().map(String::as_str));
            } else if let Some(&row) = old_rows.get(id) {
                sheet.row(
                    line,
                    header.iter().zip(&sources).map(|(name, source)| {
                        let old = || source.map_or("", |column| self.cell(row, column));
                        changed.get(&(id, name.as_str())).copied().unwrap_or_else(old)
                    }),
                );
            }
        }
        sheet.finish()
    }

    /// A table without an `id` column is named by its first one.
    fn ids(&self) -> Vec<&str> {
        let column = self.column("id").unwrap_or(0);
        (0..self.rows()).map(|row| self.cell(row, column)).collect()
    }
}

fn index<'a>(ids: &[&'a str]) -> HashMap<&'a str, usize> {
    ids.iter().enumerate().map(|(row, id)| (*id, row)).collect()
}
