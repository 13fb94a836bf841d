//! The agent CLIs that wavecrew knows by name. Each is one file that implements [`AgentCli`]. To add one, write its file,
//! declare it here, and add it to [`ALL`].

pub mod claude;
pub mod codex;
pub mod gemini;
pub mod goose;
pub mod opencode;
pub mod qwen;

use std::fmt;

use serde_json::Value;
use wavecrew_core::event::TokenUsage;

use crate::agent::{Agent, ResumeBy};
use crate::launch::{Launch, Request};
use crate::output_reader::OutputReader;
use crate::stream::{FailKind, ParserState};

/// Every known agent CLI, in the order of preference.
pub static ALL: &[&dyn AgentCli] = &[
    &codex::Codex,
    &claude::Claude,
    &gemini::Gemini,
    &qwen::Qwen,
    &opencode::Opencode,
    &goose::Goose,
];

/// The agent CLI of this name.
pub fn by_name(name: &str) -> Option<&'static dyn AgentCli> {
    ALL.iter().copied().find(|cli| cli.name() == name)
}

/// Everything that wavecrew knows about one agent CLI.
pub trait AgentCli: fmt::Debug + Sync {
    fn facts(&self) -> &'static Facts;

    /// Adds the arguments, variables and files of one turn. The prompt goes to stdin.
    fn prepare(&self, request: &Request<'_>, launch: &mut Launch);

    /// Reads one JSON object of its output.
    fn read(&self, event: &Value, state: &mut ParserState);

    /// What an exit code that only this CLI uses means.
    fn exit_failure(&self, _code: i32) -> Option<FailKind> {
        None
    }

    /// The line of stderr with which the CLI reports that it ignores its settings.
    fn settings_warning<'a>(&self, _stderr: &'a str) -> Option<&'a str> {
        None
    }
}

/// What is known about an agent CLI without starting it.
#[derive(Debug)]
pub struct Facts {
    /// The name in `--agent` and of the program on `PATH`.
    pub name: &'static str,
    pub how_to_install: &'static str,
    pub how_to_log_in: &'static str,
    /// The version in the tests.
    pub tested_version: Option<&'static str>,
    pub features: Features,
    pub resume_by: ResumeBy,
    /// Variables that hold a key, or that select a service which needs none.
    pub key_variables: &'static [&'static str],
    /// Files with credentials, or with their location.
    pub login_files: &'static [LoginFile],
    /// Files and folders that it writes whatever its role: conversations, logs, settings, its login.
    pub state: &'static [StatePlace],
    pub acp: AcpCommand,
    /// Variables for its ACP mode, so that it puts its questions to us.
    pub acp_variables: &'static [(&'static str, &'static str)],
    /// Its messages arrive in pieces.
    pub text_in_pieces: bool,
}

impl Facts {
    /// What most agent CLIs have in common. A CLI's file sets the rest.
    const BASE: Self = Self {
        name: "",
        how_to_install: "",
        how_to_log_in: "",
        tested_version: None,
        features: Features::BASE,
        resume_by: ResumeBy::OurId,
        key_variables: &[],
        login_files: &[],
        state: &[],
        acp: AcpCommand::Builtin(""),
        acp_variables: &[],
        text_in_pieces: false,
    };
}

/// What a person can do with an agent, besides one-shot tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table of yes and no")]
pub struct Features {
    pub resume: bool,
    pub mcp: bool,
    /// It can answer in a JSON Schema.
    pub schema: bool,
    pub usage: bool,
    pub cost: bool,
    /// The agent itself enforces that a role may not write.
    pub read_only: bool,
}

impl Features {
    const BASE: Self = Self {
        resume: true,
        mcp: true,
        schema: false,
        usage: true,
        cost: false,
        read_only: true,
    };
}

/// A file below the folder that `variable` names, or else below `home_folder` in the home folder.
#[derive(Debug)]
pub struct LoginFile {
    pub variable: &'static str,
    pub home_folder: &'static str,
    pub file: &'static str,
}

impl LoginFile {
    const fn new(variable: &'static str, home_folder: &'static str, file: &'static str) -> Self {
        Self {
            variable,
            home_folder,
            file,
        }
    }
}

/// A file or folder of an agent's own state: `name` below the folder that `variable` names, or else below `home_folder` in
/// the home folder.
#[derive(Debug)]
pub struct StatePlace {
    /// Empty if no variable moves it.
    pub variable: &'static str,
    pub home_folder: &'static str,
    pub name: &'static str,
    /// Why the agent cannot work without writing it.
    pub why: &'static str,
}

impl StatePlace {
    const fn new(
        variable: &'static str,
        home_folder: &'static str,
        name: &'static str,
        why: &'static str,
    ) -> Self {
        Self {
            variable,
            home_folder,
            name,
            why,
        }
    }
}

/// The command for the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcpCommand {
    /// The CLI itself, with these arguments.
    Builtin(&'static str),
    /// Another program.
    Program(&'static str),
}

impl dyn AgentCli + '_ {
    pub fn name(&self) -> &'static str {
        self.facts().name
    }

    /// Builds the start of one turn.
    #[must_use]
    pub fn launch(&self, request: &Request<'_>) -> Launch {
        let mut launch = Launch::new(self.name(), request.prompt);
        self.prepare(request, &mut launch);
        launch.args.extend_from_slice(request.extra);
        launch
    }
}

impl PartialEq for dyn AgentCli + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Agent for &'static dyn AgentCli {
    fn launch(&self, request: &Request<'_>) -> Launch {
        (**self).launch(request)
    }

    fn output_reader(&self, before: TokenUsage) -> Option<OutputReader> {
        Some(OutputReader::new(*self, before))
    }

    fn resume_by(&self) -> ResumeBy {
        self.facts().resume_by
    }

    fn settings_warning(&self, stderr: &str) -> Option<String> {
        (**self).settings_warning(stderr).map(str::to_owned)
    }

    fn advice(&self, failure: FailKind) -> Option<String> {
        let facts = self.facts();
        match failure {
            FailKind::Auth => Some(format!(
                "{}; `wavecrew agents` lists what else is installed",
                facts.how_to_log_in
            )),
            FailKind::OtherVersion => Some(match facts.tested_version {
                Some(version) => format!("wavecrew is tested with {version}: {}", facts.how_to_install),
                None => facts.how_to_install.to_owned(),
            }),
            FailKind::RateLimited
            | FailKind::Overloaded
            | FailKind::Quota
            | FailKind::OwnLimit
            | FailKind::BadRequest
            | FailKind::Server
            | FailKind::Unreachable
            | FailKind::Cut
            | FailKind::Declined
            | FailKind::Schema
            | FailKind::NoConversation
            | FailKind::OutOfTime
            | FailKind::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_cli_states_what_has_no_default() {
        for cli in ALL {
            let facts = cli.facts();
            let (AcpCommand::Builtin(acp) | AcpCommand::Program(acp)) = facts.acp;
            for text in [facts.name, facts.how_to_install, facts.how_to_log_in, acp] {
                assert!(!text.is_empty(), "{facts:?}");
            }
            assert!(
                !facts.key_variables.is_empty() && !facts.login_files.is_empty() && !facts.state.is_empty(),
                "{facts:?}"
            );
        }
    }
}
