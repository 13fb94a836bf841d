//! Starts a new session for a target: checks everything that can be checked, then creates the folder and runs it.

use super::drive::AtEnd;
use super::testing_setup::Setup;
use super::{
    Launch, ResumeOptions, absolute, base_commit, confirm, holder, isolation, issues, print_introduction,
    record, testing, testing_setup,
};
use crate::agent_choice;
use crate::clock;
use crate::exit::{Exit, Failure};
use crate::target::{Target, TargetArgs, check_scope};
use crate::{session_view, show, terminal};
use std::path::Path;
use wavecrew_core::engine::{Engine, Options};
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::prompt::placeholders;
use wavecrew_core::team::Role;
use wavecrew_run::session::NewSession;
use wavecrew_session::{SessionDir, SessionInfo, session_id};

impl Launch<'_> {
    /// Starts a new session.
    pub(super) fn start(&self, args: &TargetArgs) -> Result<Exit, Failure> {
        let Self {
            project,
            config,
            flags,
            global,
        } = self;
        let target = args.read(global.quiet)?;
        if let Some(prepared) = &target.testing {
            check_scope(prepared, global)?;
        }
        let request = args.request();
        if !global.quiet {
            warn_of_placeholders(&target, flags.instruction.as_deref());
        }
        let agent = flags.agent.as_deref().map(agent_choice::from_project);
        let chosen = agent_choice::choose(&target.team, config, agent.as_deref(), &flags.role_agent)?;
        let target = args.for_agents(target, &chosen.choice, config.testing.files_per_task)?;
        let record = flags.record.as_deref().map(crate::project::typed);
        if let Some(file) = &record {
            record::check(file, &chosen.choice, None)?;
        }
        if let Some(exit) = self.continue_unfinished(&target, &request)? {
            return Ok(exit);
        }
        agent_choice::check_rows(&chosen.choice, &target.team, &target.plan)?;
        let with_pipeline = |name: &str| {
            let target = args.read_as(global.quiet, Some(name))?;
            args.split(target, &chosen.choice, config.testing.files_per_task)
        };
        let mut target = confirm::confirm(target, with_pipeline, flags.yes, global)?;
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
                scope_written = prepared.scope.write_first(dir.path());
            }
            session_info(dir, project, &target, &request, &options)
        };
        let (mut session, ledger) = new.create(info)?;
        scope_written.map_err(|error| testing::disk(&error))?;
        session.log_bytes = config.limits.log_bytes;
        isolation::save(&mut session.info, flags.isolation);
        session.dir.write_info(&session.info)?;
        self.begin_copy(&mut session)?;
        if let Some(file) = &record {
            record::begin(file, &mut session)?;
        }
        print_introduction(&ledger, &session, &agent, why, global);
        if let Setup::TargetMet { covered, target } = testing_setup::set_up(&mut session, &ledger, global)?
            && !args.testing.always
        {
            return testing_setup::end_without_work(session, &covered, target, global);
        }
        let dir = session.dir.clone();
        let exit = self.drive(session, Engine::new(ledger, options), AtEnd::of(&args.testing))?;
        self.apply_tests(&dir, exit, args)
    }

    /// When the same work has an unfinished session, asks whether to continue it. `None`: start a new one.
    fn continue_unfinished(&self, target: &Target, request: &str) -> Result<Option<Exit>, Failure> {
        if self.flags.yes {
            return Ok(None);
        }
        let file = target.file.as_deref().map(absolute);
        let same = |info: &SessionInfo| {
            info.team == target.team.name && info.request == request && info.source_file == file
        };
        let Some(dir) = session_view::latest_unfinished(same)? else {
            return Ok(None);
        };
        let id = dir.id();
        if self.global.json || !terminal::is_interactive() {
            return Err(Failure::with_help(
                format!("the session `{id}` for the same work is unfinished"),
                format!("use `--continue {id}` to continue it, or -y to start a new session"),
            ));
        }
        let question = format!("The session {id} for the same work is unfinished:");
        match terminal::choose(&question, &["Continue it", "Start a new session"], 0) {
            Some(0) => self.resume(dir, &ResumeOptions::default()).map(Some),
            Some(_) => Ok(None),
            None => Err(Failure::Declined),
        }
    }
}

/// Warns of placeholders that name no column: they stay in the text as they are.
fn warn_of_placeholders(target: &Target, instruction: Option<&str>) {
    let header = target.plan.header();
    let given = instruction.map(|text| ("--instruction".to_owned(), text));
    let is_used = |role: &&Role| {
        target
            .plan
            .tasks()
            .any(|task| target.plan.role(task) == role.name)
    };
    let of_roles = target.team.roles.iter().filter(is_used);
    let of_roles = of_roles.map(|role| {
        let place = format!("the instruction of the role `{}`", role.name);
        (place, role.instruction.as_str())
    });
    for (place, text) in given.into_iter().chain(of_roles) {
        for name in placeholders(text) {
            // `{"json": 1}` is no placeholder.
            let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
            if is_name && !header.contains(&name) {
                let help = did_you_mean(&name, header.iter().map(String::as_str))
                    .unwrap_or_else(|| format!("columns: {}", header.join(", ")));
                show::warning(&format!("`{{{name}}}` in {place} names no column"), Some(&help));
            }
        }
    }
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
    let agents = &options.agents;
    let (started_at, team) = (clock::now().to_string(), &target.team.name);
    SessionInfo {
        pipeline: target.pipeline.clone(),
        request: request.to_owned(),
        agents: agents.by_role.clone(),
        source_file: target.file.as_deref().map(absolute),
        base_commit: base_commit::head(project),
        ..SessionInfo::begin(dir.id(), team, started_at, &agents.default, options.concurrency)
    }
}
