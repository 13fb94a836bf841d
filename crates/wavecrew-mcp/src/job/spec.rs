//! The arguments of `spawn_agents_on_csv`, and the job that the session keeps.

use crate::limits;
use crate::paths::Root;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use wavecrew_core::budget::Budget;
use wavecrew_core::team::{Column, ColumnKind, ColumnType, JsonSchemaText, Team};
use wavecrew_run::worktree::Isolation;

pub const DEFAULT_CONCURRENCY: usize = 16;
pub const DEFAULT_RUNTIME_SECONDS: u64 = 1800;
/// As good as no limit, and small enough for all clocks.
const LONGEST_RUNTIME_SECONDS: u64 = 365 * 24 * 3600;

/// The arguments of `spawn_agents_on_csv`.
#[derive(Deserialize, Debug, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
// Not needed to resume a job, but models should always give them.
#[schemars(extend("required" = ["csv_path", "instruction"]))]
pub struct SpawnOnCsv {
    /// The input, with a header row.
    #[serde(default)]
    pub csv_path: String,
    /// What each worker should do; {column} is filled from its row, {{ and }} are braces.
    #[serde(default)]
    pub instruction: String,
    /// The column with the rows' ids; default: row-1, row-2, ...
    pub id_column: Option<String>,
    /// Where results go; default: beside the input.
    pub output_csv_path: Option<String>,
    /// JSON Schema of each worker's result. Enforced; its properties become columns.
    #[schemars(schema_with = "crate::schema::any_object")]
    pub output_schema: Option<Value>,
    /// How many workers run at the same time; default: 16.
    #[schemars(range(min = 1))]
    pub max_concurrency: Option<usize>,
    /// The same as max_concurrency.
    #[schemars(range(min = 1))]
    pub max_workers: Option<usize>,
    /// Time limit for each worker; default: 1800.
    #[schemars(range(min = 1))]
    pub max_runtime_seconds: Option<u64>,
    /// The agent that processes the rows, such as codex, claude, acp:PROGRAM or command:PROGRAM; default: the server's.
    pub agent: Option<String>,
    /// Continue this job instead of starting one; only background and the limits can differ from its first call.
    pub resume_job_id: Option<String>,
    /// Return at once; follow the job with wait_agent_job.
    #[serde(default)]
    pub background: bool,
    /// Whether a worker may end the whole job; default: true.
    pub allow_stop: Option<bool>,
    /// A shell command that runs in each row's folder when its worker has a result. If it fails, the worker gets its output
    /// and tries again. WAVECREW_ROW and WAVECREW_RESULT hold the row and the result as JSON.
    pub verify: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::isolation")]
    pub isolation: Isolation,
    #[schemars(schema_with = "limits::max_cost")]
    pub max_cost: Option<f64>,
    #[schemars(schema_with = "limits::max_tokens")]
    pub max_tokens: Option<u64>,
    #[schemars(schema_with = "limits::max_time_seconds")]
    pub max_time_seconds: Option<u64>,
}

impl SpawnOnCsv {
    /// The limits for all workers together.
    pub fn limits(&self) -> Result<Budget, String> {
        limits::budget(self.max_cost, self.max_tokens, self.max_time_seconds)
    }

    /// The concurrency of the call, up to the server's ceiling.
    pub fn concurrency(&self, ceiling: Option<usize>) -> Result<usize, String> {
        let requested = match self.max_concurrency.or(self.max_workers) {
            Some(0) => return Err("max_concurrency must be >= 1".to_owned()),
            Some(count) => count,
            None => DEFAULT_CONCURRENCY,
        };
        Ok(requested.min(ceiling.unwrap_or(usize::MAX)))
    }

    pub fn runtime_seconds(&self) -> Result<u64, String> {
        match self.max_runtime_seconds {
            Some(0) => Err("max_runtime_seconds must be >= 1".to_owned()),
            Some(seconds) => Ok(seconds.min(LONGEST_RUNTIME_SECONDS)),
            None => Ok(DEFAULT_RUNTIME_SECONDS),
        }
    }

