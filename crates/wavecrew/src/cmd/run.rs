//! `run`: a team or a table, to its end; or a session, from where it was.

use crate::cli::Global;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::launch::{self, RunFlags, agents, base, isolation};
use crate::target::{Target, Words};
use crate::{find_team, session_view};
use std::path::{Path, PathBuf};
use wavecrew_core::engine::{Engine, Input, Ledger, ResumeBasis, StaleResult};
use wavecrew_core::event::Status;
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::time::Timestamp;
use wavecrew_run::driver::{Edit, Moment, NewSession, OpenSession, follow_edit, read_edit};
use wavecrew_session::{SESSION_FORMAT, SessionDir, SessionInfo, SessionState, session_id};

/// Run a team or a table of tasks, or continue a session
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    words: Words,
    #[command(flatten)]
    how: TeamRun,
}

/// What every command that runs something takes beside its own words.
#[derive(clap::Args, Debug, Clone)]
pub struct TeamRun {
    /// Go on with a session: the named one, or the latest unfinished one
    #[arg(long = "continue", visible_alias = "resume", id = "resume", value_name = "SESSION", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, bare, or with a name")]
    resume: Option<Option<String>>,
    /// With --continue: keep completed results even if they were made from something else
    #[arg(long, requires = "resume")]
    keep: bool,
    /// With --continue: only say what would run again, and why
    #[arg(long, requires = "resume")]
    dry_run: bool,
    #[command(flatten)]
    flags: RunFlags,
}

impl TeamRun {
    pub fn is_wanted(&self) -> bool {
        self.resume.is_some()
    }
}

const EXAMPLES: &str = "\
Examples:
  wavecrew run tasks.csv --agent 'command:./agent.sh'        run a table with any program
  wavecrew run tasks.csv -c 8 --agent 'command:./agent.sh'   eight workers at a time
  wavecrew run tasks.csv --agent codex --record run.jsonl    keep what the workers did
  wavecrew run tasks.csv --agent replay:run.jsonl            play it back, without any agent
  wavecrew run tasks.csv --continue                          go on where the last run stopped
  wavecrew run --continue run-tasks-20260308 --dry-run       what would run again, and why
  wavecrew run tasks.csv --max-cost 5 --max-time 8h          start nothing more at these limits";

