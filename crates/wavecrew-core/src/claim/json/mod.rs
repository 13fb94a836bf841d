//! JSON of a worker: normalised, then checked against its schema and for meaningful values.

mod coerce;
mod sense;

use super::DocumentContext;
use super::rules::{Problem, Rule};
use serde_json::Value;
use std::path::{Component, Path};

pub(crate) use coerce::{coerce, file_name, text as plain_text, texts, without_nulls};
pub(super) use sense::alike;
pub use sense::plan_problems;

/// A worker repairs the first few and gets the rest the next time.
const MAX_SCHEMA_PROBLEMS: usize = 5;

/// The required content of a JSON file.
#[derive(Clone, Copy)]
pub(super) struct JsonRules<'a> {
    pub schema: &'a Value,
    /// Places of names of files.
    pub files: &'a [String],
    pub own_name: Option<&'a str>,
}

pub(super) fn problems(
    text: &str,
    name: &str,
    rules: JsonRules<'_>,
    context: DocumentContext<'_>,
) -> Vec<Problem> {
    let value = match serde_json::from_str(text) {
        Ok(value) => coerce(value, rules.schema),
        Err(error) => return vec![Problem::new(Rule::Malformed, format!("is not JSON: {error}"))],
    };
    let problems = schema_problems(&value, rules.schema);
    if !problems.is_empty() {
        return problems;
    }
    let mut problems: Vec<Problem> = rules
        .own_name
        .and_then(|place| name_problem(&value, place, name))
        .into_iter()
        .collect();
    problems.extend(rules.files.iter().flat_map(|place| file_problems(&value, place)));
    problems.extend(sense::problems(&value, rules, context));
    problems
}

/// The text at a place must be the name of the file.
fn name_problem(value: &Value, place: &str, name: &str) -> Option<Problem> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let wanted = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let found = value.pointer(place)?.as_str().unwrap_or_default();
    (found != wanted).then(|| {
        let found = super::quoted_path(found);
        Problem::new(
            Rule::Disagrees,
            format!("has {found} at {place}, but the file name requires `{wanted}`"),
        )
    })
}

/// Files of a project are named relative to its root, and are inside it.
fn file_problems(value: &Value, place: &str) -> Vec<Problem> {
    let mut names = vec![];
    texts_at(value, place.trim_start_matches('/').split('/'), &mut names);
    let outside = names.into_iter().filter(|name| !lies_inside(name));
    outside
        .take(MAX_SCHEMA_PROBLEMS)
        .map(|name| {
            let name = super::quoted_path(name);
            Problem::new(
                Rule::Malformed,
                format!("names {name} at {place}, which is not a path of a project file, relative to the project's root"),
            )
        })
        .collect()
}

fn lies_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components().peekable();
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let names_a_file = !name.contains(['*', '<', '>', '?']) && super::text::gap(name).is_none();
    !name.trim().is_empty()
        && names_a_file
        && parts.peek().is_some()
        && parts.all(plain)
        && !name.ends_with('/')
}

/// All texts at a place, in which `*` stands for every entry of a list.
pub(super) fn texts_at<'v, 'p>(
    value: &'v Value,
    mut place: impl Iterator<Item = &'p str> + Clone,
    found: &mut Vec<&'v str>,
) {
    match (place.next(), value) {
        (Some("*"), Value::Array(entries)) => {
            for entry in entries {
                texts_at(entry, place.clone(), found);
            }
        }
        (Some(key), value) => {
            if let Some(inner) = value.get(key) {
                texts_at(inner, place, found);
            }
        }
        (None, Value::Array(entries)) => found.extend(entries.iter().filter_map(Value::as_str)),
        (None, value) => found.extend(value.as_str()),
    }
}

fn schema_problems(value: &Value, schema: &Value) -> Vec<Problem> {
    let malformed = |text: String| Problem::new(Rule::Malformed, text);
    let validator = match jsonschema::validator_for(schema) {
        Ok(validator) => validator,
        Err(error) => {
            return vec![malformed(format!(
                "cannot be checked, the team's schema for it is broken: {error}"
            ))];
        }
    };
    let describe = |error: jsonschema::ValidationError<'_>| {
        let place = error.instance_path().to_string();
        // Masked: the value itself may be megabytes long.
        let what = error.masked().to_string();
        malformed(if place.is_empty() {
            format!("does not fit its schema: {what}")
        } else {
            format!("does not fit its schema at {place}: {what}")
        })
    };
    let mut errors = validator.iter_errors(value);
    let mut problems: Vec<Problem> = errors.by_ref().take(MAX_SCHEMA_PROBLEMS).map(describe).collect();
    if errors.next().is_some() {
        problems.push(malformed("does not fit its schema in more places".to_owned()));
    }
    problems
}

#[cfg(test)]
mod tests;
