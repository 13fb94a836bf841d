//! JSON for programs: every document contains the version of its format.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write, stdout};
use wavecrew_core::time::Timestamp;

/// Increases when a field is removed or changes its meaning. New fields do not change it.
pub const VERSION: u32 = 1;

/// Fields of events that hold a time, as milliseconds in the journal.
const TIMES: [&str; 3] = ["at", "retry_at", "until"];

/// Adds `version` to an object, or to each object of a list. Lists stay arrays, as in every release: an empty one has no
/// fields that a version could change.
pub fn versioned(mut document: Value) -> Value {
    match &mut document {
        Value::Object(fields) => drop(fields.insert("version".to_owned(), VERSION.into())),
        Value::Array(items) => {
            for item in items {
                *item = versioned(item.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    document
}

/// Prints a document in one line on standard output.
pub fn print(document: impl Serialize) -> io::Result<()> {
    let document = serde_json::to_value(document)?;
    writeln!(stdout(), "{}", versioned(document))
}

/// Prints a document over several lines on standard output.
pub fn print_pretty(document: impl Serialize) -> io::Result<()> {
    let document = serde_json::to_value(document)?;
    writeln!(stdout(), "{:#}", versioned(document))
}

/// Prints what a command did: the document with --json, else the text.
pub fn answer(global: &Global, document: Value, text: &str) -> Result<Exit, Failure> {
    if global.json {
        print(document)?;
    } else {
        writeln!(stdout(), "{text}")?;
    }
    Ok(Exit::Done)
}

/// Prints why a command failed.
pub fn print_error(message: &str, help: Option<&str>, exit: u8) {
    let error = json!({"error": {"message": message, "help": help, "exit": exit}});
    // If the reader is gone, no error is printed.
    drop(print(error));
}

/// Like [`print_error`], for a failure.
pub fn print_failure(failure: &Failure) {
    print_error(&failure.to_string(), failure.help(), failure.exit() as u8);
}

/// Turns the times of an event into RFC 3339, which every other document uses.
pub fn with_readable_times(mut event: Value) -> Value {
    if let Value::Object(fields) = &mut event {
        for (name, value) in fields {
            *value = match value.as_u64().filter(|_| TIMES.contains(&name.as_str())) {
                Some(milliseconds) => Timestamp(milliseconds).to_string().into(),
                None => with_readable_times(value.take()),
            };
        }
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_events_are_rfc_3339_at_any_depth() {
        let event =
            json!({"at": 1_772_964_000_000_u64, "state": {"until": 1_772_964_001_999_u64}, "wave": 1});
        let expected =
            json!({"at": "2026-03-08T10:00:00Z", "state": {"until": "2026-03-08T10:00:01Z"}, "wave": 1});
        assert_eq!(with_readable_times(event), expected);
    }

    #[test]
    fn documents_and_the_elements_of_lists_have_a_version() {
        assert_eq!(versioned(json!({"a": 1})), json!({"a": 1, "version": 1}));
        assert_eq!(versioned(json!([{"a": 1}])), json!([{"a": 1, "version": 1}]));
        assert_eq!(versioned(json!([])), json!([]), "no fields, in every version");
    }
}
