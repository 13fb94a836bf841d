//! Agents by their names in `--agent`: a known CLI, `acp:COMMAND` or `command:COMMAND`.

use std::rc::Rc;

use crate::acp::Acp;
use crate::agent::{Agent, Command};
use crate::cli;

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("`{0}` is not a known agent")]
    Unknown(String),
    #[error("`command:` needs a program to run, for example `command:./agent.sh`")]
    EmptyCommand,
    #[error("`acp:` needs a program to run, for example `acp:gemini --acp`")]
    EmptyAcp,
    #[error("`{0}` cannot be split into words: a quote is not closed")]
    BadQuotes(String),
}

/// The agent of this name: a known CLI, `acp:COMMAND` or `command:COMMAND`.
pub fn by_name(name: &str) -> Result<Rc<dyn Agent>, AgentError> {
    if let Some(cli) = cli::by_name(name) {
        return Ok(Rc::new(cli));
    }
    if let Some(command) = name.strip_prefix("acp:") {
        let (program, args) = split(command)?.ok_or(AgentError::EmptyAcp)?;
        return Ok(Rc::new(Acp { program, args }));
    }
    let Some(command) = name.strip_prefix("command:") else {
        return Err(AgentError::Unknown(name.to_owned()));
    };
    let (program, args) = split(command)?.ok_or(AgentError::EmptyCommand)?;
    Ok(Rc::new(Command { program, args }))
}

/// The program that `acp:COMMAND` or `command:COMMAND` starts.
pub fn named_program(name: &str) -> Option<String> {
    let command = name
        .strip_prefix("acp:")
        .or_else(|| name.strip_prefix("command:"))?;
    let (program, _) = split(command).ok()??;
    Some(program)
}

/// A command as a program and its arguments.
fn split(command: &str) -> Result<Option<(String, Vec<String>)>, AgentError> {
    let words = shlex::split(command).ok_or_else(|| AgentError::BadQuotes(command.to_owned()))?;
    let mut words = words.into_iter();
    Ok(words.next().map(|program| (program, words.collect())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Request, Stdin};
    use std::path::Path;
    use wavecrew_core::event::TokenUsage;

    fn request(prompt: &str) -> Request<'_> {
        Request::new(prompt, Path::new("/project"), Path::new("/scratch"))
    }

    #[test]
    fn a_command_is_split_into_arguments_without_a_shell() {
        let agent = by_name("command:./a.sh 'two words' $HOME").unwrap();
        let launch = agent.launch(&request("do it"));
        assert_eq!(launch.program, "./a.sh");
        assert_eq!(launch.args, ["two words", "$HOME"]);
        assert!(matches!(launch.stdin, Stdin::Text(text) if text == "do it"));
        assert!(agent.output_reader(TokenUsage::default()).is_none());
    }

    #[test]
    fn known_agents_are_found_by_name() {
        for cli in cli::ALL {
            let agent = by_name(cli.name()).unwrap();
            assert_eq!(agent.launch(&request("")).program, cli.name());
        }
    }

    #[test]
    fn an_invalid_name_is_an_error() {
        for (name, why) in [
            ("command:", "needs a program"),
            ("command:  ", "needs a program"),
            ("acp:", "acp:gemini --acp"),
            ("acp:a 'b", "quote is not closed"),
            ("command:a 'b", "quote is not closed"),
            ("gpt", "not a known agent"),
        ] {
            let error = by_name(name).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
