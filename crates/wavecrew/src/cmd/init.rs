//! `wavecrew init`: writes a commented `wavecrew.toml`. Never overwrites.

use crate::config;
use crate::exit::{Exit, Failure};
use crate::find_team;
use crate::global::Global;
use crate::json;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};

/// Write a wavecrew.toml with every setting and its default
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew init\n  wavecrew init --teams   also create .wavecrew/teams")]
pub struct Args {
    /// Also create `.wavecrew/teams`, the folder for your own teams
    #[arg(long)]
    teams: bool,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let file = OpenOptions::new().write(true).create_new(true).open(config::FILE);
        let mut file = file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::with_help(
                format!("{} already exists", config::FILE),
                "edit it, or rename it first",
            ),
            _ => Failure::Disk {
                message: format!("cannot write {}: {error}", config::FILE),
                help: "check that you may write in this folder".into(),
            },
        })?;
        file.write_all(config::TEMPLATE.as_bytes())?;
        let mut written = vec![config::FILE];
        if self.teams {
            fs::create_dir_all(find_team::FOLDER).map_err(|error| Failure::Disk {
                message: format!("cannot create {}: {error}", find_team::FOLDER),
                help: "check that you may write in this folder".into(),
            })?;
            written.push(find_team::FOLDER);
        }
        json::answer(
            global,
            json!({"written": written}),
            &format!("Wrote {}", written.join(" and ")),
        )
    }
}
