//! The caller's table, with an id for each row. Its error messages are a format: callers know them.

use std::collections::{HashMap, HashSet};
use wavecrew_core::id::check_task_id;

/// A table of a caller.
#[derive(Debug, PartialEq)]
pub struct InputTable {
    pub header: Vec<String>,
    pub items: Vec<Item>,
}

/// One row.
#[derive(Debug, PartialEq)]
#[expect(clippy::struct_field_names, reason = "the names that callers know")]
pub struct Item {
    /// Its id for the caller.
    pub item_id: String,
    /// Its id in the session: the same, if it can be part of a file name.
    pub task_id: String,
    /// The value of the id column.
    pub source_id: Option<String>,
    pub cells: Vec<String>,
}

impl InputTable {
    pub fn read(bytes: &[u8], id_column: Option<&str>) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
        let mut records = reader.records();
        let header: Vec<String> = match records.next() {
            Some(record) => record
                .map_err(|error| not_csv(&error))?
                .iter()
                .map(str::to_owned)
                .collect(),
            None => return Err("csv input must include a header row".to_owned()),
        };
        check_header(&header)?;
        let id_column = match id_column {
            Some(name) => Some(
                header
                    .iter()
                    .position(|column| column == name)
                    .ok_or_else(|| format!("id_column {name} was not found in csv headers"))?,
            ),
            None => None,
        };
        let mut ids = Ids::default();
        let mut items = Vec::new();
        for (number, record) in (2..).zip(records) {
            let record = record.map_err(|error| not_csv(&error))?;
            if record.iter().all(str::is_empty) {
                continue;
            }
            if record.len() != header.len() {
                return Err(format!(
                    "csv row {number} has {} fields but header has {}",
                    record.len(),
                    header.len()
                ));
            }
            let source = id_column.map(|at| record[at].to_owned());
            let source_id = source.filter(|id| !id.trim().is_empty());
            let (item_id, task_id) = ids.next(source_id.as_deref(), items.len() + 1);
            items.push(Item {
                item_id,
                task_id,
                source_id,
                cells: record.iter().map(str::to_owned).collect(),
            });
        }
        if items.is_empty() {
            return Err("csv input has no rows below its header".to_owned());
        }
        Ok(Self { header, items })
    }

    pub fn cell(&self, row: usize, column: &str) -> Option<&str> {
        let at = self.header.iter().position(|name| name == column)?;
        Some(&self.items[row].cells[at])
    }

    /// A row as JSON, for the worker.
    pub fn row_json(&self, row: usize) -> String {
        let cells = self.header.iter().zip(&self.items[row].cells);
        let fields: serde_json::Map<_, _> = cells
            .map(|(name, cell)| (name.clone(), cell.as_str().into()))
            .collect();
        serde_json::Value::Object(fields).to_string()
    }
}

fn not_csv(error: &csv::Error) -> String {
    format!("failed to parse csv: {error}")
}

fn check_header(header: &[String]) -> Result<(), String> {
    if header.iter().all(|name| name.trim().is_empty()) {
        return Err("csv input must include a header row".to_owned());
    }
    let mut seen = HashSet::new();
    match header.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(format!("csv header {name} is duplicated")),
        None => Ok(()),
    }
}

/// Ids given out so far, each with the number that is tried next for another one of its name.
#[derive(Default)]
struct Ids {
    items: HashMap<String, u64>,
    tasks: HashMap<String, u64>,
}

impl Ids {
    fn next(&mut self, source: Option<&str>, row: usize) -> (String, String) {
        let of_row = format!("row-{row}");
        let item = first_free(&mut self.items, source.unwrap_or(&of_row));
        let wanted = if check_task_id(&item).is_ok() {
            &item
        } else {
            &of_row
        };
        let task = first_free(&mut self.tasks, wanted);
        (item, task)
    }
}

/// The id itself, or with `-2`, `-3` and so on.
fn first_free(taken: &mut HashMap<String, u64>, id: &str) -> String {
    let Some(mut number) = taken.get(id).copied() else {
        taken.insert(id.to_owned(), 2);
        return id.to_owned();
    };
    loop {
        let free = format!("{id}-{number}");
        number += 1;
        if !taken.contains_key(&free) {
            taken.insert(id.to_owned(), number);
            taken.insert(free.clone(), 2);
            return free;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str, column: Option<&str>) -> Vec<(String, String)> {
        let table = InputTable::read(text.as_bytes(), column).unwrap();
        table
            .items
            .into_iter()
            .map(|item| (item.item_id, item.task_id))
            .collect()
    }

    #[test]
    fn ids_come_from_the_column_or_the_row() {
        let same = |id: &str| (id.to_owned(), id.to_owned());
        assert_eq!(ids("a,b\n1,2\n,\n3,4\n", None), [same("row-1"), same("row-2")]);
        assert_eq!(
            ids("\u{feff}path\nx\nx\nx\n\"\"\ny\n", Some("path")),
            [same("x"), same("x-2"), same("x-3"), same("y")]
        );
        assert_eq!(
            ids("path\nx\nx-2\nx\nx-2\nx\n", Some("path")),
            [same("x"), same("x-2"), same("x-3"), same("x-2-2"), same("x-4")]
        );
        assert_eq!(
            ids("path,n\nsrc/a b.ts,1\n,2\n", Some("path")),
            [("src/a b.ts".to_owned(), "row-1".to_owned()), same("row-2")]
        );
    }

    #[test]
    fn rows_of_the_same_name_get_different_ids() {
        let many = 50_000;
        let found = ids(&format!("path\n{}", "x\n".repeat(many)), Some("path"));
        assert_eq!(found[many - 1].0, format!("x-{many}"));
    }

    #[test]
    fn errors_have_the_messages_that_callers_know() {
        for (text, column, message) in [
            ("", None, "csv input must include a header row"),
            ("a,a\n1,2\n", None, "csv header a is duplicated"),
            ("a,b\n1,2\n3\n", None, "csv row 3 has 1 fields but header has 2"),
            ("a,b\n1,2,3\n", None, "csv row 2 has 3 fields but header has 2"),
            (
                "a,b\n1,2\n",
                Some("id"),
                "id_column id was not found in csv headers",
            ),
            ("a,b\n", None, "csv input has no rows below its header"),
        ] {
            assert_eq!(InputTable::read(text.as_bytes(), column).unwrap_err(), message);
        }
        let binary = InputTable::read(b"a,b\n\xff\xfe,2\n", None).unwrap_err();
        assert!(binary.starts_with("failed to parse csv: "), "{binary}");
    }
}
