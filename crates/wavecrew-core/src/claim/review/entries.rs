//! The findings of a review: rows of tables, JSON, lists of fields, list items and paragraphs.

use super::TABLE;
use super::review_text::ReviewText;
use super::words::{field, known, place, states_no_findings};
use crate::claim::rules::{Problem, Rule};
use crate::team::ReviewRules;
use serde_json::Value;

/// One finding, field by field.
pub(super) type Entry = Vec<(String, String)>;

impl ReviewText {
    /// The findings, in any layout.
    pub(super) fn entries(&self, rules: &ReviewRules) -> Result<Vec<Entry>, Problem> {
        let mut entries = Vec::new();
        let mut listed = false;
        for table in &self.tables {
            let Some((head, rows)) = table.split_first() else {
                continue;
            };
            if !head.iter().any(|name| field(name) == Some("severity")) {
                continue;
            }
            listed = true;
            let missing: Vec<&str> = [
                ("file", "file"),
                ("dimension", "dimension"),
                ("fix", "suggested fix"),
            ]
            .into_iter()
            .filter(|(wanted, _)| !head.iter().any(|name| field(name) == Some(wanted)))
            .map(|(_, shown)| shown)
            .collect();
            if !missing.is_empty() {
                return Err(Problem::new(
                    Rule::Malformed,
                    format!(
                        "has a table of findings without the columns {}: it is {TABLE}",
                        missing.join(", ")
                    ),
                ));
            }
            let entry = |row: &Vec<String>| head.iter().cloned().zip(row.iter().cloned()).collect();
            let has_content = |cell: &String| !cell.trim().is_empty() && !states_no_findings(cell);
            let filled = rows.iter().filter(|row| row.iter().any(has_content));
            entries.extend(filled.map(entry));
        }
        for code in &self.code {
            let Ok(value) = serde_json::from_str::<Value>(code) else {
                continue;
            };
            let list = value.get("findings").unwrap_or(&value);
            let Some(list) = list.as_array() else { continue };
            listed = true;
            entries.extend(list.iter().map(fields));
        }
        if listed || states_no_findings(&self.text) {
            return Ok(entries);
        }
        let findings = labelled(&self.text);
        let findings = if findings.is_empty() {
            in_words(&self.text, rules)
        } else {
            findings
        };
        if !findings.is_empty() {
            return Ok(findings);
        }
        let problem = format!("has findings that are not in a table: list them as {TABLE}, or write `None`");
        // Who names a file may have read it; who names a line of it has found something there.
        let names_a_place = place(&self.text).is_some_and(|(_, line)| !line.is_empty());
        let rule = if names_a_place || self.text.split_whitespace().count() < 3 {
            Rule::Malformed
        } else {
            Rule::Unclear
        };
        Err(Problem::new(rule, problem))
    }
}

/// Findings as lists of fields: `File: a.py`, `Line: 3`, and so on.
fn labelled(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        let bare = line.trim_start_matches(['-', '*', ' ', '+']);
        let Some((name, value)) = bare.split_once([':', '：']) else {
            continue;
        };
        let Some(known) = field(name) else { continue };
        let starts = entries
            .last()
            .is_none_or(|entry| entry.iter().any(|(name, _)| name == known));
        if starts {
            entries.push(Vec::new());
        }
        if let Some(entry) = entries.last_mut() {
            entry.push((known.to_owned(), value.trim().to_owned()));
        }
    }
    entries.retain(|entry| {
        entry.iter().any(|(name, _)| name == "severity") && entry.iter().any(|(name, _)| name == "file")
    });
    entries
}

/// Findings as sentences: each line that names a place and a severity.
fn in_words(text: &str, rules: &ReviewRules) -> Vec<Entry> {
    let severities: Vec<&str> = rules
        .severities
        .iter()
        .map(|severity| severity.name.as_str())
        .collect();
    let dimensions: Vec<&str> = rules.dimensions.iter().map(String::as_str).collect();
    let entry = |line: &str| {
        let (file, number) = place(line)?;
        let word = |known_words: &[&str]| {
            line.split(|c: char| !c.is_alphanumeric())
                .find_map(|word| known(word, known_words))
                .map(str::to_owned)
        };
        let severity = word(&severities)?;
        let fix = [
            "Fix:",
            "fix:",
            "Suggested fix",
            "Suggestion:",
            "suggestion:",
            "Recommendation:",
            "建议",
            "Vorschlag:",
        ]
        .iter()
        .find_map(|mark| line.split_once(mark));
        let fix = fix.map_or(line, |(_, fix)| fix);
        let dimension = word(&dimensions).or_else(|| dimensions.first().map(|first| (*first).to_owned()))?;
        let fields = [
            ("file", file),
            ("line", number),
            ("severity", &severity),
            ("dimension", &dimension),
            ("what", line),
            ("fix", fix.trim()),
        ];
        Some(
            fields
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        )
    };
    text.lines().filter_map(entry).collect()
}

fn fields(value: &Value) -> Entry {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| (name.clone(), crate::claim::json::plain_text(value)))
        .collect()
}
