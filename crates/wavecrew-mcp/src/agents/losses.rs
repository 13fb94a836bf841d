//! How often a guardian that is lost is started again: soon at first, then later, and not for ever. One that had been
//! there for a while is lost by some accident; those that never live long are not worth another try.

use std::time::Duration;

/// Whoever was there this long was well.
const STEADY: Duration = Duration::from_mins(1);
/// Losses in a row after which there is no other try.
const MOST: u32 = 6;
/// Before the first try; each further one waits twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// Guardians that were lost in a row.
#[derive(Debug, Default)]
pub(super) struct Losses {
    in_a_row: u32,
}

/// What is to be done about a loss.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    TryAfter(Duration),
    GiveUp { losses: u32 },
}

impl Losses {
    /// Another one is gone, this long after it was started.
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
    fn tries_wait_longer_and_end_unless_one_was_well_between() {
        let told = |lives: &[u64]| -> Vec<Option<u128>> {
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
        assert_eq!(told(&[0, 0, 59, 0, 0, 0]), at_once);
        assert_eq!(told(&[0, 0, 0, 60, 0]), [50, 100, 200, 50, 100].map(Some));
        assert_eq!(told(&[3600; 20]), [Some(50); 20]);
    }
}
