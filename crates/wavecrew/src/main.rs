//! Runs teams of coding agents in dependency waves.

mod cli;
mod clock;
mod cmd;
mod config;
mod csv_file;
mod exit;
mod find_team;
mod layout;
mod report;
mod session_view;
mod show;
mod worker;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.run() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            failure.exit().into()
        }
    }
}
