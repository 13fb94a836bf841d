//! Whether a suite detects faults: the share of mutants that its tests kill, compared with the share that the
//! session requires.

use crate::result::RunResult;

/// With fewer mutants, a single survivor may be a mutant without an effect.
const ENOUGH_MUTANTS: u64 = 4;

#[derive(Debug, PartialEq, Eq)]
pub enum Effectiveness {
    Enough,
    /// Too few mutants are killed: the tests run the code and assert little about it.
    Weak {
        killed: u64,
        total: u64,
    },
    Unknown {
        reason: String,
    },
}

impl Effectiveness {
    pub fn of(result: &RunResult, min_percent: u8) -> Self {
        if min_percent == 0 || result.delivered.tests == 0 {
            return Self::Enough;
        }
        if result.kept.tests == 0 {
            let reason = "no test was kept".to_owned();
            return Self::Unknown { reason };
        }
        let figures = result.mutation.as_ref().map_or((0, 0), |m| (m.killed, m.total));
        Self::of_figures(figures, min_percent)
    }

    fn of_figures((killed, total): (u64, u64), min_percent: u8) -> Self {
        if total == 0 {
            let reason = "no mutant was tried".to_owned();
            return Self::Unknown { reason };
        }
        if killed == total {
            return Self::Enough;
        }
        if total < ENOUGH_MUTANTS {
            let reason = format!("{killed} of only {total} mutants killed");
            return Self::Unknown { reason };
        }
        if killed * 100 >= u64::from(min_percent) * total {
            Self::Enough
        } else {
            Self::Weak { killed, total }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_judged_by_the_mutants_that_it_kills() {
        let unknown = |reason: &str| Effectiveness::Unknown {
            reason: reason.to_owned(),
        };
        for (figures, expected) in [
            ((0, 0), unknown("no mutant was tried")),
            ((0, 1), unknown("0 of only 1 mutants killed")),
            ((1, 1), Effectiveness::Enough),
            ((2, 3), unknown("2 of only 3 mutants killed")),
            ((2, 12), Effectiveness::Weak { killed: 2, total: 12 }),
            ((7, 12), Effectiveness::Weak { killed: 7, total: 12 }),
            ((3, 5), Effectiveness::Enough),
            ((12, 12), Effectiveness::Enough),
        ] {
            assert_eq!(Effectiveness::of_figures(figures, 60), expected, "{figures:?}");
        }
    }
}
