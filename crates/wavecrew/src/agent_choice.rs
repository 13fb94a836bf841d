//! Which agent does the tasks of which role: set by flags, else by the team or the project, else the first
//! one installed.

use crate::config::Config;
use crate::exit::Failure;
use crate::{hint, project};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use wavecrew_agents::{cli, named_program};
use wavecrew_core::engine::AgentChoice;
use wavecrew_core::plan::Plan;
use wavecrew_core::team::{CheckKind, Role, Scope, Team};
use wavecrew_run::agent_name::{AgentError, OFFLINE, by_name, preferred};
use wavecrew_run::installed::{find, find_program, installed};
use wavecrew_run::recording::PREFIX;
use wavecrew_testing::offline_agent;

/// The pipeline of a team's smallest changes, if the offline agent writes its tests: in the further layers of
/// the larger pipelines, that agent would write the same tests again.
pub fn pipeline_for_offline(team: &Team, choice: &AgentChoice) -> Option<String> {
    let Some(Scope::Changes { steps, .. }) = &team.scope else {
        return None;
    };
    let generates = |role: &&Role| role.check == Some(CheckKind::GeneratedTests);
    let generator = team.roles.iter().find(generates)?;
    let smallest = &steps.first()?.pipeline;
    (choice.for_role(&generator.name) == OFFLINE).then(|| smallest.clone())
}

/// An agent, and why it was chosen.
pub struct Chosen {
    pub choice: AgentChoice,
    pub why: &'static str,
}

pub fn choose(
    team: &Team,
    config: &Config,
    agent: Option<&str>,
    role_agents: &[String],
) -> Result<Chosen, Failure> {
    let path = search_path();
    let mut by_role: BTreeMap<String, String> = BTreeMap::new();
    for role in &team.roles {
        if agent.is_none()
            && let Some(name) = preferred(role, &path)
        {
            by_role.insert(role.name.clone(), name.to_owned());
        }
    }
    by_role.extend(config.role_agents.clone());
    for pair in role_agents {
        let Some((role, name)) = pair.split_once('=') else {
            return Err(Failure::with_help(
                format!("`{pair}` is not of the form ROLE=AGENT"),
                "write --role-agent ROLE=AGENT",
            ));
        };
        by_role.insert(role.to_owned(), name.to_owned());
    }
    for role in by_role.keys() {
        check_role(team, role)?;
    }
    let (default, why) = match (agent, &config.agent) {
        (Some(name), _) => (name.to_owned(), "given by --agent"),
        (None, Some(name)) => (name.clone(), "set in wavecrew.toml"),
        (None, None)
            if !team.roles.is_empty() && team.roles.iter().all(|role| by_role.contains_key(&role.name)) =>
        {
            (String::new(), "every role has its own")
        }
        (None, None) => match installed(&path).first() {
            Some(cli) => (cli.name().to_owned(), "the first one found on PATH"),
            None if writes_tests(team) => (OFFLINE.to_owned(), "built in; no agent is installed"),
            None => {
                return Err(Failure::with_help(
                    "no agent was chosen, and none is installed",
                    format!(
                        "install one (`{}` shows how), pass a program, for example `--agent \
                         'command:./agent.sh'`, or set `agent` in wavecrew.toml (`{}` writes one)",
                        hint::command("agents"),
                        hint::command("init")
                    ),
                ));
            }
        },
    };
    // Empty if no agent is needed. An agent that is given as empty text is an error.
    let needed = Some(&default).filter(|name| agent.is_some() || !name.is_empty());
    for name in by_role.values().chain(needed) {
        check(name, &path)?;
    }
    for role in &team.roles {
        check_offline(
            team,
            Some(&role.name),
            by_role.get(&role.name).unwrap_or(&default),
        )?;
    }
    if team.roles.is_empty() {
        check_offline(team, None, &default)?;
    }
    Ok(Chosen {
        choice: AgentChoice {
            ignore_rows: default.starts_with(PREFIX),
            default,
            by_role,
        },
        why,
    })
}

/// Whether the built-in agent can do the team's work.
fn writes_tests(team: &Team) -> bool {
    let writes = |role: &Role| role.check == Some(CheckKind::GeneratedTests);
    team.roles.iter().any(writes)
}

/// Refuses the built-in agent for work that it cannot do.
fn check_offline(team: &Team, role: Option<&str>, agent: &str) -> Result<(), Failure> {
    let plays = role.is_some_and(|role| offline_agent::ROLES.contains(&role));
    if agent != OFFLINE || (plays && writes_tests(team)) {
        return Ok(());
    }
    let what = match role {
        Some(role) if writes_tests(team) => format!("the role `{role}`"),
        Some(_) | None => format!("the team `{}`", team.name),
    };
    Err(Failure::with_help(
        format!("the agent `{OFFLINE}` cannot do the work of {what}: it only writes tests"),
        format!(
            "use it with `{}`, or choose another agent; {}",
            hint::command("testing"),
            installed_agents(&search_path())
        ),
    ))
}

