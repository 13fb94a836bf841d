//! Reads a worker's report. Describes what is wrong in words for the worker.

mod doubt;
#[cfg(test)]
mod tests;

pub use doubt::{ReportDoubt, report_doubt};

use crate::claim::json::{plain_text, without_nulls};
use crate::event::{Status, TaskResult};
use crate::sanitise::sanitise_value;
use crate::team::Team;
use crate::view::clipped;
use serde_json::{Map, Value};

const MAX_FINDINGS: usize = 500;
/// How many values beside the columns are kept, and how long each may be.
const MAX_FACTS: usize = 40;
const MAX_FACT: usize = 200;
/// What agents write where there was no error.
const NO_ERROR: [&str; 8] = ["none", "null", "no", "no error", "no errors", "n/a", "-", "nil"];
pub const MAX_REPORT_BYTES: usize = 1 << 20;

/// A well-formed report. Checks find out whether it is true.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkerReport {
    /// Its facts are plain values beside the columns, for policies.
    pub result: TaskResult,
    /// Set when the findings did not fit the table.
    pub whole_findings: Option<String>,
}

/// Reads reports of one team; compiles the team's schema once.
pub struct ReportReader {
    schema: jsonschema::Validator,
    /// The schema of the team's results, if there is one.
    result: Option<jsonschema::Validator>,
    outputs: Vec<String>,
    /// Whether policies use more of a report than its columns.
    has_policies: bool,
}

impl ReportReader {
    /// # Panics
    /// When the team's own schema is not a JSON Schema; the team's parser refuses such a team.
    pub fn new(team: &Team) -> Self {
        let compiled =
            |schema: &Value| jsonschema::validator_for(schema).expect("a team's schemas are well-formed");
        Self {
            schema: compiled(&team.envelope_schema()),
            result: team.result_schema.as_ref().map(|schema| compiled(&schema.0)),
            outputs: team.output_columns().map(|column| column.name.clone()).collect(),
            has_policies: team.has_policies(),
        }
    }

    /// Reads a report for `task`, or returns why it does not count.
    pub fn read(&self, task: &str, body: &str) -> Result<WorkerReport, String> {
        if body.len() > MAX_REPORT_BYTES {
            return Err(format!(
                "the report has {} bytes, at most {MAX_REPORT_BYTES} are allowed; put long texts into files",
                body.len()
            ));
        }
        let example =
            || format!(r#"report with one JSON object such as {{"id":"{task}","status":"completed"}}"#);
        let text = body.trim();
        if text.is_empty() {
            return Err(format!("the report is empty; {}", example()));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| {
            if text.starts_with('{') {
                format!("the report is not a JSON object: {error}")
            } else {
                format!("the answer is prose and not a JSON object; {}", example())
            }
        })?;
        // The text of a report appears in the table, in files and on screens.
        let Value::Object(fields) = sanitise_value(value) else {
            return Err(format!("the report is not a JSON object; {}", example()));
        };
        // Where results have a schema, the schema decides whether an empty one is valid.
        if fields.is_empty() && self.result.is_none() {
            return Err(format!("the report is an empty object; {}", example()));
        }
        let fields = self.usual_shape(task, without_nulls(fields));
        let value = Value::Object(self.usual_values(fields));
        let fields = value.as_object().expect("just made");
        if let Some(id) = fields.get("id").and_then(Value::as_str)
            && id != task
        {
            return Err(format!(
                "the report is for task `{id}`, but this worker's task is `{task}`"
            ));
        }
        // Most are valid, and checking that is faster than listing errors.
        let of_envelope = (!self.schema.is_valid(&value)).then(|| self.schema.iter_errors(&value).take(5));
        let problems: Vec<String> = of_envelope
            .into_iter()
            .flatten()
            .map(|e| describe(&e))
            .chain(self.problems_of_result(fields))
            .collect();
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        let text = |name: &str| fields.get(name).map(plain_text).unwrap_or_default();
        let whole = text("findings");
        let (findings, whole_findings) = cut(whole);
        let status = if text("status") == "completed" {
            Status::Completed
        } else {
            Status::Failed
        };
        let outputs = self
            .outputs
            .iter()
            .map(|name| (name.clone(), text(name)))
            .filter(|(_, v)| !v.is_empty());
        let result = TaskResult {
            status,
            findings,
            outputs: outputs.collect(),
            error: text("error"),
            facts: self.facts(fields),
            ..TaskResult::default()
        };
        Ok(WorkerReport {
            result,
            whole_findings,
        })
    }
}

impl ReportReader {
    /// Plain values beside the columns, also those one level down in objects, by their own names.
    fn facts(&self, fields: &Map<String, Value>) -> Vec<(String, String)> {
        if !self.has_policies {
            return Vec::new();
        }
        let known = |name: &String| {
            ["id", "status", "findings", "error", "result", "stop"].contains(&name.as_str())
                || self.outputs.contains(name)
        };
        let nested = |value: &Value| match value {
            Value::Object(inner) => inner.clone().into_iter().collect(),
            _ => Vec::new(),
        };
        let beside = fields.iter().filter(|(name, _)| !known(name));
        let flat = beside.flat_map(|(name, value)| {
            let itself = std::iter::once((name.clone(), value.clone()));
            itself.chain(nested(value))
        });
        let is_plain = |value: &Value| !matches!(value, Value::Object(_) | Value::Null);
        flat.filter(|(_, value)| is_plain(value))
            .map(|(name, value)| (name, plain_text(&value).chars().take(MAX_FACT).collect()))
            .take(MAX_FACTS)
            .collect()
    }

