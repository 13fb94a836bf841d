//! Normalises values: `null` is missing, numbers and texts are the same, `a; b` is a list, and the case of
//! enum values does not matter.

use serde_json::{Map, Number, Value, json};

/// The value converted to the form that the schema requires, where that is possible.
pub(crate) fn coerce(value: Value, schema: &Value) -> Value {
    let value = to_choice(to_type(value, schema), schema);
    match value {
        Value::Object(fields) => {
            let known = &schema["properties"];
            let is_required = |name: &String| {
                let required = schema["required"].as_array();
                required.is_some_and(|names| names.iter().any(|one| one == name))
            };
            let is_list = |name: &String| known[name]["type"] == "array" && is_required(name);
            // A list that is required and `null` has no entries.
            let inner = fields.into_iter().filter_map(|(name, value)| match value {
                Value::Null => is_list(&name).then(|| (name, json!([]))),
                value => Some((name, value)),
            });
            Value::Object(
                inner
                    .map(|(name, value)| {
                        let value = coerce(value, &known[&name]);
                        (name, value)
                    })
                    .collect(),
            )
        }
        Value::Array(entries) => {
            let inner = entries.into_iter().filter(|entry| !entry.is_null());
            Value::Array(inner.map(|entry| coerce(entry, &schema["items"])).collect())
        }
        plain => plain,
    }
}

fn to_type(value: Value, schema: &Value) -> Value {
    let accepts = |name: &str| match &schema["type"] {
        Value::String(only) => only == name || (name == "integer" && only == "number"),
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => true,
    };
    match value {
        Value::String(text) if !accepts("string") => {
            if accepts("integer")
                && let Some(number) = number(&text)
            {
                return Value::Number(number);
            }
            if accepts("array") {
                return Value::Array(split(&text).map(Value::from).collect());
            }
            Value::String(text)
        }
        Value::Number(number) if !accepts("number") && !accepts("integer") && accepts("string") => {
            Value::String(number.to_string())
        }
        Value::Array(entries) if !accepts("array") && accepts("string") && entries.iter().all(is_plain) => {
            Value::String(joined(&entries))
        }
        // A file with the planned action.
        Value::Object(ref fields) if !accepts("object") && accepts("string") => match named_path(fields) {
            Some(path) => Value::String(path.to_owned()),
            None => value,
        },
        Value::Object(fields) if !accepts("object") && accepts("array") => Value::Array(
            fields
                .into_iter()
                .map(|(name, value)| json!({ "name": name, "findings": value }))
                .collect(),
        ),
        other => other,
    }
}

/// The file that an entry of a list of files names: a text, or an object with its path.
pub(crate) fn file_name(entry: &Value) -> Option<&str> {
    entry.as_str().or_else(|| named_path(entry.as_object()?))
}

/// The path of an object that names a file: `{"path": "a.py", "action": "create"}`.
fn named_path(fields: &Map<String, Value>) -> Option<&str> {
    let names = ["path", "file", "filename", "file_path", "name"];
    names.iter().find_map(|name| fields.get(*name)?.as_str())
}

/// The enum value in its own case.
fn to_choice(value: Value, schema: &Value) -> Value {
    let (Value::String(text), Some(choices)) = (&value, schema["enum"].as_array()) else {
        return value;
    };
    let same = choices.iter().find(|choice| {
        choice
            .as_str()
            .is_some_and(|word| word.eq_ignore_ascii_case(text.trim()))
    });
    same.cloned().unwrap_or(value)
}

fn number(text: &str) -> Option<Number> {
    let text = text.trim();
    text.parse::<i64>()
        .map(Number::from)
        .ok()
        .or_else(|| Number::from_f64(text.parse().ok()?))
}

fn is_plain(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split([';', '\n'])
        .map(|part| part.trim().trim_start_matches("- "))
        .filter(|part| !part.is_empty())
}

fn joined(entries: &[Value]) -> String {
    let texts: Vec<String> = entries.iter().map(as_cell).collect();
    texts.join(";")
}

fn as_cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(entries) if entries.iter().all(is_plain) => joined(entries),
        other => other.to_string(),
    }
}

/// A value as text: lists of plain values joined by `;`, nothing for `null`, other structures as JSON.
pub(crate) fn text(value: &Value) -> String {
    as_cell(value)
}

/// A list of texts, from a list, a text with `;` or nothing. For serde: a file that a worker wrote.
pub(crate) fn texts<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    use serde::Deserialize;
    let value = Value::deserialize(deserializer)?;
    Ok(match value {
        Value::Null => Vec::new(),
        Value::Array(entries) => entries
            .iter()
            .filter(|entry| !entry.is_null())
            .map(|entry| {
                let path = entry.as_object().and_then(named_path);
                path.map_or_else(|| as_cell(entry), str::to_owned)
            })
            .collect(),
        Value::String(text) => split(&text).map(str::to_owned).collect(),
        other => vec![as_cell(&other)],
    })
}

/// Fields without those that are `null`.
pub(crate) fn without_nulls(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}
