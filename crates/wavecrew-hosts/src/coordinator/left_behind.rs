//! Turns that an earlier coordinator of the session left at hosts. The host continues such a turn, and its messages stay in
//! the stream until the next attempt of the task reads them.

use super::journal_facts::JournalFacts;
use crate::task::TurnAtHost;
use bytes::Bytes;
use std::collections::HashMap;
use wavecrew_remote::lease::LeaseRecord;
use wavecrew_remote::wire::{AttemptToken, FromHost};

/// A turn at a host, and its messages so far.
pub(super) struct LeftBehind {
    pub attempt: AttemptToken,
    pub turn: u32,
    pub host: String,
    pub boot: String,
    pub at_host: TurnAtHost,
    pub messages: Vec<(FromHost, Bytes, u64)>,
}

impl LeftBehind {
    /// Whether its result can still count, by the record of its lease.
    pub fn counts(&self, lease: Option<&LeaseRecord>) -> bool {
        let has_ended = || {
            let mut messages = self.messages.iter();
            messages.any(|(message, ..)| matches!(message, FromHost::Exited { .. }))
        };
        match lease {
            Some(LeaseRecord::Held { .. }) => true,
            // The earlier coordinator had received the result, and died before its journal had it.
            Some(LeaseRecord::Done) => has_ended(),
            Some(LeaseRecord::TakenBack | LeaseRecord::Unknown) | None => false,
        }
    }
}

/// By the token of the offer.
#[derive(Default)]
pub(super) struct AllLeftBehind(HashMap<String, LeftBehind>);

impl AllLeftBehind {
    /// A message about an offer of another coordinator. Returns it if it belongs to no known turn.
    pub fn add(&mut self, message: FromHost, bytes: Bytes, sequence: u64) -> Option<FromHost> {
        if let FromHost::Accepted {
            attempt,
            turn,
            host,
            boot,
            details,
        } = &message
            && let Ok(at_host) = serde_json::from_value::<TurnAtHost>(details.clone())
        {
            let found = LeftBehind {
                attempt: attempt.clone(),
                turn: *turn,
                host: host.clone(),
                boot: boot.clone(),
                at_host,
                messages: Vec::new(),
            };
            self.0.insert(attempt.token.clone(), found);
            return None;
        }
        let token = super::reports::attempt_of(&message)?.token.clone();
        match self.0.get_mut(&token) {
            Some(known) => {
                known.messages.push((message, bytes, sequence));
                None
            }
            None => Some(message),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, token: &str) -> Option<&LeftBehind> {
        self.0.get(token)
    }

    pub fn remove(&mut self, token: &str) -> Option<LeftBehind> {
        self.0.remove(token)
    }

    pub fn all(&self) -> impl Iterator<Item = &LeftBehind> {
        self.0.values()
    }

    /// Removes turns that no attempt needs: those of attempts that are over by the journal, and all but the
    /// last turn of a task.
    pub fn take_useless(&mut self, journal: &JournalFacts) -> Vec<LeftBehind> {
        let is_last = |one: &LeftBehind| {
            let number =
                |other: &LeftBehind| (other.attempt.attempt, other.turn, other.attempt.token.clone());
            let same_task = self
                .0
                .values()
                .filter(|other| other.attempt.task == one.attempt.task);
            same_task.map(number).max() == Some(number(one))
        };
        let useless = |one: &&LeftBehind| {
            let AttemptToken { task, attempt, .. } = &one.attempt;
            journal.last_open(task, *attempt).is_none() || !is_last(one)
        };
        let tokens: Vec<String> = self
            .0
            .values()
            .filter(useless)
            .map(|one| one.attempt.token.clone())
            .collect();
        tokens.iter().filter_map(|token| self.0.remove(token)).collect()
    }

    /// Removes and returns the turns of a task.
    pub fn take_of(&mut self, task: &str) -> Vec<LeftBehind> {
        let of_task = |one: &&LeftBehind| one.attempt.task == task;
        let tokens: Vec<String> = self
            .0
            .values()
            .filter(of_task)
            .map(|one| one.attempt.token.clone())
            .collect();
        tokens.iter().filter_map(|token| self.0.remove(token)).collect()
    }
}
