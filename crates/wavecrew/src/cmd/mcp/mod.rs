//! `mcp`: tools over the Model Context Protocol, on stdin and stdout, for clients and for the workers of a run.

mod install;

use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch;
use std::path::Path;
use wavecrew_mcp::job::JobOptions;
use wavecrew_mcp::server::ServerOptions;
use wavecrew_run::worker_commands::{Identity, WorkerCommands};

/// Serve wavecrew's tools over MCP (stdin and stdout)
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Serve only the tools of a worker; wavecrew itself uses this
    #[arg(long, conflicts_with = "agent")]
    worker: bool,
    /// Agent for calls that name none
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Limit the workers of one call
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_workers: Option<u32>,
    /// Run the job that a server has prepared
    #[arg(long, value_name = "JOB", hide = true, conflicts_with_all = ["worker", "agent"])]
    job: Option<String>,
    /// With --job: limits in place of those that were
    #[arg(
        long,
        value_name = "JSON",
        hide = true,
        requires = "job",
        default_value = "{}"
    )]
    limits: String,
    /// With --job: end when stdin does
    #[arg(long, hide = true, requires = "job")]
    attached: bool,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    Install(install::InstallArgs),
    Uninstall(install::UninstallArgs),
}

const EXAMPLES: &str = "\
Examples:
  wavecrew mcp install codex           add this server to a client
  wavecrew mcp                         serve the project in this folder
  wavecrew -C DIR mcp --agent codex    serve another project, with codex as the default agent";

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        match &self.action {
            Some(Action::Install(args)) => return args.run(global),
            Some(Action::Uninstall(args)) => return args.run(global),
            None => {}
        }
        let project = std::env::current_dir().map_err(Failure::Output)?;
        if let Some(job) = &self.job {
            return self.run_job(&project, job);
        }
        // Inside a worker, only the worker's tools are served: it must not start teams of its own.
        if self.worker || Identity::is_given() {
            let worker = WorkerCommands::open(Identity::from_env()?)?;
            wavecrew_mcp::worker::serve(worker)?;
            return Ok(Exit::Done);
        }
        if is_below_a_guardian() {
            wavecrew_mcp::serve_nothing()?;
            return Ok(Exit::Done);
        }
        let config = Config::load(&project)?;
        let (guardian, _) = launch::own_commands()?;
        let setup = ServerOptions {
            program: std::env::current_exe().map_err(Failure::Output)?,
            sandbox: launch::sandbox_settings(&config, &[], &project)?,
            agent: self.agent.clone().or(config.agent),
            agent_settings: config.agents,
            guardian,
            max_workers: self.max_workers.map(|count| count as usize),
        };
        wavecrew_mcp::server::serve(&project, setup)?;
        Ok(Exit::Done)
    }

    fn run_job(&self, project: &Path, job: &str) -> Result<Exit, Failure> {
        let config = Config::load(project)?;
        let (guardian, worker_tools) = launch::own_commands()?;
        let limits = serde_json::from_str(&self.limits)
            .map_err(|error| Failure::input(format!("--limits is not readable: {error}")))?;
        let options = JobOptions {
            options: launch::project_options(&config),
            sandbox: launch::sandbox_settings(&config, &[], project)?,
            remote: launch::remote_workers(&config, &launch::RemoteFlags::default(), project)?,
            pools: config.pools,
            limits,
            agent_settings: config.agents,
            guardian,
            worker_tools: Some(worker_tools),
            holder: launch::holder(),
            attached: self.attached,
        };
        wavecrew_mcp::job::run(project, job, options).map_err(Failure::input)?;
        Ok(Exit::Done)
    }
}

/// Whether one of the processes above this one starts workers. Their environment shows it too, but some
/// agents do not pass it on to the servers that they start.
fn is_below_a_guardian() -> bool {
    let mut pid = std::process::id();
    for _ in 0..MAX_DEPTH {
        // The first process of a namespace has the number 1 and none above it: that may be a guardian.
        let Some(parent) = parent_of(pid).filter(|parent| *parent > 0) else {
            return false;
        };
        let words = std::fs::read(format!("/proc/{parent}/cmdline")).unwrap_or_default();
        if words.split(|byte| *byte == 0).nth(1) == Some(b"__guardian") {
            return true;
        }
        pid = parent;
    }
    false
}

/// Processes are not nested deeper than this; a chain that changes while it is read might go on for ever.
const MAX_DEPTH: usize = 1000;

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain any character; the state and the parent follow it.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}
