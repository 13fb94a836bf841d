//! Executes commands of workers, such as their reports. Their token is compared here.

use super::run::{Coordinator, News};
use super::sending::send;
use super::unneeded::Unneeded;
use std::ffi::{OsStr, OsString};
use wavecrew_remote::wire::ToHost;
use wavecrew_run::worker_commands::{Identity, RelayReply, RelayRequest, WorkerCommands};

impl Coordinator {
    pub(super) fn answered(&self, key: u64, number: u64, reply: &RelayReply) {
        let Some(turn) = self.turns.get(&key) else { return };
        let Some(offer) = turn.offer() else { return };
        let message = ToHost::Reply {
            attempt: offer.token.clone(),
            turn: turn.facts.turn,
            number,
            reply: serde_json::to_value(reply).unwrap_or_default(),
        };
        send(offer, &format!("reply-{number}"), &message, b"");
    }

    /// Executes a command of the worker. Its token is compared here.
    pub(super) fn request(&self, key: u64, number: u64, request: serde_json::Value, sequence: u64) {
        let Some(turn) = self.turns.get(&key) else { return };
        let Some(offer) = turn.offer() else { return };
        let (token, news) = (offer.token.token.clone(), self.shared.news.clone());
        let (env, request, remover) = (
            turn.command.env_set.clone(),
            turn.map_json(request),
            self.remover.clone(),
        );
        tokio::task::spawn_blocking(move || {
            let is_report = is_report(&request);
            let reply = carry_out(&env, request, Waiting::ForPerson);
            if !is_report {
                // A coordinator that continues the run must not execute it again, except a report, which it
                // must find.
                remover.remove(Unneeded::Message(sequence));
            }
            let _ = news.send(News::Answered {
                key,
                token,
                number,
                reply,
            });
        });
    }
}

/// Whether a command may wait for a person.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    ForPerson,
    No,
}

fn is_report(request: &serde_json::Value) -> bool {
    matches!(
        serde_json::from_value::<RelayRequest>(request.clone()),
        Ok(RelayRequest::Report { .. })
    )
}

/// Executes a command of a worker with this environment.
pub(super) fn carry_out(
    env: &[(OsString, OsString)],
    request: serde_json::Value,
    waiting: Waiting,
) -> RelayReply {
    let variable = |name: &str| {
        let found = env.iter().find(|(known, _)| known == OsStr::new(name))?;
        found.1.to_str().map(str::to_owned)
    };
    let reply = serde_json::from_value::<RelayRequest>(request)
        .map_err(|error| error.to_string())
        .and_then(|request| {
            if waiting == Waiting::No && matches!(request, RelayRequest::Ask { .. }) {
                return Err("the run was continued by another process; ask again".to_owned());
            }
            let who = Identity::from_variables(variable).map_err(|error| error.to_string())?;
            let commands = WorkerCommands::open(who).map_err(|error| error.to_string())?;
            Ok(commands.answer(request))
        });
    reply.unwrap_or_else(|message| RelayReply::Refused {
        message,
        help: String::new(),
    })
}
