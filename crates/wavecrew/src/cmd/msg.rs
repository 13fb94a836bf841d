//! `wavecrew msg`: a worker says something to the coordinator, or sets state that its role owns.

use crate::cli::Global;
use crate::clock;
use crate::exit::{Exit, Failure};
use crate::worker::Worker;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{Write, stdout};
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::team::Team;
use wavecrew_store::Message;

/// The type that sets shared state instead of only saying something.
const STATE_UPDATE: &str = "state_update";

/// For workers: send a message to the coordinator, or set shared state
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew msg --type tests_generated --summary '12 tests in 3 files'\n  \
    wavecrew msg --type state_update --data '{\"test_strategy\": {\"layers\": [\"L1\"]}}'"
)]
pub struct Args {
    /// One of the types of the worker's role, or `state_update`
    #[arg(long = "type", value_name = "TYPE")]
    kind: String,
    /// Who it is for: workers talk to the coordinator only
    #[arg(long, value_name = "NAME", default_value = "coordinator")]
    to: String,
    /// In a line
    #[arg(long, value_name = "TEXT", default_value = "")]
    summary: String,
    /// More, as JSON; for `state_update` an object of fields and their values
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let worker = Worker::from_env()?;
        let team = worker.team()?;
        let data = match &self.data {
            None => Value::Null,
            Some(text) => serde_json::from_str(text).map_err(|error| {
                Failure::with_help(
                    format!("--data is not JSON: {error}"),
                    "write it as one argument: '{\"field\": \"value\"}'",
                )
            })?,
        };
        self.check_type(&worker, &team)?;
        if self.kind == STATE_UPDATE {
            set_state(&worker, &team, &data)?;
        }
        let mut message = Message::new(
            &clock::now().to_string(),
            worker.name(),
            &self.kind,
            &self.summary,
        );
        message.to.clone_from(&self.to);
        message.data = data;
        message.extra.insert("task".into(), worker.task.clone().into());
        worker.session.bus().post(message)?;
        if global.json {
            writeln!(stdout(), "{}", json!({"accepted": true}))?;
        } else {
            writeln!(stdout(), "sent")?;
        }
        Ok(Exit::Done)
    }

    /// A role of the team says what the team lets it say; a role that the team does not know may say anything.
    fn check_type(&self, worker: &Worker, team: &Team) -> Result<(), Failure> {
        let Some(role) = worker.role_in(team) else {
            return Ok(());
        };
        let types = || role.messages.iter().map(String::as_str).chain([STATE_UPDATE]);
        if types().any(|known| known == self.kind) {
            return Ok(());
        }
        let all: Vec<&str> = types().collect();
        let help = did_you_mean(&self.kind, types())
            .unwrap_or_else(|| format!("the role `{}` sends: {}", role.name, all.join(", ")));
        Err(Failure::with_help(
            format!("the role `{}` does not send `{}`", role.name, self.kind),
            help,
        ))
    }
}

/// Sets all fields or none.
fn set_state(worker: &Worker, team: &Team, data: &Value) -> Result<(), Failure> {
    let Some(fields) = data.as_object().filter(|fields| !fields.is_empty()) else {
        return Err(Failure::with_help(
            "a state_update needs the fields to set",
            "give them with --data '{\"field\": value}'",
        ));
    };
    let owned_by = |role: &wavecrew_core::team::Role| {
        let name = role.name.clone();
        role.state
            .clone()
            .into_iter()
            .map(move |field| (field, name.clone()))
    };
    let owners: BTreeMap<String, String> = team.roles.iter().flat_map(owned_by).collect();
    let (own, foreign): (Map<String, Value>, Map<String, Value>) = fields
        .clone()
        .into_iter()
        .partition(|(field, _)| owners.get(field) == Some(&worker.role));
    let state = worker.session.shared_state();
    // Those that are refused first, so that nothing is set when one of them is.
    for (field, value) in foreign.into_iter().chain(own) {
        state.set(&worker.role, &field, value, &owners)?;
    }
    Ok(())
}
