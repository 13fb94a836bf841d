//! Continues the turns that an earlier coordinator left at hosts: the next attempt of the task gets the
//! running process, or its result, instead of a new process.

use super::left_behind::LeftBehind;
use super::reports::{attempt_of, read_messages};
use super::requests::{Waiting, carry_out};
use super::results::{Results, purge};
use super::run::{Coordinator, News};
use super::turns::{Offer, Ready, Stage};
use super::unneeded::Unneeded;
use crate::lease_keys::{self, Written};
use crate::path_map::PathMap;
use crate::task::StdinSource;
use bytes::Bytes;
use std::path::PathBuf;
use std::time::Duration;
use wavecrew_process::LockAnyway;
use wavecrew_remote::lease::{CoordinatorLease, LeaseRecord};
use wavecrew_remote::names::Names;
use wavecrew_remote::wire::FromHost;
use wavecrew_run::place::WorkerFacts;
use wavecrew_session::SessionPaths;

/// Between two attempts to reach a key.
const RETRY: Duration = Duration::from_millis(500);

impl Coordinator {
    /// Reads the messages that an earlier coordinator left in the stream. Called once, before the run begins.
    pub(super) async fn find_left_behind(&mut self, results: &mut Results) {
        let _ = self.journal.catch_up();
        let work = self
            .connection
            .jetstream
            .get_stream(self.names.work_stream())
            .await;
        if let Ok(work) = work {
            // Removes offers that no host has seen. If a host has just received one, its lease is revoked
            // when the host accepts it.
            purge(&work, &self.names.work_of_run(&self.run)).await;
        }
        if !self.journal.has_open() {
            // A new session, or one without leftover turns. The stream may have messages of an earlier
            // session with the same name.
            purge(&self.result_stream, &self.names.results_of_run(&self.run)).await;
            return;
        }
        for incoming in results.stored().await {
            self.needs.saw(incoming.sequence);
            for (from, bytes) in read_messages(&incoming.message.payload) {
                let _ = self.left_behind.add(from, bytes, incoming.sequence);
            }
        }
        for useless in self.left_behind.take_useless(&self.journal) {
            self.disown(&useless);
        }
        let leases: Vec<(String, String)> = self
            .left_behind
            .all()
            .map(|one| (one.attempt.token.clone(), self.lease_key(one)))
            .collect();
        for (token, key) in leases {
            let record = loop {
                match lease_keys::read(&self.buckets.leases, &key).await {
                    Ok(found) => break found.map(|(_, record)| record),
                    Err(()) => tokio::time::sleep(RETRY).await,
                }
            };
            let counts = self
                .left_behind
                .get(&token)
                .is_some_and(|one| one.counts(record.as_ref()));
            if !counts && let Some(one) = self.left_behind.remove(&token) {
                self.disown(&one);
            }
        }
        let mut hosts = self.hosts.lock_anyway();
        for one in self.left_behind.all() {
            let task = &one.attempt.task;
            if let Some(attempt) = self.journal.last_open(task, one.attempt.attempt) {
                hosts.left_behind.insert(task.clone(), attempt);
            }
        }
    }

    fn lease_key(&self, one: &LeftBehind) -> String {
        Names::lease_key(&one.host, &self.run, &one.attempt.key())
    }

    /// A host's message about an offer of another coordinator.
    pub(super) fn handle_foreign(&mut self, from: FromHost, bytes: Bytes, sequence: u64) {
        if self.left_behind.is_empty()
            || attempt_of(&from).is_none_or(|it| self.left_behind.get(&it.token).is_none())
        {
            // About an offer of the earlier coordinator that no task waits for.
            if matches!(from, FromHost::Accepted { .. }) {
                let _ = self.left_behind.add(from.clone(), bytes, sequence);
                if let Some(one) = attempt_of(&from).and_then(|it| self.left_behind.remove(&it.token)) {
                    self.disown(&one);
                }
            }
            return;
        }
        let _ = self.left_behind.add(from, bytes, sequence);
    }

    /// The turn at a host that can serve a worker. Other turns of its task are dropped.
    pub(super) fn find_for(&mut self, facts: &WorkerFacts) -> Option<String> {
        if self.left_behind.is_empty() {
            return None;
        }
        self.follow_journal();
        let fits = |one: &&LeftBehind| {
            let same = (self.journal).same_input(&facts.task, one.attempt.attempt, facts.attempt);
            one.attempt.task == facts.task && same && one.at_host.facts.role == facts.role && facts.turn == 1
        };
        let found = self.left_behind.all().find(fits);
        let found = found.map(|one| one.attempt.token.clone());
        if found.is_none() {
            self.give_up(&facts.task);
        }
        found
    }

    /// Reads the lease of such a turn, to be sure that it still counts.
    pub(super) fn ask_for(&self, key: u64, token: String) {
        let Some(one) = self.left_behind.get(&token) else {
            return;
        };
        let (store, lease_key, news) = (
            self.buckets.leases.clone(),
            self.lease_key(one),
            self.shared.news(),
        );
        tokio::spawn(async move {
            let found = loop {
                match lease_keys::read(&store, &lease_key).await {
                    Ok(found) => break found,
                    Err(()) => tokio::time::sleep(RETRY).await,
                }
            };
            let _ = news.send(News::LeftBehind { key, token, found });
        });
    }

