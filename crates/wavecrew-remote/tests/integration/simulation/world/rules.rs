//! The journal, and the rules that must hold.

use super::*;

impl World {
    pub(super) fn is_open(&self, token: Token) -> bool {
        let mut open = false;
        for entry in &self.journal {
            match entry {
                Entry::Started { token: found, .. } if *found == token => open = true,
                Entry::Interrupted { token: found } | Entry::Completed { token: found, .. }
                    if *found == token =>
                {
                    open = false;
                }
                Entry::Started { .. }
                | Entry::TurnDone { .. }
                | Entry::Interrupted { .. }
                | Entry::Completed { .. }
                | Entry::TakenOver { .. } => {}
            }
        }
        open
    }

    pub(super) fn is_completed(&self, task: usize) -> bool {
        self.journal
            .iter()
            .any(|entry| matches!(entry, Entry::Completed { task: found, .. } if *found == task))
    }

    pub(super) fn accepted_turn(&self, token: Token) -> u32 {
        let turns = self.journal.iter().filter_map(|entry| match entry {
            Entry::TurnDone { token: found, turn } if *found == token => Some(*turn),
            _ => None,
        });
        turns.max().unwrap_or(0)
    }

    /// The rules of the journal, at every entry.
    pub(super) fn check_journal(&self, writer: usize, entry: Entry) {
        let in_charge = self.journal.iter().rev().find_map(|entry| match entry {
            Entry::TakenOver { number } => Some(*number),
            _ => None,
        });
        assert_eq!(
            in_charge,
            Some(writer),
            "a coordinator that was replaced writes {entry:?}"
        );
        let earlier = &self.journal[..self.journal.len() - 1];
        match entry {
            Entry::Completed { task, token } => {
                let completed = earlier
                    .iter()
                    .filter(|found| matches!(found, Entry::Completed { task: done, .. } if *done == task))
                    .count();
                assert_eq!(completed, 0, "task {task} is completed twice");
                assert!(
                    !earlier.contains(&Entry::Interrupted { token }),
                    "attempt {token} is interrupted and completes"
                );
            }
            Entry::Started { task, token, .. } => {
                let open = (0..self.tokens.len())
                    .filter(|other| *other != token && self.tokens[*other].0 == task)
                    .any(|other| self.is_open(other));
                assert!(!open, "task {task} has two attempts at once");
            }
            Entry::Interrupted { token } => {
                let times = earlier.iter().filter(|found| **found == entry).count();
                assert_eq!(times, 0, "attempt {token} is interrupted twice");
            }
            Entry::TurnDone { .. } | Entry::TakenOver { .. } => {}
        }
    }

    /// A process ends within the stated bound after the last confirmed renewal, or right after a pause.
    pub(super) fn check_bound(&self, host: usize, process: &Process) {
        let found = &self.hosts[host];
        // Milliseconds are rounded up at every step.
        let rounding = Duration::from_millis(5);
        let expired = (process.confirmed + self.terms.lease).max(found.resumed_at);
        let clock = found.clock(self.now);
        assert!(
            clock <= expired + self.terms.grace + rounding,
            "task {} on host {host} ends {:?} after its last confirmed renewal",
            process.task,
            clock.saturating_sub(process.confirmed)
        );
    }

    pub(super) fn check_the_end(&self) {
        for task in 0..self.tasks {
            assert!(
                self.is_completed(task),
                "task {task} never completes: {:?}",
                self.journal
            );
        }
        for (number, host) in self.hosts.iter().enumerate() {
            assert!(host.processes.is_empty(), "something still runs on host {number}");
        }
    }
}
