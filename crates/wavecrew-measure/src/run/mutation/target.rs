//! The lines of files in which mutants are made.

use std::fs;
use std::path::{Path, PathBuf};

use wavecrew_syntax::LineSet;

use crate::measurement::{Coverage, CoverageStatus, FileCoverage, Measurement};

/// Lines of a file that may be mutated. Choose those that tests cover: on others every mutant survives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutationTarget {
    /// Absolute.
    pub file: PathBuf,
    pub lines: LineSet,
    /// More mutants on some lines, besides those that the budget allows for the file.
    pub extra: Vec<ExtraMutants>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraMutants {
    pub lines: LineSet,
    /// At most this many mutants.
    pub most: usize,
}

impl MutationTarget {
    /// The files in scope with the lines that tests cover, or all their lines if coverage is unknown.
    pub fn covered(measurement: &Measurement, scope: &[PathBuf], root: &Path) -> Vec<Self> {
        let files = match &measurement.coverage {
            Coverage::Unknown => {
                let all = |file: &PathBuf| Self {
                    file: file.clone(),
                    lines: LineSet::All,
                    extra: Vec::new(),
                };
                return scope.iter().map(all).collect();
            }
            Coverage::Known { files } => files,
        };
        let ran = |file: &&FileCoverage| file.status == CoverageStatus::Measured && file.lines.covered > 0;
        let target = |file: &FileCoverage| {
            let path = root.join(&file.path);
            let lines = fs::read(&path).map_or(0, |bytes| bytes.split(|&b| b == b'\n').count());
            let lines = 1..=u32::try_from(lines).unwrap_or(u32::MAX);
            let missed = |line: &u32| file.uncovered.iter().any(|r| (r.first..=r.last).contains(line));
            Self {
                lines: lines.filter(|line| !missed(line)).collect(),
                file: path,
                extra: Vec::new(),
            }
        };
        files.iter().filter(ran).map(target).collect()
    }
}
