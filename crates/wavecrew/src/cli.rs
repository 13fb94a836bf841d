//! The command line: global flags, the verbs, and their help.

use crate::cmd::{
    agents, archive, ask, baseline, cancel, check, completions, discover, export, init, issues, lifecycle,
    list, logs, mcp, measure, msg, offline, plan, planex, report, resume, retry, run, show, skills, status,
    teams, testing, validate, watch, wisdom,
};
use crate::exit::{Exit, Failure};
use crate::json;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Run teams of coding agents, and check what they claim
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
  wavecrew run tasks.csv --agent codex        run it
  wavecrew status                             show the latest session
  wavecrew resume                             continue the latest unfinished session";

/// Flags of every command.
#[derive(Args, Debug)]
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

/// The commands in `wavecrew --help`, by purpose.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Run",
        &["testing", "lifecycle", "planex", "run", "resume", "retry"],
    ),
    (
        "Inspect",
        &[
            "plan", "validate", "status", "list", "watch", "logs", "show", "measure",
        ],
    ),
    ("Change", &["cancel", "archive", "export", "issues"]),
    (
        "Set up",
        &["init", "agents", "teams", "mcp", "skills", "completions"],
    ),
    ("For workers", &["report", "discover", "msg", "wisdom", "ask"]),
];

/// Flags of `run` and `plan` that `-h` leaves out: those of single teams, and rarely used ones.
const ONLY_IN_LONG_HELP: [&str; 21] = [
    "switch",
    "no_supervision",
    "since",
    "coverage_target",
    "mutation",
    "test_timeout",
    "seed",
    "offline_budget",
    "apply",
    "text",
    "plan_file",
    "exec",
    "role_agent",
    "timeout",
    "attempts",
    "instruction",
    "record",
    "isolation",
    "max_tokens",
    "max_task_cost",
    "max_task_tokens",
];

/// Flags that `plan` accepts because `run` does. They do not change a plan.
const WITHOUT_EFFECT_IN_PLAN: [&str; 14] = [
    "yes",
    "concurrency",
    "agent",
    "role_agent",
    "timeout",
    "attempts",
    "instruction",
    "record",
    "isolation",
    "max_cost",
    "max_tokens",
    "max_time",
    "max_task_cost",
    "max_task_tokens",
];

/// The whole command line, with its help.
pub fn command() -> clap::Command {
    let short = |arg: clap::Arg| {
        let hidden = ONLY_IN_LONG_HELP.contains(&arg.get_id().as_str());
        arg.hide_short_help(hidden)
    };
    let without_effect = |arg: clap::Arg| {
        let hidden = WITHOUT_EFFECT_IN_PLAN.contains(&arg.get_id().as_str()) || arg.is_hide_set();
        arg.hide(hidden)
    };
    let command = Cli::command()
        .mut_subcommand("run", |run| run.mut_args(short))
        .mut_subcommand("plan", |plan| plan.mut_args(short).mut_args(without_effect));
    let commands = grouped_commands(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{commands}\n{{options}}{{after-help}}"
    ))
}

/// The list of commands with a heading per group.
fn grouped_commands(command: &clap::Command) -> String {
    let style = command.get_styles();
    let (header, literal) = (*style.get_header(), *style.get_literal());
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "\n{header}{group}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<12}{literal:#} {about}");
        }
    }
    text
}

/// Reads the command line. On an error or a request for help, prints it and returns how to exit.
pub fn parse() -> Result<Cli, ExitCode> {
    let parsed = command()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|error| {
        drop(error.print());
        let code = u8::try_from(error.exit_code()).unwrap_or(Exit::BadInput as u8);
        if error.use_stderr() && std::env::args().any(|arg| arg == "--json") {
            let text = error.render().to_string();
            let mut paragraphs = text.trim_start_matches("error: ").split("\n\n").map(str::trim);
            let message = paragraphs.next().unwrap_or_default().to_owned();
            let help: Vec<&str> = paragraphs.filter(|part| !part.is_empty()).collect();
            json::print_error(&message, Some(&help.join("\n")), code);
        }
        ExitCode::from(code)
    })
}

/// The folder that `-C` named, for commands that are shown to be pasted.
pub fn given_folder() -> Option<String> {
    GIVEN_FOLDER.get().cloned()
}

static GIVEN_FOLDER: OnceLock<String> = OnceLock::new();

impl Cli {
    pub fn run(&self) -> Result<Exit, Failure> {
        self.global.color.apply();
        if let Some(dir) = &self.global.dir {
            let _ = GIVEN_FOLDER.set(dir.to_string_lossy().into_owned());
            std::env::set_current_dir(dir)
                .map_err(|e| Failure::input(format!("cannot change to the folder {}: {e}", dir.display())))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command below `command`, with its path.
    fn all(command: &clap::Command, path: &str, found: &mut Vec<(String, clap::Command)>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let path = format!("{path} {}", sub.get_name());
            found.push((path.clone(), sub.clone()));
            all(sub, &path, found);
        }
    }

    #[test]
    fn every_command_has_its_place_in_the_help() {
        let command = command();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        let mut visible: Vec<&str> = command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        grouped.sort_unstable();
        visible.sort_unstable();
        assert_eq!(grouped, visible);
        command.debug_assert();
    }

    #[test]
    fn every_help_has_examples_that_the_command_line_accepts() {
        let mut commands = vec![("wavecrew".to_owned(), command())];
        all(&command(), "wavecrew", &mut commands);
        for (path, sub) in commands {
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n"), "{path} has no examples");
            for line in help.lines().filter_map(|line| line.strip_prefix("  wavecrew ")) {
                let example = line.split("   ").next().unwrap_or_default();
                let example = example.split(['|', '<', '>']).next().unwrap_or_default();
                let words = shlex::split(example).expect("balanced quotes");
                let parsed = command().try_get_matches_from(["wavecrew".to_owned()].into_iter().chain(words));
                assert!(parsed.is_ok(), "{path}: {line}: {:?}", parsed.err());
            }
        }
    }
}
