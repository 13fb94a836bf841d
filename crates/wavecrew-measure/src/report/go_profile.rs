//! Go's cover profile: blocks with a count. Go counts statements; here a line counts, covered when a block that holds it
//! ran, as in the tool's own line view.

use super::{HitsByFile, ReportError};

const FORMAT: &str = "go cover profile";

pub fn parse(report: &[u8]) -> Result<HitsByFile, ReportError> {
    let text = String::from_utf8_lossy(report);
    let mut lines = text.lines();
    if !lines.next().is_some_and(|line| line.starts_with("mode:")) {
        return Err(ReportError::new(FORMAT, "it does not begin with its mode"));
    }
    let mut files = HitsByFile::new();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with("mode:")) {
        let (path, first, last, count) =
            block(line).ok_or_else(|| ReportError::new(FORMAT, format!("`{line}`")))?;
        let hits = files.entry(path.to_owned()).or_default();
        for number in first..=last {
            let line = hits.lines.entry(number).or_default();
            *line = (*line).max(count);
        }
    }
    Ok(files)
}

/// `example.com/m/a.go:3.24,5.2 1 7`
fn block(line: &str) -> Option<(&str, u32, u32, u64)> {
    let (path, rest) = line.rsplit_once(':')?;
    let mut words = rest.split(' ');
    let (from, to) = words.next()?.split_once(',')?;
    let _statements = words.next()?;
    let count = words.next()?.parse().ok()?;
    let number = |position: &str| position.split('.').next()?.parse::<u32>().ok();
    Some((path, number(from)?, number(to)?, count))
}