    /// Values as they are meant: numbers and lists are texts, case does not matter for a status, `none` is no error.
    fn usual_values(&self, mut fields: Map<String, Value>) -> Map<String, Value> {
        let is_text = |name: &str| {
            ["id", "findings", "error"].contains(&name)
                || (self.outputs.iter().any(|known| known == name) && !["result", "stop"].contains(&name))
        };
        for (name, value) in &mut fields {
            if name == "status"
                && let Some(status) = value.as_str()
            {
                let lower = status.trim().to_lowercase();
                if lower == "completed" || lower == "failed" {
                    *value = lower.into();
                }
            } else if is_text(name) && !value.is_string() {
                *value = plain_text(value).into();
            }
        }
        let says_none = |text: &str| NO_ERROR.iter().any(|none| text.trim().eq_ignore_ascii_case(none));
        if fields.get("error").and_then(Value::as_str).is_some_and(says_none) {
            fields.remove("error");
        }
        fields
    }

    /// Accepts other shapes: `{job_id, item_id, result, stop}`, and, where results have a schema, the bare result.
    fn usual_shape(&self, task: &str, mut fields: Map<String, Value>) -> Map<String, Value> {
        let says_failed = |fields: &Map<String, Value>| fields.get("status") == Some(&"failed".into());
        if let Some(item) = fields.remove("item_id") {
            fields.remove("job_id");
            match fields.remove("result") {
                Some(Value::Object(result)) if self.result.is_none() => fields.extend(result),
                Some(result) => drop(fields.insert("result".into(), result)),
                None => {}
            }
            fields.insert("id".into(), item);
            fields.entry("status").or_insert_with(|| "completed".into());
        } else if self.result.is_some() && !fields.contains_key("result") && !says_failed(&fields) {
            let bare = std::mem::take(&mut fields);
            fields.insert("id".into(), task.into());
            fields.insert("status".into(), "completed".into());
            fields.insert("result".into(), Value::Object(bare));
        }
        match fields.get("stop") {
            Some(Value::Bool(true)) => drop(fields.insert("stop".into(), "true".into())),
            Some(Value::Bool(false) | Value::Null) => drop(fields.remove("stop")),
            Some(_) | None => {}
        }
        fields
    }

    fn problems_of_result(&self, fields: &Map<String, Value>) -> Vec<String> {
        let Some(schema) = &self.result else {
            return Vec::new();
        };
        match fields.get("result") {
            Some(result) => {
                let place =
                    |e: &jsonschema::ValidationError<'_>| format!("at /result{}: {e}", e.instance_path());
                schema.iter_errors(result).take(5).map(|e| place(&e)).collect()
            }
            None if fields.get("status") == Some(&"completed".into()) => {
                vec!["\"result\" is a required property".to_owned()]
            }
            None => Vec::new(),
        }
    }
}

/// The JSON object that ends a text, if one does; a closing code fence after it is forgiven.
pub fn final_object(text: &str) -> Option<&str> {
    /// Positions to try: in a text with more braces than this, the object starts a line.
    const TRIES: usize = 500;
    let text = text.trim_end();
    let text = text.strip_suffix("```").map_or(text, str::trim_end);
    if !text.ends_with('}') {
        return None;
    }
    // First at the start of lines, so that an object may contain any number of others.
    let lines = text.rmatch_indices("\n{").map(|(at, _)| at + 1).take(TRIES);
    let lines = lines.chain(text.starts_with('{').then_some(0));
    // From the right: an inner object fails to parse because of the text after it.
    let braces = text.rmatch_indices('{').map(|(at, _)| at).take(TRIES);
    lines
        .chain(braces)
        .map(|at| &text[at..])
        .find(|candidate| serde_json::from_str::<serde::de::IgnoredAny>(candidate).is_ok())
}

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    if place.is_empty() {
        error.to_string()
    } else {
        format!("at {place}: {error}")
    }
}

impl WorkerReport {
    /// Puts measured findings before those of the worker.
    pub(super) fn put_first(&mut self, measured: &str) {
        let reported = self
            .whole_findings
            .take()
            .unwrap_or_else(|| std::mem::take(&mut self.result.findings));
        let whole = if reported.is_empty() {
            measured.to_owned()
        } else {
            format!("{measured}. {reported}")
        };
        (self.result.findings, self.whole_findings) = cut(whole);
    }
}

/// Cuts findings to what the table holds, with `…` as the last character.
fn cut(whole: String) -> (String, Option<String>) {
    if whole.chars().nth(MAX_FINDINGS).is_none() {
        return (whole, None);
    }
    (clipped(&whole, MAX_FINDINGS), Some(whole))
}
