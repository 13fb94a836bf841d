//! Drives an open session to its end: reporter, questions, guardian, and what follows a finished run.

use super::flags::pools;
use super::remote::remote_workers;
use super::sandbox::{sandbox_settings, sandbox_summary};
use super::{Launch, apply, builds, issues, questions};
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::report::Keys;
use crate::target::TestingFlags;
use crate::{browser, hint, report, terminal};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use wavecrew_core::engine::{Engine, Question};
use wavecrew_process::guardian::GuardianCommand;
use wavecrew_process::terminate_when_stdin_closes;
use wavecrew_run::event_loop::{Asker, DriveError, Driver, RunContext};
use wavecrew_run::questions as folder_questions;
use wavecrew_run::session::OpenSession;

/// The steps after a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AtEnd {
    #[default]
    Ask,
    /// Its tests are copied into the project.
    Apply,
}

impl AtEnd {
    pub fn of(flags: &TestingFlags) -> Self {
        if flags.apply { Self::Apply } else { Self::Ask }
    }
}

impl Launch<'_> {
    /// Runs the session to its end and returns the program's exit code. At the end, asks the person what to
    /// do with a team's session, unless that is already decided.
    pub(super) fn drive(&self, session: OpenSession, engine: Engine, at_end: AtEnd) -> Result<Exit, Failure> {
        let Self {
            config,
            flags,
            global,
            ..
        } = self;
        terminal::hand_over_interrupts();
        global.note(&format!("Sandbox {}", sandbox_summary(config)));
        let mut screen = report::for_run(global, &session.dir, &session.info, Keys::On);
        let person = flags.may_ask(global);
        if flags.attached {
            terminate_when_stdin_closes();
        }
        let (guardian, worker_tools) = own_commands()?;
        browser::show_session(&session.dir)?;
        let dir = session.dir.clone();
        let asker = if flags.ask_in_folder || (person && browser::is_on()) {
            folder_questions::forget(&dir);
            Some(Arc::new(move |question: &Question| folder_questions::ask(&dir, question)) as Asker)
        } else {
            person.then(|| Arc::new(move |question: &Question| questions::ask(&dir, question)) as Asker)
        };
        let surface = RunContext {
            reporter: screen.as_mut(),
            asker,
            instruction: flags.instruction.clone(),
            worker_tools: Some(worker_tools),
            check_program: check_command(config)?,
            pools: pools(engine.agents(), config),
            agent_settings: config.agents.clone(),
            sandbox: sandbox_settings(config, &flags.allow_write, &session.project)?,
            remote: remote_workers(config, &flags.remote, &session.project)?,
        };
        let (dir, info, project) = (session.dir.clone(), session.info.clone(), session.project.clone());
        let (ending, ledger) = Driver::run(session, engine, surface, guardian)
            .map_err(|error| drive_failure(&error, dir.id()))?;
        issues::close_merged(&project, &ledger)?;
        builds::record_commits(&dir, &ledger)?;
        let exit = Exit::from(&ending);
        apply::finish_session(&dir, exit);
        screen.end(&ending, &ledger, &dir, &info, exit);
        // From here on questions may use the screen again.
        drop(screen);
        if person && info.pipeline.is_some() && at_end == AtEnd::Ask {
            return self.offer(&dir, &ledger, exit);
        }
        if person && browser::is_on() && at_end == AtEnd::Ask {
            browser::choose(
                "",
                "The run has ended.",
                &["Close the page and end the server"],
                0,
            );
        }
        Ok(exit)
    }
}

/// The parts of this program that a run starts as separate processes: the guardian, and the tools of a worker.
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

/// The hidden command that checks claims.
pub const CHECK_COMMAND: &str = "__check";

/// The command line that checks claims. It gets the settings from the start of the run, because workers may
/// change the file.
fn check_command(config: &Config) -> Result<Vec<String>, Failure> {
    let program = std::env::current_exe().map_err(Failure::Output)?;
    let mut words = vec![program.to_string_lossy().into_owned(), CHECK_COMMAND.to_owned()];
    words.extend(config.verify.words());
    Ok(words)
}

/// PATH for workers, with this program's folder last, so that their shells find `wavecrew report`.
fn path_with(program: &Path) -> Option<OsString> {
    let folder = program.parent()?.to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|entry| !entry.as_os_str().is_empty());
    std::env::join_paths(folders.chain([folder])).ok()
}

pub fn drive_failure(error: &DriveError, session: &str) -> Failure {
    let resume = format!("continue with `{}`", hint::command(&format!("resume {session}")));
    match error {
        DriveError::Session(error) => Failure::Disk {
            message: error.to_string(),
            help: format!("{}; then {resume}", hint::complete(&error.help())),
        },
        DriveError::NoRemote(reason) => Failure::Disk {
            message: reason.clone(),
            help: resume,
        },
        DriveError::NoSandbox(reason) => Failure::with_help(
            reason.clone(),
            "run `wavecrew doctor` to see what is missing, or set `sandbox = \"auto\"` in wavecrew.toml",
        ),
        DriveError::Process(_) | DriveError::GuardianLost => Failure::Disk {
            message: error.to_string(),
            help: resume,
        },
    }
}
