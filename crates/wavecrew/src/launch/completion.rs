//! What is offered when a run is over: put the session away, keep it, take its tests or documents out, ask for more, or try
//! again what failed.

use super::RunFlags;
use super::testing::TestingFlags;
use super::{ResumeOptions, resume};
use crate::cli::Global;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::export::export;
use crate::session_state::{StateFailure, set_state};
use crate::terminal::choose;
use std::path::PathBuf;
use wavecrew_core::engine::Ledger;
use wavecrew_core::team::Completion;
use wavecrew_session::{SessionDir, SessionState};
use wavecrew_testing::scope::Scope;
use wavecrew_testing::targets::targets;

/// Asks what is to become of the session, and does it. Whoever does not answer keeps it.
pub(super) fn offer(
    dir: &SessionDir,
    ledger: &Ledger,
    exit: Exit,
    flags: &RunFlags,
    global: &Global,
    config: &Config,
) -> Result<Exit, Failure> {
    let scope = Scope::read(dir.path()).ok();
    let choices = choices(ledger, exit, scope.is_some());
    if choices.len() < 2 {
        return Ok(exit);
    }
    let keep = choices
        .iter()
        .position(|(choice, _)| *choice == Choice::Team(Completion::Keep));
    let labels: Vec<&str> = choices.iter().map(|(_, label)| *label).collect();
    let asked = "What is to become of the session?";
    let Some(chosen) = choose(asked, &labels, keep.unwrap_or(0)) else {
        return Ok(exit);
    };
    let chosen = match choices[chosen].0 {
        Choice::Team(chosen) => chosen,
        Choice::Apply => {
            let project = std::env::current_dir().map_err(Failure::Output)?;
            super::apply::apply(&project, dir, false, global)?;
            return Ok(exit);
        }
    };
    match chosen {
        Completion::Keep => {}
        Completion::DeepenCoverage => {
            let raised = |given: &str| TestingFlags {
                targets: vec![given.to_owned()],
                ..TestingFlags::default()
            };
            let team = &ledger.team;
            let is_target = |given: &String| {
                let targets = targets(team, std::slice::from_ref(given));
                targets.map(drop).map_err(|error| error.to_string())
            };
            let given = dialoguer::Input::<String>::new()
                .with_prompt("Layer and percentage")
                .default(higher(ledger, scope.as_ref()))
                .validate_with(is_target)
                .interact_text();
            if let Ok(given) = given {
                super::apply::raise_targets(dir, &raised(&given))?;
                let project = std::env::current_dir().map_err(Failure::Output)?;
                return resume(
                    &project,
                    dir.clone(),
                    flags,
                    global,
                    config,
                    &ResumeOptions::default(),
                );
            }
        }
        Completion::Archive => set_state(dir, SessionState::Archived).map_err(|failure| match failure {
            StateFailure::Running(holder) => Failure::input(format!("`{}` is running{holder}", dir.id())),
            StateFailure::Other(failure) => failure,
        })?,
        Completion::Export => {
            let folder = dialoguer::Input::<String>::new()
                .with_prompt("Folder")
                .default(format!("docs/{}", dir.id()))
                .validate_with(|given: &String| {
                    if PathBuf::from(given).exists() {
                        Err("it is there already: name a new one")
                    } else {
                        Ok(())
                    }
                })
                .interact_text();
            if let Ok(folder) = folder {
                let files = export(dir, ledger, &PathBuf::from(&folder))?;
                anstream::eprintln!("{} files in {folder}", files.len());
            }
        }
        Completion::RetryFailed => {
            let project = std::env::current_dir().map_err(Failure::Output)?;
            let options = ResumeOptions {
                retry: Some(Vec::new()),
                ..ResumeOptions::default()
            };
            return resume(&project, dir.clone(), flags, global, config, &options);
        }
    }
    Ok(exit)
}

/// What the team offers, and what every session with kept tests does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Team(Completion),
    Apply,
}

/// A target above that of the lowest layer of the session.
fn higher(ledger: &Ledger, scope: Option<&Scope>) -> String {
    let plan = ledger.plan();
    let layers = plan.tasks().map(|task| plan.cell(task, "layer"));
    let layer = layers.filter(|layer| !layer.is_empty()).min().unwrap_or("L1");
    let target = scope.and_then(|scope| scope.target(layer)).unwrap_or(80.0);
    // Half of what is missing.
    format!("{layer}={}", (f64::midpoint(target, 100.0)).ceil())
}

/// What of the team's offers makes sense now, with the words for it.
fn choices(ledger: &Ledger, exit: Exit, measured: bool) -> Vec<(Choice, &'static str)> {
    let counts = ledger.counts();
    let over = matches!(exit, Exit::Done | Exit::TasksFailed);
    let apply = (measured && exit == Exit::Done).then_some((
        Choice::Apply,
        "Copy its tests into the project, after a look at them",
    ));
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
    let offers = offers.map(|(choice, label)| (Choice::Team(choice), label));
    if over {
        apply.into_iter().chain(offers).collect()
    } else {
        Vec::new()
    }
}
