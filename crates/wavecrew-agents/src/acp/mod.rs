//! `acp:COMMAND`: any agent that speaks the Agent Client Protocol over its stdin and stdout.

mod calls;
mod client;
mod updates;

use super::agent::{Agent, ResumeBy};
use super::cli;
use super::launch::{Launch, Request, Stdin};
use super::output_reader::OutputReader;
use super::stream::Usage;
use client::Client;

/// A command that speaks the protocol, as words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acp {
    pub program: String,
    pub args: Vec<String>,
}

impl Agent for Acp {
    fn launch(&self, request: &Request<'_>) -> Launch {
        let mut args = self.args.clone();
        args.extend_from_slice(request.extra);
        Launch {
            program: self.program.clone(),
            args,
            // To agents that do not know them, the variables mean nothing.
            env: cli::ALL
                .iter()
                .flat_map(|cli| cli.facts().acp_variables)
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            files: Vec::new(),
            stdin: Stdin::Interactive(Box::new(Client::new(request))),
        }
    }

    fn listener(&self, before: Usage) -> Option<OutputReader> {
        Some(OutputReader::interactive(before))
    }

    fn resume_by(&self) -> ResumeBy {
        ResumeBy::ItsId
    }
}
