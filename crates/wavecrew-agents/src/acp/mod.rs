//! `acp:COMMAND`: any agent that speaks the Agent Client Protocol over its stdin and stdout.

mod calls;
mod client;
mod updates;

use super::agent::{Agent, ResumeBy};
use super::cli;
use super::launch::{Launch, Request, Stdin};
use super::output_reader::OutputReader;
use client::Client;
use wavecrew_core::event::TokenUsage;

/// A command that speaks the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acp {
    pub program: String,
    pub args: Vec<String>,
}

impl Agent for Acp {
    fn launch(&self, request: &Request<'_>) -> Launch {
        Launch {
            args: [&self.args, request.extra].concat(),
            // Agents ignore the variables of others.
            env: cli::ALL
                .iter()
                .flat_map(|cli| cli.facts().acp_variables)
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            stdin: Stdin::Interactive(Box::new(Client::new(request))),
            ..Launch::new(&self.program, "")
        }
    }

    fn output_reader(&self, before: TokenUsage) -> Option<OutputReader> {
        Some(OutputReader::interactive(before))
    }

    fn resume_by(&self) -> ResumeBy {
        ResumeBy::ItsId
    }
}
