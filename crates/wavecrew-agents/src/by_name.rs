//! Agents by their names in `--agent`: a known CLI, `acp:COMMAND` or `command:COMMAND`.

use std::path::Path;
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
    #[error("`{0}` cannot be split into arguments: a quote is not closed")]
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

/// The name of the same agent for a run in another folder: a program with a relative path is the one below `folder`.
pub fn seen_from(folder: &Path, name: &str) -> String {
    let same = || name.to_owned();
    let Some((prefix, command)) = name.split_once(':') else {
        return same();
    };
    let relative = |program: &String| program.contains('/') && Path::new(program).is_relative();
    let Some(program) = named_program(name).filter(relative) else {
        return same();
    };
    let program = folder.join(program).to_string_lossy().into_owned();
    let args = shlex::split(command).unwrap_or_default().into_iter().skip(1);
    let words: Vec<String> = std::iter::once(program).chain(args).collect();
    let joined = shlex::try_join(words.iter().map(String::as_str));
    joined.map_or_else(|_| same(), |command| format!("{prefix}:{command}"))
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
    use wavecrew_core::event::TokenUsage;

    #[test]
    fn a_relative_program_is_named_for_another_folder() {
        let seen = |name| seen_from(Path::new("/my project"), name);
        assert_eq!(
            seen("command:./a.sh 'two words' -x"),
            "command:'/my project/./a.sh' 'two words' -x"
        );
        for same in [
            "codex",
            "command:python3 a.py",
            "acp:/bin/agent x",
            "command:a 'b",
        ] {
            assert_eq!(seen(same), same);
        }
    }

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