/// An agent as a person named it; a cassette, as seen from the project.
pub fn from_project(name: &str) -> String {
    match name.strip_prefix(PREFIX) {
        Some(file) if !file.is_empty() => {
            format!("{PREFIX}{}", project::typed(Path::new(file)).display())
        }
        Some(_) | None => name.to_owned(),
    }
}

/// Makes sure that the agents in the rows can be started here.
pub fn check_rows(choice: &AgentChoice, team: &Team, plan: &Plan) -> Result<(), Failure> {
    let Some(column) = team.agent_column().filter(|_| !choice.ignore_rows) else {
        return Ok(());
    };
    let path = search_path();
    let named = plan
        .tasks()
        .map(|task| (plan.cell(task, column), plan.role(task)));
    let named: BTreeSet<(&str, &str)> = named.filter(|(name, _)| !name.is_empty()).collect();
    for (name, role) in named {
        check(name, &path)?;
        check_offline(team, Some(role), name)?;
    }
    Ok(())
}

/// The folders in which programs are searched.
pub fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Makes sure that an agent can be started here, before anything runs.
pub fn check(name: &str, path: &OsStr) -> Result<(), Failure> {
    by_name(name).map_err(|error| bad_agent(&error, path))?;
    if let Some(cli) = cli::by_name(name) {
        return match find(cli, path) {
            Some(_) => Ok(()),
            None => Err(not_installed(cli.name(), cli.facts().how_to_install, path)),
        };
    }
    let Some(program) = named_program(name).filter(|program| find_program(program, path).is_none()) else {
        return Ok(());
    };
    match cli::by_name(&program) {
        Some(cli) => Err(not_installed(cli.name(), cli.facts().how_to_install, path)),
        None => Err(no_program(name, &program)),
    }
}

/// Why a program cannot be started, and what to do.
fn no_program(agent: &str, program: &str) -> Failure {
    let file = Path::new(program);
    let there = file.is_file();
    let (what, help) = match (program.contains('/'), there) {
        (true, true) => (
            "is not executable",
            format!("run `chmod +x {program}`, or name its interpreter before it"),
        ),
        (true, false) => (
            "does not exist",
            "give its path relative to the project, or its full path".to_owned(),
        ),
        (false, true) => (
            "is not on PATH",
            format!("write `{}`", agent.replacen(program, &format!("./{program}"), 1)),
        ),
        (false, false) => ("is not on PATH", "install it, or write its full path".to_owned()),
    };
    Failure::with_help(
        format!("the program `{program}` of the agent `{agent}` {what}"),
        help,
    )
}

fn not_installed(name: &str, how: &str, path: &OsStr) -> Failure {
    Failure::with_help(
        format!("the agent `{name}` is not installed"),
        format!("{how}; {}", installed_agents(path)),
    )
}

/// `installed here: codex, claude`
fn installed_agents(path: &OsStr) -> String {
    let here: Vec<&str> = installed(path).iter().map(|cli| cli.name()).collect();
    if here.is_empty() {
        "no other agent is installed".to_owned()
    } else {
        format!("installed here: {}", here.join(", "))
    }
}

fn bad_agent(error: &AgentError, path: &OsStr) -> Failure {
    let names: Vec<&str> = cli::ALL.iter().map(|cli| cli.name()).collect();
    let help = match error {
        AgentError::Cassette(_) | AgentError::NoCassette => {
            "name a cassette that `--record FILE` wrote; a relative path starts at the project".to_owned()
        }
        AgentError::Name(wavecrew_agents::AgentError::Unknown(name)) if is_program(name, path) => {
            format!("a program is an agent with `command:` before it: `--agent 'command:{name}'`")
        }
        AgentError::Name(_) => format!(
            "use one of {}; a program that implements ACP: `--agent 'acp:PROGRAM ARGS'`; any other program: `--agent \
             'command:PROGRAM ARGS'`; a recorded run: `--agent replay:FILE`",
            names.join(", ")
        ),
    };
    Failure::with_help(error.to_string(), help)
}

/// Whether an unknown agent's name begins with a program: a path, or something on PATH.
fn is_program(name: &str, path: &OsStr) -> bool {
    let word = name.split_whitespace().next().unwrap_or_default();
    word.contains('/') || Path::new(word).is_file() || find_program(word, path).is_some()
}

fn check_role(team: &Team, role: &str) -> Result<(), Failure> {
    if team.any_role || team.role(role).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = team.roles.iter().map(|role| role.name.as_str()).collect();
    Err(Failure::with_help(
        format!("the team `{}` has no role `{role}`", team.name),
        format!("its roles: {}", names.join(", ")),
    ))
}
