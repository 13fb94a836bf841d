//! Roles: who does a task, what it may change, what it owes, and its instruction. Knows nothing of starting
//! agents.

use super::limits::LimitsPatch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Its name in the `role` column.
    pub name: String,
    /// Id prefixes of its tasks, without the dash: `["TESTGEN"]`.
    pub prefixes: Vec<String>,
    /// One line on what it is responsible for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    #[serde(default)]
    pub access: Access,
    #[serde(default)]
    pub workspace: Workspace,
    /// The message under which work that its workers left uncommitted in a worktree is committed; column names in
    /// braces are replaced by the row's values.
    #[serde(default = "default_commit")]
    pub commit: String,
    /// When its interactive tasks run, relative to the one-shot tasks of the same wave.
    #[serde(default)]
    pub position: Position,
    /// Agents it prefers, best first; empty for the run's default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Files that must exist before its task counts as completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owes: Vec<Owed>,
    /// How its claims are checked, beyond the files it owes.
    #[serde(default, rename = "examined", skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckKind>,
    /// Message types it may send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Fields of the shared state that it owns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<String>,
    /// Limits that differ from the team's.
    #[serde(default, skip_serializing_if = "LimitsPatch::is_empty")]
    pub limits: LimitsPatch,
    /// Instruction template; a column name in braces is replaced by the row's value.
    pub instruction: String,
}

/// The default commit message.
pub const DEFAULT_COMMIT: &str = "{id}: {title}";

fn default_commit() -> String {
    DEFAULT_COMMIT.to_owned()
}

impl Role {
    /// Whether a task of this id belongs to the role, and by a prefix of which length.
    pub(super) fn claims(&self, id: &str) -> Option<usize> {
        let owns = |p: &&String| {
            id.strip_prefix(p.as_str())
                .is_some_and(|rest| rest.starts_with('-'))
        };
        self.prefixes.iter().filter(owns).map(String::len).max()
    }

    /// What it owes for a row, whose columns are looked up by name.
    pub fn owes_for<'a>(&'a self, value: impl Fn(&str) -> &'a str) -> impl Iterator<Item = &'a Owed> {
        self.owes
            .iter()
            .filter(move |owed| owed.when.as_ref().is_none_or(|when| when.holds(&value)))
    }
}

/// What a role may change in the project. It may always write to the team's folders in the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Nothing of the project.
    #[default]
    ReadOnly,
    /// Test files only.
    Tests,
    /// Documents only.
    Docs,
    /// Everything in the project, tests and documents included.
    Source,
}

impl Access {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Tests => "tests",
            Self::Docs => "docs",
            Self::Source => "source",
        }
    }
}

/// Where a role's workers work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Workspace {
    /// In the project itself.
    #[default]
    Project,
    /// In a snapshot of the project, uncommitted work included.
    Snapshot,
    /// In a git worktree of their own, merged back in order.
    Worktree,
}

/// A check of claims that takes time and runs as a process of its own, before the claim counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Examination")]
pub enum CheckKind {
    /// The tests that were written: they load, assert something, and weaken nothing.
    GeneratedTests,
    /// wavecrew runs and measures the tests, also before a worker is started. If all is well, no worker is
    /// needed.
    TestRun,
    /// The report on a suite: wavecrew computes its figures from measurements.
    TestReport,
    /// Changed code: wavecrew runs the project's build and tests before and after the change.
    CodeWork,
    /// Changed code, as for `code-work`; the tests must also pass. Failures are sent back as often as the
    /// role's loop allows.
    CodeTests,
}

impl CheckKind {
    pub const ALL: [Self; 5] = [
        Self::GeneratedTests,
        Self::TestRun,
        Self::TestReport,
        Self::CodeWork,
        Self::CodeTests,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::GeneratedTests => "generated-tests",
            Self::TestRun => "test-run",
            Self::TestReport => "test-report",
            Self::CodeWork => "code-work",
            Self::CodeTests => "code-tests",
        }
    }

    /// Whether the check also runs before the worker, which may then not be needed.
    pub fn runs_before_worker(self) -> bool {
        match self {
            Self::TestRun => true,
            Self::GeneratedTests | Self::TestReport | Self::CodeWork | Self::CodeTests => false,
        }
    }
}

