//! What a run offers when it is over: archive the session, keep it, copy its tests or documents, raise its targets, or
//! retry what failed.

use super::apply::{apply, raise_targets};
use super::{Launch, ResumeOptions};
use crate::browser;
use crate::exit::{Exit, Failure};
use crate::export::export;
use crate::session_state::{StateFailure, set_state};
use crate::target::TestingFlags;
use crate::terminal::{choose, input};
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
        // A person who goes back from a question about details chooses again.
        while let Some(chosen) = choose(asked, &labels, keep.unwrap_or(0)) {
            if let Some(exit) = self.complete(dir, ledger, exit, scope.as_ref(), choices[chosen].0)? {
                return Ok(exit);
            }
        }
        Ok(exit)
    }

    /// Does what was chosen. `None` when the person goes back.
    fn complete(
        &self,
        dir: &SessionDir,
        ledger: &Ledger,
        exit: Exit,
        scope: Option<&Scope>,
        chosen: Choice,
    ) -> Result<Option<Exit>, Failure> {
        let chosen = match chosen {
            Choice::Team(chosen) => chosen,
            Choice::Apply => {
                apply(&self.project, dir, false, self.global)?;
                return Ok(Some(exit));
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
                let default = higher(ledger, scope);
                let Some(given) = input("Layer and percentage", default, is_target) else {
                    return Ok(None);
                };
                browser::acted_after_run(dir, "raise coverage target")?;
                raise_targets(dir, &raised(&given))?;
                return self.resume(dir.clone(), &ResumeOptions::default()).map(Some);
            }
            Completion::Archive => {
                set_state(dir, SessionState::Archived, browser::via()).map_err(|failure| match failure {
                    StateFailure::Running(holder) => {
                        Failure::input(format!("`{}` is running{holder}", dir.id()))
                    }
                    StateFailure::Other(failure) => failure,
                })?;
            }
            Completion::Export => {
                let is_new = |given: &String| {
                    if PathBuf::from(given).exists() {
                        Err("it already exists: enter a new name".to_owned())
                    } else {
                        Ok(())
                    }
                };
                let Some(folder) = input("Folder", format!("docs/{}", dir.id()), is_new) else {
                    return Ok(None);
                };
                let files = export(dir, ledger, &PathBuf::from(&folder))?;
                let done = format!("{} files in {folder}", files.len());
                tell!("{done}");
                browser::acted_after_run(dir, "export documents")?;
                browser::tell("Exported", &done);
            }
            Completion::RetryFailed => {
                browser::acted_after_run(dir, "retry")?;
                let options = ResumeOptions {
                    retry: Some(Vec::new()),
                    ..ResumeOptions::default()
                };
                return self.resume(dir.clone(), &options).map(Some);
            }
        }
        Ok(Some(exit))
    }
}

/// The choices of the team, and those of every session with kept tests.
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
    // Half of the missing coverage.
    format!("{layer}={}", (f64::midpoint(target, 100.0)).ceil())
}

/// The team's choices that make sense now, with their labels.
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
