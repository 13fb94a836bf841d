//! LCOV trace files, read by hand: coverage.py writes words where others write branch numbers.

use std::collections::BTreeMap;

use super::{HitsByFile, ReportError};
use crate::measurement::Ratio;

const FORMAT: &str = "LCOV";

pub fn parse(report: &[u8]) -> Result<HitsByFile, ReportError> {
    let text = String::from_utf8_lossy(report);
    let mut files = HitsByFile::new();
    // Branches by name: the same file may come once per test name, and then its counts add up.
    let mut branches: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut current: Option<String> = None;
    for (at, line) in text.lines().enumerate() {
        let bad = || ReportError::new(FORMAT, format!("line {}: `{line}`", at + 1));
        let (tag, value) = line.split_once(':').unwrap_or((line, ""));
        match (tag.trim_start_matches('\u{feff}'), &current) {
            ("SF", _) => {
                files.entry(value.to_owned()).or_default();
                current = Some(value.to_owned());
            }
            ("DA", Some(path)) => {
                let mut fields = value.split(',');
                let number = fields
                    .next()
                    .and_then(|n| n.trim().parse::<u32>().ok())
                    .ok_or_else(bad)?;
                let count = fields.next().and_then(count).ok_or_else(bad)?;
                let hits = files.get_mut(path).expect("`SF` made the entry");
                *hits.lines.entry(number).or_default() += count;
            }
            ("BRDA", Some(path)) => {
                let (branch, taken) = value.rsplit_once(',').ok_or_else(bad)?;
                // `-`: the line itself was never reached.
                let taken = if taken == "-" {
                    0
                } else {
                    count(taken).ok_or_else(bad)?
                };
                *branches.entry((path.clone(), branch.to_owned())).or_default() += taken;
            }
            ("DA" | "BRDA", None) => return Err(bad()),
            ("end_of_record", _) => current = None,
            _ => {}
        }
    }
    if files.is_empty() && !text.trim().is_empty() {
        return Err(ReportError::new(FORMAT, "it names no source file"));
    }
    for ((path, _), taken) in branches {
        let hits = files.get_mut(&path).expect("`SF` made the entry");
        let ratio = hits.branches.get_or_insert_with(Ratio::default);
        ratio.total += 1;
        ratio.covered += u64::from(taken > 0);
    }
    Ok(files)
}

/// Some writers give negative or fractional counts.
fn count(text: &str) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "only zero or not matters"
    )]
    text.trim()
        .parse::<u64>()
        .ok()
        .or_else(|| text.trim().parse::<f64>().ok().map(|n| n.max(0.0).ceil() as u64))
}