/// When interactive tasks run within their wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// Before the one-shot tasks of the wave.
    Pre,
    /// After them.
    #[default]
    Post,
}

/// A file, or a set of files, that a task must deliver.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Owed {
    /// Path in the session folder; a column in braces is filled in, `*` and `**` match names and folders.
    pub path: String,
    /// Owed only by rows for which this is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// At least this many files match the path.
    #[serde(default = "one")]
    pub min_files: u32,
    /// At most this many files match the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u32>,
    /// At least this many bytes in each file.
    #[serde(default = "one")]
    pub min_bytes: u32,
    #[serde(default)]
    pub content: Content,
    /// The worker does not write it: the engine does, from its own measurement.
    #[serde(default)]
    pub by_engine: bool,
}

fn one() -> u32 {
    1
}

/// A condition on one column of a row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    pub column: String,
    /// Holds when the column has one of these values.
    pub is: Vec<String>,
}

impl When {
    pub fn holds<'a>(&self, value: impl Fn(&str) -> &'a str) -> bool {
        self.is.iter().any(|wanted| wanted == value(&self.column))
    }
}

/// What has to be in an owed file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Content {
    /// Anything.
    #[default]
    Any,
    /// Markdown in which each of these headings has content below it.
    Markdown {
        #[serde(default)]
        headings: Vec<String>,
    },
    /// Requirements in Markdown: numbered `FR-001` and up, each with a priority and acceptance criteria; user
    /// stories.
    Requirements {
        #[serde(default)]
        headings: Vec<String>,
    },
    /// Epics in Markdown: numbered `EPIC-001` and up, each with its requirements and with stories numbered
    /// `STORY-001` and up; an MVP that names some of them.
    Epics {
        #[serde(default)]
        headings: Vec<String>,
        /// How many epics.
        epics: Bounds,
        /// How many stories in each.
        stories: Bounds,
    },
    /// A code review in Markdown: a verdict below the heading `Verdict`, and below `Findings` a table or a
    /// JSON block of findings, each with file, line, severity, dimension and suggested fix. The verdict must
    /// fit the worst of them.
    Review(ReviewRules),
    /// Valid JSON for a JSON Schema.
    Json {
        schema: JsonSchemaText,
        /// Places of texts, or lists of texts, that name files of the project, such as `/tasks/*/files`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// Place of a text that must be the file's own name without its extension.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_name: Option<String>,
    },
    /// A test file of the project's framework that parses.
    TestFile,
}

/// The words that findings of a review may use, and the verdicts that they allow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewRules {
    /// Worst first.
    pub severities: Vec<Severity>,
    pub dimensions: Vec<String>,
    /// Verdicts of a review without findings.
    pub clean: Vec<String>,
}

/// How bad a finding is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Severity {
    pub name: String,
    /// The verdicts allowed for a review whose worst finding is of this kind.
    pub verdicts: Vec<String>,
}

/// A minimum and a maximum number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    pub min: u32,
    pub max: u32,
}

impl Bounds {
    pub fn hold(self, number: usize) -> bool {
        (self.min as usize..=self.max as usize).contains(&number)
    }
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// A JSON Schema, written in the team file as JSON text.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JsonSchemaText(pub Value);

impl TryFrom<String> for JsonSchemaText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let value: Value = serde_json::from_str(&text).map_err(|e| format!("not JSON: {e}"))?;
        jsonschema::validator_for(&value).map_err(|e| format!("not a JSON Schema: {e}"))?;
        Ok(Self(value))
    }
}

impl From<JsonSchemaText> for String {
    fn from(schema: JsonSchemaText) -> Self {
        schema.0.to_string()
    }
}

impl JsonSchema for JsonSchemaText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "JsonSchemaText".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "contentMediaType": "application/schema+json" })
    }
}
