//! MCP clients that wavecrew can be added to: where each keeps its settings, and what an entry in them looks like.
//! Changes texts; reading and writing them is up to the caller.

mod json_file;
mod toml_file;

use crate::exit::Failure;
use serde_json::{Value, json};
use std::env;
use std::path::PathBuf;
use wavecrew_core::state_folder::set_folder;

/// The name of the server in every client.
const NAME: &str = "wavecrew";
/// How long a call may take. By default clients cancel calls after about a minute; a table takes hours.
const TOOL_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;
/// Codex starts servers without these unless they are named. Their values stay where they are.
const HANDED_ON: [&str; 12] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
    "CODEX_API_KEY",
    "CODEX_HOME",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "XDG_CONFIG_HOME",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    Codex,
    Claude,
    Gemini,
    Qwen,
    Opencode,
}

/// An entry of a client's settings: the table it belongs to, and its fields.
#[derive(Debug)]
struct Entry {
    table: &'static str,
    fields: Vec<(&'static str, Value)>,
    /// The field with the time limit; a longer one that is there already stays.
    limit: &'static str,
}

impl Client {
    /// The file with the settings of this user.
    pub fn settings(self) -> Result<PathBuf, Failure> {
        let below_home = |path: &str| Ok::<_, Failure>(home()?.join(path));
        match self {
            Self::Codex => match folder("CODEX_HOME") {
                Some(folder) => Ok(folder.join("config.toml")),
                None => below_home(".codex/config.toml"),
            },
            Self::Claude => match folder("CLAUDE_CONFIG_DIR") {
                Some(folder) => Ok(folder.join(".claude.json")),
                None => below_home(".claude.json"),
            },
            Self::Gemini => match folder("GEMINI_CLI_HOME") {
                Some(folder) => Ok(folder.join(".gemini/settings.json")),
                None => below_home(".gemini/settings.json"),
            },
            Self::Qwen => match folder("QWEN_HOME") {
                Some(folder) => Ok(folder.join("settings.json")),
                None => below_home(".qwen/settings.json"),
            },
            Self::Opencode => opencode_settings(),
        }
    }

    /// The settings with an entry that starts `command`.
    pub fn with_entry(self, settings: Option<&str>, command: &[String]) -> Result<String, String> {
        let entry = self.entry(command);
        let text = settings.unwrap_or_default();
        match self {
            Self::Codex => toml_file::put(text, NAME, &entry),
            Self::Claude | Self::Gemini | Self::Qwen | Self::Opencode => json_file::put(text, NAME, &entry),
        }
    }

    /// The settings without our entry.
    pub fn without_entry(self, settings: &str) -> Result<String, String> {
        let table = self.entry(&[]).table;
        match self {
            Self::Codex => toml_file::remove(settings, table, NAME),
            Self::Claude | Self::Gemini | Self::Qwen | Self::Opencode => {
                json_file::remove(settings, table, NAME)
            }
        }
    }

    fn entry(self, command: &[String]) -> Entry {
        let (program, args) = command.split_first().map_or(("", command), |(p, a)| (p, a));
        let millis = json!(TOOL_TIMEOUT_SECONDS * 1000);
        let (program, args, whole) = (json!(program), json!(args), json!(command));
        let (table, limit, fields) = match self {
            Self::Codex => (
                "mcp_servers",
                "tool_timeout_sec",
                vec![
                    ("command", program),
                    ("args", args),
                    ("env_vars", json!(HANDED_ON)),
                    ("tool_timeout_sec", json!(TOOL_TIMEOUT_SECONDS)),
                ],
            ),
            Self::Claude => (
                "mcpServers",
                "timeout",
                vec![
                    ("type", json!("stdio")),
                    ("command", program),
                    ("args", args),
                    ("timeout", millis),
                ],
            ),
            Self::Gemini | Self::Qwen => (
                "mcpServers",
                "timeout",
                vec![("command", program), ("args", args), ("timeout", millis)],
            ),
            Self::Opencode => (
                "mcp",
                "timeout",
                vec![
                    ("type", json!("local")),
                    ("command", whole),
                    ("enabled", json!(true)),
                    ("timeout", millis),
                ],
            ),
        };
        Entry { table, fields, limit }
    }
}

impl Entry {
    /// The value a field is to have, given the one that it has.
    fn value<'a>(&'a self, name: &str, wanted: &'a Value, present: Option<u64>) -> Option<&'a Value> {
        let stays = name == self.limit && present.is_some_and(|present| Some(present) >= wanted.as_u64());
        (!stays).then_some(wanted)
    }
}

/// opencode reads the first of these that exists.
fn opencode_settings() -> Result<PathBuf, Failure> {
    if let Some(file) = folder("OPENCODE_CONFIG") {
        return Ok(file);
    }
    let folder = match (folder("OPENCODE_CONFIG_DIR"), folder("XDG_CONFIG_HOME")) {
        (Some(own), _) => own,
        (None, Some(all)) => all.join("opencode"),
        (None, None) => home()?.join(".config/opencode"),
    };
    let names = ["opencode.jsonc", "opencode.json"];
    let there = names
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.exists());
    Ok(there.unwrap_or_else(|| folder.join(names[0])))
}

/// The value of a variable, unless it is empty.
pub fn folder(variable: &str) -> Option<PathBuf> {
    set_folder(|name| env::var_os(name), variable)
}

pub fn home() -> Result<PathBuf, Failure> {
    folder("HOME").ok_or_else(|| Failure::with_help("there is no home folder", "set HOME"))
}

#[cfg(test)]
mod tests;
