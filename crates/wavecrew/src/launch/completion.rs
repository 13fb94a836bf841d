//! What is offered when a run is over: put the session away, keep it, take its documents out, or try again what failed.

use super::RunFlags;
use super::asking::Plain;
use super::testing::TestingFlags;
use crate::cli::Global;
use crate::cmd::archive::{StateFailure, set_state};
use crate::cmd::export::export;
use crate::cmd::run::{Changes, resume};
use crate::config::Config;
use crate::exit::{Exit, Failure};
use std::path::PathBuf;
use wavecrew_core::engine::Ledger;
use wavecrew_core::team::Completion;
use wavecrew_store::{SessionDir, SessionState};

/// Asks what is to become of the session, and does it. Whoever does not answer keeps it.
pub(super) fn offer(
    dir: &SessionDir,
    ledger: &Ledger,
    exit: Exit,
    flags: &RunFlags,
    global: &Global,
    config: &Config,
) -> Result<Exit, Failure> {
    let choices = choices(ledger, exit, dir.path().join("scope.json").exists());
    if choices.len() < 2 {
        return Ok(exit);
    }
    let keep = choices.iter().position(|(choice, _)| *choice == Completion::Keep);
    let chosen = dialoguer::Select::with_theme(&Plain)
        .with_prompt("What is to become of the session?")
        .items(choices.iter().map(|(_, label)| *label))
        .default(keep.unwrap_or(0))
        .interact();
    let Ok(chosen) = chosen else {
        return Ok(exit);
    };
    match choices[chosen].0 {
        Completion::Keep => {}
        Completion::DeepenCoverage => {
            let given = dialoguer::Input::<String>::new()
                .with_prompt("Layer and percentage")
                .default("L1=90".to_owned())
                .interact_text();
            if let Ok(given) = given {
                let raised = TestingFlags {
                    targets: vec![given],
                    ..TestingFlags::default()
                };
                super::apply::deepen(dir, &raised)?;
                let project = std::env::current_dir().map_err(Failure::Output)?;
                return resume(&project, dir.clone(), flags, global, config, &Changes::default());
            }
        }
        Completion::Archive => set_state(dir, SessionState::Archived).map_err(|failure| match failure {
            StateFailure::Runs(holder) => Failure::input(format!("`{}` is running{holder}", dir.id())),
            StateFailure::Other(failure) => failure,
        })?,
        Completion::Export => {
            let folder = dialoguer::Input::<String>::new()
                .with_prompt("Folder")
                .default(format!("docs/{}", dir.id()))
                .interact_text();
            if let Ok(folder) = folder {
                let files = export(dir, ledger, &PathBuf::from(&folder))?;
                anstream::eprintln!("{} files in {folder}", files.len());
            }
        }
        Completion::RetryFailed => {
            let project = std::env::current_dir().map_err(Failure::Output)?;
            let changes = Changes {
                retry: Some(Vec::new()),
                ..Changes::default()
            };
            return resume(&project, dir.clone(), flags, global, config, &changes);
        }
    }
    Ok(exit)
}

/// What of the team's offers makes sense now, with the words for it.
fn choices(ledger: &Ledger, exit: Exit, measured: bool) -> Vec<(Completion, &'static str)> {
    let counts = ledger.counts();
    let over = matches!(exit, Exit::Done | Exit::TasksFailed);
    let offers = ledger.team.completion.iter().filter_map(|choice| match choice {
        Completion::Archive => Some((*choice, "Archive it: it is done with")),
        Completion::Keep => Some((*choice, "Keep it as it is")),
        Completion::RetryFailed if counts.failed > 0 => Some((*choice, "Try again what failed")),
        Completion::Export if counts.completed > 0 => Some((*choice, "Export its documents to a folder")),
        Completion::DeepenCoverage if measured && counts.completed > 0 => {
            Some((*choice, "Deepen its coverage: raise the target of a layer"))
        }
        Completion::RetryFailed | Completion::Export | Completion::DeepenCoverage => None,
    });
    if over { offers.collect() } else { Vec::new() }
}
