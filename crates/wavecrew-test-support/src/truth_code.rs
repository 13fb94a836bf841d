//! Cheating and honest workers that change code, as data: the files in `truth/code/`, read into cases.
//!
//! A file begins with `team` and `task`, and with what all its cases share. A case is a shell script of the task's worker;
//! it runs again each time the work goes back. Sections begin with `@ NAME`:
//!
//! | section | meaning |
//! | --- | --- |
//! | `@ project` | makes the project, in place of the notes of the example |
//! | `@ shared` | functions for all scripts |
//! | `@ base` | runs in the project before the session, after its first commit |
//! | `@ TASK` | the script of another worker |
//! | `@ about` | the task whose verdict counts, if it is another one |
//!
//! A line of `%%%` begins another head with cases of its own in the same file.

use crate::truth::Worker;
use std::collections::BTreeMap;

#[derive(Clone)]
pub struct CodeCase {
    /// The file that it is from, without its ending.
    pub suite: &'static str,
    pub worker: Worker,
    pub name: String,
    pub team: String,
    /// The task whose verdict counts.
    pub about: String,
    pub project: Option<String>,
    pub base: Option<String>,
    /// Scripts by the names of their tasks, and `shared`.
    pub scripts: BTreeMap<String, String>,
}

impl std::fmt::Debug for CodeCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?} {}", self.suite, self.worker, self.name)
    }
}

const SUITES: [(&str, &str); 7] = [
    ("planex", include_str!("../truth/code/planex.txt")),
    ("node", include_str!("../truth/code/node.txt")),
    ("lifecycle", include_str!("../truth/code/lifecycle.txt")),
    ("unseen", include_str!("../truth/code/unseen.txt")),
    ("unseen2", include_str!("../truth/code/unseen2.txt")),
    ("unseen3", include_str!("../truth/code/unseen3.txt")),
    ("further", include_str!("../truth/code/further.txt")),
];

/// All cases, in the order of their files.
pub fn code_cases() -> Vec<CodeCase> {
    SUITES
        .into_iter()
        .flat_map(|(suite, text)| text.split("\n%%%\n").map(move |text| (suite, text)))
        .flat_map(|(suite, text)| cases_of(suite, text))
        .collect()
}

fn cases_of(suite: &'static str, text: &str) -> Vec<CodeCase> {
    let mut parts = text.split("\n=== ");
    let head = sections(parts.next().unwrap_or_default(), "head");
    let setting = |name: &str| {
        let found = head["head"]
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("{suite}: no `{name}`")).to_owned()
    };
    let (team, task) = (setting("team"), setting("task"));
    let case = |text: &str| {
        let (title, body) = text.split_once('\n').unwrap_or((text, ""));
        let (kind, name) = title.split_once(' ').unwrap_or((title, ""));
        let worker = match kind {
            "cheat" => Worker::Cheat,
            "honest" => Worker::Honest,
            other => panic!("{suite}: `=== {other}` is neither cheat nor honest"),
        };
        let mut scripts = head.clone();
        scripts.extend(sections(body, &task));
        scripts.remove("head");
        let about = scripts.remove("about");
        CodeCase {
            suite,
            worker,
            name: name.to_owned(),
            team: team.clone(),
            about: about.map_or_else(|| task.clone(), |about| about.trim().to_owned()),
            project: scripts.remove("project"),
            base: scripts.remove("base"),
            scripts,
        }
    };
    parts.map(case).collect()
}

/// The parts of a text by their names; what comes first has the name `first`.
fn sections(text: &str, first: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut name = first.to_owned();
    for line in text.lines() {
        if let Some(next) = line.strip_prefix("@ ") {
            next.clone_into(&mut name);
        } else {
            let part: &mut String = found.entry(name.clone()).or_default();
            part.push_str(line);
            part.push('\n');
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_large_and_its_names_are_unique() {
        let cases = code_cases();
        let count = |worker: Worker| cases.iter().filter(|case| case.worker == worker).count();
        assert!(count(Worker::Cheat) >= 60 && count(Worker::Honest) >= 50);
        let mut names: Vec<String> = cases.iter().map(|case| format!("{case:?}")).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len());
    }
}
