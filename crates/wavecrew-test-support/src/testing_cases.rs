//! Workers of team Testing as data: the files in `truth/testing/`, one per framework, read into cases.
//!
//! A file begins with what all its cases share: the `framework`, the files of the project (`$ PATH`, the text
//! on the following lines) and named pieces of text (`& NAME`). Each case lists the actions of its worker:
//!
//! | line | meaning |
//! | --- | --- |
//! | `=== cheat NAME`, `=== honest NAME` | begins a case |
//! | `@ PATH` | writes a file: the following lines, in which `& NAME` is a named piece |
//! | `~ PATH OLD => NEW` | replaces a text in a file; `\n` is a line break |
//! | `- PATH` | deletes a file |
//! | `! NAME` | the worker cheats unless the tests that are kept do without this name |
//! | `--- run` | what follows happens before the next run of the tests |
//!
//! A path is in the folder of the tests, or with `copy:` in the copy of the project, or with `session:` in the session.

use std::collections::BTreeMap;

use crate::truth::Worker;

/// One worker of team Testing.
#[derive(Clone)]
pub struct TestingCase {
    /// The framework, or `later` and `unseen` for those that were written after the checks, without knowledge of them.
    pub framework: &'static str,
    pub worker: Worker,
    pub name: String,
    /// The files of the project.
    pub project: Vec<(String, String)>,
    /// What happens before the check of the delivery, and before each run after it.
    pub stages: Vec<Vec<Edit>>,
    /// What kept tests must not contain.
    pub forbidden: Option<String>,
}

/// A change that the worker makes.
#[derive(Clone, Debug)]
pub struct Edit {
    pub place: Place,
    pub path: String,
    pub change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The folder of the layer's tests.
    Tests,
    /// The copy of the project in which workers work.
    Copy,
    Session,
}

#[derive(Clone, Debug)]
pub enum Change {
    Write(String),
    Replace(String, String),
    Delete,
}

impl std::fmt::Debug for TestingCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?} {}", self.framework, self.worker, self.name)
    }
}

/// All cases, in the order of their files.
pub fn testing_cases() -> Vec<TestingCase> {
    [
        ("pytest", include_str!("../truth/testing/pytest.txt")),
        ("vitest", include_str!("../truth/testing/vitest.txt")),
        ("jest", include_str!("../truth/testing/jest.txt")),
        ("later", include_str!("../truth/testing/later.txt")),
        ("unseen", include_str!("../truth/testing/unseen.txt")),
        (
            "unseen vitest",
            include_str!("../truth/testing/unseen_vitest.txt"),
        ),
        ("unseen jest", include_str!("../truth/testing/unseen_jest.txt")),
        ("unseen3", include_str!("../truth/testing/unseen3.txt")),
        (
            "unseen3 vitest",
            include_str!("../truth/testing/unseen3_vitest.txt"),
        ),
        ("unseen3 jest", include_str!("../truth/testing/unseen3_jest.txt")),
        ("further", include_str!("../truth/testing/further.txt")),
        (
            "further vitest",
            include_str!("../truth/testing/further_vitest.txt"),
        ),
    ]
    .into_iter()
    .flat_map(|(framework, text)| cases_of(framework, text))
    .collect()
}

fn cases_of(framework: &'static str, text: &str) -> Vec<TestingCase> {
    let mut parts = text.split("\n=== ");
    let head = parts.next().unwrap_or_default();
    let project = blocks(head, "$ ");
    let pieces: BTreeMap<String, String> = blocks(head, "& ").into_iter().collect();
    parts
        .map(|text| case(framework, text, &project, &pieces))
        .collect()
}

/// The named blocks of the head that begin with a mark.
fn blocks(head: &str, mark: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in head.lines() {
        if let Some(name) = line.strip_prefix(mark) {
            found.push((name.to_owned(), String::new()));
            inside = true;
        } else if line.starts_with("$ ") || line.starts_with("& ") {
            inside = false;
        } else if let Some((_, text)) = found.last_mut().filter(|_| inside) {
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

fn case(
    framework: &'static str,
    text: &str,
    project: &[(String, String)],
    pieces: &BTreeMap<String, String>,
) -> TestingCase {
    let (title, body) = text.split_once('\n').unwrap_or((text, ""));
    let (kind, name) = title.split_once(' ').unwrap_or((title, ""));
    let mut case = TestingCase {
        framework,
        worker: match kind {
            "cheat" => Worker::Cheat,
            "honest" => Worker::Honest,
            other => panic!("{framework}: `=== {other}` is neither cheat nor honest"),
        },
        name: name.to_owned(),
        project: project.to_vec(),
        stages: vec![Vec::new()],
        forbidden: None,
    };
    for line in body.lines() {
        let stage = case.stages.last_mut().expect("there is always one");
        if let Some(path) = line.strip_prefix("@ ") {
            stage.push(edit(path, Change::Write(String::new())));
        } else if let Some(replacement) = line.strip_prefix("~ ") {
            let (path, change) = replacement.split_once(' ').unwrap_or((replacement, ""));
            let (old, new) = change
                .split_once(" => ")
                .unwrap_or_else(|| panic!("{framework}: {name}: no ` => ` in {line}"));
            let text = |text: &str| text.replace("\\n", "\n");
            stage.push(edit(path, Change::Replace(text(old), text(new))));
        } else if let Some(path) = line.strip_prefix("- ") {
            stage.push(edit(path, Change::Delete));
        } else if line == "--- run" {
            case.stages.push(Vec::new());
        } else if let Some(name) = line.strip_prefix("! ") {
            case.forbidden = Some(name.to_owned());
        } else if let Some(Edit {
            change: Change::Write(text),
            ..
        }) = stage.last_mut()
        {
            if let Some(piece) = line.strip_prefix("& ") {
                text.push_str(&pieces[piece]);
            } else {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    case
}

fn edit(path: &str, change: Change) -> Edit {
    let places = [("copy:", Place::Copy), ("session:", Place::Session)];
    let found = places
        .into_iter()
        .find_map(|(mark, place)| Some((place, path.strip_prefix(mark)?)));
    let (place, path) = found.unwrap_or((Place::Tests, path));
    Edit {
        place,
        path: path.to_owned(),
        change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_large_and_its_names_are_unique() {
        let cases = testing_cases();
        let count = |worker: Worker| cases.iter().filter(|case| case.worker == worker).count();
        assert!(count(Worker::Cheat) >= 120 && count(Worker::Honest) >= 60);
        let mut names: Vec<String> = cases.iter().map(|case| format!("{case:?}")).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len());
    }
}
