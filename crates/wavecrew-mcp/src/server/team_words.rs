//! Arguments of the team tools, and the words of the command line that they stand for. No argument becomes a flag.

use crate::limits;
use crate::paths::Root;
use serde::Deserialize;

/// A team or a table, and what is wanted of it.
#[derive(Deserialize, Debug)]
pub(super) struct Planned {
    /// A built-in team, a team file or a table.
    team: String,
    #[serde(default)]
    request: String,
    pipeline: Option<String>,
    /// The team whose rules a table follows.
    rules: Option<String>,
    #[serde(default)]
    switches: Vec<String>,
}

#[derive(Deserialize, Debug)]
pub(super) struct Run {
    #[serde(flatten)]
    pub planned: Planned,
    pub agent: Option<String>,
    pub max_workers: Option<u32>,
    #[serde(default)]
    pub background: bool,
    pub ask: Option<bool>,
    #[serde(flatten)]
    pub limits: Limits,
    #[serde(flatten)]
    pub other: Others,
}

/// What all workers together may use.
#[derive(Deserialize, Debug)]
#[expect(clippy::struct_field_names, reason = "the names of the arguments")]
pub(super) struct Limits {
    max_cost: Option<f64>,
    max_tokens: Option<u64>,
    max_time_seconds: Option<u64>,
}

/// Arguments that the tool does not have: a limit that is misspelt must not be none.
pub(super) type Others = serde_json::Map<String, serde_json::Value>;

pub(super) fn refuse(others: &Others) -> Result<(), String> {
    match others.keys().next() {
        Some(name) => Err(format!("unknown field `{name}`")),
        None => Ok(()),
    }
}

impl Limits {
    pub fn words(&self) -> Result<Vec<String>, String> {
        let budget = limits::budget(self.max_cost, self.max_tokens, self.max_time_seconds)?;
        Ok(limits::flags(&budget))
    }
}

#[derive(Deserialize, Debug)]
pub(super) struct Continue {
    pub session: String,
    /// Run what failed once more.
    #[serde(default)]
    pub retry: bool,
    pub agent: Option<String>,
    #[serde(default)]
    pub background: bool,
    pub ask: Option<bool>,
    #[serde(flatten)]
    pub limits: Limits,
    #[serde(flatten)]
    pub other: Others,
}

impl Planned {
    pub fn words(&self, root: &Root) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        words.extend(self.pipeline.as_ref().map(|name| format!("--pipeline={name}")));
        words.extend(self.rules.as_ref().map(|name| format!("--team={name}")));
        words.extend(self.switches.iter().map(|name| format!("--switch={name}")));
        words.push("--".to_owned());
        let is_file = [".csv", ".toml"].iter().any(|end| self.team.ends_with(end)) || self.team.contains('/');
        words.push(if is_file {
            root.file(&self.team)?.to_string_lossy().into_owned()
        } else {
            self.team.clone()
        });
        words.extend(Some(self.request.clone()).filter(|request| !request.is_empty()));
        Ok(words)
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
        let call: Run = serde_json::from_value(json!({
            "team": "--agent=evil", "request": "-y", "pipeline": "p --x", "background": true,
        }))
        .unwrap();
        assert!(call.background);
        assert_eq!(
            call.planned.words(&root).unwrap(),
            ["--pipeline=p --x", "--", "--agent=evil", "-y"]
        );
        let outside: Planned = serde_json::from_value(json!({"team": "../x.csv"})).unwrap();
        assert!(outside.words(&root).is_err());
    }
}
