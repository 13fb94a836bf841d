//! Flags of every command.

use std::path::PathBuf;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Run as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,
    /// Print JSON on standard output; everything else goes to standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true)]
    pub color: Color,
    /// Print no warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more details
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

impl Global {
    /// Prints a line about progress for a person, but not with --quiet or --json.
    pub fn note(&self, text: &str) {
        if self.prints_notes() {
            tell!("{}", crate::show::safe(text));
        }
    }

    pub fn prints_notes(&self) -> bool {
        !self.quiet && !self.json
    }
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    pub fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}
