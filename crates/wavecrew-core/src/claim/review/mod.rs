//! Code reviews as documents: the verdict, the findings, and whether they fit. Callers check that the locations in findings
//! exist.

use super::markdown::key;
use crate::team::{ReviewRules, Severity};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::Value;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// One of the known words.
    pub verdict: Option<String>,
    pub findings: Vec<ReviewFinding>,
}

/// A finding of a review, with its location in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewFinding {
    pub file: String,
    pub line: u32,
    severity: String,
}

/// The columns of a table of findings, for messages.
const TABLE: &str = "| file | line | severity | dimension | description | suggested fix |";
/// Lines that mean "no findings".
const NOTHING: [&str; 9] = [
    "none",
    "nothing",
    "no finding",
    "no findings",
    "no issue",
    "no issues",
    "no problem",
    "no problems",
    "n/a",
];
/// Endings of such lines.
const FOUND: [&str; 4] = [" were found", " found", " identified", " to report"];
/// A reviewer fixes the first few and sees the rest next time.
const MAX_PROBLEMS: usize = 8;

/// The problems of a review; each continues a sentence that starts with the file's name.
pub(super) fn problems(text: &str, rules: &ReviewRules) -> Vec<String> {
    let (review, mut problems) = read(text, rules);
    let words: Vec<&str> = words(rules);
    match &review.verdict {
        None => problems.insert(
            0,
            format!(
                "names no verdict below `Verdict`: it is one of {}",
                words.join(", ")
            ),
        ),
        Some(verdict) if problems.is_empty() => problems.extend(mismatch(verdict, &review.findings, rules)),
        Some(_) => {}
    }
    if problems.len() > MAX_PROBLEMS {
        let more = problems.len() - MAX_PROBLEMS;
        problems.truncate(MAX_PROBLEMS);
        problems.push(format!("has {more} more such flaws"));
    }
    problems
}

/// The verdict and the valid findings of a review.
pub fn read_review(text: &str, rules: &ReviewRules) -> Review {
    read(text, rules).0
}

/// Why the verdict does not follow from the findings.
fn mismatch(verdict: &str, findings: &[ReviewFinding], rules: &ReviewRules) -> Option<String> {
    let of = |severity: &Severity| findings.iter().filter(|f| f.severity == severity.name).count();
    let worst = rules.severities.iter().find(|severity| of(severity) > 0);
    let (allowed, why) = match worst {
        Some(worst) => (
            &worst.verdicts,
            format!(
                "{} of its findings {} `{}`",
                of(worst),
                if of(worst) == 1 { "is" } else { "are" },
                worst.name
            ),
        ),
        None => (&rules.clean, "it has no findings".to_owned()),
    };
    (!allowed.iter().any(|word| word == verdict)).then(|| {
        format!(
            "says {verdict}, but {why}: the verdict would be {}",
            allowed.join(" or ")
        )
    })
}

fn words(rules: &ReviewRules) -> Vec<&str> {
    let all = rules
        .severities
        .iter()
        .flat_map(|severity| &severity.verdicts)
        .chain(&rules.clean);
    let mut words: Vec<&str> = all.map(String::as_str).collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn read(text: &str, rules: &ReviewRules) -> (Review, Vec<String>) {
    let sections = Sections::read(text);
    let known = words(rules);
    let first = sections
        .verdict
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .find_map(|word| known.iter().find(|known| **known == word));
    let mut review = Review {
        verdict: first.map(|word| (*word).to_owned()),
        findings: Vec::new(),
    };
    let mut problems = Vec::new();
    let entries = match sections.entries() {
        Ok(entries) => entries,
        Err(problem) => return (review, vec![problem]),
    };
    for (number, entry) in (1..).zip(&entries) {
        match finding(entry, rules) {
            Ok(finding) => review.findings.push(finding),
            Err(flaws) => {
                problems.extend(
                    flaws
                        .into_iter()
                        .map(|flaw| format!("has a finding {number} {flaw}")),
                );
            }
        }
    }
    (review, problems)
}

/// One finding, field by field.
type Entry = Vec<(String, String)>;

fn finding(entry: &Entry, rules: &ReviewRules) -> Result<ReviewFinding, Vec<String>> {
    let value = |wanted: &str| {
        let found = entry.iter().find(|(name, _)| field(name) == Some(wanted));
        found.map_or("", |(_, value)| value.trim().trim_matches('`').trim())
    };
    let mut flaws = Vec::new();
    let mut one_of = |what: &str, known: Vec<&str>| {
        let said = value(what);
        let word = known.iter().find(|word| word.eq_ignore_ascii_case(said));
        if word.is_none() {
            let said = super::quoted_path(said);
            flaws.push(format!(
                "whose {what} is {said}, and has to be one of {}",
                known.join(", ")
            ));
        }
        word.map(|word| (*word).to_owned())
    };
    let severities = rules.severities.iter().map(|severity| severity.name.as_str());
    let severity = one_of("severity", severities.collect());
    one_of("dimension", rules.dimensions.iter().map(String::as_str).collect());
    // `src/a.py:12` has both.
    let (file, line) = match (value("file"), value("line")) {
        (file, "") => file.rsplit_once(':').unwrap_or((file, "")),
        both => both,
    };
    if file.is_empty() {
        flaws.push("without a file".to_owned());
    }
    let digits = line.trim_start_matches(['L', 'l']);
    let digits = digits
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    let number = digits.parse::<u32>().ok().filter(|number| *number > 0);
    if number.is_none() {
        let line = super::quoted_path(line);
        flaws.push(format!("whose line is {line}, and has to be a number from 1"));
    }
    if value("fix").is_empty() {
        flaws.push("without a suggested fix".to_owned());
    }
    match (severity, number) {
        (Some(severity), Some(line)) if flaws.is_empty() => Ok(ReviewFinding {
            file: file.to_owned(),
            line,
            severity,
        }),
        _ => Err(flaws),
    }
}

/// The field that a column or key of this name means.
fn field(name: &str) -> Option<&'static str> {
    let name = name.trim().to_lowercase();
    match name.as_str() {
        "file" | "path" | "location" | "file:line" | "place" | "where" => Some("file"),
        "line" | "lines" => Some("line"),
        "severity" => Some("severity"),
        "dimension" => Some("dimension"),
        other => other.contains("fix").then_some("fix"),
    }
}

