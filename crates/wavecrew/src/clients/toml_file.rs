//! An entry in settings written in TOML; everything else in them stays as it is.

use super::Entry;
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

pub(super) fn put(text: &str, name: &str, entry: &Entry) -> Result<String, String> {
    let mut document = parse(text)?;
    let servers = document.entry(entry.table).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers
        .as_table_like_mut()
        .ok_or_else(|| format!("`{}` is not a table", entry.table))?;
    let own = servers.entry(name).or_insert_with(|| Item::Table(Table::new()));
    let own = own
        .as_table_like_mut()
        .ok_or_else(|| format!("`{}.{name}` is not a table", entry.table))?;
    for (field, wanted) in &entry.fields {
        if let Some(wanted) = entry.value(field, wanted, number(own, field)) {
            set(own, field, wanted);
        }
    }
    Ok(document.to_string())
}

pub(super) fn remove(text: &str, table: &str, name: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(servers) = document.get_mut(table).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if servers.remove(name).is_none() {
        return Ok(text.to_owned());
    }
    if servers.is_empty() {
        document.remove(table);
    }
    Ok(document.to_string())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| error.to_string())
}

fn number(table: &dyn TableLike, field: &str) -> Option<u64> {
    let item = table.get(field)?;
    let whole = item.as_integer().and_then(|number| u64::try_from(number).ok());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "seconds, compared only"
    )]
    whole.or_else(|| item.as_float().map(|number| number as u64))
}

/// Leaves a field that has the value already as it is written.
fn set(table: &mut dyn TableLike, field: &str, wanted: &Value) {
    let item = match wanted {
        Value::Array(words) => value(words.iter().filter_map(Value::as_str).collect::<Array>()),
        Value::String(text) => value(text),
        Value::Number(number) => value(number.as_i64().unwrap_or(i64::MAX)),
        Value::Bool(flag) => value(*flag),
        Value::Null | Value::Object(_) => return,
    };
    let words = |item: &Item| {
        let array = item.as_array()?;
        array
            .iter()
            .map(|word| word.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
    };
    let same = table.get(field).is_some_and(|there| match wanted {
        Value::Array(_) => words(there).is_some() && words(there) == words(&item),
        Value::String(text) => there.as_str() == Some(text),
        Value::Number(number) => there.as_integer() == number.as_i64(),
        Value::Bool(flag) => there.as_bool() == Some(*flag),
        Value::Null | Value::Object(_) => false,
    });
    if !same {
        table.insert(field, item);
    }
}
