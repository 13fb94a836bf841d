//! Decides whether to start a lost guardian again: soon at first, then later, and after several losses in a row not at all.

use std::time::Duration;

/// A guardian that ran this long ends the row.
const STEADY: Duration = Duration::from_mins(1);
/// After this many losses in a row there is no further try.
const MOST: u32 = 6;
/// The wait before the first try; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// Guardians that were lost in a row.
#[derive(Debug, Default)]
pub(super) struct Losses {
    in_a_row: u32,
}

/// What to do after a loss.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    TryAfter(Duration),
    GiveUp { losses: u32 },
}

impl Losses {
    /// A guardian is lost that ran for this time.
    pub fn add(&mut self, lived: Duration) -> Next {
        if lived >= STEADY {
            self.in_a_row = 0;
        }
        self.in_a_row += 1;
        if self.in_a_row >= MOST {
            return Next::GiveUp {
                losses: self.in_a_row,
            };
        }
        Next::TryAfter(FIRST_WAIT * 2u32.pow(self.in_a_row - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_tries_end_unless_a_guardian_ran_for_long() {
        let waits = |lives: &[u64]| -> Vec<Option<u128>> {
            let mut losses = Losses::default();
            let next = |lived: &u64| match losses.add(Duration::from_secs(*lived)) {
                Next::TryAfter(wait) => Some(wait.as_millis()),
                Next::GiveUp { losses } => {
                    assert_eq!(losses, MOST);
                    None
                }
            };
            lives.iter().map(next).collect()
        };
        let at_once = [Some(50), Some(100), Some(200), Some(400), Some(800), None];
        assert_eq!(waits(&[0, 0, 59, 0, 0, 0]), at_once);
        assert_eq!(waits(&[0, 0, 0, 60, 0]), [50, 100, 200, 50, 100].map(Some));
        assert_eq!(waits(&[3600; 20]), [Some(50); 20]);
    }
}