/// The text below the headings of a review.
#[derive(Default)]
struct Sections {
    verdict: String,
    /// Text below `Findings` that is neither table nor code.
    text: String,
    tables: Vec<Vec<Vec<String>>>,
    code: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    Elsewhere,
    Verdict,
    Findings,
}

impl Sections {
    fn read(text: &str) -> Self {
        let mut sections = Self::default();
        let (mut place, mut depth) = (Location::Elsewhere, HeadingLevel::H6);
        let mut title: Option<String> = None;
        let (mut table, mut cell, mut code) = (false, String::new(), false);
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => title = Some(String::new()),
                Event::End(TagEnd::Heading(level)) => {
                    let next = match key(&title.take().unwrap_or_default()).as_str() {
                        "verdict" => Some(Location::Verdict),
                        "findings" => Some(Location::Findings),
                        // Parts of a section belong to it.
                        _ => (level <= depth).then_some(Location::Elsewhere),
                    };
                    if let Some(next) = next {
                        (place, depth) = (next, level);
                    }
                }
                Event::Start(Tag::Table(_)) => {
                    table = true;
                    sections
                        .tables
                        .extend((place == Location::Findings).then(Vec::new));
                }
                Event::End(TagEnd::Table) => table = false,
                Event::Start(Tag::TableHead | Tag::TableRow) if place == Location::Findings => {
                    if let Some(table) = sections.tables.last_mut() {
                        table.push(Vec::new());
                    }
                }
                Event::End(TagEnd::TableCell) => {
                    let cell = std::mem::take(&mut cell);
                    let rows = sections.tables.last_mut().filter(|_| place == Location::Findings);
                    if let Some(row) = rows.and_then(|rows| rows.last_mut()) {
                        row.push(cell);
                    }
                }
                Event::Start(Tag::CodeBlock(_)) => {
                    code = true;
                    sections
                        .code
                        .extend((place == Location::Findings).then(String::new));
                }
                Event::End(TagEnd::CodeBlock) => code = false,
                Event::Text(text) | Event::Code(text) => {
                    let into = match (&mut title, place) {
                        (Some(title), _) => title,
                        (None, _) if table => &mut cell,
                        (None, Location::Verdict) => &mut sections.verdict,
                        (None, Location::Findings) if code => match sections.code.last_mut() {
                            Some(code) => code,
                            None => continue,
                        },
                        (None, Location::Findings) => &mut sections.text,
                        (None, Location::Elsewhere) => continue,
                    };
                    into.push_str(&text);
                }
                Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                    sections.verdict.push(' ');
                    sections.text.push('\n');
                }
                _ => {}
            }
        }
        sections
    }

    /// The findings, from tables or JSON.
    fn entries(&self) -> Result<Vec<Entry>, String> {
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
                return Err(format!(
                    "has a table of findings without the columns {}: it is {TABLE}",
                    missing.join(", ")
                ));
            }
            let entry = |row: &Vec<String>| head.iter().cloned().zip(row.iter().cloned()).collect();
            let says = |cell: &String| !cell.trim().is_empty() && !says_nothing(cell);
            let said = rows.iter().filter(|row| row.iter().any(says));
            entries.extend(said.map(entry));
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
        if listed || says_nothing(&self.text) {
            Ok(entries)
        } else {
            Err(format!(
                "has findings that are not in a table: list them as {TABLE}, or write `None`"
            ))
        }
    }
}

fn fields(value: &Value) -> Entry {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(name, value)| (name.clone(), text(value))).collect()
}

/// Whether there are lines, and every line only says that there are no findings.
fn says_nothing(text: &str) -> bool {
    let mark = |c: char| c.is_whitespace() || "*_-–—.!()".contains(c);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            let words = line.trim_matches(mark).to_lowercase();
            let bare = FOUND.iter().find_map(|end| words.strip_suffix(end));
            words.is_empty() || NOTHING.contains(&bare.unwrap_or(&words))
        })
}

#[cfg(test)]
mod tests;
