//! Whether the places that a review names are there, and whether it was reported as it was written.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path};
use wavecrew_core::claim::{ClaimCheck, OwedPaths, ReviewFinding, quoted_path, read_review};
use wavecrew_core::team::Content;

/// Of a file, this much is looked at.
const MAX_BYTES: u64 = 64 << 20;

/// Where the files lie that a review may name.
pub(super) struct Places<'a> {
    pub project: &'a Path,
    pub session: &'a Path,
    /// What a file holds where the work lies beside the project's checkout.
    pub beside: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// Checks reviews that are complete as documents.
pub(super) fn check(
    places: &Places<'_>,
    debts: &OwedPaths<'_>,
    reported: &[(String, String)],
    findings: &mut ClaimCheck,
) {
    for debt in &debts.by_worker {
        let Content::Review(rules) = &debt.owed.content else {
            continue;
        };
        let name = debt.pattern.as_str();
        let Ok(text) = std::fs::read_to_string(places.session.join(name)) else {
            continue;
        };
        let review = read_review(&text, rules);
        let name = quoted_path(name);
        for (number, finding) in (1..).zip(&review.findings) {
            findings.count_check();
            if let Some(problem) = places.lack(finding) {
                findings.add_fixable(format!("{name} names {problem} in finding {number}"));
            }
        }
        let said = reported
            .iter()
            .find(|(column, _)| column.eq_ignore_ascii_case("verdict"));
        if let (Some((_, said)), Some(written)) = (said, &review.verdict)
            && !said.trim().eq_ignore_ascii_case(written)
        {
            findings.add_fixable(format!(
                "{name} says {written}, and {} was reported: they have to be the same",
                quoted_path(said)
            ));
        }
    }
}

impl Places<'_> {
    /// What is wrong with the place of a finding.
    fn lack(&self, finding: &ReviewFinding) -> Option<String> {
        let (file, line) = (&finding.file, finding.line);
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let below = Path::new(file).strip_prefix(self.project);
        let path = below.unwrap_or(Path::new(file));
        if !path.components().all(plain) {
            return Some(format!(
                "{}, which is no path from the project's root",
                quoted_path(file)
            ));
        }
        match self.lines(path) {
            None => Some(format!("{}, which is not there", quoted_path(file))),
            Some(lines) if u64::from(line) > lines => {
                Some(format!("line {line} of {}, which has {lines}", quoted_path(file)))
            }
            Some(_) => None,
        }
    }

    /// How many lines a file has; none where there is no file.
    fn lines(&self, path: &Path) -> Option<u64> {
        let plain = path.strip_prefix(".").unwrap_or(path);
        let beside = plain.to_str().and_then(self.beside);
        match beside {
            Some(bytes) => count(bytes.as_slice()),
            None => [self.project, self.session]
                .iter()
                .find_map(|folder| lines_in(&folder.join(path))),
        }
    }
}

fn lines_in(path: &Path) -> Option<u64> {
    // Nothing else has an end.
    let is_file = path.metadata().ok()?.is_file();
    count(is_file.then(|| File::open(path).ok())??.take(MAX_BYTES))
}

fn count(bytes: impl Read) -> Option<u64> {
    let mut reader = BufReader::new(bytes);
    let (mut lines, mut line) = (0, Vec::new());
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        lines += 1;
        line.clear();
    }
    // An empty file has a place, too.
    Some(lines.max(1))
}
