//! Agents by name: what is started for a worker. Knows command lines, starts nothing.

use std::ffi::OsString;
use wavecrew_core::team::Role;

/// A program that does tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Agent {
    /// `command:COMMAND`: any program, split into shell words, run without a shell.
    Command { words: Vec<String> },
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("`{0}` is not an agent that this version knows")]
    Unknown(String),
    #[error("`command:` needs a program to run, for example `command:./agent.sh`")]
    EmptyCommand,
    #[error("`{0}` cannot be split into words: a quote is not closed")]
    BadQuotes(String),
}

impl Agent {
    pub fn parse(name: &str) -> Result<Self, AgentError> {
        let Some(command) = name.strip_prefix("command:") else {
            return Err(AgentError::Unknown(name.to_owned()));
        };
        let words = shlex::split(command).ok_or_else(|| AgentError::BadQuotes(command.to_owned()))?;
        if words.is_empty() {
            return Err(AgentError::EmptyCommand);
        }
        Ok(Self::Command { words })
    }

    pub fn program(&self) -> (OsString, Vec<OsString>) {
        let Self::Command { words } = self;
        let mut words = words.iter().map(OsString::from);
        (words.next().unwrap_or_default(), words.collect())
    }
}

/// The first of a role's preferred agents that this version can start.
pub fn preferred(role: &Role) -> Option<&str> {
    role.agents
        .iter()
        .map(String::as_str)
        .find(|name| Agent::parse(name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_into_words_without_a_shell() {
        let agent = Agent::parse("command:./a.sh 'two words' $HOME").unwrap();
        let (program, args) = agent.program();
        assert_eq!(program, "./a.sh");
        assert_eq!(args, ["two words", "$HOME"]);
    }

    #[test]
    fn what_is_no_agent_is_said() {
        for (name, why) in [
            ("command:", "needs a program"),
            ("command:  ", "needs a program"),
            ("command:a 'b", "quote is not closed"),
            ("gpt", "not an agent"),
        ] {
            let error = Agent::parse(name).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
