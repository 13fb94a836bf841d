//! What a run offers when it is over: archive the session, keep it, copy its tests or documents, raise its targets, or
//! retry what failed.

use super::apply::{apply, raise_targets};
use super::{Launch, ResumeOptions};
use crate::exit::{Exit, Failure};
use crate::export::export;
use crate::session_state::{StateFailure, set_state};
use crate::target::TestingFlags;
use crate::terminal::choose;
use std::path::PathBuf;
use wavecrew_core::engine::Ledger;
use wavecrew_core::team::Completion;
use wavecrew_session::{SessionDir, SessionState};
use wavecrew_testing::scope::Scope;
use wavecrew_testing::targets::targets;

impl Launch<'_> {
    /// Asks what should happen to the session, and does it. Without an answer it is kept.
    pub(super) fn offer(&self, dir: &SessionDir, ledger: &Ledger, exit: Exit) -> Result<Exit, Failure> {
        let scope = Scope::read(dir.path()).ok();
        let choices = choices(ledger, exit, scope.is_some());
        if choices.len() < 2 {
            return Ok(exit);
        }
        let keep = choices
            .iter()
            .position(|(choice, _)| *choice == Choice::Team(Completion::Keep));
        let labels: Vec<&str> = choices.iter().map(|(_, label)| *label).collect();
        let asked = "What should happen to the session?";
        let Some(chosen) = choose(asked, &labels, keep.unwrap_or(0)) else {
            return Ok(exit);
        };
        let chosen = match choices[chosen].0 {
            Choice::Team(chosen) => chosen,
            Choice::Apply => {
                apply(&self.project, dir, false, self.global)?;
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
                    raise_targets(dir, &raised(&given))?;
                    return self.resume(dir.clone(), &ResumeOptions::default());
                }
            }
            Completion::Archive => {
                set_state(dir, SessionState::Archived, None).map_err(|failure| match failure {
                    StateFailure::Running(holder) => {
                        Failure::input(format!("`{}` is running{holder}", dir.id()))
                    }
                    StateFailure::Other(failure) => failure,
                })?;
            }
            Completion::Export => {
                let folder = dialoguer::Input::<String>::new()
                    .with_prompt("Folder")
                    .default(format!("docs/{}", dir.id()))
                    .validate_with(|given: &String| {
                        if PathBuf::from(given).exists() {
                            Err("it already exists: enter a new name")
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
                let options = ResumeOptions {
                    retry: Some(Vec::new()),
                    ..ResumeOptions::default()
                };
                return self.resume(dir.clone(), &options);
            }
        }
        Ok(exit)
    }
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
        "Copy its tests into the project, after showing them",
    ));
    let offers = ledger.team.completion.iter().filter_map(|choice| match choice {
        Completion::Archive => Some((*choice, "Archive it")),
        Completion::Keep => Some((*choice, "Keep it")),
        Completion::RetryFailed if counts.failed > 0 => Some((*choice, "Run failed tasks again")),
        Completion::Export if counts.completed > 0 => Some((*choice, "Export its documents to a folder")),
        Completion::DeepenCoverage if measured && counts.completed > 0 => {
            Some((*choice, "Raise the coverage target of a layer"))
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