impl Args {
    /// A team's own command is this one with the team named.
    pub fn of_team(words: Words, how: TeamRun) -> Self {
        Self { words, how }
    }

    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let project = std::env::current_dir().map_err(Failure::Output)?;
        let config = Config::load(&project)?;
        match &self.how.resume {
            Some(name) => {
                let dir = self.find(&project, name.as_deref())?;
                if !self.how.dry_run {
                    launch::apply::raise_targets(&dir, &self.words.testing)?;
                }
                let changes = Changes {
                    keep: self.how.keep,
                    dry_run: self.how.dry_run,
                    retry: None,
                };
                let exit = resume(&project, dir.clone(), &self.how.flags, global, &config, &changes)?;
                if self.how.dry_run {
                    return Ok(exit);
                }
                self.after(&project, &dir, exit, global)
            }
            None => self.start(&project, global, &config),
        }
    }

    fn start(&self, project: &Path, global: &Global, config: &Config) -> Result<Exit, Failure> {
        let target = self.words.read(global.quiet)?;
        if let Some(prepared) = &target.testing {
            launch::testing::check_scope(prepared, global.quiet || global.json)?;
        }
        let request = self.words.request();
        let chosen = agents::choose(
            &target.team,
            config,
            self.how.flags.agent.as_deref(),
            &self.how.flags.role_agent,
        )?;
        if let Some(file) = &self.how.flags.record {
            launch::record::check(file, &chosen.choice, None)?;
        }
        if let Some(exit) = self.unfinished_before(project, &target, &request, global, config)? {
            return Ok(exit);
        }
        agents::check_rows(&chosen.choice, &target.team, &target.plan)?;
        let mut target = launch::confirm::confirm(target, &self.words, self.how.flags.yes, global)?;
        let (agent, why) = (chosen.choice.default.clone(), chosen.why);
        let mut options = self.how.flags.options(global, config, chosen);
        options.isolation = isolation::settle(project, &target.team, self.how.flags.isolation, global.quiet)?;
        options.pipeline.clone_from(&target.pipeline);
        // Before there is a session, so that none is ever without its issues.
        launch::issues::file(project, &mut target)?;
        let date = jiff::Timestamp::now().strftime("%Y%m%d").to_string();
        let name = match &target.file {
            Some(file) => file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            None => request.clone(),
        };
        let id_base = session_id(&target.team.prefix, &name, target.team.slug_len, &date);
        let team_text = toml::to_string(&target.team)
            .map_err(|error| Failure::input(format!("the team cannot be kept with the session: {error}")))?;
        let new = NewSession {
            project,
            id_base: &id_base,
            team: &target.team,
            team_text: &team_text,
            plan: &target.plan,
            holder: launch::holder(),
        };
        let mut scoped = Ok(());
        let info = |dir: &SessionDir| {
            // Before the session counts as one: whoever takes it up knows what it is about.
            if let Some(prepared) = &target.testing {
                scoped = prepared.scope.write(dir.path());
            }
            SessionInfo {
                format: SESSION_FORMAT,
                id: dir.id().to_owned(),
                team: target.team.name.clone(),
                pipeline: target.pipeline.clone(),
                request: request.clone(),
                agents: options.agents.by_role.clone(),
                default_agent: options.agents.default.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                state: SessionState::Running,
                source_file: target.file.as_deref().map(absolute),
                base_commit: base::head(project),
                concurrency: options.concurrency,
                extra: serde_json::Map::new(),
            }
        };
        let (mut session, ledger) = new.create(info)?;
        scoped.map_err(|error| launch::testing::disk(&error))?;
        session.log_bytes = config.limits.log_bytes;
        isolation::keep(&mut session.info, self.how.flags.isolation);
        session.dir.write_info(&session.info)?;
        if let Some(file) = &self.how.flags.record {
            launch::record::begin(file, &mut session)?;
        }
        launch::introduce(&ledger, &session, &agent, why, global);
        launch::testing_setup::set_up(&mut session, &ledger, global.quiet || global.json)?;
        let dir = session.dir.clone();
        let exit = launch::drive(
            session,
            Engine::new(ledger, options),
            &self.how.flags,
            global,
            config,
        )?;
        self.after(project, &dir, exit, global)
    }

    /// What becomes of the tests of a session that is over.
    fn after(&self, project: &Path, dir: &SessionDir, exit: Exit, global: &Global) -> Result<Exit, Failure> {
        let yes = self.how.flags.yes;
        if exit == Exit::Done && self.words.testing.apply {
            launch::apply::apply(project, dir, yes, global)?;
        } else if exit == Exit::Done && yes {
            // Whoever was asked knows.
            launch::apply::print_apply_hint(dir, global);
        }
        Ok(exit)
    }

    /// The same work was begun before and not finished: go on with it, or begin anew?
    fn unfinished_before(
        &self,
        project: &Path,
        target: &Target,
        request: &str,
        global: &Global,
        config: &Config,
    ) -> Result<Option<Exit>, Failure> {
        if self.how.flags.yes {
            return Ok(None);
        }
        let file = target.file.as_deref().map(absolute);
        let same = |info: &SessionInfo| {
            info.team == target.team.name && info.request == request && info.source_file == file
        };
        let Some((dir, _)) = session_view::latest_unfinished(project, same)? else {
            return Ok(None);
        };
        if !launch::is_terminal() || global.json {
            return Err(Failure::with_help(
                format!("the session `{}` of the same work is unfinished", dir.id()),
                format!(
                    "give `--continue {}` to go on with it, or -y to begin anew",
                    dir.id()
                ),
            ));
        }
        let asked = format!("The session {} of the same work is unfinished:", dir.id());
        match launch::asking::choice(&asked, &["Go on with it", "Begin anew"], 0) {
            Some(0) => resume(project, dir, &self.how.flags, global, config, &Changes::default()).map(Some),
            Some(_) => Ok(None),
            None => Err(Failure::Declined),
        }
    }

    /// The session that `--continue` means.
    fn find(&self, project: &Path, name: Option<&str>) -> Result<SessionDir, Failure> {
        if let Some(name) = name {
            return session_view::find(project, name);
        }
        let file = self
            .words
            .target
            .as_deref()
            .map(|target| absolute(Path::new(target)));
        let team = self.words.target.as_deref();
        let fits = |info: &SessionInfo| match (&file, team) {
            (Some(file), Some(team)) => info.source_file.as_ref() == Some(file) || info.team == team,
            _ => true,
        };
        match session_view::latest_unfinished(project, fits)? {
            Some((dir, _)) => Ok(dir),
            None => Err(session_view::none_to_continue(project)),
        }
    }
}

/// What taking up a session may do to its results.
#[derive(Clone, Default)]
pub struct Changes {
    pub keep: bool,
    pub dry_run: bool,
    /// Run these tasks again; none named means all that failed.
    pub retry: Option<Vec<String>>,
}

