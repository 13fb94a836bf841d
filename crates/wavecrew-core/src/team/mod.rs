//! Teams as data: columns, roles, pipelines, boards, loops and gates, read from one TOML file. Owns the
//! format and its built-in files. Reads no files, because callers pass the text, and runs nothing.

mod board;
mod builtin;
mod column;
mod limits;
mod parse;
mod pipeline;
mod policy;
mod role;
mod schema;
mod scope;

pub use board::{CoverageTarget, DiscoveryType, Field, FieldShape};
pub use column::{COMMON_COLUMNS, Column, ColumnCheck, ColumnKind, ColumnType, RowRule};
pub use limits::{Limits, LimitsPatch};
pub use parse::TeamProblem;
pub use pipeline::{Expansion, Pipeline, PipelineFlag, PipelineIssue, PipelineTask, Rewire};
pub(crate) use pipeline::{numbered, prefix_of};
pub use policy::{
    Checkpoint, CheckpointVerdict, Demand, Dimension, DimensionSource, GateKind, InnerLoop, LoopKind, OnLimit,
};
pub use role::{
    Access, Bounds, CheckKind, Content, DEFAULT_COMMIT, JsonSchemaText, Owed, Position, ReviewRules, Role,
    Severity, When, Workspace,
};
pub use schema::team_schema;
pub use scope::{ChangeSize, ChangeStep, Complexity, Level, PipelineChoice, Scope, Signal, WordChoice};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A team of wavecrew.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Team {
    /// Its name on the command line.
    pub name: String,
    /// Its name in reports.
    pub title: String,
    /// What it is for, in one or two lines.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// First part of its sessions' names.
    pub prefix: String,
    /// Maximum number of characters of the request in a session's name.
    #[serde(default = "default_slug_len")]
    pub slug_len: usize,
    /// Any role is accepted, even if it is not listed.
    #[serde(default)]
    pub any_role: bool,
    /// JSON Schema of the `result` that each completed report carries, as JSON text. If omitted, a report has
    /// only the output columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_schema: Option<JsonSchemaText>,
    /// Folders created in every session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// The header, in order. If no common column is listed, the team's own columns get their usual places.
    #[serde(default)]
    pub columns: Vec<Column>,
    /// Rules between rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RowRule>,
    #[serde(default)]
    pub roles: Vec<Role>,
    #[serde(default)]
    pub pipelines: Vec<Pipeline>,
    /// How a pipeline is chosen; if omitted, always the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// How rows multiply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expansion: Vec<Expansion>,
    /// Flags of the team's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<PipelineFlag>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discoveries: Vec<DiscoveryType>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopKind>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Checkpoint>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateKind>,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<CoverageTarget>,
    #[serde(default)]
    pub coordinator: Coordinator,
    /// The choices at the end of a run.
    #[serde(default = "Completion::usual")]
    pub completion: Vec<Completion>,
}

fn default_slug_len() -> usize {
    40
}

/// The coordinator's part in the team.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coordinator {
    /// Message types it sends.
    pub messages: Vec<String>,
}

impl Default for Coordinator {
    fn default() -> Self {
        let messages = ["pipeline_selected", "task_unblocked", "error", "shutdown"];
        Self {
            messages: messages.map(str::to_owned).to_vec(),
        }
    }
}

/// What a person may choose at the end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    Archive,
    Keep,
    RetryFailed,
    /// Add layers or raise targets.
    DeepenCoverage,
    /// Copy the documents out of the session.
    Export,
}

impl Completion {
    fn usual() -> Vec<Self> {
        vec![Self::Archive, Self::Keep, Self::RetryFailed]
    }
}

impl Team {
    /// Reads a team file. All mistakes are returned at once, in the order of their lines.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<TeamProblem>> {
        parse::parse(file, text)
    }

    pub fn builtin(name: &str) -> Option<Self> {
        builtin::team(name)
    }

    pub fn builtin_names() -> &'static [&'static str] {
        &builtin::NAMES
    }

    /// The text of a built-in team: a working example of the format.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        builtin::text(name)
    }

    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// The role that an id's prefix belongs to; the longest prefix wins.
    pub fn role_for_prefix(&self, id: &str) -> Option<&Role> {
        let claims = self
            .roles
            .iter()
            .filter_map(|role| Some((role.claims(id)?, role)));
        claims.max_by_key(|(len, _)| *len).map(|(_, role)| role)
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub fn header(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// The team's own input columns.
    pub fn input_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns
            .iter()
            .filter(|column| column.kind == ColumnKind::Input)
    }

    /// The team's own output columns.
    pub fn output_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns
            .iter()
            .filter(|column| column.kind == ColumnKind::Output)
    }

    /// The column in which a row names its own agent.
    pub fn agent_column(&self) -> Option<&str> {
        let column = self
            .columns
            .iter()
            .find(|column| column.type_ == ColumnType::Agent)?;
        Some(&column.name)
    }

    pub fn pipeline(&self, name: &str) -> Option<&Pipeline> {
        self.pipelines.iter().find(|pipeline| pipeline.name == name)
    }

    /// The pipeline for a request, and why; `None` for a team without pipelines.
    pub fn choose(&self, request: &str, changes: Option<ChangeSize>) -> Option<PipelineChoice> {
        match &self.scope {
            Some(scope) => Some(scope.choose(request, changes)),
            None => self.pipelines.first().map(|first| PipelineChoice {
                pipeline: first.name.clone(),
                reason: "the team's first pipeline, the default".to_owned(),
            }),
        }
    }

    pub fn discovery(&self, name: &str) -> Option<&DiscoveryType> {
        self.discoveries.iter().find(|discovery| discovery.name == name)
    }

    /// The gates that decide after a task of this id.
    pub fn gates_after<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a GateKind> {
        self.gates.iter().filter(move |gate| {
            id.strip_prefix(gate.after())
                .is_some_and(|rest| rest.starts_with('-'))
        })
    }

    /// The checkpoint that a role's tasks are, if they are one.
    pub fn checkpoint(&self, role: &str) -> Option<&Checkpoint> {
        self.checkpoints.iter().find(|checkpoint| checkpoint.role == role)
    }

    /// Whether loops, checkpoints, gates or expansions act between waves.
    pub fn has_policies(&self) -> bool {
        !(self.loops.is_empty()
            && self.checkpoints.is_empty()
            && self.gates.is_empty()
            && self.expansion.is_empty())
    }

    /// Limits of a role's tasks: its own where it has some, else the team's.
    pub fn limits_for(&self, role: &str) -> Limits {
        self.role(role)
            .map_or_else(|| self.limits.clone(), |role| role.limits.over(&self.limits))
    }

    /// JSON Schema of a worker's report.
    pub fn report_schema(&self) -> serde_json::Value {
        schema::report_schema(self)
    }

    /// The same without the schema of `result`.
    pub(crate) fn envelope_schema(&self) -> serde_json::Value {
        schema::envelope_schema(self)
    }
}
