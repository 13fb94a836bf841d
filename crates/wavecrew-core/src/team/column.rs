//! Columns of a team's table and the rules for their values. There are no expressions: a rule is one of a
//! closed set of kinds with parameters, and has the exact message for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The columns that every table has, in their default order.
pub const COMMON_COLUMNS: [&str; 11] = [
    "id",
    "title",
    "description",
    "role",
    "deps",
    "context_from",
    "exec_mode",
    "wave",
    "status",
    "findings",
    "error",
];

/// One column of `tasks.csv`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Header of the column; letters, digits and `_`.
    pub name: String,
    /// Who sets it. Omitted for the columns that every table has.
    #[serde(default)]
    pub kind: ColumnKind,
    #[serde(rename = "type", default)]
    pub type_: ColumnType,
    /// The allowed values of an `enum` column.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Whether the header of a table must have this column.
    #[serde(default)]
    pub required: bool,
    /// What it means, for people and for workers that fill it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Checks of the value, each with its message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<ColumnCheck>,
}

impl Column {
    /// A common column with its default settings.
    pub(super) fn common(name: &str) -> Self {
        let kind = if name == "wave" {
            ColumnKind::Computed
        } else {
            ColumnKind::Common
        };
        let type_ = match name {
            "deps" | "context_from" => ColumnType::Ids,
            "wave" => ColumnType::Number,
            _ => ColumnType::Text,
        };
        let required = matches!(name, "id" | "description");
        Self {
            name: name.to_owned(),
            kind,
            type_,
            values: vec![],
            required,
            about: String::new(),
            checks: vec![],
        }
    }
}

/// Who sets a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// One of the columns that every table has.
    #[default]
    Common,
    /// The team's own, set when the table is made.
    Input,
    /// Set by the engine.
    Computed,
    /// The team's own, set by the worker's report or by the engine's measurement.
    Output,
}

/// What the values of a column look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnType {
    #[default]
    Text,
    Number,
    /// One of `values`.
    Enum,
    /// Ids separated by `;`.
    Ids,
    /// A path inside the session folder or the project.
    Path,
    /// Paths separated by `;`.
    Paths,
    /// A commit of the project's repository that contains the files that the same report names.
    Commit,
    /// The agent that does the row, instead of its role's agent; empty for the role's agent.
    Agent,
}

/// A check of one value. `{value}`, `{id}` and any column name in braces are filled into the message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ColumnCheck {
    /// The value is one of the column's `values`.
    OneOf {
        message: String,
        /// Whether an empty value is allowed too.
        #[serde(default)]
        allow_empty: bool,
    },
    /// The value is a number.
    Numeric {
        message: String,
        /// Only checked in rows where this other column is not empty.
        #[serde(default)]
        when: Option<String>,
    },
    /// The value is not empty.
    NonEmpty { message: String },
}

impl ColumnCheck {
    pub fn message(&self) -> &str {
        match self {
            Self::OneOf { message, .. } | Self::Numeric { message, .. } | Self::NonEmpty { message } => {
                message
            }
        }
    }
}

/// A rule between rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RowRule {
    /// `PREFIX-N` depends on `NEEDS-N`, for every N.
    Pair {
        /// Id prefix of the rows that are checked.
        prefix: String,
        /// Id prefix of the row with the same number on which each must depend.
        needs: String,
        message: String,
    },
    /// Each completed interactive task that other tasks name has a readable result file.
    InteractiveResult { message: String },
}

impl RowRule {
    pub fn message(&self) -> &str {
        match self {
            Self::Pair { message, .. } | Self::InteractiveResult { message } => message,
        }
    }
}
