//! `agents`: which agents are here and what they can do; `agents test` has one of them do a tiny task.

use crate::agent_choice::{check, search_path};
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::layout::fit;
use crate::{hint, json};
use serde_json::{Value, json};
use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wavecrew_agents::cli::{self, AgentCli, Features};
use wavecrew_agents::seen_from;
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_run::installed::{Login, acp_agents, find, login, version};
use wavecrew_session::{SessionEntry, list_sessions};

/// List agents: which are installed and logged in, and how to get the others
#[derive(clap::Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  wavecrew agents\n  wavecrew agents --json\n  wavecrew agents test codex"
)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    Test(TestArgs),
}

/// Let an agent do a small task in a temporary folder
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew agents test codex\n  wavecrew agents test 'command:./agent.sh' --timeout 30"
)]
struct TestArgs {
    /// An agent's name, `acp:PROGRAM` or `command:PROGRAM`
    #[arg(value_name = "NAME")]
    name: String,
    /// Task to do [default: write one file]
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Time limit in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 180, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

/// One known agent on this machine.
struct Found {
    cli: &'static dyn AgentCli,
    program: Option<PathBuf>,
    version: Result<String, String>,
    login: Login,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        match &self.action {
            Some(Action::Test(args)) => args.run(global),
            None => list(global),
        }
    }
}

fn list(global: &Global) -> Result<Exit, Failure> {
    let found = find_agents();
    let acp = acp_agents(&search_path());
    let mut out = stdout().lock();
    if global.json {
        let agents: Vec<Value> = found.iter().map(Found::json).collect();
        json::print_pretty(json!({ "agents": agents, "acp": acp }))?;
    } else {
        for agent in &found {
            agent.print(&mut out)?;
        }
        let interactive = if acp.is_empty() {
            "none found; use any program that implements it with --agent 'acp:PROGRAM ARGS'".to_owned()
        } else {
            acp.join(", ")
        };
        writeln!(
            out,
            "{}  over the Agent Client Protocol: {interactive}",
            fit("acp", 8)
        )?;
        writeln!(
            out,
            "\nAny other program: --agent 'command:PROGRAM ARGS'. Try one with `{}`.",
            hint::command("agents test NAME")
        )?;
    }
    Ok(Exit::Done)
}

/// Asks all programs for their versions at the same time: some take seconds to start.
fn find_agents() -> Vec<Found> {
    let path = search_path();
    let asked: Vec<_> = cli::ALL
        .iter()
        .copied()
        .map(|cli| {
            let program = find(cli, &path);
            let asked = program
                .clone()
                .map(|program| std::thread::spawn(move || version(&program)));
            (cli, program, asked)
        })
        .collect();
    let agents = asked.into_iter().map(|(cli, program, asked)| Found {
        cli,
        program,
        version: match asked.map(std::thread::JoinHandle::join) {
            Some(Ok(version)) => version,
            Some(Err(_)) => Err("asking for its version failed".to_owned()),
            None => Err("not installed".to_owned()),
        },
        login: login(cli, |name| std::env::var_os(name)),
    });
    agents.collect()
}

impl Found {
    fn advice(&self) -> Option<&'static str> {
        match (&self.program, &self.login) {
            (None, _) => Some(self.cli.facts().how_to_install),
            (Some(_), Login::NotFound) => Some(self.cli.facts().how_to_log_in),
            (Some(_), Login::Variable(_) | Login::File(_)) => None,
        }
    }

    /// The version that wavecrew is tested with, if another one is here.
    fn other_version(&self) -> Option<&'static str> {
        let here = self.version.as_deref().ok()?;
        self.cli.facts().tested_version.filter(|tested| *tested != here)
    }

    fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        let name = fit(self.cli.name(), 8);
        let Some(program) = &self.program else {
            return writeln!(out, "{name}  not installed: {}", self.cli.facts().how_to_install);
        };
        let version = match &self.version {
            Ok(version) => version.clone(),
            Err(why) => format!("version unknown: {why}"),
        };
        writeln!(out, "{name}  {version} · {}", program.display())?;
        if let Some(tested) = self.other_version() {
            let how = self.cli.facts().how_to_install;
            writeln!(
                out,
                "          wavecrew is tested with {tested}; if it does not work: {how}"
            )?;
        }
        let login = match &self.login {
            Login::Variable(name) => format!("logged in: {name} is set"),
            Login::File(path) => format!("logged in: {} exists", path.display()),
            Login::NotFound => format!(
                "no login found (logins in the system key ring are not detected): {}",
                self.cli.facts().how_to_log_in
            ),
        };
        writeln!(out, "          {login}")?;
        writeln!(
            out,
            "          {}",
            features(self.cli.facts().features).join(", ")
        )
    }

    fn json(&self) -> Value {
        let (login, by) = match &self.login {
            Login::Variable(name) => (Some(true), Some((*name).to_owned())),
            Login::File(path) => (Some(true), Some(path.display().to_string())),
            // A key ring may hold one.
            Login::NotFound => (None, None),
        };
        json!({
            "name": self.cli.name(),
            "installed": self.program.is_some(),
            "path": self.program,
            "version": self.version.as_ref().ok(),
            "tested_version": self.cli.facts().tested_version,
            "logged_in": login,
            "logged_in_by": by,
            "features": features(self.cli.facts().features),
            "advice": self.advice(),
        })
    }
}