    /// Gives a worker the turn at a host, or starts a new turn.
    pub(super) fn adopt(&mut self, key: u64, token: &str, found: Option<(u64, LeaseRecord)>) {
        let one = self.left_behind.remove(token);
        let counts = one.filter(|one| one.counts(found.as_ref().map(|(_, record)| record)));
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        self.hosts.lock_anyway().left_behind.remove(&turn.facts.task);
        let closing = turn.closing.is_some();
        let Some(one) = counts.filter(|_| !closing) else {
            return self.prepare(key);
        };
        let map = paths_between(&one, &self.facts.project, &self.facts.session, &turn.facts);
        turn.ready = Some(Ready {
            roots: one.at_host.roots.clone(),
            git: None,
            inline: Vec::new(),
            stdin: StdinSource::Text { text: String::new() },
        });
        let _ = turn.pipe.send(super::pipes::Work::Paths(map.clone()));
        turn.map = map;
        let task = turn.facts.task.clone();
        let attempt = (task.clone(), turn.facts.attempt);
        self.homes.insert(attempt.clone(), one.host.clone());
        let subject = self.names.from_host(&one.host, &self.run, token);
        self.needs.add_earlier(attempt, subject);
        let lease_key = self.lease_key(&one);
        self.tokens.insert(token.to_owned(), key);
        self.leases.insert(lease_key.clone(), key);
        let now = self.now();
        let mut lease = CoordinatorLease::offer(self.facts.settings.terms, 0, now);
        let actions = match found {
            Some((_, LeaseRecord::Held { .. })) => lease.seen(found, now),
            Some(_) | None => Vec::new(),
        };
        let outbox = self.start_post(key, token, &one.host);
        let mut hosts = self.hosts.lock_anyway();
        hosts.assigned(&one.host);
        hosts.waiting = hosts.waiting.saturating_sub(1);
        drop(hosts);
        if let Some(turn) = self.turns.get_mut(&key) {
            turn.stage = Stage::Offered(Offer {
                token: one.attempt.clone(),
                host: one.host.clone(),
                boot: one.boot.clone(),
                lease_key,
                lease,
                outbox,
            });
        }
        self.follow(key, actions);
        self.note(format!(
            "{task} does not run again: host {} continued it without a coordinator",
            one.host
        ));
        for (message, bytes, sequence) in one.messages {
            self.repeat(key, message, bytes, sequence);
        }
    }

    /// One message from before. Commands of the worker are executed immediately, so that its report arrives
    /// before its end.
    fn repeat(&mut self, key: u64, message: FromHost, bytes: Bytes, sequence: u64) {
        if let FromHost::Request { number, request, .. } = &message {
            let Some(turn) = self.turns.get_mut(&key) else {
                return;
            };
            turn.last_request = turn.last_request.max(*number);
            let request = turn.map_json(request.clone());
            let reply = carry_out(&turn.command.env_set, request, Waiting::No);
            self.answered(key, *number, &reply);
            return;
        }
        self.handle_report(message, bytes, sequence);
    }

    /// Drops the leftover turns of a task, which no attempt needs.
    pub(super) fn give_up(&mut self, task: &str) {
        self.hosts.lock_anyway().left_behind.remove(task);
        for one in self.left_behind.take_of(task) {
            self.disown(&one);
        }
    }

    /// Revokes a lease that no turn uses, so that the host ends the turn, and removes its messages.
    fn disown(&self, one: &LeftBehind) {
        let (store, lease_key) = (self.buckets.leases.clone(), self.lease_key(one));
        let subject = self.names.from_host(&one.host, &self.run, &one.attempt.token);
        let remover = self.remover.clone();
        tokio::spawn(async move {
            loop {
                match lease_keys::read(&store, &lease_key).await {
                    Ok(Some((revision, LeaseRecord::Held { .. }))) => {
                        let taken = lease_keys::write(&store, &lease_key, revision, &LeaseRecord::TakenBack);
                        if matches!(taken.await, Written::Done { .. }) {
                            break;
                        }
                    }
                    Ok(_) => break,
                    Err(()) => {}
                }
                tokio::time::sleep(RETRY).await;
            }
            remover.remove(Unneeded::Subject(subject));
        });
    }
}

/// Replaces paths of the earlier coordinator with those of this one: another project folder, another inbox.
fn paths_between(
    one: &LeftBehind,
    project: &std::path::Path,
    session: &std::path::Path,
    facts: &WorkerFacts,
) -> PathMap {
    let before = &one.at_host;
    let inbox = |session: &std::path::Path, number| SessionPaths::at(session).inbox(number);
    let worktrees: Option<(PathBuf, PathBuf)> = before.facts.worktree.clone().zip(facts.worktree.clone());
    let pairs = [
        (before.project.clone(), project.to_owned()),
        (before.session.clone(), session.to_owned()),
        (
            inbox(&before.session, before.facts.number),
            inbox(session, facts.number),
        ),
    ];
    let pairs = pairs.into_iter().chain(worktrees);
    PathMap::new(pairs.filter(|(from, to)| from != to))
}
