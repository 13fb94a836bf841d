//! Starts a run and sees it through: the agent, the session, the screen, the exit code.

pub mod agents;
pub mod apply;
pub mod asking;
pub mod base;

pub mod budget;
mod builds;
mod completion;
pub mod confirm;
pub mod isolation;
pub mod issues;
pub mod record;
pub mod testing;
pub mod testing_setup;

use crate::cli::Global;
use crate::cmd::check;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::report;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wavecrew_agents::Pools;
use wavecrew_core::engine::{AgentChoice, AskMode, Engine, Ledger, Options, Question};
use wavecrew_process::end_with_stdin;
use wavecrew_process::guardian::GuardianCommand;
use wavecrew_run::driver::{Asker, DriveError, Driver, OpenSession, Surface};
use wavecrew_run::questions;
use wavecrew_run::recording::PREFIX;
use wavecrew_session::Holder;

/// Flags that every run has.
#[derive(clap::Args, Debug, Clone)]
pub struct RunFlags {
    /// Ask nothing: take the default answer everywhere
    #[arg(short = 'y', long)]
    pub yes: bool,
    /// Workers at the same time [default: 3]
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub concurrency: Option<u32>,
    /// Who does the tasks: codex, claude, gemini, qwen, opencode, goose, `acp:PROGRAM ARGS`, `command:./agent.sh`,
    /// `replay:FILE`, or `offline` for team testing
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Another agent for one role
    #[arg(long, value_name = "ROLE=NAME")]
    pub role_agent: Vec<String>,
    /// Seconds a task may take, in place of the team's limit
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// Attempts at a task whose worker crashed or timed out [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub attempts: Option<u32>,
    /// An instruction for every task; `{column}` is replaced by the row's value
    #[arg(long, value_name = "TEXT")]
    pub instruction: Option<String>,
    /// Leave questions in the session's folder, and wait there for answers
    #[arg(long, hide = true)]
    pub ask_in_folder: bool,
    /// End with whoever holds the other end of stdin
    #[arg(long, hide = true)]
    pub attached: bool,
    /// Write what every worker says and does to a cassette that `--agent replay:FILE` plays
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Where workers work: in the project, or each in a git worktree whose work is merged at the end of its wave
    /// [default: as their roles say]
    #[arg(long, value_name = "PLACE")]
    pub isolation: Option<isolation::Place>,
    #[command(flatten)]
    pub budget: budget::BudgetFlags,
}

impl RunFlags {
    pub fn options(&self, global: &Global, config: &Config, chosen: agents::Chosen) -> Options {
        let project = project_options(config);
        let timeout = self.timeout.map(Duration::from_secs);
        let person = self.ask_in_folder || (!self.yes && !global.json && is_terminal());
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
            // A recording has nothing to recover from before it is tried again.
            options.backoff = Duration::ZERO;
        }
        options
    }
}

