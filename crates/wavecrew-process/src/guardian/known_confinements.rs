//! The confinements whose rules the guardian already has, so that they are not sent again.

use std::collections::VecDeque;
use std::sync::Arc;

use super::KEPT_CONFINEMENTS;
use super::wire::NumberedConfinement;
use crate::sandbox::Confinement;

#[derive(Debug, Default)]
pub struct KnownConfinements {
    /// The last number. A number is never reused.
    last: u64,
    /// The most recently used is last, as in the guardian.
    known: VecDeque<(u64, Arc<Confinement>)>,
}

impl KnownConfinements {
    /// What to send for a program with this confinement.
    pub fn number(&mut self, confinement: &Arc<Confinement>) -> NumberedConfinement {
        let same = |(_, known): &(u64, Arc<Confinement>)| Arc::ptr_eq(known, confinement);
        let equal = |(_, known): &(u64, Arc<Confinement>)| **known == **confinement;
        let found = self.known.iter().position(same);
        let found = found.or_else(|| self.known.iter().position(equal));
        let known = found.and_then(|at| self.known.remove(at));
        let rules = known.is_none().then(|| (**confinement).clone());
        let entry = known.unwrap_or_else(|| {
            self.last += 1;
            (self.last, Arc::clone(confinement))
        });
        let number = entry.0;
        self.known.push_back(entry);
        if self.known.len() > KEPT_CONFINEMENTS {
            self.known.pop_front();
        }
        NumberedConfinement { number, rules }
    }

    /// Sends all rules again from now on.
    pub fn forget(&mut self) {
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confinement(name: usize) -> Arc<Confinement> {
        Arc::new(Confinement {
            write: vec![format!("/{name}").into()],
            ..Confinement::default()
        })
    }

    #[test]
    fn rules_travel_once_while_the_guardian_keeps_them() {
        let mut known = KnownConfinements::default();
        let first = known.number(&confinement(1));
        assert_eq!((first.number, first.rules.is_some()), (1, true));
        let again = known.number(&confinement(1));
        assert_eq!((again.number, again.rules), (1, None));
        for other in 2..=KEPT_CONFINEMENTS + 1 {
            assert!(known.number(&confinement(other)).rules.is_some());
        }
        // The oldest was dropped, and gets a new number.
        let returned = known.number(&confinement(1));
        assert_eq!(returned.number, KEPT_CONFINEMENTS as u64 + 2);
        assert!(returned.rules.is_some());
        known.forget();
        assert!(known.number(&confinement(1)).rules.is_some());
    }
}
