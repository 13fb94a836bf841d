//! Arguments of the team tools as command-line arguments. No value becomes a flag.

use crate::limits;
use crate::paths::Root;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, Debug, JsonSchema)]
pub(super) struct TeamPlan {
    /// testing, lifecycle, planex, a team file, or a table: TASKS.csv
    team: String,
    /// What the team should do, in plain words.
    #[serde(default)]
    request: String,
    /// Default: the pipeline that fits the request.
    pipeline: Option<String>,
    /// For a table: the team whose rules it follows; default: generic.
    rules: Option<String>,
    /// Switches of the team, such as no-supervision.
    #[serde(default)]
    switches: Vec<String>,
}

#[derive(Deserialize, Debug, JsonSchema)]
pub(super) struct TeamRun {
    #[serde(flatten)]
    pub plan: TeamPlan,
    /// How many workers run at the same time; default: 3.
    #[schemars(range(min = 1))]
    pub max_workers: Option<u32>,
    #[serde(flatten)]
    pub run: RunArgs,
}

/// Arguments of every tool that starts a run.
#[derive(Deserialize, Debug, JsonSchema)]
pub(super) struct RunArgs {
    /// The agent of the workers; default: the server's.
    pub agent: Option<String>,
    /// Return at once; follow the run with team_status.
    #[serde(default)]
    pub background: bool,
    /// Put the run's questions to you, by elicitation or in team_status. Otherwise they get their default answer. Default:
    /// whether you support elicitation.
    ask: Option<bool>,
    #[serde(flatten)]
    limits: Limits,
    #[serde(flatten)]
    #[schemars(skip)]
    unknown: UnknownArgs,
}

/// Limits for all workers together.
#[derive(Deserialize, Debug, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the names of the arguments")]
// Fields with a schema of their own would be required.
#[schemars(extend("required" = []))]
struct Limits {
    #[schemars(schema_with = "limits::max_cost")]
    max_cost: Option<f64>,
    #[schemars(schema_with = "limits::max_tokens")]
    max_tokens: Option<u64>,
    #[schemars(schema_with = "limits::max_time_seconds")]
    max_time_seconds: Option<u64>,
}

/// Arguments that the tool does not have: a misspelt limit must not count as no limit.
type UnknownArgs = serde_json::Map<String, serde_json::Value>;

impl RunArgs {
    /// The arguments as flags of `run` and `retry`. Refuses unknown arguments.
    pub fn flags(&self, agent: Option<&str>, can_ask: bool) -> Result<Vec<String>, String> {
        if let Some(name) = self.unknown.keys().next() {
            return Err(format!("unknown field `{name}`"));
        }
        let Limits {
            max_cost,
            max_tokens,
            max_time_seconds,
        } = self.limits;
        let budget = limits::budget(max_cost, max_tokens, max_time_seconds)?;
        let mut flags = vec!["--json".to_owned(), "-y".to_owned()];
        flags.extend(agent.map(|agent| format!("--agent={agent}")));
        flags.extend(self.ask.unwrap_or(can_ask).then(|| "--ask-in-folder".to_owned()));
        flags.extend(limits::flags(&budget));
        Ok(flags)
    }
}

#[derive(Deserialize, Debug, JsonSchema)]
pub(super) struct TeamContinue {
    /// The session that team_run or spawn_agents_on_csv returned.
    pub session: String,
    /// Run failed tasks again.
    #[serde(default)]
    pub retry: bool,
    #[serde(flatten)]
    pub run: RunArgs,
}

impl TeamPlan {
    pub fn command_line(&self, root: &Root) -> Result<Vec<String>, String> {
        let mut args = Vec::new();
        args.extend(self.pipeline.as_ref().map(|name| format!("--pipeline={name}")));
        args.extend(self.rules.as_ref().map(|name| format!("--team={name}")));
        args.extend(self.switches.iter().map(|name| format!("--switch={name}")));
        args.push("--".to_owned());
        let is_file = [".csv", ".toml"].iter().any(|end| self.team.ends_with(end)) || self.team.contains('/');
        args.push(if is_file {
            root.file(&self.team)?.to_string_lossy().into_owned()
        } else {
            self.team.clone()
        });
        args.extend(Some(self.request.clone()).filter(|request| !request.is_empty()));
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_argument_becomes_a_flag() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path()).unwrap();
        let call: TeamRun = serde_json::from_value(json!({
            "team": "--agent=evil", "request": "-y", "pipeline": "p --x", "background": true,
        }))
        .unwrap();
        assert!(call.run.background);
        assert_eq!(
            call.plan.command_line(&root).unwrap(),
            ["--pipeline=p --x", "--", "--agent=evil", "-y"]
        );
        let outside: TeamPlan = serde_json::from_value(json!({"team": "../x.csv"})).unwrap();
        assert!(outside.command_line(&root).is_err());
    }
}
