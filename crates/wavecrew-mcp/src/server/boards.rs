//! Tools for the boards of a session: discoveries of workers, and messages of the coordinator.

use super::Server;
use super::tool::ServerTool;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use wavecrew_session::{Message, SessionDir};

/// Entries that one answer holds; the latest ones.
const SHOWN: usize = 500;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Discoveries {
    /// The session that team_run or spawn_agents_on_csv returned.
    session: String,
    /// Only entries of this type.
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamMessage {
    /// The session that team_run or spawn_agents_on_csv returned.
    session: String,
    /// Default: note.
    #[serde(rename = "type", default = "note")]
    kind: String,
    /// The message, in one line.
    summary: String,
    /// The role that should read it; default: every role.
    to: Option<String>,
    #[serde(default)]
    data: Value,
}

fn note() -> String {
    "note".to_owned()
}

impl ServerTool for Discoveries {
    const NAME: &'static str = "discoveries";
    const DESCRIPTION: &'static str = "Read the discovery board of a session, of one type or of all.";

    async fn call(self, server: &Server, _: &RequestContext<RoleServer>) -> Result<Value, String> {
        read_discoveries(&server.teams.find(&self.session)?, &self)
    }
}

impl ServerTool for TeamMessage {
    const NAME: &'static str = "team_msg";
    const DESCRIPTION: &'static str = "Post a message of the coordinator to a session's message bus.";

    async fn call(self, server: &Server, _: &RequestContext<RoleServer>) -> Result<Value, String> {
        post_message(&server.teams.find(&self.session)?, self)
    }
}

fn read_discoveries(dir: &SessionDir, call: &Discoveries) -> Result<Value, String> {
    let read = dir.board().read().map_err(|error| error.to_string())?;
    let types = dir.read_team().map(|team| team.discoveries).unwrap_or_default();
    let read = read.dedup(&types);
    let wanted =
        |entry: &&wavecrew_session::Discovery| call.kind.as_ref().is_none_or(|kind| *kind == entry.kind);
    let entries: Vec<_> = read.entries.iter().filter(wanted).collect();
    let latest = &entries[entries.len().saturating_sub(SHOWN)..];
    Ok(json!({"discoveries": latest, "total": entries.len(), "malformed_lines": read.malformed}))
}

fn post_message(dir: &SessionDir, call: TeamMessage) -> Result<Value, String> {
    if call.summary.trim().is_empty() {
        return Err("summary must be non-empty".to_owned());
    }
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut message = Message::new(&now, "coordinator", &call.kind, &call.summary);
    if let Some(to) = call.to {
        message.to = to;
    }
    message.data = call.data;
    dir.bus().post(message).map_err(|error| error.to_string())?;
    Ok(json!({"accepted": true}))
}
