//! Pipelines: named task chains, how one is chosen for a request, and how its rows multiply. Refuses to level them;
//! waves are the plan's business.

use super::Team;
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
    /// Pipelines above this one whose tasks it takes over. Empty once the file is read: `tasks` then has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extends: Vec<String>,
    /// Tasks taken over that depend on others here. Empty once the file is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewire: Vec<Rewire>,
    /// Its tasks, in the order in which they stand in the table.
    #[serde(default)]
    pub tasks: Vec<PipelineTask>,
}

/// New dependencies of a task that was taken over.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewire {
    pub id: String,
    pub deps: Vec<String>,
    pub context_from: Vec<String>,
}

/// A row to be.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineTask {
    pub id: String,
    pub title: String,
    /// Self-contained: what the worker is asked to do. `{request}` is replaced by the person's request.
    pub description: String,
    pub role: String,
    /// Ids that must be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deps: Vec<String>,
    /// Ids of earlier waves whose findings it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_from: Vec<String>,
    #[serde(default)]
    pub exec_mode: ExecMode,
    /// Values of the team's input columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
}

impl PipelineTask {
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

    /// The pipeline for one request: `{request}` in titles and descriptions is what the person typed.
    #[must_use]
    pub fn for_request(&self, request: &str) -> Self {
        let request = match request.trim() {
            "" => "none given; work from the current state of the project.",
            given => given,
        };
        let mut filled = self.clone();
        for task in &mut filled.tasks {
            task.title = task.title.replace("{request}", request);
            task.description = task.description.replace("{request}", request);
        }
        filled
    }

    pub fn task(&self, id: &str) -> Option<&PipelineTask> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

/// How a pipeline is chosen for a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scope {
    /// Always the same one.
    Fixed { pipeline: String },
    /// By how much changed: the first step whose limits hold, else `otherwise`.
    Changes {
        steps: Vec<ChangeStep>,
        otherwise: String,
    },
    /// By words in the request: the first entry with a word in it, else `otherwise`.
    Words {
        choices: Vec<WordChoice>,
        otherwise: String,
        /// Tells how demanding the request is; shown with the choice.
        #[serde(default)]
        complexity: Option<Complexity>,
    },
}

impl Scope {
    /// Names of the pipelines it can choose.
    pub fn pipelines(&self) -> Vec<&str> {
        match self {
            Self::Fixed { pipeline } => vec![pipeline],
            Self::Changes { steps, otherwise } => steps
                .iter()
                .map(|s| s.pipeline.as_str())
                .chain([otherwise.as_str()])
                .collect(),
            Self::Words {
                choices, otherwise, ..
            } => choices
                .iter()
                .map(|c| c.pipeline.as_str())
                .chain([otherwise.as_str()])
                .collect(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeStep {
    pub pipeline: String,
    /// At most this many changed source files.
    pub max_files: u32,
    /// In at most this many modules (first folders below the source root).
    pub max_modules: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WordChoice {
    pub pipeline: String,
    /// Lower-case words; whole words of the request are compared.
    pub words: Vec<String>,
}

/// Points for words in the request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Complexity {
    pub signals: Vec<Signal>,
    /// Up to these points the request is Low.
    pub low_max: u32,
    /// Up to these points it is Medium; above, High.
    pub medium_max: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    pub name: String,
    pub words: Vec<String>,
    pub points: u32,
}

/// How rows multiply.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Expansion {
    /// Before the run: the chosen pipeline is repeated for every issue, ids numbered 001, 002, ...; `{issue_id}`
    /// and `{issue_title}` are filled in.
    PerIssue {
        /// Input column that receives the issue's id.
        issue_column: String,
        /// Id prefix of the tasks that also wait for the same task of the issues their issue depends on.
        chain: String,
        /// File of the session folder that lists the files a plan touches; tasks of `chain` whose plans overlap
        /// do not run side by side.
        #[serde(default)]
        plan: Option<String>,
    },
    /// During the run: after a planning task, one row per task of its plan stands in for a placeholder row.
    PerPlanTask {
        /// The planning task.
        after: String,
        /// The placeholder row; what depends on it then depends on all of its stand-ins.
        replaces: String,
        /// Pattern of the plan's task files in the session folder.
        plan_tasks: String,
        /// Up to this many modules the placeholder stays as it is.
        low_max_modules: u32,
        /// Up to this many modules the stand-ins run at once; above, `design` runs first.
        medium_max_modules: u32,
        /// The row put before the stand-ins of a large plan.
        #[serde(default)]
        design: Option<Box<PipelineTask>>,
    },
}

/// A flag of the team's command that changes the chosen pipeline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Switch {
    /// Leaves out all tasks of a role; what depended on them inherits their dependencies.
    RemoveRole {
        /// Name of the flag without dashes: `no-supervision`.
        flag: String,
        role: String,
    },
}
