//! `wavecrew discover`: a worker puts something on the board for the workers beside and after it.

use crate::cli::Global;
use crate::clock;
use crate::exit::{Exit, Failure};
use crate::show;
use crate::worker::Worker;
use serde_json::{Map, Value, json};
use std::io::{Write, stdout};
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::team::{DiscoveryType, FieldShape, Team};
use wavecrew_store::Discovery;

/// For workers: share a discovery with the other workers
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  wavecrew discover finding '{\"subject\": \"config\", \"description\": \"read from two places\"}'"
)]
pub struct Args {
    /// One of the team's types (`wavecrew teams NAME` lists them)
    #[arg(value_name = "TYPE")]
    kind: String,
    /// Its fields, as a JSON object
    #[arg(value_name = "JSON")]
    fields: String,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let worker = Worker::from_env()?;
        let team = worker.team()?;
        let data = self.data()?;
        if let Some(kind) = self.kind_in(&team)? {
            check(kind, &data, global)?;
        }
        worker.session.board().append(&Discovery {
            ts: clock::now().to_string(),
            worker: worker.task,
            kind: self.kind.clone(),
            data: Value::Object(data),
            attempt: Some(worker.attempt),
            extra: Map::new(),
        })?;
        if global.json {
            writeln!(stdout(), "{}", json!({"accepted": true}))?;
        } else {
            writeln!(stdout(), "noted")?;
        }
        Ok(Exit::Done)
    }

    fn data(&self) -> Result<Map<String, Value>, Failure> {
        let help = "write it as one argument: '{\"field\": \"value\"}'";
        match serde_json::from_str(&self.fields) {
            Ok(Value::Object(data)) => Ok(data),
            Ok(_) => Err(Failure::with_help("the discovery is not a JSON object", help)),
            Err(error) => Err(Failure::with_help(
                format!("the discovery is not a JSON object: {error}"),
                help,
            )),
        }
    }

    /// The type as the team declares it; a team that takes any row takes any type.
    fn kind_in<'t>(&self, team: &'t Team) -> Result<Option<&'t DiscoveryType>, Failure> {
        let found = team.discovery(&self.kind);
        if found.is_some() || (team.any_role && !self.kind.trim().is_empty()) {
            return Ok(found);
        }
        let names = || team.discoveries.iter().map(|kind| kind.name.as_str());
        let all: Vec<&str> = names().collect();
        let help = did_you_mean(&self.kind, names())
            .unwrap_or_else(|| format!("the team `{}` has: {}", team.name, all.join(", ")));
        Err(Failure::with_help(
            format!("there is no type `{}` of discovery", self.kind),
            help,
        ))
    }
}

/// Refuses an entry that could not be told from others; what is merely unusual is said and taken.
fn check(kind: &DiscoveryType, data: &Map<String, Value>, global: &Global) -> Result<(), Failure> {
    let missing: Vec<&str> = kind
        .key
        .iter()
        .map(String::as_str)
        .filter(|key| !data.contains_key(*key))
        .collect();
    if !missing.is_empty() {
        return Err(Failure::with_help(
            format!(
                "a discovery of type `{}` needs `{}`",
                kind.name,
                missing.join("`, `")
            ),
            format!("its fields: {}", shape(kind)),
        ));
    }
    if global.quiet {
        return Ok(());
    }
    for field in &kind.fields {
        let fits = match (data.get(&field.name), field.shape) {
            (None, _) | (Some(_), FieldShape::One) => true,
            (Some(value), FieldShape::List) => value.is_array(),
            (Some(value), FieldShape::Table) => value.is_object(),
        };
        if !fits {
            let wanted = match field.shape {
                FieldShape::List => "a list",
                FieldShape::One | FieldShape::Table => "an object",
            };
            show::warning(
                &format!("`{}` is usually {wanted}; taken as it is", field.name),
                None,
            );
        }
    }
    let known = |name: &String| kind.fields.iter().any(|field| field.name == *name);
    for name in data.keys().filter(|name| !known(name)) {
        let help = did_you_mean(name, kind.fields.iter().map(|field| field.name.as_str()));
        show::warning(
            &format!("`{}` has no field `{name}`; taken as it is", kind.name),
            help.as_deref(),
        );
    }
    Ok(())
}

fn shape(kind: &DiscoveryType) -> String {
    let fields: Vec<String> = kind.fields.iter().map(|field| field.clone().into()).collect();
    fields.join(", ")
}
