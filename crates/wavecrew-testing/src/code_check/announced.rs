//! What the plan and the person announce for a task: the files it may touch, and changes of tests and
//! settings.

use super::CodeAttempt;
use serde_json::Value;
use std::fs;
use wavecrew_core::claim::{Pattern, is_as_checked, touched_files};
use wavecrew_core::team::{CheckKind, Expansion};

/// Words with which a plan announces that a test is removed.
const REMOVAL: [&str; 14] = [
    "remov",
    "delet",
    "drop",
    "obsolete",
    "replac",
    "no longer",
    "rename",
    "rewrit",
    "skip",
    "merge",
    "删除",
    "移除",
    "替换",
    "重写",
];
/// File names that are ambiguous without their folder.
const COMMON_NAMES: [&str; 6] = [
    "__init__.py",
    "index.js",
    "index.ts",
    "mod.rs",
    "lib.rs",
    "main.py",
];

#[derive(Default)]
pub struct AnnouncedChanges {
    /// The paths that the plan names.
    pub files: Vec<String>,
    text: String,
    /// The worker only makes tests pass: a plan that names a test does not allow weakening it.
    pub of_tester: bool,
}

impl AnnouncedChanges {
    /// The row itself, the rows that it builds on, and the plan as it was when it was checked.
    pub fn of(case: &CodeAttempt<'_>) -> Self {
        let (ledger, plan) = (case.ledger, case.ledger.plan());
        let role = ledger.team.role(plan.role(case.task));
        let mut announced = Self {
            of_tester: role.and_then(|role| role.check) == Some(CheckKind::CodeTests),
            ..Self::default()
        };
        for task in std::iter::once(case.task).chain(plan.context(case.task).iter().copied()) {
            for column in ["title", "description", "raw_input"] {
                announced.add_text(plan.cell(task, column));
            }
        }
        let row = plan.cell(case.task, "description").to_owned();
        for expansion in &ledger.team.expansion {
            match expansion {
                Expansion::PerIssue {
                    issue_column,
                    plan: Some(template),
                    ..
                } => {
                    for issue in plan.cell(case.task, issue_column).split(';').map(str::trim) {
                        announced.read(case, &template.replace("{issue_id}", issue));
                    }
                }
                Expansion::PerPlanTask { plan_tasks, .. } => announced.read_tasks(case, plan_tasks, &row),
                Expansion::PerIssue { plan: None, .. } => {}
            }
        }
        announced
    }

    /// The tasks of a plan that the row names, or all of them if it names none.
    fn read_tasks(&mut self, case: &CodeAttempt<'_>, plan_tasks: &str, row: &str) {
        let Ok(pattern) = Pattern::parse(plan_tasks) else {
            return;
        };
        let base = pattern.base();
        let entries = fs::read_dir(case.session.path().join(&base))
            .into_iter()
            .flatten()
            .flatten();
        let names = entries.filter_map(|entry| Some(format!("{base}/{}", entry.file_name().to_str()?)));
        let names: Vec<String> = names.filter(|name| pattern.matches(name)).collect();
        let is_named = |name: &&String| row.contains(name.as_str());
        let any = names.iter().any(|name| is_named(&name));
        for name in names.iter().filter(|name| !any || is_named(name)) {
            self.read(case, name);
        }
    }

    /// Reads a file of the plan, unless it has changed since it was checked.
    fn read(&mut self, case: &CodeAttempt<'_>, name: &str) {
        let Ok(bytes) = fs::read(case.session.path().join(name)) else {
            return;
        };
        if is_as_checked(case.ledger, name, &bytes) == Some(false) {
            return;
        }
        let text = String::from_utf8_lossy(&bytes);
        self.add_text(&text);
        if let Ok(value) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
            let files = touched_files(&value);
            self.files.extend(files.iter().map(|file| without_notes(file)));
        }
    }

    fn add_text(&mut self, text: &str) {
        self.text.push_str(&text.to_lowercase());
        self.text.push('\n');
    }

    /// The parameters with which the plan or the person describes a function: `count(store, word=None)`.
    pub fn parameters(&self, function: &str) -> Vec<&str> {
        let call = format!("{}(", function.to_lowercase());
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut found = Vec::new();
        for (at, _) in self.text.match_indices(&call) {
            let rest = &self.text[at + call.len()..];
            let inner = rest.find([')', '\n']).map_or("", |end| &rest[..end]);
            if !self.text[..at].ends_with(is_name) {
                let names = inner.split(',').map(|part| {
                    let part = part.trim().trim_start_matches(['*', '.']);
                    &part[..part.find(|c| !is_name(c)).unwrap_or(part.len())]
                });
                found.extend(names.filter(|name| name.starts_with(char::is_alphabetic)));
            }
        }
        found
    }

    /// Whether the plan or the person wants something that does nothing.
    pub fn wants_nothing(&self) -> bool {
        let mut phrases = [
            "no-op",
            "noop",
            "does nothing",
            "do nothing",
            "placeholder",
            "stub",
            "skeleton",
        ]
        .iter();
        phrases.any(|phrase| self.text.contains(phrase))
    }

    /// Whether the plan or the person names this file.
    pub fn names(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let by_list = self.files.iter().any(|file| {
            file == path
                || path
                    .strip_prefix(file.trim_end_matches('/'))
                    .is_some_and(|rest| rest.starts_with('/'))
        });
        let distinctive = name.len() > 4 && !COMMON_NAMES.contains(&name);
        by_list || self.mentions(path) || (distinctive && self.mentions(name))
    }

    /// Whether it announces that this test, or tests of this file, are removed.
    pub fn removes(&self, path: &str, test: &str) -> bool {
        let bare = test.rsplit([':', '>', '.']).next().unwrap_or(test).trim();
        let says_so = REMOVAL.iter().any(|word| self.text.contains(word));
        says_so && (self.names(path) || (bare.len() > 5 && self.mentions(bare)))
    }

    fn mentions(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        self.text.match_indices(&name).any(|(at, _)| {
            let before = self.text[..at].chars().next_back();
            let after = self.text[at + name.len()..].chars().next();
            !before.is_some_and(|c| inside(c) || c == '/') && !after.is_some_and(inside)
        })
    }
}

/// A path as a plan may write it: `./a.py`, `a.py (new)`.
fn without_notes(file: &str) -> String {
    let file = file.trim().trim_matches('`');
    let file = file.split(" (").next().unwrap_or(file);
    file.strip_prefix("./").unwrap_or(file).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_names_files_and_removals() {
        let mut announced = AnnouncedChanges {
            files: vec![without_notes("./app/a.py (new)"), "lib/".to_owned()],
            ..AnnouncedChanges::default()
        };
        announced.add_text("Remove test_old_way from tests/test_a.py; adapt the Makefile");
        for (path, named) in [
            ("app/a.py", true),
            ("lib/x/y.py", true),
            ("Makefile", true),
            ("tests/test_a.py", true),
            ("tests/test_b.py", false),
            ("library.py", false),
        ] {
            assert_eq!(announced.names(path), named, "{path}");
        }
        assert!(
            announced.removes("x.py", "A::test_old_way") && !announced.removes("x.py", "A::test_other_way")
        );
    }
}
