//! Starts a run or continues one: agent, session, screen, exit code. Shared by the verbs that run something.

pub mod apply;
pub mod base_commit;
pub mod budget;
mod builds;
mod completion;
pub mod confirm;
mod drive;
mod flags;
pub mod isolation;
pub mod issues;
mod journal_copy;
mod questions;
pub mod record;
mod remote;
mod resume;
mod sandbox;
mod start;
pub mod testing;
pub mod testing_setup;

pub use drive::{CHECK_COMMAND, own_commands};
pub use flags::{RunArgs, RunFlags, project_options};
pub use remote::{DEFAULT_PROJECT, RemoteFlags, connection, identity, remote_workers};
pub use resume::ResumeOptions;
pub use sandbox::sandbox_settings;

use crate::clock;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::target::TargetArgs;
use crate::{browser, session_view};
use std::path::{Path, PathBuf};
use wavecrew_core::engine::Ledger;
use wavecrew_core::view::count;
use wavecrew_run::sandbox::program_rules;
use wavecrew_run::session::OpenSession;
use wavecrew_session::{Holder, SessionDir, SessionInfo};

/// What every run needs: the project, its settings, and the flags.
pub struct Launch<'a> {
    project: PathBuf,
    config: Config,
    flags: &'a RunFlags,
    global: &'a Global,
}

impl<'a> Launch<'a> {
    pub fn new(flags: &'a RunFlags, global: &'a Global) -> Result<Self, Failure> {
        let project = std::env::current_dir().map_err(Failure::Output)?;
        if flags.browser.web {
            browser::start(&project, flags.browser.open, global)?;
        }
        let config = Config::load(&project)?;
        program_rules(&sandbox_settings(&config, &flags.allow_write, &project)?).apply();
        remote::check_server(&config, &flags.remote, &project)?;
        Ok(Self {
            project,
            config,
            flags,
            global,
        })
    }

    /// The session to continue: of this project's folder, or one whose copy NATS has.
    pub fn find_session(&self, name: &str) -> Result<SessionDir, Failure> {
        match session_view::find(name) {
            Err(Failure::BadInput { .. }) if self.has_server() && !session_view::is_known(name) => {
                self.fetch_session(name)
            }
            found => found,
        }
    }

    /// With --apply, copies the kept tests of a completed session into the project.
    fn apply_tests(&self, dir: &SessionDir, exit: Exit, target: &TargetArgs) -> Result<Exit, Failure> {
        if exit == Exit::Done && target.testing.apply {
            apply::apply(&self.project, dir, self.flags.yes, self.global)?;
        }
        Ok(exit)
    }
}

/// Runs what `target` names, or continues a session of it.
pub fn run(target: &TargetArgs, args: &RunArgs, global: &Global) -> Result<Exit, Failure> {
    let launch = Launch::new(&args.flags, global)?;
    let Some(name) = &args.continued else {
        return launch.start(target);
    };
    let dir = match name.as_deref().filter(|_| launch.has_server()) {
        Some(name) => launch.find_session(name)?,
        None => find_continued(target, name.as_deref())?,
    };
    if !args.dry_run {
        apply::raise_targets(&dir, &target.testing)?;
    }
    let options = ResumeOptions {
        keep: args.keep,
        dry_run: args.dry_run,
        retry: None,
        at_end: drive::AtEnd::of(&target.testing),
    };
    let exit = launch.resume(dir.clone(), &options)?;
    if args.dry_run {
        return Ok(exit);
    }
    launch.apply_tests(&dir, exit, target)
}

/// The session that `--continue` names: by its id, or the latest unfinished one of the same table or team.
fn find_continued(target: &TargetArgs, name: Option<&str>) -> Result<SessionDir, Failure> {
    if let Some(name) = name {
        return session_view::find(name);
    }
    let named = target.target.as_deref();
    let file = target.file().map(|file| absolute(&file));
    session_view::to_continue(|info: &SessionInfo| match (&file, named) {
        (Some(file), Some(team)) => info.source_file.as_ref() == Some(file) || info.team == team,
        _ => true,
    })
}

/// The lock holder of a session: this process, with its command line.
pub fn holder() -> Holder {
    let words: Vec<String> = std::env::args().collect();
    let mut command = words.join(" ");
    command.truncate(command.floor_char_boundary(200));
    Holder::this_process(&clock::now().to_string(), &command)
}

/// Prints session, agent and size before the first worker starts.
fn print_introduction(ledger: &Ledger, session: &OpenSession, agent: &str, why: &str, global: &Global) {
    if !global.prints_notes() {
        return;
    }
    let plan = ledger.plan();
    let (tasks, waves) = (count(plan.len(), "task"), count(plan.waves() as usize, "wave"));
    tell!("Session {} ({tasks} in {waves})", session.dir.id());
    tell!("Agent   {agent} ({why})");
    if let Some(file) = session.info.replay() {
        tell!("Replay  no agent runs; replaying {}", record::describe(file));
    }
    let completed = ledger.counts().completed;
    if completed > 0 {
        tell!("Kept    {completed} completed");
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
