//! Agents by name. Starts nothing; looks for nothing on the machine but the cassette that a name asks for.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use wavecrew_core::team::Role;

use super::Cli;
use super::acp::Acp;
use super::adapter::{Adapter, Command};
use crate::cassette::{CassetteError, PREFIX, Player};

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("`{0}` is not an agent that this version knows")]
    Unknown(String),
    #[error("`command:` needs a program to run, for example `command:./agent.sh`")]
    EmptyCommand,
    #[error("`acp:` needs a program to run, for example `acp:gemini --acp`")]
    EmptyAcp,
    #[error("`{0}` cannot be split into words: a quote is not closed")]
    BadQuotes(String),
    #[error("`{PREFIX}` needs a cassette to play, for example `{PREFIX}run.jsonl`")]
    NoCassette,
    #[error(transparent)]
    Cassette(#[from] CassetteError),
}

/// The built-in agent that needs no model.
pub const OFFLINE: &str = "offline";
/// The first word of a process of this program that is its worker.
pub const OFFLINE_WORKER: &str = "__offline-worker";

/// The agent of this name: `codex` and its kin, `offline`, `acp:COMMAND`, `command:COMMAND`, or `replay:FILE`, which is read at once.
pub fn by_name(name: &str) -> Result<Rc<dyn Adapter>, AgentError> {
    if let Some(cli) = Cli::by_name(name) {
        return Ok(Rc::new(cli));
    }
    if let Some(command) = name.strip_prefix("acp:") {
        let (program, args) = words(command)?.ok_or(AgentError::EmptyAcp)?;
        return Ok(Rc::new(Acp { program, args }));
    }
    if name == OFFLINE {
        let program = std::env::current_exe().unwrap_or_else(|_| "wavecrew".into());
        return Ok(Rc::new(Command {
            program: program.to_string_lossy().into_owned(),
            args: vec![OFFLINE_WORKER.to_owned()],
        }));
    }
    match name.strip_prefix(PREFIX) {
        Some("") => return Err(AgentError::NoCassette),
        Some(file) => return Ok(Rc::new(Player::open(Path::new(file))?)),
        None => {}
    }
    let Some(command) = name.strip_prefix("command:") else {
        return Err(AgentError::Unknown(name.to_owned()));
    };
    let (program, args) = words(command)?.ok_or(AgentError::EmptyCommand)?;
    Ok(Rc::new(Command { program, args }))
}

/// The program that an agent is which is spoken to over ACP.
pub fn spoken_program(name: &str) -> Option<String> {
    let (program, _) = words(name.strip_prefix("acp:")?).ok()??;
    Some(program)
}

/// A command as a program and its words.
fn words(command: &str) -> Result<Option<(String, Vec<String>)>, AgentError> {
    let words = shlex::split(command).ok_or_else(|| AgentError::BadQuotes(command.to_owned()))?;
    let mut words = words.into_iter();
    Ok(words.next().map(|program| (program, words.collect())))
}

/// The first of a role's preferred agents that can be started here.
pub fn preferred<'a>(role: &'a Role, path: &OsStr) -> Option<&'a str> {
    let here = |name: &&str| match Cli::by_name(name) {
        Some(cli) => cli.find(path).is_some(),
        None => by_name(name).is_ok(),
    };
    role.agents.iter().map(String::as_str).find(here)
}

#[cfg(test)]
mod tests {
    use super::super::launch::{Conversation, Request, Stdin};
    use super::*;
    use wavecrew_core::team::Access;

    fn request(prompt: &str) -> Request<'_> {
        Request {
            prompt,
            mode: wavecrew_core::id::ExecMode::CsvWave,
            access: Access::Source,
            model: None,
            mcp: None,
            schema: None,
            conversation: Conversation::New { id: "" },
            project: Path::new("/project"),
            scratch: Path::new("/scratch"),
            folders: &[],
            extra: &[],
        }
    }

    #[test]
    fn a_command_is_split_into_words_without_a_shell() {
        let agent = by_name("command:./a.sh 'two words' $HOME").unwrap();
        let launch = agent.launch(&request("do it"));
        assert_eq!(launch.program, "./a.sh");
        assert_eq!(launch.args, ["two words", "$HOME"]);
        assert!(matches!(launch.stdin, Stdin::Text(text) if text == "do it"));
        assert!(agent.listener(super::super::stream::Usage::NONE).is_none());
    }

    #[test]
    fn known_agents_go_by_their_name() {
        for cli in Cli::ALL {
            let agent = by_name(cli.name()).unwrap();
            assert_eq!(agent.launch(&request("")).program, cli.name());
        }
    }

    #[test]
    fn what_is_no_agent_is_said() {
        for (name, why) in [
            ("command:", "needs a program"),
            ("command:  ", "needs a program"),
            ("acp:", "acp:gemini --acp"),
            ("acp:a 'b", "quote is not closed"),
            ("command:a 'b", "quote is not closed"),
            ("gpt", "not an agent"),
            ("replay:", "needs a cassette"),
            ("replay:/nowhere/at-all", "cannot be read"),
        ] {
            let error = by_name(name).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