    /// The schema of results; always an object.
    pub fn result_schema(&self) -> Result<Value, String> {
        let mut schema = match &self.output_schema {
            None => json!({}),
            Some(schema @ Value::Object(_)) => schema.clone(),
            // Some models write objects as text.
            Some(Value::String(text)) => serde_json::from_str(text)
                .ok()
                .filter(Value::is_object)
                .ok_or("output_schema must be a JSON object")?,
            Some(_) => return Err("output_schema must be a JSON object".to_owned()),
        };
        if schema.get("type").is_none() {
            schema["type"] = "object".into();
        }
        if schema["type"] != "object" {
            return Err("output_schema must describe an object: its type is not `object`".to_owned());
        }
        jsonschema::validator_for(&schema)
            .map_err(|error| format!("output_schema is not a JSON Schema: {error}"))?;
        Ok(schema)
    }
}

/// A job, in a file of the session folder.
#[derive(Serialize, Deserialize, Debug, Clone)]
pub struct JobSpec {
    pub output_csv: PathBuf,
    pub id_column: Option<String>,
    pub result_schema: Value,
    pub concurrency: usize,
    pub runtime_seconds: u64,
    pub agent: String,
    pub allow_stop: bool,
    #[serde(default)]
    pub verify: Option<String>,
    #[serde(default)]
    pub isolation: Isolation,
    /// The limits of its first call, for all workers together.
    #[serde(default)]
    pub limits: Budget,
}

impl JobSpec {
    /// Names of the schema's properties, which become columns.
    pub fn properties(&self) -> Vec<&str> {
        let properties = self.result_schema.get("properties").and_then(Value::as_object);
        properties
            .map(|known| known.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }
}

/// The generic team, with results of this schema.
pub fn team(schema: &Value, allow_stop: bool) -> Team {
    let mut team = Team::builtin("generic").expect("built in");
    let own: &[&str] = if allow_stop {
        &["result", "stop"]
    } else {
        &["result"]
    };
    let at = team.columns.iter().position(|column| column.name == "error");
    let at = at.unwrap_or(team.columns.len());
    for name in own.iter().rev() {
        let column = Column {
            name: (*name).to_owned(),
            kind: ColumnKind::Output,
            type_: ColumnType::Text,
            values: Vec::new(),
            required: false,
            about: String::new(),
            checks: Vec::new(),
        };
        team.columns.insert(at, column);
    }
    team.result_schema = Some(JsonSchemaText(schema.clone()));
    team
}

/// The default path of the results: beside the input, named after the job.
pub fn default_output(root: &Root, input: &Path, job_id: &str) -> Result<PathBuf, String> {
    let stem = input.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}.agent-job-{:08x}.csv", crc32fast::hash(job_id.as_bytes()));
    root.new_file(&input.with_file_name(name).to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_their_defaults_and_their_bounds() {
        let call = SpawnOnCsv::default();
        assert_eq!(call.concurrency(None), Ok(16));
        assert_eq!(call.concurrency(Some(5)), Ok(5));
        assert_eq!(call.runtime_seconds(), Ok(1800));
        let call = SpawnOnCsv {
            max_workers: Some(3),
            max_runtime_seconds: Some(0),
            ..call
        };
        assert_eq!(call.concurrency(Some(64)), Ok(3));
        let for_ever = SpawnOnCsv {
            max_runtime_seconds: Some(u64::MAX),
            ..SpawnOnCsv::default()
        };
        assert_eq!(for_ever.runtime_seconds(), Ok(LONGEST_RUNTIME_SECONDS));
        assert_eq!(
            call.runtime_seconds().unwrap_err(),
            "max_runtime_seconds must be >= 1"
        );
    }

    #[test]
    fn an_invalid_schema_is_refused() {
        let with = |schema: Value| SpawnOnCsv {
            output_schema: Some(schema),
            ..SpawnOnCsv::default()
        };
        assert_eq!(
            with(json!({"properties": {}})).result_schema().unwrap()["type"],
            "object"
        );
        assert_eq!(
            with(json!(r#"{"type":"object"}"#)).result_schema().unwrap()["type"],
            "object"
        );
        for (schema, why) in [
            (json!([1]), "must be a JSON object"),
            (json!({"type": "array"}), "must describe an object"),
            (
                json!({"type": "object", "properties": {"a": {"type": "nonsense"}}}),
                "is not a JSON Schema",
            ),
        ] {
            let error = with(schema).result_schema().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn the_team_of_a_job_survives_its_file() {
        let made = team(
            &json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
            true,
        );
        let text = toml::to_string(&made).unwrap();
        assert_eq!(Team::parse("team.toml", &text).unwrap(), made);
    }
}
