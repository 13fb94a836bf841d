//! The command line: one file per verb with its flags and its `run`, and nothing that another verb needs.

mod agents;
mod archive;
mod ask;
mod baseline;
mod cancel;
mod check;
mod completions;
mod diff;
mod discover;
mod doctor;
mod export;
mod init;
mod issues;
mod lifecycle;
mod list;
mod logs;
mod mcp;
mod measure;
mod msg;
mod offline;
pub mod offline_worker;
mod plan;
mod planex;
mod report;
mod resume;
mod retry;
mod run;
mod show;
mod skills;
mod status;
mod teams;
mod testing;
mod validate;
mod watch;
mod web;
mod wisdom;
mod worker;
mod workers;

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::{json, project};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Run teams of coding agents, and check what they claim
#[derive(Parser, Debug)]
#[command(name = "wavecrew", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  wavecrew testing                            write, run and measure tests for what changed
  wavecrew diff                               show what behaves differently since the last change
  wavecrew plan tasks.csv                     show what would run, wave by wave
  wavecrew run tasks.csv --agent codex        run it
  wavecrew status                             show the latest session
  wavecrew resume                             continue the latest unfinished session";

/// The verbs, each with the module of its `Args`.
macro_rules! verbs {
    ($($(#[$meta:meta])* $verb:ident($module:ident),)*) => {
        #[derive(Subcommand, Debug)]
        enum Verb {
            $($(#[$meta])* $verb($module::Args),)*
        }

        impl Verb {
            fn run(&self, global: &Global) -> Result<Exit, Failure> {
                match self {
                    $(Self::$verb(args) => args.run(global),)*
                }
            }
        }
    };
}

verbs! {
    Testing(testing),
    Lifecycle(lifecycle),
    Run(run),
    Planex(planex),
    Resume(resume),
    Retry(retry),
    Plan(plan),
    Validate(validate),
    Issues(issues),
    List(list),
    #[command(visible_alias = "check")]
    Status(status),
    Watch(watch),
    Web(web),
    Logs(logs),
    Show(show),
    Cancel(cancel),
    Archive(archive),
    Export(export),
    Measure(measure),
    Diff(diff),
    Agents(agents),
    Worker(worker),
    Workers(workers),
    Doctor(doctor),
    Teams(teams),
    Init(init),
    Mcp(mcp),
    Skills(skills),
    Completions(completions),
    Report(report),
    Discover(discover),
    Msg(msg),
    Wisdom(wisdom),
    #[command(name = "__offline", hide = true)]
    Offline(offline),
    #[command(name = check::NAME, hide = true)]
    Check(check),
    #[command(name = baseline::NAME, hide = true)]
    Baseline(baseline),
    Ask(ask),
}

impl Verb {
    /// Whether the verb works on a project, which may be found above the current folder. The others work on
    /// the folder itself, on data from a run, or on nothing.
    fn is_about_project(&self) -> bool {
        !matches!(
            self,
            Self::Measure(_)
                | Self::Agents(_)
                | Self::Init(_)
                | Self::Mcp(_)
                | Self::Skills(_)
                | Self::Completions(_)
                | Self::Report(_)
                | Self::Discover(_)
                | Self::Msg(_)
                | Self::Wisdom(_)
                | Self::Ask(_)
                | Self::Offline(_)
                | Self::Check(_)
                | Self::Baseline(_)
        )
    }
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
            "plan", "validate", "status", "list", "watch", "web", "logs", "show", "measure", "diff",
            "workers",
        ],
    ),
    ("Change", &["cancel", "archive", "export", "issues"]),
    (
        "Set up",
        &[
            "init",
            "agents",
            "worker",
            "doctor",
            "teams",
            "mcp",
            "skills",
            "completions",
        ],
    ),
    ("For workers", &["report", "discover", "msg", "wisdom", "ask"]),
];

/// The whole command line, with its help.
pub fn command() -> clap::Command {
    // Flags of a single team appear only in the long help.
    let long_help_of_teams = |arg: clap::Arg| {
        let of_team = arg
            .get_help_heading()
            .is_some_and(|heading| heading.starts_with("Team "));
        let hidden = of_team || arg.is_hide_short_help_set();
        arg.hide_short_help(hidden)
    };
    // `plan` accepts the flags of a run, which do not change a plan.
    let without_run_flags = |arg: clap::Arg| {
        let heading = arg.get_help_heading().unwrap_or_default();
        let hidden =
            ["Agents", "Running"].contains(&heading) || heading.starts_with("Limits") || arg.is_hide_set();
        arg.hide(hidden)
    };
    let command = Cli::command()
        .mut_subcommand("run", |run| run.mut_args(long_help_of_teams))
        .mut_subcommand("plan", |plan| {
            plan.mut_args(long_help_of_teams).mut_args(without_run_flags)
        });
    let commands = grouped_commands(&command);
    let header = *command.get_styles().get_header();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{commands}\n{header}Options:{header:#}\n{{options}}{{after-help}}"
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

impl Cli {
    pub fn run(&self) -> Result<Exit, Failure> {
        self.global.color.apply();
        let dir = self.global.dir.as_deref();
        let found = project::enter(dir, self.verb.is_about_project()).map_err(|error| {
            let folder = dir.unwrap_or(Path::new("."));
            Failure::input(format!(
                "cannot change to the folder {}: {error}",
                folder.display()
            ))
        })?;
        if let Some(root) = found {
            self.global.note(&format!(
                "Project {} (found above the current folder)",
                root.display()
            ));
        }
        self.verb.run(&self.global)
    }
}

/// For the help of teams that change code.
const VERIFY_NOTE: &str = "\
wavecrew checks reports about code with the project's build and tests. It finds the commands
in the project's files. To use others, set setup, build, test and limit_seconds under
[verify] in wavecrew.toml.";

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