fn features(features: Features) -> Vec<&'static str> {
    let optional = [
        (features.resume, "interactive"),
        (features.mcp, "mcp"),
        (features.schema, "schema"),
        (features.usage, "usage"),
        (features.cost, "cost"),
        (features.read_only, "read-only roles"),
    ];
    let has = optional.into_iter().filter(|(has, _)| *has).map(|(_, name)| name);
    ["one-shot"].into_iter().chain(has).collect()
}

/// The task of `agents test` if no other is given.
const TASK: &str = "Create the file hello.txt in the working folder. It holds one line with the word hello. Change \
                    nothing else.";

impl TestArgs {
    fn run(&self, global: &Global) -> Result<Exit, Failure> {
        check(&self.name, &search_path())?;
        let folder = tempfile::Builder::new()
            .prefix("wavecrew-agents-test-")
            .tempdir()?;
        let task = self.task.as_deref().unwrap_or(TASK).replace('"', "\"\"");
        fs::write(
            folder.path().join("tasks.csv"),
            format!("\"id\",\"description\"\n\"TEST\",\"{task}\"\n"),
        )?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("-C").arg(folder.path());
        if global.quiet {
            command.arg("--quiet");
        }
        let agent = seen_from(&std::env::current_dir()?, &self.name);
        command.args(["run", "tasks.csv", "-y", "--agent", &agent]);
        let seconds = self.timeout.to_string();
        // Does not wait longer for a rate limit.
        command.args(["--timeout", &seconds, "--max-time", &seconds]);
        // Its events are not the output of this command.
        let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        let wrote = self.task.is_some() || folder.path().join("hello.txt").is_file();
        let works = ended.success() && wrote;
        let kept = (!works).then(|| folder.keep());
        let why = if works {
            None
        } else if ended.success() {
            Some("it reported success, but hello.txt is not there".to_owned())
        } else if ended.code() == Some(Exit::Stopped as i32) {
            Some("its model service refused: rate limit, or used-up quota".to_owned())
        } else {
            let reported = kept.as_deref().and_then(error_of);
            Some(reported.unwrap_or_else(|| format!("the run ended before the agent did, with {ended}")))
        };
        let mut out = stdout().lock();
        if global.json {
            let answer = json!({ "name": self.name, "works": works, "error": why, "folder": kept });
            json::print_pretty(answer)?;
        } else if let Some(folder) = &kept {
            writeln!(out, "{} does not work: {}", self.name, why.unwrap_or_default())?;
            writeln!(out, "Its session is kept in {}", folder.display())?;
        } else {
            writeln!(out, "{} works", self.name)?;
        }
        Ok(if works { Exit::Done } else { Exit::TasksFailed })
    }
}

/// The `error` that the session's table ends up with.
fn error_of(folder: &Path) -> Option<String> {
    let session = list_sessions(folder)
        .ok()?
        .into_iter()
        .find_map(|listed| match listed {
            SessionEntry::Session(dir, _) => Some(dir),
            SessionEntry::Broken { .. } => None,
        })?;
    let table = fs::read(session.results_csv()).ok()?;
    let sheet = Sheet::read(table.as_slice(), Origin::Session).ok()?;
    let column = sheet.column("error").filter(|_| sheet.rows() > 0)?;
    Some(sheet.cell(0, column).to_owned()).filter(|error| !error.is_empty())
}
