//! Keeps the lease of one turn: requests it, renews it, and reports its loss.

use crate::lease_keys::{self, Written};
use async_nats::jetstream::kv::Store;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;
use wavecrew_remote::lease::{HostAction, HostLease, LeaseRecord, Moment, Terms};

/// Messages of the keeper to the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseNews {
    Held,
    /// Never held, or lost: all processes must end at once.
    Lost,
}

/// The turn's end of the keeper. Dropping it ends the renewals.
pub(super) struct Keeper {
    pub news: UnboundedReceiver<LeaseNews>,
    released: UnboundedSender<()>,
}

impl Keeper {
    /// `holder` is a name that was never used before.
    pub fn start(store: Store, key: String, terms: Terms, host: String, holder: String, turn: u32) -> Self {
        let (news_out, news) = unbounded_channel();
        let (released, released_in) = unbounded_channel();
        tokio::spawn(keep(store, key, terms, host, holder, turn, news_out, released_in));
        Self { news, released }
    }

    /// The turn is over.
    pub fn release(&self) {
        let _ = self.released.send(());
    }
}

enum Answer {
    Written(LeaseRecord, Written),
    Found(Result<Option<(u64, LeaseRecord)>, ()>),
}

#[expect(clippy::too_many_arguments, reason = "one task, started in one place")]
async fn keep(
    store: Store,
    key: String,
    terms: Terms,
    host: String,
    holder: String,
    turn: u32,
    news: UnboundedSender<LeaseNews>,
    mut released: UnboundedReceiver<()>,
) {
    let start = Instant::now();
    let now = || -> Moment { start.elapsed() };
    let (answers, mut answers_in) = unbounded_channel();
    let (mut lease, mut actions) = HostLease::ask(terms, &host, &holder, turn, now());
    loop {
        for action in std::mem::take(&mut actions) {
            let (store, key, answers) = (store.clone(), key.clone(), answers.clone());
            match action {
                HostAction::Write { expected, record } => {
                    tokio::spawn(async move {
                        let written = lease_keys::write(&store, &key, expected, &record).await;
                        let _ = answers.send(Answer::Written(record, written));
                    });
                }
                HostAction::Read => {
                    tokio::spawn(async move {
                        let _ = answers.send(Answer::Found(lease_keys::read(&store, &key).await));
                    });
                }
                HostAction::Start { .. } => drop(news.send(LeaseNews::Held)),
                HostAction::End | HostAction::Refuse => drop(news.send(LeaseNews::Lost)),
                HostAction::Over { lost } => {
                    if lost {
                        let _ = news.send(LeaseNews::Lost);
                    }
                    return;
                }
            }
        }
        let wait = lease
            .next_tick()
            .map_or(Duration::from_hours(1), |at| at.saturating_sub(now()));
        actions = tokio::select! {
            Some(answer) = answers_in.recv() => match answer {
                Answer::Written(record, Written::Done { revision }) => lease.written(&record, revision, now()),
                Answer::Written(record, Written::Conflict) => lease.conflict(&record),
                Answer::Found(Ok(found)) => lease.found(found, now()),
                Answer::Written(_, Written::Unknown) | Answer::Found(Err(())) => lease.tick(now()),
            },
            _ = released.recv() => return,
            () = sleep(wait) => lease.tick(now()),
        };
    }
}
