//! What a worker's word is held against: the files its task owes and the paths it reports. Owns what has to be
//! where and what has to be in it. Never looks: callers list names, read bytes and bring the outcome back.

mod check;
mod content;
mod heading;
pub(crate) mod json;
mod markdown;
mod normal;
mod path;
mod review;
mod rules;
mod score;
mod specification;
pub(crate) mod text;

pub use check::{ClaimCheck, quoted_path};
pub use content::content_problems;
pub use json::plan_problems;
pub use markdown::DocumentContext;
pub use path::{PathEscape, Pattern};
pub use review::{Review, ReviewFinding, read_review};
pub use rules::{KINDS, Problem, RULES, Rule, RuleInfo, TruthKind, Weight};
pub(crate) use score::figure;
pub use score::score_problems;
pub use specification::{PlannedTask, Trace, coverage_problems};

use crate::id::TaskIx;
use crate::plan::Plan;
use crate::team::{ColumnType, Content, Owed, Team};

/// One path that a row owes, its columns filled in.
#[derive(Debug)]
pub struct OwedPath<'a> {
    pub owed: &'a Owed,
    pub pattern: Pattern,
}

impl OwedPath<'_> {
    /// Whether a file, named from the session folder, is one of those owed.
    pub fn is_satisfied_by(&self, path: &str) -> bool {
        self.pattern.matches(path) && !(self.wants_tests() && content::is_support_file(path))
    }

    /// Whether what is owed may lie below this folder.
    pub fn leads_into(&self, folder: &str) -> bool {
        self.pattern.leads_into(folder) && !(self.wants_tests() && content::is_support_folder(folder))
    }

    fn wants_tests(&self) -> bool {
        self.owed.content == Content::TestFile
    }

    /// What is wrong with the number of files found.
    pub fn count_problem(&self, found: usize) -> Option<String> {
        let name = quoted_path(self.pattern.as_str());
        let min = self.owed.min_files as usize;
        if found < min {
            return Some(if self.pattern.is_literal() {
                format!("{name} is missing: write it into the session folder")
            } else if found == 0 {
                format!("no file matches {name}: write at least {min} into the session folder")
            } else {
                format!("too few files match {name}: {found}, at least {min} are needed")
            });
        }
        let max = self.owed.max_files.filter(|max| found > *max as usize)?;
        Some(format!(
            "too many files match {name}: {found}, at most {max} are wanted"
        ))
    }
}

/// Everything a row owes, by who has to write it.
#[derive(Debug, Default)]
pub struct OwedPaths<'a> {
    pub by_worker: Vec<OwedPath<'a>>,
    pub by_engine: Vec<OwedPath<'a>>,
    /// Paths that a value of the row leads out of the session folder: nobody may write there.
    pub escaping: Vec<PathEscape>,
}

/// What a row owes. A list in a path means one path for each of its ids.
pub fn owed_paths<'a>(team: &'a Team, plan: &'a Plan, task: TaskIx) -> OwedPaths<'a> {
    let mut owed_paths = OwedPaths::default();
    let Some(role) = team.role(plan.role(task)) else {
        return owed_paths;
    };
    let cell = |name: &str| {
        let known = plan.header().iter().any(|column| column == name);
        known.then(|| {
            let text = plan.cell(task, name);
            match team.column(name).map(|column| column.type_) {
                Some(ColumnType::Ids | ColumnType::Paths) => path::Cell::List(text),
                Some(
                    ColumnType::Text
                    | ColumnType::Number
                    | ColumnType::Enum
                    | ColumnType::Path
                    | ColumnType::Commit
                    | ColumnType::Agent,
                )
                | None => path::Cell::One(text),
            }
        })
    };
    for owed in role.owes_for(|name| plan.cell(task, name)) {
        for pattern in path::fill_all(&owed.path, cell) {
            match pattern {
                Ok(pattern) if owed.by_engine => owed_paths.by_engine.push(OwedPath { owed, pattern }),
                Ok(pattern) => owed_paths.by_worker.push(OwedPath { owed, pattern }),
                Err(leaves) => owed_paths.escaping.push(leaves),
            }
        }
    }
    owed_paths
}

/// What documents of a row are held against: what its worker was told, and the request.
pub fn document_context<'a>(team: &'a Team, plan: &'a Plan, task: TaskIx) -> DocumentContext<'a> {
    let request = plan
        .cell(task, "description")
        .split_once("Request: ")
        .map_or("", |(_, request)| request);
    DocumentContext {
        instruction: team.role(plan.role(task)).map_or("", |role| &role.instruction),
        request,
    }
}

/// The paths in a report: the column, and one path of it.
pub fn reported_paths<'a>(
    team: &'a Team,
    outputs: &'a [(String, String)],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_path = |name: &str| {
        team.output_columns()
            .any(|column| column.name == name && matches!(column.type_, ColumnType::Path | ColumnType::Paths))
    };
    outputs
        .iter()
        .filter(move |(name, _)| is_path(name))
        .flat_map(|(name, value)| path::list(value).map(move |path| (name.as_str(), path)))
}

/// The commits in a report: the column, and its value.
pub fn reported_commits<'a>(
    team: &'a Team,
    outputs: &'a [(String, String)],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_commit = |name: &str| {
        team.output_columns()
            .any(|column| column.name == name && column.type_ == ColumnType::Commit)
    };
    outputs
        .iter()
        .map(|(name, value)| (name.as_str(), value.trim()))
        .filter(move |(name, value)| !value.is_empty() && is_commit(name))
}

#[cfg(test)]
mod tests;
