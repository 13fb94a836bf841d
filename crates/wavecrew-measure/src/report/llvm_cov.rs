//! The JSON of `llvm-cov export`, which `cargo llvm-cov --json` writes. Lines follow from the segments of a file, by
//! llvm's own rule.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{HitsByFile, ReportError, json};
use crate::measurement::{Hits, Ratio};

#[derive(Deserialize)]
struct Report {
    data: Vec<Data>,
}

#[derive(Deserialize)]
struct Data {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    segments: Vec<Segment>,
    #[serde(default)]
    summary: Option<Summary>,
}

#[derive(Deserialize)]
struct Summary {
    branches: Option<Counted>,
}

#[derive(Deserialize)]
struct Counted {
    count: u64,
    covered: u64,
}

/// line, column, count, has a count, begins a region, is a gap; older versions leave the last one out
#[derive(Deserialize, Clone, Copy)]
struct Segment(
    u32,
    serde::de::IgnoredAny,
    u64,
    bool,
    bool,
    #[serde(default)] bool,
);

impl Segment {
    fn starts_code(self) -> bool {
        self.3 && self.4 && !self.5
    }
}

pub fn parse(report: &[u8]) -> Result<HitsByFile, ReportError> {
    let report: Report = json::from_slice(report).map_err(|e| ReportError::new("llvm-cov JSON", e))?;
    let files = report.data.into_iter().flat_map(|data| data.files);
    Ok(files.map(|file| (file.filename.clone(), hits(&file))).collect())
}

fn hits(file: &File) -> Hits {
    let mut by_line: BTreeMap<u32, Vec<Segment>> = BTreeMap::new();
    for &segment in &file.segments {
        by_line.entry(segment.0).or_default().push(segment);
    }
    let mut lines = BTreeMap::new();
    let mut wrapped: Option<Segment> = None;
    let last = by_line.keys().next_back().copied().unwrap_or(0);
    let first = by_line.keys().next().copied().unwrap_or(1);
    for line in first..=last {
        let here = by_line.get(&line).map_or(&[][..], Vec::as_slice);
        let starts = here.iter().filter(|s| s.starts_code()).count();
        let begins_skipped = here.first().is_some_and(|s| !s.3 && s.4);
        let inside = wrapped.filter(|s| s.3);
        if !begins_skipped && (inside.is_some() || starts > 0) {
            let own = here
                .iter()
                .filter(|s| s.starts_code())
                .map(|s| s.2)
                .max()
                .unwrap_or(0);
            lines.insert(line, own.max(inside.map_or(0, |s| s.2)));
        }
        wrapped = here.last().copied().or(wrapped);
    }
    let branches = file
        .summary
        .as_ref()
        .and_then(|s| s.branches.as_ref())
        .filter(|b| b.count > 0);
    Hits {
        lines,
        branches: branches.map(|b| Ratio {
            covered: b.covered,
            total: b.count,
        }),
    }
}
