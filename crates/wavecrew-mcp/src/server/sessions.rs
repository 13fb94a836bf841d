//! The boards of a session, for its client: what workers discovered, and messages of the coordinator.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use wavecrew_session::{Message, SessionDir};

/// Entries that one answer holds; the latest ones.
const SHOWN: usize = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Discoveries {
    pub session: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamMessage {
    pub session: String,
    #[serde(rename = "type", default = "note")]
    kind: String,
    summary: String,
    /// The role it is for; without it, nobody in particular.
    to: Option<String>,
    #[serde(default)]
    data: Value,
}

fn note() -> String {
    "note".to_owned()
}

pub(super) fn discoveries(dir: &SessionDir, call: &Discoveries) -> Result<Value, String> {
    let read = dir.board().read().map_err(|error| error.to_string())?;
    let keys = keys(dir);
    let read = read.dedup(|kind| keys.get(kind).map(Vec::as_slice));
    let wanted =
        |entry: &&wavecrew_session::Discovery| call.kind.as_ref().is_none_or(|kind| *kind == entry.kind);
    let entries: Vec<_> = read.entries.iter().filter(wanted).collect();
    let latest = &entries[entries.len().saturating_sub(SHOWN)..];
    Ok(json!({"discoveries": latest, "total": entries.len(), "malformed_lines": read.malformed}))
}

pub(super) fn message(dir: &SessionDir, call: TeamMessage) -> Result<Value, String> {
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

/// What makes two entries of a type the same, as the team had it when the session began.
fn keys(dir: &SessionDir) -> HashMap<String, Vec<String>> {
    let Ok(team) = dir.read_team() else {
        return HashMap::new();
    };
    let in_data = |key: Vec<String>| key.iter().map(|field| format!("data.{field}")).collect();
    let types = team.discoveries.into_iter();
    types.map(|known| (known.name, in_data(known.key))).collect()
}
