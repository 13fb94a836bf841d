//! Which agent does which role: what was asked for, else what the team or the project prefers, else what is installed.

use crate::config::Config;
use crate::exit::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use wavecrew_agents::{acp_program, cli};
use wavecrew_core::engine::AgentChoice;
use wavecrew_core::plan::Plan;
use wavecrew_core::team::{CheckKind, Role, Team};
use wavecrew_run::agent_name::{AgentError, OFFLINE, by_name, preferred};
use wavecrew_run::installed::{find, find_program, installed};
use wavecrew_run::recording::PREFIX;

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
                format!("`{pair}` does not name a role's agent"),
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
                    "install one (`wavecrew agents` says how), or say which program does the tasks, for example \
                     `--agent 'command:./agent.sh'`, or set `agent` in wavecrew.toml (`wavecrew init` writes one)",
                ));
            }
        },
    };
    // Empty where nobody needs it; given as nothing, it is a mistake.
    let needed = Some(&default).filter(|name| agent.is_some() || !name.is_empty());
    for name in by_role.values().chain(needed) {
        check(name, &path)?;
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

/// Whether the team's work is what the built-in agent can do.
fn writes_tests(team: &Team) -> bool {
    let examined = |role: &Role| role.check == Some(CheckKind::GeneratedTests);
    team.roles.iter().any(examined)
}

/// Makes sure that the agents which rows name can be started here.
pub fn check_rows(choice: &AgentChoice, team: &Team, plan: &Plan) -> Result<(), Failure> {
    let Some(column) = team.agent_column().filter(|_| !choice.ignore_rows) else {
        return Ok(());
    };
    let path = search_path();
    let named: BTreeSet<&str> = plan.tasks().map(|task| plan.cell(task, column)).collect();
    named
        .into_iter()
        .filter(|name| !name.is_empty())
        .try_for_each(|name| check(name, &path))
}

/// Where programs are looked for.
pub fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Makes sure that an agent can be started here, before anything runs.
pub fn check(name: &str, path: &OsStr) -> Result<(), Failure> {
    by_name(name).map_err(|error| bad_agent(&error))?;
    if let Some(cli) = cli::by_name(name) {
        return match find(cli, path) {
            Some(_) => Ok(()),
            None => Err(not_installed(cli.name(), cli.facts().how_to_install, path)),
        };
    }
    let Some(program) = acp_program(name).filter(|program| find_program(program, path).is_none()) else {
        return Ok(());
    };
    let how = match cli::by_name(&program) {
        Some(cli) => cli.facts().how_to_install,
        None => "install it, or write the path of its program",
    };
    Err(not_installed(&program, how, path))
}

fn not_installed(name: &str, how: &str, path: &OsStr) -> Failure {
    let here: Vec<&str> = installed(path).iter().map(|cli| cli.name()).collect();
    let others = if here.is_empty() {
        "no other agent is installed".to_owned()
    } else {
        format!("installed here: {}", here.join(", "))
    };
    Failure::with_help(
        format!("the agent `{name}` is not installed"),
        format!("{how}; {others}"),
    )
}

fn bad_agent(error: &AgentError) -> Failure {
    let names: Vec<&str> = cli::ALL.iter().map(|cli| cli.name()).collect();
    let names = names.join(", ");
    let help = match error {
        AgentError::Cassette(_) | AgentError::NoCassette => {
            "a cassette is what `wavecrew run ... --record FILE` writes; its path is seen from the project"
                .to_owned()
        }
        AgentError::Name(_) => format!(
            "agents by name: {names}; any that speaks ACP: `--agent 'acp:PROGRAM ARGS'`; any \
             other program: `--agent 'command:PROGRAM ARGS'`; a recorded run: \
             `--agent replay:FILE`"
        ),
    };
    Failure::with_help(error.to_string(), help)
}

fn check_role(team: &Team, role: &str) -> Result<(), Failure> {
    if team.any_role || team.role(role).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = team.roles.iter().map(|role| role.name.as_str()).collect();
    Err(Failure::with_help(
        format!("the team `{}` has no role `{role}`", team.name),
        format!("its roles are: {}", names.join(", ")),
    ))
}
