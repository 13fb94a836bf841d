//! `skills install` and `skills uninstall`: short files that explain to a client's model how to use our
//! teams.

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::skills::{self, Reader};
use crate::user_file::{Change, Consent, show_and_apply};

/// Add skills for the built-in teams to a client, or remove them
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew skills install claude           show the files, ask, write them\n  wavecrew skills install codex --print    only show them\n  wavecrew skills uninstall claude -y"
)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Write the skill files of the teams testing, lifecycle and planex
    #[command(after_help = "Examples:\n  wavecrew skills install claude")]
    Install(Target),
    /// Remove the skill files
    #[command(after_help = "Examples:\n  wavecrew skills uninstall claude -y")]
    Uninstall(Target),
}

#[derive(clap::Args, Debug)]
struct Target {
    /// Client that reads the skill files
    client: Reader,
    #[command(flatten)]
    consent: Consent,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let (target, install) = match &self.action {
            Action::Install(target) => (target, true),
            Action::Uninstall(target) => (target, false),
        };
        let folder = target.client.folder()?;
        let changes: Result<Vec<Change>, Failure> = skills::ALL
            .iter()
            .map(|skill| Change::of(folder.join(skill.file()), |_| Ok(install.then(|| skill.text()))))
            .collect();
        show_and_apply(&changes?, &target.consent, global)
    }
}
