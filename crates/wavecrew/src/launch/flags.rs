//! Flags of commands that run something, and the engine's options that follow from them and from the settings.

use super::{budget, isolation, remote};
use crate::agent_choice::Chosen;
use crate::clock;
use crate::config::Config;
use crate::global::Global;
use crate::terminal;
use std::path::PathBuf;
use std::time::Duration;
use wavecrew_agents::{Pools, cli};
use wavecrew_core::engine::{AgentChoice, AskMode, Options};
use wavecrew_run::recording::PREFIX;

/// Flags of every command that starts a team or a table, or continues one.
#[derive(clap::Args, Debug, Clone)]
pub struct RunArgs {
    /// Continue a session: the named one, or the latest unfinished one
    #[arg(
        long = "continue",
        alias = "resume",
        id = "continue",
        value_name = "SESSION",
        num_args = 0..=1,
        help_heading = CONTINUING
    )]
    #[expect(clippy::option_option, reason = "absent, bare, or with a name")]
    pub continued: Option<Option<String>>,
    /// With --continue: keep completed results even if their input has changed
    #[arg(long, requires = "continue", help_heading = CONTINUING)]
    pub keep: bool,
    /// With --continue: only show what would run again, and why
    #[arg(long, requires = "continue", help_heading = CONTINUING)]
    pub dry_run: bool,
    #[command(flatten)]
    pub flags: RunFlags,
}

fn agent_help() -> String {
    let names: Vec<&str> = cli::ALL.iter().map(|cli| cli.name()).collect();
    format!(
        "The agent that does the tasks: {}, `acp:PROGRAM ARGS`, `command:./agent.sh`, `replay:FILE`, or `offline` for \
         team testing",
        names.join(", ")
    )
}

const AGENTS: &str = "Agents";
const CONTINUING: &str = "Continuing a session";
pub(super) const RUNNING: &str = "Running";

/// Flags of every run, new or continued.
#[derive(clap::Args, Debug, Clone)]
pub struct RunFlags {
    /// Use the default answer to every question
    #[arg(short = 'y', long, help_heading = RUNNING)]
    pub yes: bool,
    /// Run up to N workers at the same time [default: 3]
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = RUNNING)]
    pub concurrency: Option<u32>,
    #[arg(long, value_name = "NAME", help_heading = AGENTS, help = agent_help())]
    pub agent: Option<String>,
    /// Use another agent for one role
    #[arg(long, value_name = "ROLE=NAME", help_heading = AGENTS, hide_short_help = true)]
    pub role_agent: Vec<String>,
    /// Time limit of a task, in seconds [default: the team's limit]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), help_heading = RUNNING, hide_short_help = true)]
    pub timeout: Option<u64>,
    /// Try a task up to N times when its worker crashes or times out [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = RUNNING, hide_short_help = true)]
    pub attempts: Option<u32>,
    /// Add an instruction to every task; `{column}` is replaced by the row's value
    #[arg(long, value_name = "TEXT", help_heading = RUNNING, hide_short_help = true)]
    pub instruction: Option<String>,
    #[command(flatten)]
    pub browser: BrowserFlags,
    /// Write questions to the session folder and wait there for answers
    #[arg(long, hide = true)]
    pub ask_in_folder: bool,
    /// End when the other end of stdin closes
    #[arg(long, hide = true)]
    pub attached: bool,
    /// Record all workers in FILE; `--agent replay:FILE` replays them
    #[arg(long, value_name = "FILE", help_heading = RUNNING, hide_short_help = true)]
    pub record: Option<PathBuf>,
    /// Run workers in the project, or each in its own git worktree that is merged at the end of its wave [default:
    /// the `workspace` of each role in the team file]
    #[arg(long, value_name = "WHERE", help_heading = RUNNING, hide_short_help = true)]
    pub isolation: Option<isolation::IsolationFlag>,
    /// Also let workers of every role change this file or folder
    #[arg(long, value_name = "PATH", help_heading = RUNNING, hide_short_help = true)]
    pub allow_write: Vec<PathBuf>,
    #[command(flatten)]
    pub remote: remote::RemoteFlags,
    #[command(flatten)]
    pub budget: budget::BudgetFlags,
}

/// Flags of a run that is shown in the browser.
#[derive(clap::Args, Debug, Clone)]
pub struct BrowserFlags {
    /// Show the run in the browser, and ask questions there
    #[arg(long, help_heading = RUNNING)]
    pub web: bool,
    /// With --web: open the browser
    #[arg(long, requires = "web", help_heading = RUNNING, hide_short_help = true)]
    pub open: bool,
}

impl RunFlags {
    pub fn options(&self, global: &Global, config: &Config, chosen: Chosen) -> Options {
        let project = project_options(config);
        let timeout = self.timeout.map(Duration::from_secs);
        let person = self.ask_in_folder || self.may_ask(global);
        let pools = pools(&chosen.choice, config);
        let is_replay = chosen.choice.default.starts_with(PREFIX);
        let mut options = Options {
            pools: pools.by_agent,
            budget: self.budget.over(project.budget),
            concurrency: self.concurrency.map_or(project.concurrency, |n| n as usize),
            ask_mode: if person {
                AskMode::Person
            } else {
                AskMode::Defaults
            },
            agents: chosen.choice,
            max_attempts: self.attempts.unwrap_or(project.max_attempts),
            one_shot: timeout.or(project.one_shot),
            interactive: timeout.or(project.interactive),
            ..project
        };
        if is_replay {
            // A replay has no service to recover before the next attempt.
            options.backoff = Duration::ZERO;
        }
        options
    }

    /// Whether questions go to a person at this terminal.
    pub fn may_ask(&self, global: &Global) -> bool {
        !self.yes && !global.json && terminal::is_interactive()
    }
}

/// The project's settings for every run. Flags and tool calls override them.
pub fn project_options(config: &Config) -> Options {
    let seconds = |seconds: Option<u64>| seconds.map(Duration::from_secs);
    let (limits, defaults) = (&config.limits, Options::default());
    Options {
        max_service_wait: seconds(limits.quota_patience_seconds).unwrap_or(defaults.max_service_wait),
        seed: clock::seed(),
        budget: config.spending.budget,
        expected: config.spending.expected,
        prices: config.spending.prices(),
        concurrency: config.concurrency.map_or(defaults.concurrency, |n| n as usize),
        max_attempts: config.attempts.unwrap_or(defaults.max_attempts),
        one_shot: seconds(limits.one_shot_seconds),
        interactive: seconds(limits.interactive_seconds),
        end_idle: seconds(limits.end_idle_seconds),
        idle: seconds(limits.idle_seconds),
        kill_grace: seconds(limits.kill_grace_seconds).unwrap_or(defaults.kill_grace),
        ..defaults
    }
}

/// The accounts that the agents of a run use.
pub fn pools(agents: &AgentChoice, config: &Config) -> Pools {
    let names = agents.by_role.values().chain([&agents.default]);
    Pools::find(names.map(String::as_str), &config.pools, |name| {
        std::env::var_os(name)
    })
}
