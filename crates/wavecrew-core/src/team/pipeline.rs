//! Pipelines: named task chains and how their rows multiply.

use super::Team;
use super::parse::levels::levels;
use crate::id::ExecMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    pub name: String,
    /// When to use it, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Pipelines above this one whose tasks it includes. Empty after the file is read: `tasks` then has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extends: Vec<String>,
    /// Included tasks with other dependencies here. Empty after the file is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewire: Vec<Rewire>,
    /// Its tasks, in the order of the table.
    #[serde(default)]
    pub tasks: Vec<PipelineTask>,
}

/// New dependencies of an included task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewire {
    pub id: String,
    pub deps: Vec<String>,
    pub context_from: Vec<String>,
}

/// A task of a pipeline, which becomes a row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineTask {
    pub id: String,
    pub title: String,
    /// What the worker is asked to do, understandable on its own. `{request}` is replaced by the person's
    /// request.
    pub description: String,
    pub role: String,
    /// Ids of tasks that must complete first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deps: Vec<String>,
    /// Ids of tasks of earlier waves whose findings it receives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_from: Vec<String>,
    #[serde(default)]
    pub exec_mode: ExecMode,
    /// Values of the team's input columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
}

impl PipelineTask {
    /// Replaces the `{name}`s that are known in title, description and column values.
    fn fill<'v>(&mut self, value: impl Fn(&str) -> Option<&'v str>) {
        self.title = fill(&self.title, &value);
        self.description = fill(&self.description, &value);
        for cell in self.set.values_mut() {
            *cell = fill(cell, &value);
        }
    }

    fn cell(&self, column: &str) -> String {
        match column {
            "id" => self.id.clone(),
            "title" => self.title.clone(),
            "description" => self.description.clone(),
            "role" => self.role.clone(),
            "deps" => self.deps.join(";"),
            "context_from" => self.context_from.join(";"),
            "exec_mode" => self.exec_mode.as_str().to_owned(),
            "status" => "pending".to_owned(),
            own => self.set.get(own).cloned().unwrap_or_default(),
        }
    }
}

impl Pipeline {
    /// Its tasks by depth. The reader of team files refuses cycles.
    pub fn waves(&self) -> Vec<Vec<&PipelineTask>> {
        let levels = levels(&self.tasks).unwrap_or_default();
        let depth = levels.iter().copied().max().unwrap_or(0);
        let of = |wave| {
            let tasks = self.tasks.iter().zip(&levels);
            let tasks = tasks.filter(move |(_, level)| **level == wave);
            tasks.map(|(task, _)| task).collect()
        };
        (1..=depth).map(of).collect()
    }

    /// The chain as a table of the team: its header and full rows, `pending` and without waves.
    pub fn to_csv_rows(&self, team: &Team) -> (Vec<String>, Vec<Vec<String>>) {
        let header: Vec<String> = team.header().into_iter().map(str::to_owned).collect();
        let rows = self
            .tasks
            .iter()
            .map(|task| header.iter().map(|c| task.cell(c)).collect())
            .collect();
        (header, rows)
    }

    /// The pipeline for one request: `{request}` in titles and descriptions is replaced by the text that the
    /// person typed.
    #[must_use]
    pub fn for_request(&self, request: &str) -> Self {
        let request = match request.trim() {
            "" => "none given; work from the current state of the project.",
            given => given,
        };
        let mut filled = self.clone();
        for task in &mut filled.tasks {
            task.fill(|name| (name == "request").then_some(request));
        }
        filled
    }

    /// The pipeline repeated for every issue, ids numbered from 001: first the first task of all issues, then the
    /// second, and so on. A task whose id prefix is `chain` also waits for the same task of the issues that its
    /// issue depends on.
    #[must_use]
    pub fn for_issues(&self, issues: &[PipelineIssue], chain: &str) -> Self {
        let mut tasks = vec![];
        for template in &self.tasks {
            for (n, issue) in issues.iter().enumerate() {
                let mut task = template.clone();
                task.id = numbered(&template.id, n);
                for id in task.deps.iter_mut().chain(&mut task.context_from) {
                    *id = numbered(id, n);
                }
                if prefix_of(&template.id) == chain {
                    let before = issues
                        .iter()
                        .enumerate()
                        .filter(|(_, other)| issue.depends_on.contains(&other.id));
                    task.deps.extend(before.map(|(m, _)| numbered(&template.id, m)));
                }
                task.fill(|name| issue.value(name));
                tasks.push(task);
            }
        }
        Self {
            tasks,
            ..self.clone()
        }
    }

    pub fn task(&self, id: &str) -> Option<&PipelineTask> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

/// What a pipeline is repeated for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PipelineIssue {
    pub id: String,
    pub title: String,
    pub text: String,
    /// Where it came from: `issues`, `text` or `plan`.
    pub input_type: String,
    pub raw_input: String,
    /// The agent asked for, or empty.
    pub execution_method: String,
    /// Ids of issues that have to be done first.
    pub depends_on: Vec<String>,
}

impl PipelineIssue {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "issue_id" => Some(&self.id),
            "issue_title" => Some(&self.title),
            "issue_text" => Some(&self.text),
            "input_type" => Some(&self.input_type),
            "raw_input" => Some(&self.raw_input),
            "execution_method" => Some(&self.execution_method),
            _ => None,
        }
    }
}

/// The id without its number.
pub(crate) fn prefix_of(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(prefix, _)| prefix)
}

/// The id of the n-th copy of a task, counted from 0.
pub(crate) fn numbered(id: &str, n: usize) -> String {
    format!("{}-{:03}", prefix_of(id), n + 1)
}

/// One pass, so that braces in inserted text stay as they are.
fn fill<'v>(template: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        text.push_str(before);
        let known = from
            .find('}')
            .and_then(|close| Some((close, value(&from[1..close])?)));
        rest = if let Some((close, value)) = known {
            text.push_str(value);
            &from[close + 1..]
        } else {
            text.push('{');
            &from[1..]
        };
    }
    text + rest
}

/// How rows multiply.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Expansion {
    /// Before the run: the chosen pipeline is repeated for every issue, ids numbered 001, 002, ...; `{issue_id}`,
    /// `{issue_title}` and `{issue_text}` are filled in.
    PerIssue {
        /// Input column that receives the issue's id.
        issue_column: String,
        /// Id prefix of the tasks that also wait for the same task of the issues that their issue depends on.
        chain: String,
        /// File of the session folder that lists the files a plan touches; tasks of `chain` whose plans
        /// overlap do not run at the same time.
        #[serde(default)]
        plan: Option<String>,
    },
    /// During the run: after a planning task, one row per task of its plan replaces a placeholder row.
    PerPlanTask {
        /// The planning task.
        after: String,
        /// The placeholder row; tasks that depend on it then depend on all rows that replace it.
        replaces: String,
        /// Pattern of the plan's task files in the session folder.
        plan_tasks: String,
        /// Up to this many modules the placeholder stays as it is.
        low_max_modules: u32,
        /// Up to this many modules the new rows run at once; above, `design` runs first.
        medium_max_modules: u32,
        /// The row that runs before the new rows of a large plan.
        #[serde(default)]
        design: Option<Box<PipelineTask>>,
    },
}

/// A flag of the team's command that changes the chosen pipeline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Switch")]
pub enum PipelineFlag {
    /// Removes all tasks of a role; tasks that depended on them inherit their dependencies.
    RemoveRole {
        /// Name of the flag without dashes: `no-supervision`.
        flag: String,
        role: String,
    },
}
