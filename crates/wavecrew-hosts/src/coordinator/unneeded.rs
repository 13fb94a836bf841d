//! Decides what of the stream of results can be removed: what hosts sent about attempts that are over by the journal. One request
//! removes all of it up to the first message that may still be needed, so that many short attempts cost little.

use std::collections::HashMap;
use std::time::Duration;
use wavecrew_remote::lease::Moment;

/// Messages behind one that is needed for this long are removed by themselves.
const PATIENCE: Duration = Duration::from_secs(10);

/// An attempt of a task.
type Attempt = (String, u32);

/// What to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unneeded {
    /// All messages of the run up to this one.
    UpTo(u64),
    Subject(String),
    /// One message, which must not be carried out again.
    Message(u64),
}

#[derive(Debug)]
struct Open {
    subject: String,
    /// Its messages come after this one.
    after: u64,
}

#[derive(Debug)]
struct Over {
    subject: String,
    /// Its messages came before this one, or are late.
    last: u64,
    since: Moment,
}

/// The messages of a run, by what the journal says about their attempts.
#[derive(Debug, Default)]
pub(super) struct Needs {
    open: HashMap<Attempt, Vec<Open>>,
    over: Vec<Over>,
    /// The last message that was read.
    seen: u64,
    removed: u64,
}

impl Needs {
    pub fn saw(&mut self, sequence: u64) {
        self.seen = self.seen.max(sequence);
    }

    /// A turn is about to be offered; what its host says comes later than all that was seen.
    pub fn add(&mut self, attempt: Attempt, subject: String) {
        let after = self.seen;
        self.open
            .entry(attempt)
            .or_default()
            .push(Open { subject, after });
    }

    /// A turn of an earlier coordinator, about which anything may be there.
    pub fn add_earlier(&mut self, attempt: Attempt, subject: String) {
        self.open
            .entry(attempt)
            .or_default()
            .push(Open { subject, after: 0 });
    }

    /// The journal has the end of an attempt.
    pub fn over(&mut self, attempt: &Attempt, now: Moment) {
        for Open { subject, .. } in self.open.remove(attempt).unwrap_or_default() {
            self.over.push(Over {
                subject,
                last: self.seen,
                since: now,
            });
        }
    }

    /// What can be removed now. `others_need` says that somebody may ask for any message.
    pub fn take_unneeded(&mut self, now: Moment, others_need: bool) -> Vec<Unneeded> {
        let mut unneeded = Vec::new();
        let needed = self.open.values().flatten().map(|open| open.after).min();
        let up_to = if others_need {
            0
        } else {
            needed.unwrap_or(self.seen)
        };
        if !self.over.is_empty() && up_to > self.removed {
            self.removed = up_to;
            unneeded.push(Unneeded::UpTo(up_to));
            self.over.retain(|over| over.last > up_to);
        }
        self.over.retain(|over| {
            let waits = now.saturating_sub(over.since) < PATIENCE;
            if !waits {
                unneeded.push(Unneeded::Subject(over.subject.clone()));
            }
            waits
        });
        unneeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(task: &str) -> Attempt {
        (task.to_owned(), 1)
    }

    const EARLY: Moment = Duration::from_secs(1);
    const LATE: Moment = Duration::from_mins(1);

    #[test]
    fn messages_go_up_to_the_first_that_is_needed() {
        let mut needs = Needs::default();
        needs.add(attempt("A"), "a".to_owned());
        needs.add(attempt("B"), "b".to_owned());
        needs.saw(4);
        needs.add(attempt("C"), "c".to_owned());
        assert_eq!(needs.take_unneeded(EARLY, false), []);
        needs.saw(6);
        needs.over(&attempt("B"), EARLY);
        assert_eq!(
            needs.take_unneeded(EARLY, false),
            [],
            "messages of A may be there"
        );
        needs.over(&attempt("A"), EARLY);
        assert_eq!(needs.take_unneeded(EARLY, true), []);
        assert_eq!(needs.take_unneeded(EARLY, false), [Unneeded::UpTo(4)]);
        // B was over after a message that C may have sent.
        let mut rest = needs.take_unneeded(LATE, false);
        rest.sort_by_key(|unneeded| format!("{unneeded:?}"));
        let subject = |subject: &str| Unneeded::Subject(subject.to_owned());
        assert_eq!(rest, [subject("a"), subject("b")]);
        needs.over(&attempt("C"), LATE);
        assert_eq!(needs.take_unneeded(LATE, false), [Unneeded::UpTo(6)]);
        assert_eq!(needs.take_unneeded(LATE + LATE, false), []);
    }

    #[test]
    fn what_an_earlier_coordinator_left_stays_until_it_is_over() {
        let mut needs = Needs::default();
        needs.add_earlier(attempt("A"), "a".to_owned());
        needs.saw(9);
        needs.add(attempt("B"), "b".to_owned());
        needs.saw(11);
        needs.over(&attempt("B"), EARLY);
        assert_eq!(needs.take_unneeded(EARLY, false), []);
        needs.over(&attempt("A"), EARLY);
        assert_eq!(needs.take_unneeded(EARLY, false), [Unneeded::UpTo(11)]);
    }
}
