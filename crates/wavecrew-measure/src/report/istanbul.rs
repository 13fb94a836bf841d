//! `coverage-final.json` of istanbul, which jest and vitest (with either provider) write. A line counts by the statements
//! that begin on it, as istanbul's own summary has it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{HitsByFile, ReportError, json};
use crate::measurement::{Hits, Ratio};
use crate::run::PointKind;

#[derive(Deserialize)]
struct File {
    path: String,
    #[serde(rename = "statementMap")]
    statement_map: BTreeMap<String, Span>,
    /// Tools that subtract ranges from each other write -1 for what never ran.
    s: BTreeMap<String, i64>,
    #[serde(default)]
    b: BTreeMap<String, Vec<i64>>,
    #[serde(rename = "branchMap", default)]
    branch_map: BTreeMap<String, Branch>,
}

#[derive(Deserialize)]
struct Branch {
    loc: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u32,
    /// Not there for what the end of a line is.
    #[serde(default)]
    column: Option<f64>,
}

pub fn parse(report: &[u8]) -> Result<HitsByFile, ReportError> {
    let files: BTreeMap<String, File> =
        json::from_slice(report).map_err(|e| ReportError::new("istanbul JSON", e))?;
    Ok(files
        .into_values()
        .map(|file| (file.path.clone(), hits(&file)))
        .collect())
}

/// Path and line of all that ran: lines by their statements, and the ways of branches.
pub(crate) fn covered_points(report: &[u8]) -> Result<Vec<(String, u32, PointKind)>, ReportError> {
    let files: BTreeMap<String, File> =
        json::from_slice(report).map_err(|e| ReportError::new("istanbul JSON", e))?;
    let mut points = Vec::new();
    for file in files.into_values() {
        let lines = hits(&file).lines.into_iter().filter(|(_, count)| *count > 0);
        points.extend(lines.map(|(line, _)| (file.path.clone(), line, PointKind::Line)));
        for (key, Branch { loc }) in &file.branch_map {
            let ways = (0..).zip(file.b.get(key).into_iter().flatten());
            for (number, _) in ways.filter(|(_, count)| **count > 0) {
                #[expect(clippy::cast_possible_truncation, reason = "no line is that long")]
                let column = loc.start.column.unwrap_or(0.0) as i64;
                points.push((
                    file.path.clone(),
                    loc.start.line,
                    PointKind::Branch(column, number),
                ));
            }
        }
    }
    Ok(points)
}

fn hits(file: &File) -> Hits {
    let mut lines: BTreeMap<u32, u64> = BTreeMap::new();
    for (key, span) in &file.statement_map {
        let count = u64::try_from(file.s.get(key).copied().unwrap_or(0)).unwrap_or(0);
        let line = lines.entry(span.start.line).or_default();
        *line = (*line).max(count);
    }
    let paths = || file.b.values().flatten();
    Hits {
        lines,
        branches: Some(Ratio {
            covered: paths().filter(|&&count| count > 0).count() as u64,
            total: paths().count() as u64,
        }),
    }
}
