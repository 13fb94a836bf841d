//! `wavecrew completions SHELL`

use crate::exit::{Exit, Failure};
use crate::global::Global;
use clap_complete::Shell;
use std::io::Write;

/// Print a script that completes commands and flags in your shell
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew completions bash > ~/.local/share/bash-completion/completions/wavecrew\n  \
    wavecrew completions fish > ~/.config/fish/completions/wavecrew.fish"
)]
pub struct Args {
    /// The shell to write for
    shell: Shell,
}

impl Args {
    pub fn run(&self, _: &Global) -> Result<Exit, Failure> {
        // Into memory first: the generator panics when its reader goes away.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "wavecrew", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(Exit::Done)
    }
}
