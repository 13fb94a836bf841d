//! Continues a session: finds what must run again, and runs what is left.

use super::drive::{AtEnd, drive_failure};
use super::{Launch, base_commit, holder, isolation, print_introduction, record, testing_setup};
use crate::clock;
use crate::exit::{Exit, Failure};
use crate::{agent_choice, find_team, hint, session_view};
use wavecrew_core::engine::{Engine, Input, Ledger, ResumeBasis, StaleResult};
use wavecrew_core::event::Status;
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::time::Timestamp;
use wavecrew_run::session::OpenSession;
use wavecrew_run::table::edits::{EditTime, TableEdit, apply_edit_between_runs, notes, read_edit};
use wavecrew_session::{SessionDir, SessionState};
use wavecrew_testing::scope::Scope;

/// What happens to the results that a continued session has.
#[derive(Clone, Default)]
pub struct ResumeOptions {
    pub keep: bool,
    pub dry_run: bool,
    /// Run these tasks again; an empty list means all that failed.
    pub retry: Option<Vec<String>>,
    pub at_end: AtEnd,
}

impl Launch<'_> {
    /// Opens a session again: its copy elsewhere comes first, if it has one.
    fn open(&self, dir: SessionDir) -> Result<(OpenSession, Ledger), Failure> {
        let copy = self.continue_copy(&dir.read_info()?)?;
        let info = dir.read_info()?;
        let mut team = find_team::project_team(&info.team)?;
        if let Some((team, scope)) = team.as_mut().zip(Scope::read(dir.path()).ok()) {
            scope.add_parts_to(team);
        }
        let (mut session, ledger) = OpenSession::resume(&self.project, dir, &holder(), team)?;
        if let Some(copy) = copy {
            copy.attach(&mut session)?;
        }
        session.log_bytes = self.config.limits.log_bytes;
        Ok((session, ledger))
    }

    /// Runs what is left of a session.
    pub fn resume(&self, dir: SessionDir, resume_options: &ResumeOptions) -> Result<Exit, Failure> {
        let Self {
            project,
            config,
            flags,
            global,
        } = self;
        let (mut session, ledger) = self.open(dir)?;
        let info = session.info.clone();
        if !resume_options.dry_run {
            testing_setup::set_up(&mut session, &ledger, global)?;
        }
        let agent = flags
            .agent
            .as_deref()
            .map(agent_choice::from_project)
            .or_else(|| Some(info.default_agent.clone()).filter(|name| !name.is_empty()));
        let saved = info.agents.iter().map(|(role, name)| format!("{role}={name}"));
        let role_agents: Vec<String> = saved.chain(flags.role_agent.iter().cloned()).collect();
        let chosen = agent_choice::choose(&ledger.team, config, agent.as_deref(), &role_agents)?;
        agent_choice::check_rows(&chosen.choice, &ledger.team, ledger.plan())?;
        let why = if flags.agent.is_some() {
            chosen.why
        } else {
            "as before"
        };
        if let Some(file) = flags.record.as_ref().filter(|_| !resume_options.dry_run) {
            let file = crate::project::typed(file);
            record::check(&file, &chosen.choice, Some(&info.id))?;
            record::begin(&file, &mut session)?;
        }
        let mut options = flags.options(global, config, chosen);
        options.pipeline.clone_from(&info.pipeline);
        if flags.concurrency.is_none() {
            options.concurrency = info.concurrency;
        }
        let where_to_work = flags.isolation.or_else(|| isolation::saved(&info));
        options.isolation = isolation::resolve(project, &ledger.team, where_to_work, global.quiet)?;
        isolation::save(&mut session.info, where_to_work);
        // A limit stays in force until a flag replaces it.
        options.budget = flags.budget.over(ledger.budget.or(config.spending.budget));
        let agents = options.agents.clone();
        session.info.default_agent.clone_from(&options.agents.default);
        session.info.agents.clone_from(&options.agents.by_role);
        let mut engine = Engine::new(ledger, options);
        let now = clock::now();
        if let Some(bytes) = session.table_edit()? {
            if resume_options.dry_run {
                preview_edit(&mut engine, now, &bytes);
            } else {
                let messages = apply_edit_between_runs(&mut session, &mut engine, now, &bytes)
                    .map_err(|error| drive_failure(&error, session.dir.id()))?;
                for message in messages {
                    tell!("{message}");
                }
            }
        }
        let base = base_commit::why_base_moved(project, info.base_commit.as_deref());
        let moved = base.is_some() && !resume_options.keep;
        let mut stale = if resume_options.keep {
            Vec::new()
        } else {
            engine.ledger().stale_results(&ResumeBasis {
                agents: &agents,
                base,
            })
        };
        if let Some(tasks) = &resume_options.retry {
            add_retries(engine.ledger(), tasks, &mut stale)?;
        }
        if resume_options.dry_run {
            session_view::print_dry_run(engine.ledger(), &stale, global)?;
            return Ok(Exit::Done);
        }
        if !global.quiet {
            for found in &stale {
                let id = engine.ledger().plan().id(found.task);
                tell!("{id} runs again: {}", found.why);
            }
        }
        let events = engine.reset(stale);
        session.record(&events)?;
        if moved {
            // No result of the old commit is left: results are based on this commit from now on.
            session.info.base_commit = base_commit::head(project);
        }
        session.info.state = SessionState::Running;
        session.dir.write_info(&session.info)?;
        let agent = session.info.default_agent.clone();
        print_introduction(engine.ledger(), &session, &agent, why, global);
        self.drive(session, engine, resume_options.at_end)
    }
}

/// Applies a table edit in memory only, for a dry run.
fn preview_edit(engine: &mut Engine, now: Timestamp, bytes: &[u8]) {
    match read_edit(engine.ledger(), bytes, EditTime::BetweenRuns) {
        TableEdit::Unchanged => {}
        TableEdit::Changed { patch, plan } => {
            for note in notes(&engine.step(now, Input::TableEdited { patch, plan })) {
                tell!("{note}");
            }
        }
        TableEdit::Invalid(problems) => {
            for problem in problems {
                tell!("The edit of tasks.csv would be refused: {problem}");
            }
        }
    }
}

/// Adds the named tasks, or all that failed, and the tasks that were skipped because of them.
fn add_retries(ledger: &Ledger, names: &[String], stale: &mut Vec<StaleResult>) -> Result<(), Failure> {
    let plan = ledger.plan();
    let mut tasks = Vec::new();
    for name in names {
        let Some(task) = plan.find(name) else {
            let known = plan.tasks().map(|task| plan.id(task));
            let help =
                did_you_mean(name, known).unwrap_or_else(|| format!("see `{}`", hint::command("status")));
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
            "no task of this session failed",
            format!(
                "name the tasks to run again, or continue the session with `{}`",
                hint::command("resume")
            ),
        ));
    }
    for task in ledger.to_retry(&tasks) {
        if !stale.iter().any(|found| found.task == task) {
            stale.push(StaleResult {
                task,
                why: "you asked for it".to_owned(),
            });
        }
    }
    Ok(())
}
