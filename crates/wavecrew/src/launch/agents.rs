//! Which agent does which role: what was asked for, else what the team or the project prefers.

use crate::config::Config;
use crate::exit::Failure;
use std::collections::BTreeMap;
use wavecrew_core::engine::AgentChoice;
use wavecrew_core::team::Team;
use wavecrew_run::agent::{Agent, AgentError, preferred};

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
    let mut by_role: BTreeMap<String, String> = BTreeMap::new();
    for role in &team.roles {
        if agent.is_none()
            && let Some(name) = preferred(role)
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
        (None, None) => {
            return Err(Failure::with_help(
                "no agent was chosen",
                "say which program does the tasks, for example `--agent 'command:./agent.sh'`, or set `agent` in \
                 wavecrew.toml (`wavecrew init` writes one)",
            ));
        }
    };
    for name in by_role
        .values()
        .chain(Some(&default).filter(|name| !name.is_empty()))
    {
        Agent::parse(name).map_err(|error| bad_agent(&error))?;
    }
    Ok(Chosen {
        choice: AgentChoice { default, by_role },
        why,
    })
}

fn bad_agent(error: &AgentError) -> Failure {
    let help = "this version runs any program: `--agent 'command:PROGRAM ARGS'`";
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
