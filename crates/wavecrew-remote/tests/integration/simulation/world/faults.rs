//! What goes wrong.

use super::*;

impl World {
    pub(super) fn fault(&mut self) {
        if self.is_calm() {
            return;
        }
        let next = 1 + self.rng.below(40_000) as u64;
        self.later(next, Event::Fault);
        let host = self.rng.below(self.hosts.len());
        let length = 1 + self.rng.below(120_000) as u64;
        let number = self.coordinators.len() - 1;
        match self.rng.below(12) {
            0..3 if self.hosts[host].up => {
                self.seen.count(Happened::HostCrash);
                self.hosts[host].crash();
                self.later(length / 4, Event::HostUp(host));
            }
            3..5 if self.hosts[host].up && !self.hosts[host].paused => {
                self.seen.count(Happened::HostPause);
                let (now, counts) = (self.now, self.rng.one_in(2));
                let found = &mut self.hosts[host];
                found.paused = true;
                found.paused_at = now;
                let boot = found.boot;
                self.later(length, Event::HostResumed { host, boot, counts });
            }
            5..8 if !self.hosts[host].cut => {
                self.seen.count(Happened::Partition);
                self.hosts[host].cut = true;
                self.later(length, Event::HostJoined(host));
            }
            8 => self.crash_coordinator(number),
            9 => {
                // Somebody continues the session while the first coordinator stands still or is cut off.
                if let Some(coordinator) = &mut self.coordinators[number] {
                    self.seen.count(Happened::CoordinatorPause);
                    coordinator.paused = true;
                    self.later(length, Event::CoordinatorResumed(number));
                    self.start_coordinator();
                }
            }
            10 => {
                if let Some(coordinator) = &mut self.coordinators[number] {
                    coordinator.cut = true;
                    self.later(length, Event::CoordinatorJoined(number));
                    if self.rng.one_in(2) {
                        // Somebody continues the session meanwhile; the first one is alive and acts as long as it can.
                        self.start_coordinator();
                    }
                }
            }
            _ => {}
        }
    }
}
