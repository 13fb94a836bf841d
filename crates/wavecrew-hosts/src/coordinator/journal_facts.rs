//! Facts about attempts from the run's own journal: which have no end, and what they were made from. Messages
//! of a host about an attempt are kept until the journal has its end.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use wavecrew_core::event::{Event, Fingerprint};
use wavecrew_session::JournalTail;

/// What an attempt was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MadeFrom {
    print: Fingerprint,
    agent: String,
}

#[derive(Debug)]
pub(super) struct JournalFacts {
    tail: JournalTail,
    /// By task, the attempts since the last one that had an end of its own. An interrupted one has none.
    open: HashMap<String, BTreeMap<u32, MadeFrom>>,
}

/// Events since the last reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WhatIsNew {
    /// Attempts that are over.
    pub over: Vec<(String, u32)>,
    /// Tasks whose worker runs on this machine now.
    pub local: Vec<String>,
}

impl JournalFacts {
    pub fn new(journal: PathBuf) -> Self {
        Self {
            tail: JournalTail::new(journal),
            open: HashMap::new(),
        }
    }

    pub fn catch_up(&mut self) -> WhatIsNew {
        let mut events: Vec<Event> = Vec::new();
        // Events that cannot be read now are read the next time; if they never can, the run ends for that
        // reason.
        let _ = self.tail.catch_up(&mut events);
        let mut new = WhatIsNew::default();
        for event in events {
            self.apply(event, &mut new);
        }
        new
    }

    fn apply(&mut self, event: Event, new: &mut WhatIsNew) {
        match event {
            Event::AttemptStarted {
                task,
                attempt,
                print,
                agent,
                ..
            } => {
                let of_task = self.open.entry(task).or_default();
                of_task.insert(attempt, MadeFrom { print, agent });
            }
            Event::Finished { task, attempt, .. }
            | Event::AttemptFailed { task, attempt, .. }
            | Event::Postponed { task, attempt, .. } => {
                self.open.remove(&task);
                new.over.push((task, attempt));
            }
            Event::Interrupted { task, attempt, .. } => new.over.push((task, attempt)),
            Event::Reset { task, .. }
            | Event::Skipped { task, .. }
            | Event::Reworked { task, .. }
            | Event::RolledBack { task, .. }
            | Event::MarkedDone { task } => drop(self.open.remove(&task)),
            Event::Spawned { task, process, .. } if process.host.is_none() => new.local.push(task),
            _ => {}
        }
    }

    /// The last attempt of a task, if nothing since `attempt` had an end.
    pub fn last_open(&self, task: &str, attempt: u32) -> Option<u32> {
        let of_task = self.open.get(task)?;
        of_task.get(&attempt)?;
        of_task.keys().next_back().copied()
    }

    /// Whether two attempts were made from the same row, instruction, findings and agent.
    pub fn same_input(&self, task: &str, earlier: u32, later: u32) -> bool {
        let Some(of_task) = self.open.get(task) else {
            return false;
        };
        of_task
            .get(&earlier)
            .is_some_and(|made_from| of_task.get(&later) == Some(made_from))
    }

    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn facts(events: &[Value]) -> (JournalFacts, WhatIsNew) {
        let mut facts = JournalFacts::new(PathBuf::new());
        let mut new = WhatIsNew::default();
        for event in events {
            facts.apply(serde_json::from_value(event.clone()).unwrap(), &mut new);
        }
        (facts, new)
    }

    fn started(attempt: u32, row: u64) -> Value {
        json!({"e": "attempt_started", "at": 0, "task": "A", "attempt": attempt,
               "print": {"row": row, "instruction": 1, "upstream": 1}, "agent": "codex"})
    }

    fn ended(kind: &str, attempt: u32) -> Value {
        json!({"e": kind, "at": 0, "task": "A", "attempt": attempt, "stop": "crashed",
               "error": "x", "retry_at": 0})
    }

    #[test]
    fn an_interrupted_attempt_is_continued_by_one_from_the_same_input() {
        let (facts, new) = facts(&[
            started(1, 7),
            ended("interrupted", 1),
            started(2, 7),
            started(3, 8),
        ]);
        assert_eq!(new.over, [("A".to_owned(), 1)]);
        assert_eq!(facts.last_open("A", 1), Some(3));
        assert!(facts.same_input("A", 1, 2));
        assert!(!facts.same_input("A", 1, 3), "its row was edited");
        assert!(!facts.same_input("A", 2, 4) && !facts.same_input("B", 1, 2));
    }

    #[test]
    fn an_attempt_that_had_an_end_is_not_continued() {
        let (facts, _) = facts(&[started(1, 7), ended("attempt_failed", 1), started(2, 7)]);
        assert!(!facts.same_input("A", 1, 2));
        assert_eq!(
            (facts.last_open("A", 1), facts.last_open("A", 2)),
            (None, Some(2))
        );
        let (reset, _) = self::facts(&[started(1, 7), json!({"e": "reset", "task": "A", "why": "x"})]);
        assert!(!reset.has_open());
    }
}
