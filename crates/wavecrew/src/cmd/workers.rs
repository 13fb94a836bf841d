//! `wavecrew workers`: the machines that run workers of other machines.

use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::launch::{DEFAULT_PROJECT, connection};
use crate::layout::widest;
use serde_json::{Value, json};
use std::io::{Write, stdout};
use wavecrew_hosts::listing::{ListedHost, list};

/// List the hosts of a project (machines that run its workers), with their slots, agents and load
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew workers --nats nats://10.0.0.1:4222\n  wavecrew workers --json"
)]
pub struct Args {
    /// NATS server that connects runs and hosts [default: `nats` in the [remote] section of wavecrew.toml]
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// List the hosts of this project [default: `project` in the [remote] section, else `default`]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let folder = std::env::current_dir().map_err(Failure::Output)?;
        let config = Config::load(&folder)?.remote;
        let connection = connection(&config, self.nats.as_deref(), &folder).ok_or_else(|| {
            Failure::with_help(
                "no NATS server is named",
                "add --nats URL, or `nats` to the [remote] section of wavecrew.toml",
            )
        })?;
        let project = self.project.clone().or(config.project);
        let project = project.unwrap_or_else(|| DEFAULT_PROJECT.to_owned());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failure::Output)?;
        let hosts = runtime
            .block_on(list(&connection, &project))
            .map_err(|error| Failure::with_help(error.to_string(), error.help()))?;
        if global.json {
            let hosts: Vec<Value> = hosts.iter().map(to_json).collect();
            json::print_pretty(json!({ "project": project, "workers": hosts }))?;
            return Ok(Exit::Done);
        }
        if hosts.is_empty() {
            global.note(&format!(
                "No hosts serve project {project}. Start one with `wavecrew worker --nats URL`."
            ));
            return Ok(Exit::Done);
        }
        let mut rows = vec![
            [
                "NAME", "SLOTS", "BUSY", "LOAD", "VERSION", "SEEN", "LABELS", "AGENTS",
            ]
            .map(str::to_owned),
        ];
        rows.extend(hosts.iter().map(row));
        let widths: [usize; 8] =
            std::array::from_fn(|column| widest(rows.iter().map(|row| row[column].as_str())));
        let mut out = stdout().lock();
        for row in &rows {
            let cells = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(Exit::Done)
    }
}

fn row(host: &ListedHost) -> [String; 8] {
    let known = &host.announced;
    let agents: Vec<&str> = known.agents.iter().map(|agent| agent.name.as_str()).collect();
    let dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let seen = match (host.is_gone(), known.draining) {
        (true, _) => format!("{} s ago (gone?)", host.seconds_ago),
        (false, true) => "leaving".to_owned(),
        (false, false) => format!("{} s ago", host.seconds_ago),
    };
    [
        known.host.clone(),
        known.slots.to_string(),
        known.busy.to_string(),
        known
            .load
            .map_or_else(|| "-".to_owned(), |load| format!("{load:.2}")),
        known.program.clone(),
        seen,
        dash(known.labels.join(",")),
        dash(agents.join(",")),
    ]
}

fn to_json(host: &ListedHost) -> Value {
    let known = &host.announced;
    json!({
        "name": known.host,
        "slots": known.slots,
        "busy": known.busy,
        "load": known.load,
        "version": known.program,
        "seconds_ago": host.seconds_ago,
        "draining": known.draining,
        "labels": known.labels,
        "agents": known.agents,
    })
}
