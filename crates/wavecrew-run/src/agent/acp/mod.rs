//! `acp:COMMAND`: any agent that speaks the Agent Client Protocol over its stdin and stdout.

mod client;
mod policy;

use super::adapter::{Adapter, Memory};
use super::launch::{Launch, Request, Stdin};
use super::listen::Listener;
use super::stream::Usage;
use client::Client;

/// A command that speaks the protocol, as words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acp {
    pub program: String,
    pub args: Vec<String>,
}

impl Adapter for Acp {
    fn launch(&self, request: &Request<'_>) -> Launch {
        let mut args = self.args.clone();
        args.extend_from_slice(request.extra);
        Launch {
            program: self.program.clone(),
            args,
            // gemini starts itself a second time without the second, and asks whether it may read the folder without
            // the first; to other agents they are words without a meaning.
            env: [("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("GEMINI_CLI_NO_RELAUNCH", "true")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            files: Vec::new(),
            stdin: Stdin::Spoken(Box::new(Client::new(request))),
        }
    }

    fn listener(&self, before: Usage) -> Option<Listener> {
        Some(Listener::spoken(before))
    }

    fn memory(&self) -> Memory {
        Memory::Own
    }
}
