//! Starts a new session for a target: checks everything that can be checked then creates the folder and runs it.

use super::drive::drive;
use super::testing_setup::Setup;
use super::{
    ResumeOptions, RunFlags, absolute, apply_tests, base_commit, confirm, holder, isolation, issues,
    print_introduction, record, resume, testing, testing_setup,
};
use crate::agent_choice;
use crate::cli::Global;
use crate::clock;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::target::{Target, TargetArgs};
use crate::{session_view, terminal};
use std::path::Path;
use wavecrew_core::engine::{Engine, Options};
use wavecrew_run::session::NewSession;
use wavecrew_session::{SESSION_FORMAT, SessionDir, SessionInfo, SessionState, session_id};

pub fn start(
    project: &Path,
    args: &TargetArgs,
    flags: &RunFlags,
    global: &Global,
    config: &Config,
) -> Result<Exit, Failure> {
    let target = args.read(global.quiet)?;
    if let Some(prepared) = &target.testing {
        testing::check_scope(prepared, global.quiet || global.json)?;
    }
    let request = args.request();
    let chosen = agent_choice::choose(&target.team, config, flags.agent.as_deref(), &flags.role_agent)?;
    if let Some(file) = &flags.record {
        record::check(file, &chosen.choice, None)?;
    }
    if let Some(exit) = continue_unfinished(project, &target, &request, flags, global, config)? {
        return Ok(exit);
    }
    agent_choice::check_rows(&chosen.choice, &target.team, &target.plan)?;
    let mut target = confirm::confirm(target, args, flags.yes, global)?;
    let (agent, why) = (chosen.choice.default.clone(), chosen.why);
    let mut options = flags.options(global, config, chosen);
    options.isolation = isolation::resolve(project, &target.team, flags.isolation, global.quiet)?;
    options.pipeline.clone_from(&target.pipeline);
    // Issues come before the session, so that no session is without its issues.
    issues::file(project, &mut target)?;
    let team_text = toml::to_string(&target.team)
        .map_err(|error| Failure::input(format!("cannot save the team with the session: {error}")))?;
    let new = NewSession {
        project,
        id_base: &id_base(&target, &request),
        team: &target.team,
        team_text: &team_text,
        plan: &target.plan,
        holder: holder(),
    };
    let mut scope_written = Ok(());
    let info = |dir: &SessionDir| {
        // The scope is there before the session counts as one: whoever continues it needs it.
        if let Some(prepared) = &target.testing {
            scope_written = prepared.scope.write(dir.path());
        }
        session_info(dir, project, &target, &request, &options)
    };
    let (mut session, ledger) = new.create(info)?;
    scope_written.map_err(|error| testing::disk(&error))?;
    session.log_bytes = config.limits.log_bytes;
    isolation::save(&mut session.info, flags.isolation);
    session.dir.write_info(&session.info)?;
    if let Some(file) = &flags.record {
        record::begin(file, &mut session)?;
    }
    print_introduction(&ledger, &session, &agent, why, global);
    if let Setup::TargetMet { covered, target } =
        testing_setup::set_up(&mut session, &ledger, global.quiet || global.json)?
        && !args.testing.always
    {
        return testing_setup::end_without_work(session, &covered, target, global);
    }
    let dir = session.dir.clone();
    let exit = drive(session, Engine::new(ledger, options), flags, global, config)?;
    apply_tests(project, &dir, exit, args, flags, global)
}

/// The session's name before a number makes it unique: team prefix, table or request, date.
fn id_base(target: &Target, request: &str) -> String {
    let date = jiff::Timestamp::now().strftime("%Y%m%d").to_string();
    let name = match &target.file {
        Some(file) => file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        None => request.to_owned(),
    };
    session_id(&target.team.prefix, &name, target.team.slug_len, &date)
}

fn session_info(
    dir: &SessionDir,
    project: &Path,
    target: &Target,
    request: &str,
    options: &Options,
) -> SessionInfo {
    SessionInfo {
        format: SESSION_FORMAT,
        id: dir.id().to_owned(),
        team: target.team.name.clone(),
        pipeline: target.pipeline.clone(),
        request: request.to_owned(),
        agents: options.agents.by_role.clone(),
        default_agent: options.agents.default.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: clock::now().to_string(),
        state: SessionState::Running,
        source_file: target.file.as_deref().map(absolute),
        base_commit: base_commit::head(project),
        concurrency: options.concurrency,
        extra: serde_json::Map::new(),
    }
}

/// When the same work has an unfinished session, asks whether to continue it. `None`: start a new one.
fn continue_unfinished(
    project: &Path,
    target: &Target,
    request: &str,
    flags: &RunFlags,
    global: &Global,
    config: &Config,
) -> Result<Option<Exit>, Failure> {
    if flags.yes {
        return Ok(None);
    }
    let file = target.file.as_deref().map(absolute);
    let same = |info: &SessionInfo| {
        info.team == target.team.name && info.request == request && info.source_file == file
    };
    let Some((dir, _)) = session_view::latest_unfinished(project, same)? else {
        return Ok(None);
    };
    let id = dir.id();
    if global.json || !terminal::is_interactive() {
        return Err(Failure::with_help(
            format!("the session `{id}` of the same work is unfinished"),
            format!("use `--continue {id}` to continue it, or -y to start a new session"),
        ));
    }
    let question = format!("The session {id} of the same work is unfinished:");
    match terminal::choose(&question, &["Continue it", "Start a new session"], 0) {
        Some(0) => resume(project, dir, flags, global, config, &ResumeOptions::default()).map(Some),
        Some(_) => Ok(None),
        None => Err(Failure::Declined),
    }
}
