//! Messages to the coordinator, shared state, and wisdom.

use super::{Refused, RelayRequest, WorkerCommands, now};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use wavecrew_core::plan::did_you_mean;
use wavecrew_session::{Message, WisdomFile};

/// The message type that sets shared state.
pub const STATE_UPDATE: &str = "state_update";

impl WorkerCommands {
    /// Sends a message to the coordinator. The bus refuses any other recipient.
    pub fn message(&self, kind: &str, summary: &str, data: Value, to: Option<&str>) -> Result<(), Refused> {
        self.check_message_type(kind)?;
        let data = self.redactor.value(data);
        if let Some(relay) = &self.relay {
            let request = RelayRequest::Message {
                kind: kind.to_owned(),
                summary: self.redactor.text(summary),
                data,
                to: to.map(str::to_owned),
            };
            return relay.call(request).map(drop);
        }
        if kind == STATE_UPDATE {
            self.set_state(&data)?;
        }
        let summary = self.redactor.text(summary);
        let mut message = Message::new(&now(), self.who.name(), kind, &summary);
        if let Some(to) = to {
            to.clone_into(&mut message.to);
        }
        message.data = data;
        message.extra.insert("task".into(), self.who.task.as_str().into());
        Ok(self.who.session.bus().post(message)?)
    }

    /// Adds a line to `learnings`, `decisions`, `conventions` or `issues`.
    pub fn wisdom(&self, file: &str, text: &str) -> Result<(), Refused> {
        let names = || WisdomFile::ALL.into_iter().map(WisdomFile::name);
        let known = WisdomFile::parse(file).ok_or_else(|| {
            let help = did_you_mean(file, names()).unwrap_or_else(|| {
                let all: Vec<&str> = names().collect();
                format!("there are: {}", all.join(", "))
            });
            Refused::request(format!("there is no wisdom file `{file}`"), help)
        })?;
        if text.trim().is_empty() {
            return Err(Refused::request("the text is empty", "give the text in one line"));
        }
        let text = self.redactor.text(text);
        if let Some(relay) = &self.relay {
            let file = file.to_owned();
            return relay.call(RelayRequest::Wisdom { file, text }).map(drop);
        }
        Ok(self.who.session.wisdom().append(known, self.who.name(), &text)?)
    }

    /// A role of the team can send the types that the team file lists; an unknown role can send any.
    fn check_message_type(&self, kind: &str) -> Result<(), Refused> {
        let Some(role) = self.team.role(&self.who.role) else {
            return Ok(());
        };
        let types = || role.messages.iter().map(String::as_str).chain([STATE_UPDATE]);
        if types().any(|known| known == kind) {
            return Ok(());
        }
        let help = did_you_mean(kind, types()).unwrap_or_else(|| {
            let all: Vec<&str> = types().collect();
            format!("the role `{}` sends: {}", role.name, all.join(", "))
        });
        Err(Refused::request(
            format!("the role `{}` does not send `{kind}`", role.name),
            help,
        ))
    }

    /// Sets all fields or none.
    fn set_state(&self, data: &Value) -> Result<(), Refused> {
        let Some(fields) = data.as_object().filter(|fields| !fields.is_empty()) else {
            return Err(Refused::request(
                "a state_update needs the fields to set",
                "give them in `data`, as {\"field\": value}",
            ));
        };
        let mut owners: BTreeMap<String, String> = BTreeMap::new();
        for role in &self.team.roles {
            owners.extend(role.state.iter().map(|field| (field.clone(), role.name.clone())));
        }
        let is_own = |(field, _): &(String, Value)| owners.get(field) == Some(&self.who.role);
        let (own, foreign): (Map<String, Value>, Map<String, Value>) =
            fields.clone().into_iter().partition(is_own);
        let state = self.who.session.shared_state();
        // Fields of other roles first, so that nothing is set if one of them is refused.
        for (field, value) in foreign.into_iter().chain(own) {
            state.set(&self.who.role, &field, value, &owners)?;
        }
        Ok(())
    }
}
