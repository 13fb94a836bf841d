//! The network, which delays, loses, repeats and cuts, and the store behind it.

use super::*;

impl World {
    pub(super) fn cut(&self, actor: Actor) -> bool {
        match actor {
            Actor::Host { host, .. } => self.hosts[host].cut,
            Actor::Coordinator(number) => self.coordinators[number]
                .as_ref()
                .is_some_and(|coordinator| coordinator.cut),
        }
    }

    pub(super) fn send(&mut self, from: Actor, token: Token, request: Request) {
        if self.cut(from) || (!self.is_calm() && self.rng.one_in(25)) {
            self.seen.count(Happened::LostRequest);
            return;
        }
        let delay = self.delay();
        if self.rng.one_in(30) {
            // A client that sends once more what it believes lost.
            let repeated = self.delay();
            self.later(repeated, Event::Request(from, token, request.clone()));
        }
        self.later(delay, Event::Request(from, token, request));
    }

    pub(super) fn store_request(&mut self, from: Actor, token: Token, request: Request) {
        let answer = match request {
            Request::Read => Answer::Found(self.store.get(&token).cloned()),
            Request::Write { expected, record } => {
                let current = self.store.get(&token).map_or(0, |(revision, _)| *revision);
                if current == expected {
                    self.revision += 1;
                    let revision = self.revision;
                    self.store.insert(token, (revision, record.clone()));
                    for number in 0..self.coordinators.len() {
                        if self.coordinators[number].is_some() {
                            let delay = self.delay();
                            self.later(delay, Event::Watched(number, token, revision, record.clone()));
                        }
                    }
                    Answer::Written {
                        expected,
                        record,
                        revision,
                    }
                } else {
                    Answer::Conflict { expected, record }
                }
            }
        };
        if self.cut(from) || (!self.is_calm() && self.rng.one_in(25)) {
            self.seen.count(Happened::LostAnswer);
            return;
        }
        let delay = self.delay();
        self.later(delay, Event::Answer(from, token, answer));
    }

    pub(super) fn answer(&mut self, to: Actor, token: Token, answer: Answer) {
        let again = Event::Answer(to, token, answer.clone());
        match to {
            Actor::Host { host, boot } => {
                if matches!(&answer, Answer::Found(Some((_, LeaseRecord::Held { holder: by, .. }))) if by.starts_with(&format!("{host}.{boot}.")))
                {
                    self.seen.count(Happened::FoundOwnWrite);
                }
                self.with_host(host, boot, token, again, |lease, now| match answer {
                    Answer::Found(found) => lease.found(found, now),
                    Answer::Written { record, revision, .. } => lease.written(&record, revision, now),
                    Answer::Conflict { record, .. } => lease.conflict(&record),
                });
            }
            Actor::Coordinator(number) => {
                self.with_coordinator(number, token, again, |lease, now| match answer {
                    Answer::Found(found) => lease.seen(found, now),
                    Answer::Written { expected, .. } => lease.written(expected),
                    Answer::Conflict { expected, .. } => lease.conflict(expected),
                });
            }
        }
    }
}
