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
mod questions;
pub mod record;
mod resume;
mod start;
pub mod testing;
pub mod testing_setup;

pub use drive::{CHECK_COMMAND, own_commands};
pub use flags::{RunArgs, RunFlags, project_options};
pub use resume::{ResumeOptions, resume};

use crate::cli::Global;
use crate::clock;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::session_view;
use crate::target::TargetArgs;
use std::path::{Path, PathBuf};
use wavecrew_core::engine::Ledger;
use wavecrew_core::view::count;
use wavecrew_run::session::OpenSession;
use wavecrew_session::{Holder, SessionDir, SessionInfo};

/// Runs what `target` names, or continues a session of it.
pub fn run(target: &TargetArgs, args: &RunArgs, global: &Global) -> Result<Exit, Failure> {
    let project = std::env::current_dir().map_err(Failure::Output)?;
    let config = Config::load(&project)?;
    let Some(name) = &args.continued else {
        return start::start(&project, target, &args.flags, global, &config);
    };
    let dir = find_continued(&project, target, name.as_deref())?;
    if !args.dry_run {
        apply::raise_targets(&dir, &target.testing)?;
    }
    let options = ResumeOptions {
        keep: args.keep,
        dry_run: args.dry_run,
        retry: None,
    };
    let exit = resume(&project, dir.clone(), &args.flags, global, &config, &options)?;
    if args.dry_run {
        return Ok(exit);
    }
    apply_tests(&project, &dir, exit, target, &args.flags, global)
}

/// The session that `--continue` names: by its id, or the latest unfinished one of the same table or team.
fn find_continued(project: &Path, target: &TargetArgs, name: Option<&str>) -> Result<SessionDir, Failure> {
    if let Some(name) = name {
        return session_view::find(project, name);
    }
    let named = target.target.as_deref();
    let file = named.map(|target| absolute(Path::new(target)));
    let fits = |info: &SessionInfo| match (&file, named) {
        (Some(file), Some(team)) => info.source_file.as_ref() == Some(file) || info.team == team,
        _ => true,
    };
    match session_view::latest_unfinished(project, fits)? {
        Some((dir, _)) => Ok(dir),
        None => Err(session_view::none_to_continue(project)),
    }
}

/// With --apply, copies the kept tests of a completed session into the project.
fn apply_tests(
    project: &Path,
    dir: &SessionDir,
    exit: Exit,
    target: &TargetArgs,
    flags: &RunFlags,
    global: &Global,
) -> Result<Exit, Failure> {
    if exit == Exit::Done && target.testing.apply {
        apply::apply(project, dir, flags.yes, global)?;
    }
    Ok(exit)
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
    if global.quiet || global.json {
        return;
    }
    let plan = ledger.plan();
    let (tasks, waves) = (count(plan.len(), "task"), count(plan.waves() as usize, "wave"));
    anstream::eprintln!("Session {} ({tasks} in {waves})", session.dir.id());
    anstream::eprintln!("Agent   {agent} ({why})");
    if let Some(file) = session.info.replay() {
        anstream::eprintln!("Replay  no agent runs; replaying {}", record::describe(file));
    }
    let completed = ledger.counts().completed;
    if completed > 0 {
        anstream::eprintln!("Kept    {completed} completed");
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
