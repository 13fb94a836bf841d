//! The suite of cheating and honest workers as data: the files in `truth/`, read into cases.
//!
//! A file begins with what all its cases share: `team`, `task` and `request`, the files of an honest worker
//! (`@ PATH`, the text on the following lines) and the fields of its report (`! JSON`). Each case lists its
//! differences:
//!
//! | line | meaning |
//! | --- | --- |
//! | `=== cheat NAME`, `=== honest NAME` | begins a case |
//! | `@ PATH` | replaces a file by the following lines |
//! | `> HEADING` | replaces what is below a heading of the last file that all cases share |
//! | `~ OLD => NEW` | replaces a text in all files; `\n` is a line break |
//! | `! JSON` | replaces the fields of the report beside `id` and `status` |
//! | `= TEXT` | replaces the whole report |
//!
//! A line of `%%%` begins another head with cases of its own in the same file.

use std::collections::BTreeMap;

/// What a case is meant to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worker {
    Cheat,
    Honest,
}

/// What one worker leaves behind.
#[derive(Clone)]
pub struct Case {
    /// The file that it is from, without its ending.
    pub suite: &'static str,
    pub worker: Worker,
    pub name: String,
    pub team: String,
    pub task: String,
    pub request: String,
    /// Texts by their paths in the session folder.
    pub files: BTreeMap<String, String>,
    pub report: String,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?} {}", self.suite, self.worker, self.name)
    }
}

macro_rules! suites {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../truth/", $name, ".txt")))),*]
    };
}

/// All cases, in the order of their files.
pub fn cases() -> Vec<Case> {
    let suites = suites![
        "architecture",
        "brief",
        "checkpoint",
        "epics",
        "plan",
        "quality",
        "reports",
        "requirements",
        "research",
        "review",
        "solution",
        "table",
        "unseen",
        "unseen3",
        "further",
    ];
    suites
        .into_iter()
        .flat_map(|(suite, text)| text.split("\n%%%\n").map(move |text| (suite, text)))
        .flat_map(|(suite, text)| cases_of(suite, text))
        .collect()
}

/// A part of a suite file, before it is applied to the parts that all cases share.
#[derive(Default)]
struct Part {
    files: Vec<(String, String)>,
    sections: Vec<(String, String)>,
    replacements: Vec<(String, String)>,
    fields: Option<String>,
    report: Option<String>,
}

fn cases_of(suite: &'static str, text: &str) -> Vec<Case> {
    let mut parts = text.split("\n=== ");
    let head = parts.next().unwrap_or_default();
    let setting = |name: &str| {
        let found = head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("{suite}: no `{name}`")).to_owned()
    };
    let (team, task, request) = (setting("team"), setting("task"), setting("request"));
    let shared = part(suite, head);
    let case = |text: &str| {
        let (title, body) = text.split_once('\n').unwrap_or((text, ""));
        let (kind, name) = title.split_once(' ').unwrap_or((title, ""));
        let worker = match kind {
            "cheat" => Worker::Cheat,
            "honest" => Worker::Honest,
            other => panic!("{suite}: `=== {other}` is neither cheat nor honest"),
        };
        let own = part(suite, body);
        Case {
            suite,
            worker,
            name: name.to_owned(),
            team: team.clone(),
            request: request.clone(),
            files: files(&shared, &own, suite, name),
            report: own.report.unwrap_or_else(|| {
                let fields = own.fields.as_deref().or(shared.fields.as_deref()).unwrap_or("{}");
                let mut report: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_str(fields).unwrap_or_else(|error| panic!("{suite}: {name}: {error}"));
                report.insert("id".into(), task.clone().into());
                report.insert("status".into(), "completed".into());
                serde_json::Value::Object(report).to_string()
            }),
            task: task.clone(),
        }
    };
    parts.map(case).collect()
}

fn part(suite: &str, text: &str) -> Part {
    let mut part = Part::default();
    let mut into: Option<bool> = None;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("@ ") {
            part.files.push((path.to_owned(), String::new()));
            into = Some(true);
        } else if let Some(heading) = line.strip_prefix("> ") {
            part.sections.push((heading.to_owned(), String::new()));
            into = Some(false);
        } else if let Some(replacement) = line.strip_prefix("~ ") {
            let (old, new) = replacement
                .split_once(" => ")
                .unwrap_or_else(|| panic!("{suite}: no ` => ` in {line}"));
            let text = |text: &str| text.replace("\\n", "\n");
            part.replacements.push((text(old), text(new)));
            into = None;
        } else if let Some(fields) = line.strip_prefix("! ") {
            part.fields = Some(fields.to_owned());
            into = None;
        } else if let Some(report) = line.strip_prefix("= ") {
            part.report = Some(report.replace("\\n", "\n"));
            into = None;
        } else if let Some(is_file) = into {
            let last = if is_file {
                part.files.last_mut()
            } else {
                part.sections.last_mut()
            };
            let text = &mut last.expect("just pushed").1;
            text.push_str(line);
            text.push('\n');
        }
    }
    part
}

fn files(shared: &Part, own: &Part, suite: &str, name: &str) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = shared.files.iter().cloned().collect();
    if let Some((path, text)) = shared.files.last() {
        let mut text = text.clone();
        for (heading, body) in &own.sections {
            text = with_section(&text, heading, body)
                .unwrap_or_else(|| panic!("{suite}: {name}: no heading {heading}"));
        }
        files.insert(path.clone(), text);
    }
    files.extend(own.files.iter().cloned());
    for (old, new) in &own.replacements {
        let mut found = false;
        for text in files.values_mut() {
            found |= text.contains(old.as_str());
            *text = text.replace(old.as_str(), new);
        }
        assert!(found, "{suite}: {name}: no file has {old:?}");
    }
    files
}

fn with_section(text: &str, heading: &str, body: &str) -> Option<String> {
    let title = format!("## {heading}\n");
    let (before, after) = text.split_once(&title)?;
    let rest = after.find("\n## ").map_or("", |at| &after[at..]);
    Some(format!("{before}{title}{}\n{rest}", body.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_large_and_its_names_are_unique() {
        let cases = cases();
        let count = |worker: Worker| cases.iter().filter(|case| case.worker == worker).count();
        assert!(count(Worker::Cheat) >= 150 && count(Worker::Honest) >= 120);
        let mut names: Vec<String> = cases.iter().map(|case| format!("{case:?}")).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len());
    }
}
