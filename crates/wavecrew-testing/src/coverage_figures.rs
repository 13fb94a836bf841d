//! Figures as the table shows them, and the combined coverage of several runs.

use std::collections::BTreeSet;

use wavecrew_measure::{CoverageStatus, FileCoverage, LineRange, Ratio};

/// Two decimals, rounded down: 1.00 means all.
pub fn rate(ratio: Ratio) -> String {
    decimals(ratio, 1)
}

/// Percent with two decimals, rounded down: 100.00 means all.
pub fn percent(ratio: Ratio) -> String {
    decimals(ratio, 100)
}

fn decimals(ratio: Ratio, scale: u128) -> String {
    let hundredths = if ratio.total == 0 {
        100 * scale
    } else {
        u128::from(ratio.covered) * 100 * scale / u128::from(ratio.total)
    };
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// The covered lines of a set of files, except files that the project excludes.
pub fn lines<'a>(files: impl IntoIterator<Item = &'a FileCoverage>) -> Ratio {
    files
        .into_iter()
        .filter(|file| file.status != CoverageStatus::Excluded)
        .fold(Ratio::default(), |sum, file| sum + file.lines)
}

/// The combined coverage of two runs, by file. A file that only one run has stays as it is.
pub fn merge_coverage(a: &[FileCoverage], b: &[FileCoverage]) -> Vec<FileCoverage> {
    let mut all: Vec<FileCoverage> = a.to_vec();
    for other in b {
        match all.iter_mut().find(|file| file.path == other.path) {
            Some(file) => join(file, other),
            None => all.push(other.clone()),
        }
    }
    all
}

fn join(file: &mut FileCoverage, other: &FileCoverage) {
    // A count of the tool is preferred to an estimate.
    if file.status != CoverageStatus::Measured || other.status != CoverageStatus::Measured {
        if other.status == CoverageStatus::Measured {
            *file = other.clone();
        }
        return;
    }
    let elsewhere: BTreeSet<u32> = other.missed.iter().copied().collect();
    let covered: BTreeSet<u32> = file
        .missed
        .iter()
        .copied()
        .filter(|line| !elsewhere.contains(line))
        .collect();
    if covered.is_empty() {
        return;
    }
    file.missed.retain(|line| elsewhere.contains(line));
    file.lines.covered = file.lines.total - file.missed.len() as u64;
    // Which branches were taken is not known line by line.
    file.branches = None;
    let ranges = std::mem::take(&mut file.uncovered);
    for range in ranges {
        let mut open: Option<LineRange> = None;
        for &line in &file.missed {
            if line < range.first || line > range.last {
                continue;
            }
            match &mut open {
                Some(run) if !covered.range(run.last..line).any(|_| true) => run.last = line,
                _ => {
                    file.uncovered.extend(open.take());
                    open = Some(LineRange {
                        first: line,
                        last: line,
                    });
                }
            }
        }
        file.uncovered.extend(open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(total: u64, missed: &[u32]) -> FileCoverage {
        let ends = missed.first().zip(missed.last());
        FileCoverage {
            path: "a.py".to_owned(),
            status: CoverageStatus::Measured,
            lines: Ratio {
                covered: total - missed.len() as u64,
                total,
            },
            branches: None,
            uncovered: ends
                .map(|(&first, &last)| LineRange { first, last })
                .into_iter()
                .collect(),
            missed: missed.to_vec(),
        }
    }

    #[test]
    fn figures_are_rounded_down() {
        assert_eq!(rate(Ratio { covered: 2, total: 3 }), "0.66");
        assert_eq!(
            rate(Ratio {
                covered: 999,
                total: 1000
            }),
            "0.99"
        );
        assert_eq!(rate(Ratio { covered: 3, total: 3 }), "1.00");
        assert_eq!(
            percent(Ratio {
                covered: 16,
                total: 19
            }),
            "84.21"
        );
        assert_eq!(percent(Ratio { covered: 0, total: 0 }), "100.00");
    }

    #[test]
    fn what_two_runs_miss_is_what_both_miss() {
        let both = merge_coverage(&[file(10, &[3, 4, 5, 8])], &[file(10, &[2, 3, 5, 8, 9])]);
        assert_eq!(both[0].missed, [3, 5, 8]);
        assert_eq!(
            both[0].lines,
            Ratio {
                covered: 7,
                total: 10
            }
        );
        let ranges: Vec<String> = both[0].uncovered.iter().map(ToString::to_string).collect();
        assert_eq!(ranges, ["3", "5-8"]);
    }
}
