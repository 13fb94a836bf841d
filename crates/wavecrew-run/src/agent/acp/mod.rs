//! `acp:COMMAND`: any agent that speaks the Agent Client Protocol over its stdin and stdout.

mod calls;
mod client;

use std::path::Path;

use serde_json::json;

use super::adapter::{Adapter, Memory};
use super::launch::{Launch, Request, Stdin};
use super::listen::Listener;
use super::stream::Usage;
use client::Client;

/// What makes agents that are known to need it ask us, and nobody else; to the others these mean nothing.
const SETTINGS: [(&str, &str); 4] = [
    // gemini asks whether it may read the folder, and starts itself a second time.
    ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
    ("GEMINI_CLI_NO_RELAUNCH", "true"),
    // opencode fetches a library of its own before it loads a plugin. Without a network it goes on without, and is not to
    // wait for a minute first.
    ("npm_config_fetch_retry_mintimeout", "1000"),
    ("npm_config_fetch_retry_maxtimeout", "2000"),
];

const OPENCODE_PLUGIN: &str = include_str!("opencode_plugin.mjs");

/// opencode asks about nothing by itself, and nobody can answer the questions of its model.
fn opencode_settings(plugin: &Path) -> String {
    let permission = json!({ "edit": "ask", "bash": "ask", "task": "deny", "question": "deny" });
    json!({
        "autoupdate": false, "share": "disabled", "permission": permission, "plugin": [file_url(plugin)],
    })
    .to_string()
}

fn file_url(path: &Path) -> String {
    let mut url = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' => url.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => url.push(char::from(*byte)),
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

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
        let plugin = request.scratch.join("opencode_plugin.mjs");
        let mut env = SETTINGS
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        env.push(("OPENCODE_CONFIG_CONTENT".to_owned(), opencode_settings(&plugin)));
        Launch {
            program: self.program.clone(),
            args,
            env,
            files: vec![(plugin, OPENCODE_PLUGIN.to_owned())],
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
