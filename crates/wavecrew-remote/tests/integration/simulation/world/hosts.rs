//! What hosts do.

use super::*;

impl World {
    pub(super) fn unreachable(&self, host: usize) -> bool {
        !self.hosts[host].up || self.hosts[host].cut || self.hosts[host].paused
    }

    /// Lets a lease of a host act. A paused host does it later.
    pub(super) fn with_host(
        &mut self,
        host: usize,
        boot: u32,
        token: Token,
        again: Event,
        act: impl FnOnce(&mut HostLease, Duration) -> Vec<HostAction>,
    ) {
        let now = self.now;
        let found = &mut self.hosts[host];
        if !found.up || found.boot != boot {
            return;
        }
        if found.paused {
            found.deferred.push(again);
            return;
        }
        let clock = found.clock(now);
        let Some(lease) = found.leases.get_mut(&token) else {
            return;
        };
        let actions = act(lease, clock);
        let since = lease.held_since();
        if let (Some(since), Some(process)) = (since, found.processes.get_mut(&token)) {
            process.confirmed = since;
        }
        self.perform_host(host, token, actions);
        self.tick_host(host, token);
    }

    pub(super) fn tick_host(&mut self, host: usize, token: Token) {
        let found = &self.hosts[host];
        if let Some(next) = found.leases.get(&token).and_then(HostLease::next_tick) {
            let (delay, boot) = (found.until(self.now, next), found.boot);
            self.later(delay, Event::HostTick { host, boot, token });
        }
    }

    pub(super) fn perform_host(&mut self, host: usize, token: Token, actions: Vec<HostAction>) {
        let boot = self.hosts[host].boot;
        for action in actions {
            match action {
                HostAction::Write { expected, record } => {
                    let found = &mut self.hosts[host];
                    let clock = found.clock(self.now);
                    found.pauses_before.entry(clock).or_insert(found.pauses);
                    self.send(
                        Actor::Host { host, boot },
                        token,
                        Request::Write { expected, record },
                    );
                }
                HostAction::Read => self.send(Actor::Host { host, boot }, token, Request::Read),
                HostAction::Start { turn } => self.start_process(host, token, turn),
                HostAction::Refuse => self.seen.count(Happened::RefusedOffer),
                HostAction::End => {
                    let grace = usize::try_from(self.terms.grace.as_millis()).expect("short");
                    // In the time of this host's clock.
                    let delay = self.rng.below(grace) as u64 * 1000 / self.hosts[host].speed();
                    self.hosts[host]
                        .processes
                        .get_mut(&token)
                        .expect("it runs")
                        .ending = true;
                    self.later(delay, Event::Ended { host, boot, token });
                }
                HostAction::Over { lost } => {
                    if lost {
                        self.seen.count(Happened::LeaseLost);
                    }
                    self.hosts[host].leases.remove(&token);
                }
            }
        }
    }

    pub(super) fn turn(&mut self, host: usize, token: Token, turn: u32) {
        if self.unreachable(host) {
            // The stream keeps it.
            let delay = 1 + self.rng.below(20_000) as u64;
            self.later(delay, Event::Turn { host, token, turn });
            return;
        }
        let (now, boot, terms) = (self.now, self.hosts[host].boot, self.terms);
        let clock = self.hosts[host].clock(now);
        let actions = if let Some(lease) = self.hosts[host].leases.get_mut(&token) {
            lease.turn(turn, clock)
        } else {
            let holder = format!("{host}.{boot}.{}", self.order);
            let (lease, actions) = HostLease::ask(terms, &host.to_string(), &holder, turn, clock);
            self.hosts[host].leases.insert(token, lease);
            actions
        };
        self.perform_host(host, token, actions);
        self.tick_host(host, token);
    }

    pub(super) fn start_process(&mut self, host: usize, token: Token, turn: u32) {
        let task = self.tokens[token].0;
        let starting = &self.hosts[host];
        let boot = starting.boot;
        let new = Process {
            task,
            turn,
            ending: false,
            confirmed: starting.leases[&token].held_since().expect("held"),
        };
        let asleep = starting.paused_since(&new);
        for (other, found) in self.hosts.iter().enumerate() {
            for (running, process) in &found.processes {
                assert!(
                    process.task != task || *running == token || asleep || found.paused_since(process),
                    "task {task} runs on {other} (attempt {running}) and starts on {host} (attempt {token}) at {}",
                    self.now
                );
            }
        }
        let closed = self.store.get(&token).map(|(_, record)| record) == Some(&LeaseRecord::Done);
        assert!(
            !closed || asleep,
            "attempt {token} starts after its end is in the store"
        );
        let earlier = self.hosts[host].processes.insert(token, new);
        assert!(earlier.is_none(), "two turns of attempt {token} at once");
        let length = if self.rng.one_in(3) { 120_000 } else { 2_000 };
        let delay = 1 + self.rng.below(length) as u64;
        self.later(
            delay,
            Event::Exit {
                host,
                boot,
                token,
                turn,
            },
        );
    }

    pub(super) fn exit(&mut self, host: usize, boot: u32, token: Token, turn: u32) {
        let found = &mut self.hosts[host];
        if found.boot != boot || !found.up {
            return;
        }
        if found.paused {
            found.deferred.push(Event::Exit {
                host,
                boot,
                token,
                turn,
            });
            return;
        }
        if found
            .processes
            .get(&token)
            .is_none_or(|process| process.ending || process.turn != turn)
        {
            return;
        }
        let process = found.processes.remove(&token).expect("just seen");
        found.unsent.push((token, turn));
        self.check_bound(host, &process);
        self.later(
            1,
            Event::Publish {
                host,
                boot,
                token,
                turn,
            },
        );
        self.gone(host, boot, token);
    }

    /// A process that was asked to end has ended.
    pub(super) fn ended(&mut self, host: usize, boot: u32, token: Token) {
        let found = &mut self.hosts[host];
        if found.boot != boot || !found.up {
            return;
        }
        if found.paused {
            found.deferred.push(Event::Ended { host, boot, token });
            return;
        }
        if let Some(process) = found.processes.remove(&token) {
            self.check_bound(host, &process);
            self.gone(host, boot, token);
        }
    }

    pub(super) fn gone(&mut self, host: usize, boot: u32, token: Token) {
        let again = Event::Ended { host, boot, token };
        self.with_host(host, boot, token, again, HostLease::processes_gone);
    }

    pub(super) fn publish(&mut self, host: usize, boot: u32, token: Token, turn: u32) {
        let found = &self.hosts[host];
        if !found.up || found.boot != boot || !found.unsent.contains(&(token, turn)) {
            return;
        }
        // Repeated until it is confirmed.
        let retry = 1_000 + self.rng.below(5_000) as u64;
        self.later(
            retry,
            Event::Publish {
                host,
                boot,
                token,
                turn,
            },
        );
        if self.unreachable(host) || (!self.is_calm() && self.rng.one_in(25)) {
            return;
        }
        if !self.results.contains(&(token, turn)) {
            self.results.push((token, turn));
        }
        let delay = self.delay();
        self.later(delay, Event::Result { token, turn });
        if self.is_calm() || !self.rng.one_in(10) {
            let delay = self.delay();
            self.later(
                delay,
                Event::Published {
                    host,
                    boot,
                    token,
                    turn,
                },
            );
        }
    }
}
