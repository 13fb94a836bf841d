//! Runs teams of coding agents in dependency waves.

mod agent_choice;
mod cli;
mod clients;
mod clock;
mod cmd;
mod config;
mod control;
mod csv_file;
mod exit;
mod export;
mod find_team;
mod issues;
mod json;
mod launch;
mod layout;
mod report;
mod session_state;
mod session_view;
mod show;
mod skills;
mod target;
mod terminal;
mod units;
mod user_file;

use exit::Exit;
use std::process::ExitCode;
use wavecrew_measure::run::watchdog;

fn main() -> ExitCode {
    // Before anything else: the guardian is to stay small.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "__guardian")
    {
        return wavecrew_process::guardian::guardian_main();
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == wavecrew_run::recording::REPLAY)
    {
        let words: Vec<String> = std::env::args().skip(2).collect();
        return wavecrew_run::recording::replay_main(&words);
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == cmd::offline_worker::NAME)
    {
        return cmd::offline_worker::worker_main();
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == watchdog::WATCHDOG_ARGUMENT)
    {
        return watchdog::watchdog_main(&std::env::args().nth(2).unwrap_or_default());
    }
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    match cli.run() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            if cli.global.json && failure.exit() != Exit::Done {
                json::print_failure(&failure);
            }
            failure.exit().into()
        }
    }
}
