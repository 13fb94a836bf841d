//! The discovery board: adds entries of the team's types, lists one entry per key.

use super::relay::unexpected;
use super::{Refused, RelayReply, RelayRequest, WorkerCommands, now};
use serde_json::{Map, Value};
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::team::{DiscoveryType, FieldShape};
use wavecrew_session::Discovery;

impl WorkerCommands {
    /// Adds an entry to the board. Returns warnings about it.
    pub fn discover(&self, kind: &str, data: Map<String, Value>) -> Result<Vec<String>, Refused> {
        let warnings = match self.discovery_type(kind)? {
            Some(known) => check(known, &data)?,
            None => Vec::new(),
        };
        if let Some(relay) = &self.relay {
            let Value::Object(data) = self.redactor.value(Value::Object(data)) else {
                return Ok(warnings);
            };
            let kind = kind.to_owned();
            relay.call(RelayRequest::Discover { kind, data })?;
            return Ok(warnings);
        }
        self.who.session.board().append(&Discovery {
            ts: now(),
            worker: self.who.task.clone(),
            kind: kind.to_owned(),
            data: self.redactor.value(Value::Object(data)),
            attempt: Some(self.who.attempt),
            extra: Map::new(),
        })?;
        Ok(warnings)
    }

    /// The entries of one type or of all, without those that later ones replace.
    pub fn discoveries(&self, kind: Option<&str>) -> Result<Vec<Discovery>, Refused> {
        if let Some(relay) = &self.relay {
            let kind = kind.map(str::to_owned);
            return match relay.call(RelayRequest::Discoveries { kind })? {
                RelayReply::Discoveries { entries } => Ok(entries),
                other => Err(unexpected(&other)),
            };
        }
        let read = self.who.session.board().read()?;
        let mut found = read.dedup(&self.team.discoveries).entries;
        found.retain(|entry| kind.is_none_or(|kind| entry.kind == kind));
        Ok(found)
    }

    /// The type as the team declares it; a team that allows any role allows any type.
    fn discovery_type(&self, kind: &str) -> Result<Option<&DiscoveryType>, Refused> {
        let found = self.team.discovery(kind);
        if found.is_some() || (self.team.any_role && !kind.trim().is_empty()) {
            return Ok(found);
        }
        let names = || self.team.discoveries.iter().map(|kind| kind.name.as_str());
        let help = did_you_mean(kind, names()).unwrap_or_else(|| {
            let all: Vec<&str> = names().collect();
            format!("the team `{}` has: {}", self.team.name, all.join(", "))
        });
        Err(Refused::request(
            format!("there is no type `{kind}` of discovery"),
            help,
        ))
    }
}

/// Refuses an entry without its key; returns warnings about the rest.
fn check(kind: &DiscoveryType, data: &Map<String, Value>) -> Result<Vec<String>, Refused> {
    let missing: Vec<&str> = kind
        .key
        .iter()
        .map(String::as_str)
        .filter(|key| !data.contains_key(*key))
        .collect();
    if !missing.is_empty() {
        let fields: Vec<String> = kind.fields.iter().map(|field| field.clone().into()).collect();
        let message = format!(
            "a discovery of type `{}` needs `{}`",
            kind.name,
            missing.join("`, `")
        );
        return Err(Refused::request(
            message,
            format!("its fields: {}", fields.join(", ")),
        ));
    }
    let mut warnings = Vec::new();
    for (name, value) in data {
        let wanted = match kind.fields.iter().find(|field| field.name == *name) {
            None => {
                warnings.push(format!("`{}` has no field `{name}`; added as it is", kind.name));
                continue;
            }
            Some(field) => match field.shape {
                FieldShape::One => continue,
                FieldShape::List if value.is_array() => continue,
                FieldShape::Table if value.is_object() => continue,
                FieldShape::List => "a list",
                FieldShape::Table => "an object",
            },
        };
        warnings.push(format!("`{name}` is usually {wanted}; added as it is"));
    }
    Ok(warnings)
}
