//! Runs teams of coding agents in dependency waves.

#[macro_use]
mod stderr;

mod agent_choice;
mod browser;
mod clients;
mod clock;
mod cmd;
mod config;
mod control;
mod csv_file;
mod exit;
mod export;
mod find_team;
mod global;
mod hint;
mod issues;
mod json;
mod launch;
mod layout;
mod project;
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
use launch::CHECK_COMMAND;
use std::process::ExitCode;
use wavecrew_measure::run::{end_watchdog, watchdog};
use wavecrew_process::sandbox;
use wavecrew_run::recording;
use wavecrew_testing::setup::BASELINE_COMMAND;

fn main() -> ExitCode {
    // Processes that a run starts, before anything else: they stay small.
    let words: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match words.first().map_or("", String::as_str) {
        "__guardian" => return wavecrew_process::guardian::guardian_main(&words[1..]),
        sandbox::PROBE_ARGUMENT => return sandbox::probe_main(),
        CHECK_COMMAND | BASELINE_COMMAND | cmd::offline_worker::NAME => prepare_for_programs(),
        _ => {}
    }
    match words.first().map_or("", String::as_str) {
        recording::REPLAY => return recording::replay_main(&words[1..]),
        cmd::offline_worker::NAME => return cmd::offline_worker::worker_main(),
        watchdog::WATCHDOG_ARGUMENT => {
            return watchdog::watchdog_main(words.get(1).map_or("", String::as_str));
        }
        _ => {}
    }
    let cli = match cmd::parse() {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let ended = cli.run();
    browser::show_end(ended.as_ref().err());
    let exit = match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            show::failure(&failure);
            if cli.global.json && failure.exit() != Exit::Done {
                json::print_failure(&failure);
            }
            failure.exit().into()
        }
    };
    end_watchdog();
    exit
}

/// These processes run code of workers. What confining them requires has to be set up while they have only
/// one thread.
fn prepare_for_programs() {
    if !sandbox::ProgramRules::current().off {
        // If it fails, the sandbox has no mounts.
        let _ = sandbox::enter_user_namespace();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    /// Which modules each module of this crate names, by their first names below the crate's root.
    fn imports() -> BTreeMap<String, BTreeSet<String>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let Ok(text) = fs::read_to_string(&path) else {
                    continue;
                };
                let first = path.strip_prefix(&root).unwrap().iter().next().unwrap();
                let module = first.to_string_lossy().trim_end_matches(".rs").to_owned();
                let found = imports.entry(module.clone()).or_default();
                for rest in text.split("crate::").skip(1) {
                    // `crate::a::b`, or `crate::{a, b::c}`.
                    let names = rest.strip_prefix('{').and_then(|list| list.split('}').next());
                    for name in names
                        .unwrap_or(rest)
                        .split(", ")
                        .take(if names.is_some() { 9 } else { 1 })
                    {
                        let end = name.find(|c: char| c != '_' && !c.is_alphanumeric());
                        found.insert(name[..end.unwrap_or(name.len())].to_owned());
                    }
                }
                found.remove(&module);
            }
        }
        imports
    }

    #[test]
    fn modules_import_each_other_in_one_direction() {
        let mut imports = imports();
        assert!(imports["cmd"].contains("launch"), "{imports:?}");
        // Modules that import no remaining module are removed; a cycle stays.
        loop {
            let free: BTreeSet<String> = imports
                .iter()
                .filter(|(_, named)| !named.iter().any(|name| imports.contains_key(name)))
                .map(|(module, _)| module.clone())
                .collect();
            if free.is_empty() {
                break;
            }
            imports.retain(|module, _| !free.contains(module));
        }
        assert!(imports.is_empty(), "these import each other: {imports:?}");
    }
}
