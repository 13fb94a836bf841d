//! What coordinators do.

use super::*;

impl World {
    pub(super) fn append(&mut self, number: usize, entry: Entry) -> bool {
        let coordinator = self.coordinators[number].as_mut().expect("alive");
        if coordinator.journal != self.journal.len() {
            // Fenced: somebody else writes the journal now. It stops before any further effect.
            self.seen.count(Happened::Fenced);
            self.coordinators[number] = None;
            return false;
        }
        self.journal.push(entry);
        coordinator.journal += 1;
        self.check_journal(number, entry);
        true
    }

    pub(super) fn start_coordinator(&mut self) {
        let offset = self.rng.below(2 * HOUR) as u64;
        let speed = (1000 - DRIFT + self.rng.below(2 * DRIFT + 1)) as u64;
        let number = self.coordinators.len();
        if self.coordinators.last().is_some_and(Option::is_some) {
            self.seen.count(Happened::TakenOver);
        }
        let hour = HOUR as u64;
        if self
            .hosts
            .iter()
            .any(|host| host.offset().abs_diff(offset) > hour)
        {
            self.seen.count(Happened::HourApart);
        }
        self.journal.push(Entry::TakenOver { number });
        let coordinator = Coordinator::new(offset, speed, self.journal.len());
        self.coordinators.push(Some(coordinator));
        // The attempts that the journal knows as running.
        for token in 0..self.tokens.len() {
            if !self.is_open(token) {
                continue;
            }
            let accepted = self.accepted_turn(token);
            self.watch_lease(number, token, accepted);
            self.send(Actor::Coordinator(number), token, Request::Read);
        }
        for (token, turn) in self.results.clone() {
            let delay = self.delay();
            self.later(delay, Event::Result { token, turn });
        }
        self.start_attempts(number);
    }

    pub(super) fn watch_lease(&mut self, number: usize, token: Token, accepted: u32) {
        let (now, terms) = (self.now, self.terms);
        let coordinator = self.coordinators[number].as_mut().expect("alive");
        let lease = CoordinatorLease::offer(terms, accepted, coordinator.clock(now));
        coordinator.leases.insert(token, lease);
        self.tick_coordinator(number, token);
    }

    pub(super) fn start_attempts(&mut self, number: usize) {
        for task in 0..self.tasks {
            let busy =
                (0..self.tokens.len()).any(|token| self.tokens[token].0 == task && self.is_open(token));
            if busy || self.is_completed(task) {
                continue;
            }
            let token = self.tokens.len();
            let host = self.rng.below(self.hosts.len());
            if !self.append(number, Entry::Started { task, token, host }) {
                return;
            }
            self.tokens.push((task, host));
            if !self.is_calm() && self.rng.one_in(50) {
                // It dies between the journal and the effect.
                self.crash_coordinator(number);
                return;
            }
            self.watch_lease(number, token, 0);
            self.post_turn(token, 1);
        }
    }

    pub(super) fn post_turn(&mut self, token: Token, turn: u32) {
        let host = self.tokens[token].1;
        let delay = self.delay();
        self.later(delay, Event::Turn { host, token, turn });
        while self.rng.one_in(6) {
            self.seen.count(Happened::RepeatedDelivery);
            let delay = self.rng.below(200_000) as u64;
            self.later(delay, Event::Turn { host, token, turn });
        }
    }

    pub(super) fn with_coordinator(
        &mut self,
        number: usize,
        token: Token,
        again: Event,
        act: impl FnOnce(&mut CoordinatorLease, Duration) -> Vec<CoordinatorAction>,
    ) {
        let now = self.now;
        let Some(coordinator) = &mut self.coordinators[number] else {
            return;
        };
        if coordinator.paused {
            let delay = 1 + self.rng.below(5_000) as u64;
            self.later(delay, again);
            return;
        }
        let clock = coordinator.clock(now);
        let Some(lease) = coordinator.leases.get_mut(&token) else {
            return;
        };
        let held = lease.is_held();
        let actions = act(lease, clock);
        if !held && lease.is_held() && matches!(again, Event::Answer(..)) {
            self.seen.count(Happened::TakenBackTooEarly);
        }
        self.perform_coordinator(number, token, actions);
        self.tick_coordinator(number, token);
    }

    pub(super) fn tick_coordinator(&mut self, number: usize, token: Token) {
        let Some(coordinator) = &self.coordinators[number] else {
            return;
        };
        if let Some(next) = coordinator
            .leases
            .get(&token)
            .and_then(CoordinatorLease::next_tick)
        {
            let delay = coordinator.until(self.now, next);
            self.later(delay, Event::CoordinatorTick { number, token });
        }
    }

    pub(super) fn perform_coordinator(
        &mut self,
        number: usize,
        token: Token,
        actions: Vec<CoordinatorAction>,
    ) {
        let actor = Actor::Coordinator(number);
        for action in actions {
            match action {
                CoordinatorAction::Write { expected, record } => {
                    self.send(actor, token, Request::Write { expected, record });
                }
                CoordinatorAction::Read => self.send(actor, token, Request::Read),
                CoordinatorAction::Interrupted => {
                    if !self.append(number, Entry::Interrupted { token }) {
                        return;
                    }
                    self.seen.count(Happened::Interrupted);
                    self.start_attempts(number);
                }
                CoordinatorAction::Over => {}
            }
        }
    }

    /// The stream delivers to the coordinator in charge.
    pub(super) fn result(&mut self, token: Token, turn: u32) {
        let number = self.coordinators.len() - 1;
        let Some(coordinator) = &mut self.coordinators[number] else {
            return;
        };
        if coordinator.paused || coordinator.cut {
            let delay = 1 + self.rng.below(5_000) as u64;
            self.later(delay, Event::Result { token, turn });
            return;
        }
        let (task, host) = self.tokens[token];
        let Some(lease) = coordinator.leases.get_mut(&token) else {
            // The journal knows its end.
            let delay = self.delay();
            self.later(delay, Event::Acknowledge { host, token });
            return;
        };
        match lease.result(turn) {
            TurnResult::Duplicate => self.seen.count(Happened::DuplicateResult),
            TurnResult::Refuse => {
                self.seen.count(Happened::LateResult);
                let delay = self.delay();
                self.later(delay, Event::Acknowledge { host, token });
            }
            TurnResult::Accept => {
                if number > 0 && !matches!(self.journal.last(), Some(Entry::Started { .. })) {
                    self.seen.count(Happened::ResultOfDeadCoordinator);
                }
                let last = turn >= self.turns[task];
                let entry = if last {
                    Entry::Completed { task, token }
                } else {
                    Entry::TurnDone { token, turn }
                };
                if !self.append(number, entry) {
                    return;
                }
                if !last {
                    self.post_turn(token, turn + 1);
                    return;
                }
                self.seen.count(Happened::Completed);
                if !self.is_calm() && self.rng.one_in(50) {
                    self.crash_coordinator(number);
                    return;
                }
                let delay = self.delay();
                self.later(delay, Event::Acknowledge { host, token });
                let again = Event::CoordinatorTick { number, token };
                self.with_coordinator(number, token, again, CoordinatorLease::finish);
            }
        }
    }

    pub(super) fn crash_coordinator(&mut self, number: usize) {
        if self.coordinators[number].take().is_some() {
            self.seen.count(Happened::CoordinatorCrash);
            let delay = 1 + self.rng.below(90_000) as u64;
            self.later(delay, Event::CoordinatorUp);
        }
    }
}