/// What the project's settings say about every run; flags, and calls of tools, go before them.
pub fn project_options(config: &Config) -> Options {
    let seconds = |seconds: Option<u64>| seconds.map(Duration::from_secs);
    let (limits, defaults) = (&config.limits, Options::default());
    Options {
        max_service_wait: seconds(limits.quota_patience_seconds).unwrap_or(defaults.max_service_wait),
        seed: budget::seed(),
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

/// The accounts that the agents of a run draw on.
fn pools(agents: &AgentChoice, config: &Config) -> Pools {
    let names = agents.by_role.values().chain([&agents.default]);
    Pools::find(names.map(String::as_str), &config.pools, |name| {
        std::env::var_os(name)
    })
}

/// Whether there is a person to ask.
pub fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Who writes the session: this process, as the person called it.
pub fn holder() -> Holder {
    let words: Vec<String> = std::env::args().collect();
    let mut command = words.join(" ");
    command.truncate(command.floor_char_boundary(200));
    Holder::this_process(
        &jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        &command,
    )
}

/// Runs the session to its end and says how the program is to exit.
pub fn drive(
    session: OpenSession,
    engine: Engine,
    flags: &RunFlags,
    global: &Global,
    config: &Config,
) -> Result<Exit, Failure> {
    asking::leave_interrupts();
    let mut screen = report::for_run(global, &session.dir, &session.info);
    let person = !flags.yes && !global.json && is_terminal();
    if flags.attached {
        end_with_stdin();
    }
    let (guardian, worker_tools) = own_commands()?;
    let asker = if flags.ask_in_folder {
        questions::forget(&session.dir);
        let dir = session.dir.clone();
        Some(Arc::new(move |question: &Question| questions::ask(&dir, question)) as Asker)
    } else {
        person.then(|| Arc::new(asking::ask) as Asker)
    };
    let surface = Surface {
        reporter: screen.as_mut(),
        asker,
        instruction: flags.instruction.clone(),
        worker_tools: Some(worker_tools),
        examiner: examiner(config)?,
        pools: pools(engine.agents(), config),
        agent_settings: config.agents.clone(),
    };
    let (dir, info, project) = (session.dir.clone(), session.info.clone(), session.project.clone());
    let (ending, ledger) =
        Driver::run(session, engine, surface, guardian).map_err(|error| drive_failure(&error, dir.id()))?;
    issues::close_merged(&project, &ledger)?;
    builds::note_commits(&dir, &ledger)?;
    let exit = Exit::from(&ending);
    apply::finish_session(&dir, exit);
    screen.end(&ending, &ledger, &dir, &info, exit);
    // The screen is the person's again.
    drop(screen);
    if person && info.pipeline.is_some() {
        return completion::offer(&dir, &ledger, exit, flags, global, config);
    }
    Ok(exit)
}

/// The parts of this program that a run starts as processes of their own: the guardian, and the tools of a worker.
pub fn own_commands() -> Result<(GuardianCommand, Vec<String>), Failure> {
    let program = std::env::current_exe().map_err(Failure::Output)?;
    let worker_tools = [
        program.to_string_lossy().into_owned(),
        "mcp".into(),
        "--worker".into(),
    ];
    let guardian = GuardianCommand {
        env: path_with(&program)
            .map(|path| ("PATH".into(), path))
            .into_iter()
            .collect(),
        program: program.into_os_string(),
        args: vec!["__guardian".into()],
    };
    Ok((guardian, worker_tools.to_vec()))
}

/// The words of the command that examines claims. The settings are those of the beginning: workers may write into the file.
fn examiner(config: &Config) -> Result<Vec<String>, Failure> {
    let program = std::env::current_exe().map_err(Failure::Output)?;
    let mut words = vec![program.to_string_lossy().into_owned(), check::NAME.to_owned()];
    words.extend(config.verify.words());
    Ok(words)
}

/// PATH for workers, so that `wavecrew report` is found in their shells; behind everything that is there already.
fn path_with(program: &Path) -> Option<OsString> {
    let folder = program.parent()?.to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|entry| !entry.as_os_str().is_empty());
    std::env::join_paths(folders.chain([folder])).ok()
}

pub fn drive_failure(error: &DriveError, session: &str) -> Failure {
    let go_on = format!("continue with `wavecrew run --continue {session}`");
    match error {
        DriveError::Session(error) => Failure::Disk {
            message: error.to_string(),
            help: format!("{}; then {go_on}", error.help()),
        },
        DriveError::Process(_) | DriveError::GuardianLost => Failure::Disk {
            message: error.to_string(),
            help: go_on,
        },
    }
}

/// What a run says before it starts.
pub fn introduce(ledger: &Ledger, session: &OpenSession, agent: &str, why: &str, global: &Global) {
    if global.quiet || global.json {
        return;
    }
    let counts = ledger.counts();
    let plan = ledger.plan();
    let tasks = if plan.len() == 1 {
        "1 task".to_owned()
    } else {
        format!("{} tasks", plan.len())
    };
    let waves = if plan.waves() == 1 {
        "1 wave".to_owned()
    } else {
        format!("{} waves", plan.waves())
    };
    anstream::eprintln!("Session {} ({tasks} in {waves})", session.dir.id());
    anstream::eprintln!("Agent   {agent} ({why})");
    if let Some(file) = session.info.replay() {
        anstream::eprintln!(
            "Replay  no agent runs, this is played back: {}",
            record::played(file)
        );
    }
    if counts.completed > 0 {
        anstream::eprintln!("Kept    {} completed", counts.completed);
    }
}
