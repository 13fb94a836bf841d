//! `acp:COMMAND`: any agent that speaks the Agent Client Protocol over its stdin and stdout.

mod calls;
mod client;

use super::adapter::{Adapter, Memory};
use super::launch::{Launch, Request, Stdin};
use super::listen::Listener;
use super::stream::Usage;
use client::Client;

/// What makes agents that are known to need it ask us, and nobody else; to the others these mean nothing.
const SETTINGS: [(&str, &str); 3] = [
    // gemini asks whether it may read the folder, and starts itself a second time.
    ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
    ("GEMINI_CLI_NO_RELAUNCH", "true"),
    // opencode asks about nothing by itself, and nobody can answer the questions of its model.
    (
        "OPENCODE_CONFIG_CONTENT",
        r#"{"autoupdate":false,"share":"disabled","permission":{"edit":"ask","bash":"ask","task":"deny","question":"deny"}}"#,
    ),
];

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
            env: SETTINGS
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
