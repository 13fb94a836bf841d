//! The JSON report of coverage.py.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{HitsByFile, ReportError, json};
use crate::measurement::{Hits, Ratio};

#[derive(Deserialize)]
struct Report {
    files: BTreeMap<String, File>,
}

#[derive(Deserialize)]
struct File {
    executed_lines: Vec<u32>,
    missing_lines: Vec<u32>,
    summary: Summary,
}

#[derive(Deserialize)]
struct Summary {
    num_branches: Option<u64>,
    covered_branches: Option<u64>,
}

pub fn parse(report: &[u8]) -> Result<HitsByFile, ReportError> {
    let report: Report = json::from_slice(report).map_err(|e| ReportError::new("coverage.py JSON", e))?;
    let hits = |file: File| Hits {
        lines: file
            .executed_lines
            .into_iter()
            .map(|line| (line, 1))
            .chain(file.missing_lines.into_iter().map(|line| (line, 0)))
            .collect(),
        branches: file
            .summary
            .num_branches
            .zip(file.summary.covered_branches)
            .map(|(total, covered)| Ratio { covered, total }),
    };
    Ok(report
        .files
        .into_iter()
        .map(|(path, file)| (path, hits(file)))
        .collect())
}
