//! The command line: flags that every command has, and the way to each verb.

use crate::cmd::{
    agents, archive, ask, baseline, cancel, check, completions, discover, export, init, issues, lifecycle,
    list, logs, mcp, measure, msg, offline, plan, planex, report, resume, retry, run, show, skills, status,
    teams, testing, validate, watch, wisdom,
};
use crate::exit::{Exit, Failure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Runs teams of coding agents in dependency waves.
#[derive(Parser, Debug)]
#[command(name = "wavecrew", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew testing                            write, run and measure tests for what changed
  wavecrew plan tasks.csv                     show what would run, wave by wave
  wavecrew plan tasks.csv --graph=mermaid     the same as a diagram for a document
  wavecrew validate tasks.csv --team testing  check a table against a team's rules
  wavecrew completions zsh > _wavecrew        complete commands and flags in your shell";

/// Flags that every command has.
#[derive(Args, Debug)]
pub struct Global {
    /// Work as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,
    /// Write JSON to standard output, and everything else to standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true)]
    pub color: Color,
    /// Say less: no warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

#[derive(Subcommand, Debug)]
enum Command {
    Testing(testing::Args),
    Lifecycle(lifecycle::Args),
    Run(run::Args),
    Planex(planex::Args),
    Resume(resume::Args),
    Retry(retry::Args),
    Plan(plan::Args),
    Validate(validate::Args),
    Issues(issues::Args),
    List(list::Args),
    #[command(visible_alias = "check")]
    Status(status::Args),
    Watch(watch::Args),
    Logs(logs::Args),
    Show(show::Args),
    Cancel(cancel::Args),
    Archive(archive::Args),
    Export(export::Args),
    Measure(measure::Args),
    Agents(agents::Args),
    Teams(teams::Args),
    Init(init::Args),
    Mcp(mcp::Args),
    Skills(skills::Args),
    Completions(completions::Args),
    Report(report::Args),
    Discover(discover::Args),
    Msg(msg::Args),
    Wisdom(wisdom::Args),
    #[command(name = "__offline", hide = true)]
    Offline(offline::Args),
    #[command(name = check::NAME, hide = true)]
    Check(check::Args),
    #[command(name = baseline::NAME, hide = true)]
    Baseline(baseline::Args),
    Ask(ask::Args),
}

impl Cli {
    pub fn run(&self) -> Result<Exit, Failure> {
        self.global.color.apply();
        if let Some(dir) = &self.global.dir {
            std::env::set_current_dir(dir)
                .map_err(|e| Failure::input(format!("cannot work in {}: {e}", dir.display())))?;
        }
        match &self.command {
            Command::Testing(args) => args.run(&self.global),
            Command::Lifecycle(args) => args.run(&self.global),
            Command::Run(args) => args.run(&self.global),
            Command::Planex(args) => args.run(&self.global),
            Command::Resume(args) => args.run(&self.global),
            Command::Retry(args) => args.run(&self.global),
            Command::Plan(args) => args.run(&self.global),
            Command::Validate(args) => args.run(&self.global),
            Command::Issues(args) => args.run(&self.global),
            Command::List(args) => args.run(&self.global),
            Command::Status(args) => args.run(&self.global),
            Command::Watch(args) => args.run(&self.global),
            Command::Logs(args) => args.run(&self.global),
            Command::Show(args) => args.run(&self.global),
            Command::Cancel(args) => args.run(&self.global),
            Command::Archive(args) => args.run(&self.global),
            Command::Export(args) => args.run(&self.global),
            Command::Measure(args) => args.run(&self.global),
            Command::Agents(args) => args.run(&self.global),
            Command::Teams(args) => args.run(&self.global),
            Command::Init(args) => args.run(&self.global),
            Command::Mcp(args) => args.run(&self.global),
            Command::Skills(args) => args.run(&self.global),
            Command::Completions(args) => args.run(),
            Command::Report(args) => args.run(&self.global),
            Command::Discover(args) => args.run(&self.global),
            Command::Msg(args) => args.run(&self.global),
            Command::Wisdom(args) => args.run(&self.global),
            Command::Offline(args) => args.run(&self.global),
            Command::Check(args) => args.run(),
            Command::Baseline(args) => args.run(),
            Command::Ask(args) => args.run(&self.global),
        }
    }
}
