//! Cobertura XML, as coverage.py, gcovr, coverlet and others write it.

use std::collections::BTreeMap;

use super::xml::{self, Node};
use super::{HitsByFile, ReportError};
use crate::measurement::Ratio;

const FORMAT: &str = "Cobertura XML";

pub fn parse(report: &[u8]) -> Result<HitsByFile, ReportError> {
    let mut files = HitsByFile::new();
    let mut branches: BTreeMap<(String, u32), Ratio> = BTreeMap::new();
    let mut sources: Vec<String> = Vec::new();
    let mut class: Option<String> = None;
    let (mut in_source, mut is_coverage) = (false, false);
    xml::walk(report, |node| match node {
        Node::Open { name, attributes } => match name.as_str() {
            "coverage" => is_coverage = true,
            "source" => {
                in_source = true;
                sources.push(String::new());
            }
            "class" => {
                class = attributes.get("filename").cloned();
                if let Some(file) = &class {
                    files.entry(file.clone()).or_default();
                }
            }
            "line" => {
                let number = attributes.get("number").and_then(|n| n.parse::<u32>().ok());
                if let (Some(file), Some(number)) = (&class, number) {
                    let count = attributes
                        .get("hits")
                        .and_then(|n| n.parse::<u64>().ok())
                        .unwrap_or(0);
                    let hits = files.get_mut(file).expect("`class` made the entry");
                    // A line stands under its method and under its class: the same line, not another one.
                    let line = hits.lines.entry(number).or_default();
                    *line = (*line).max(count);
                    if let Some(ratio) = attributes
                        .get("condition-coverage")
                        .and_then(|text| conditions(text))
                    {
                        branches.insert((file.clone(), number), ratio);
                    }
                }
            }
            _ => {}
        },
        Node::Text(text) => {
            if let (true, Some(source)) = (in_source, sources.last_mut()) {
                source.push_str(text.trim());
            }
        }
        Node::Close { name } => match name.as_str() {
            "source" => in_source = false,
            "class" => class = None,
            _ => {}
        },
    })
    .map_err(|e| ReportError::new(FORMAT, e))?;
    if !is_coverage {
        return Err(ReportError::new(FORMAT, "it has no `coverage` element"));
    }
    for ((file, _), ratio) in branches {
        let hits = files.get_mut(&file).expect("`class` made the entry");
        hits.branches = Some(hits.branches.unwrap_or_default() + ratio);
    }
    Ok(below_sources(files, &sources))
}

/// `50% (1/2)`
fn conditions(text: &str) -> Option<Ratio> {
    let (covered, total) = text.split_once('(')?.1.strip_suffix(')')?.split_once('/')?;
    Some(Ratio {
        covered: covered.parse().ok()?,
        total: total.parse().ok()?,
    })
}

/// File names are relative to a source folder. With one there is no doubt which; with several the name stays, and the
/// caller matches it by its end.
fn below_sources(files: HitsByFile, sources: &[String]) -> HitsByFile {
    match sources {
        [one] if !one.is_empty() => files
            .into_iter()
            .map(|(name, hits)| {
                let name = if name.starts_with('/') {
                    name
                } else {
                    format!("{}/{name}", one.trim_end_matches('/'))
                };
                (name, hits)
            })
            .collect(),
        _ => files,
    }
}
