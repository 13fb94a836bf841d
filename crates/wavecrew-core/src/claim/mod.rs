//! The rules for claims: which files a task owes, their required content, and which paths and commits a
//! report names. Reads no files: callers list names and read bytes.

mod check;
mod checked_files;
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
pub use checked_files::{checked_file, checked_files, content_hash, is_as_checked, touched_files};
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
use crate::team::{ColumnType, Content, Expansion, Owed, Team};

/// A path that a row owes, with its columns filled in.
#[derive(Debug)]
pub struct OwedPath<'a> {
    pub owed: &'a Owed,
    pub pattern: Pattern,
}

impl OwedPath<'_> {
    /// Whether this file, relative to the session folder, is owed.
    pub fn is_satisfied_by(&self, path: &str) -> bool {
        self.pattern.matches(path) && !(self.wants_tests() && content::is_support_file(path))
    }

    /// Whether owed files may be below this folder.
    pub fn leads_into(&self, folder: &str) -> bool {
        self.pattern.leads_into(folder) && !(self.wants_tests() && content::is_support_folder(folder))
    }

    fn wants_tests(&self) -> bool {
        self.owed.content == Content::TestFile
    }

    /// Why this number of files is wrong, if it is.
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
            "too many files match {name}: {found}, at most {max} are allowed"
        ))
    }
}

/// The paths that a row owes, by who has to write them.
#[derive(Debug, Default)]
pub struct OwedPaths<'a> {
    pub by_worker: Vec<OwedPath<'a>>,
    pub by_engine: Vec<OwedPath<'a>>,
    /// Paths that a value of the row would lead out of the session folder.
    pub escaping: Vec<PathEscape>,
}

/// The paths that a row owes. A list in a path means one path for each entry.
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
                Err(escape) => owed_paths.escaping.push(escape),
            }
        }
    }
    owed_paths
}

/// The texts that the documents of a row are compared with: the instruction of its worker, and the request.
pub fn document_context<'a>(team: &'a Team, plan: &'a Plan, task: TaskIx) -> DocumentContext<'a> {
    let request = plan
        .cell(task, "description")
        .split_once("Request: ")
        .map_or_else(|| issue_title(team, plan, task), |(_, request)| request);
    DocumentContext {
        instruction: team.role(plan.role(task)).map_or("", |role| &role.instruction),
        request,
    }
}

/// The title of the issue that a row is about, from its description; empty if it is about none.
fn issue_title<'a>(team: &Team, plan: &'a Plan, task: TaskIx) -> &'a str {
    const TITLE: &str = "{issue_title}";
    let id = team.expansion.iter().find_map(|expansion| match expansion {
        Expansion::PerIssue { issue_column, .. } => Some(plan.cell(task, issue_column)),
        Expansion::PerPlanTask { .. } => None,
    });
    let rows = team.pipelines.iter().flat_map(|pipeline| &pipeline.tasks);
    let template = rows
        .filter(|row| row.role == plan.role(task))
        .find_map(|row| row.description.split_once(TITLE));
    let (Some(id), Some((before, after))) = (id.filter(|id| !id.is_empty()), template) else {
        return "";
    };
    // The title is between the same words as in the template.
    let before = before.rsplit('}').next().unwrap_or_default();
    let after = after.split('{').next().unwrap_or_default();
    let rest = plan
        .cell(task, "description")
        .split_once(&format!("{id}{before}"))
        .map_or("", |(_, rest)| rest);
    rest.split_once(after)
        .filter(|_| !after.is_empty())
        .map_or(rest, |(title, _)| title)
}

/// The paths in a report, each with its column.
pub fn reported_paths<'a>(
    team: &'a Team,
    outputs: &'a [(String, String)],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    outputs_of_type(team, outputs, &[ColumnType::Path, ColumnType::Paths])
        .flat_map(|(name, value)| path::list(value).map(move |path| (name, path)))
}

/// The commits in a report, each with its column.
pub fn reported_commits<'a>(
    team: &'a Team,
    outputs: &'a [(String, String)],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    outputs_of_type(team, outputs, &[ColumnType::Commit])
        .map(|(name, value)| (name, value.trim()))
        .filter(|(_, value)| !value.is_empty())
}

fn outputs_of_type<'a>(
    team: &'a Team,
    outputs: &'a [(String, String)],
    types: &'static [ColumnType],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_wanted = |name: &str| {
        team.output_columns()
            .any(|column| column.name == name && types.contains(&column.type_))
    };
    outputs
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(move |(name, _)| is_wanted(name))
}

#[cfg(test)]
mod tests;
