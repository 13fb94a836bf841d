//! An entry in settings written in JSON, with or without comments; everything else in them stays as it is.

use super::Entry;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

pub(super) fn put(text: &str, name: &str, entry: &Entry) -> Result<String, String> {
    let new = text.trim().is_empty();
    let (root, object) = parse(if new { "{\n}\n" } else { text })?;
    let servers = inner(&object, entry.table, entry.table)?;
    let path = format!("{}.{name}", entry.table);
    let own = inner(&servers, name, &path)?;
    for (field, wanted) in &entry.fields {
        let there = own.get(field);
        let present = there.as_ref().and_then(CstObjectProp::to_serde_value);
        let number = present.as_ref().and_then(Value::as_u64);
        let Some(wanted) = entry.value(field, wanted, number) else {
            continue;
        };
        match there {
            Some(_) if present.as_ref() == Some(wanted) => {}
            Some(found) => found.set_value(input(wanted)),
            None => {
                own.append(field, input(wanted));
            }
        }
    }
    Ok(root.to_string())
}

pub(super) fn remove(text: &str, table: &str, name: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let (root, object) = parse(text)?;
    let servers = object.object_value(table);
    let Some((servers, own)) = servers.and_then(|servers| {
        let own = servers.get(name)?;
        Some((servers, own))
    }) else {
        return Ok(text.to_owned());
    };
    own.remove();
    if servers.properties().is_empty()
        && let Some(empty) = object.get(table)
    {
        empty.remove();
    }
    Ok(root.to_string())
}

fn parse(text: &str) -> Result<(CstRootNode, CstObject), String> {
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let object = root.object_value().ok_or("it does not hold a JSON object")?;
    Ok((root, object))
}

/// The object of this name, made if it is not there.
fn inner(object: &CstObject, name: &str, path: &str) -> Result<CstObject, String> {
    object
        .object_value_or_create(name)
        .ok_or_else(|| format!("`{path}` is not an object"))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), input(value)))
                .collect(),
        ),
    }
}