/// Takes a session up again and runs what is left of it.
pub fn resume(
    project: &Path,
    dir: SessionDir,
    flags: &RunFlags,
    global: &Global,
    config: &Config,
    changes: &Changes,
) -> Result<Exit, Failure> {
    let info = dir.read_info()?;
    let team = find_team::own(&info.team)?;
    let (mut session, ledger) = OpenSession::take_up(project, dir, &launch::holder(), team)?;
    session.log_bytes = config.limits.log_bytes;
    if !changes.dry_run {
        launch::testing_setup::set_up(&mut session, &ledger, global.quiet || global.json)?;
    }
    let agent = flags
        .agent
        .clone()
        .or_else(|| Some(info.default_agent.clone()).filter(|name| !name.is_empty()));
    let mut role_agents: Vec<String> = info
        .agents
        .iter()
        .map(|(role, name)| format!("{role}={name}"))
        .collect();
    role_agents.extend(flags.role_agent.iter().cloned());
    let chosen = agents::choose(&ledger.team, config, agent.as_deref(), &role_agents)?;
    agents::check_rows(&chosen.choice, &ledger.team, ledger.plan())?;
    let why = if flags.agent.is_some() {
        chosen.why
    } else {
        "as before"
    };
    if let Some(file) = flags.record.as_ref().filter(|_| !changes.dry_run) {
        launch::record::check(file, &chosen.choice, Some(&info.id))?;
        launch::record::begin(file, &mut session)?;
    }
    let mut options = flags.options(global, config, chosen);
    options.pipeline.clone_from(&info.pipeline);
    if flags.concurrency.is_none() {
        options.concurrency = info.concurrency;
    }
    let place = flags.isolation.or_else(|| isolation::kept(&info));
    options.isolation = isolation::settle(project, &ledger.team, place, global.quiet)?;
    isolation::keep(&mut session.info, place);
    // Limits stay in force until another one is given.
    options.budget = flags.budget.over(ledger.budget.or(config.spending.budget));
    let standing_agents = options.agents.clone();
    session.info.default_agent.clone_from(&options.agents.default);
    session.info.agents.clone_from(&options.agents.by_role);
    let mut engine = Engine::new(ledger, options);
    let now = now();
    if let Some(bytes) = session.edits_since()? {
        if changes.dry_run {
            preview_edit(&mut engine, now, &bytes);
        } else {
            let told = follow_edit(&mut session, &mut engine, now, &bytes)
                .map_err(|error| launch::drive_failure(&error, session.dir.id()))?;
            for problem in told {
                anstream::eprintln!("The edit of tasks.csv was set aside: {problem}");
            }
        }
    }
    let base = base::moved(project, info.base_commit.as_deref());
    let moved = base.is_some() && !changes.keep;
    let mut stale = if changes.keep {
        Vec::new()
    } else {
        engine.ledger().stale(&ResumeBasis {
            agents: &standing_agents,
            base,
        })
    };
    if let Some(tasks) = &changes.retry {
        add_retries(engine.ledger(), tasks, &mut stale)?;
    }
    if changes.dry_run {
        session_view::print_dry_run(engine.ledger(), &stale, global)?;
        return Ok(Exit::Done);
    }
    for found in &stale {
        if !global.quiet {
            anstream::eprintln!(
                "{} runs again: {}",
                engine.ledger().plan().id(found.task),
                found.why
            );
        }
    }
    let events = engine.reset(stale);
    session.record(&events)?;
    if moved {
        // Nothing made on the old commit is left: from now on results stand on this one.
        session.info.base_commit = base::head(project);
    }
    session.info.state = SessionState::Running;
    session.dir.write_info(&session.info)?;
    let agent = session.info.default_agent.clone();
    launch::introduce(engine.ledger(), &session, &agent, why, global);
    launch::drive(session, engine, flags, global, config)
}

/// Follows an edit in memory only, so that a dry run says what it would lead to.
fn preview_edit(engine: &mut Engine, now: Timestamp, bytes: &[u8]) {
    match read_edit(engine.ledger(), bytes, Moment::Between) {
        Edit::Nothing => {}
        Edit::Change { patch, plan } => drop(engine.step(now, Input::TableEdited { patch, plan })),
        Edit::Refused(problems) => {
            for problem in problems {
                anstream::eprintln!("The edit of tasks.csv would be set aside: {problem}");
            }
        }
    }
}

/// The named tasks, or all that failed, with what was skipped because of them.
fn add_retries(ledger: &Ledger, names: &[String], stale: &mut Vec<StaleResult>) -> Result<(), Failure> {
    let plan = ledger.plan();
    let mut tasks = Vec::new();
    for name in names {
        let Some(task) = plan.find(name) else {
            let known = plan.tasks().map(|task| plan.id(task));
            let help = did_you_mean(name, known).unwrap_or_else(|| "see `wavecrew status`".to_owned());
            return Err(Failure::with_help(
                format!("the session has no task `{name}`"),
                help,
            ));
        };
        tasks.push(task);
    }
    if names.is_empty() {
        tasks.extend(plan.tasks().filter(|&task| ledger.status(task) == Status::Failed));
    }
    if tasks.is_empty() {
        return Err(Failure::with_help(
            "nothing failed in this session",
            "name the tasks that are to run again, or continue it with `wavecrew run --continue`",
        ));
    }
    for task in ledger.to_retry(&tasks) {
        if !stale.iter().any(|found| found.task == task) {
            stale.push(StaleResult {
                task,
                why: "retry".to_owned(),
            });
        }
    }
    Ok(())
}

fn now() -> Timestamp {
    Timestamp(u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0))
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
