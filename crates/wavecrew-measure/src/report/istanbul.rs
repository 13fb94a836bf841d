//! `coverage-final.json` of istanbul, which jest and vitest (with either provider) write. A line counts by the statements
//! that begin on it, as istanbul's own summary has it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{HitsByFile, ReportError};
use crate::measurement::{Hits, Ratio};

#[derive(Deserialize)]
struct File {
    path: String,
    #[serde(rename = "statementMap")]
    statement_map: BTreeMap<String, Span>,
    s: BTreeMap<String, u64>,
    #[serde(default)]
    b: BTreeMap<String, Vec<u64>>,
}

#[derive(Deserialize)]
struct Span {
    start: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u32,
}

pub fn parse(report: &[u8]) -> Result<HitsByFile, ReportError> {
    let files: BTreeMap<String, File> =
        serde_json::from_slice(report).map_err(|e| ReportError::new("istanbul JSON", e))?;
    Ok(files
        .into_values()
        .map(|file| (file.path.clone(), hits(&file)))
        .collect())
}

fn hits(file: &File) -> Hits {
    let mut lines: BTreeMap<u32, u64> = BTreeMap::new();
    for (key, span) in &file.statement_map {
        let count = file.s.get(key).copied().unwrap_or(0);
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
