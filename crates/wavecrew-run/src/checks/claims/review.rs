//! Checks reviews: the places that they name exist, and the reported verdict is the written one.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path};
use wavecrew_core::claim::{ClaimCheck, OwedPaths, Problem, ReviewFinding, Rule, quoted_path, read_review};
use wavecrew_core::team::Content;

/// Bytes that are read of a file.
const MAX_BYTES: u64 = 64 << 20;

/// Where the files are that a claim may name.
pub struct Sources<'a> {
    pub project: &'a Path,
    pub session: &'a Path,
    /// Reads a file of merged work that is not in the checkout.
    pub beside: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// Checks reviews that are complete as documents.
pub(super) fn check(
    sources: &Sources<'_>,
    owed_paths: &OwedPaths<'_>,
    reported: &[(String, String)],
    findings: &mut ClaimCheck,
) {
    for owed in &owed_paths.by_worker {
        let Content::Review(rules) = &owed.owed.content else {
            continue;
        };
        let name = owed.pattern.as_str();
        let Ok(text) = std::fs::read_to_string(sources.session.join(name)) else {
            continue;
        };
        let review = read_review(&text, rules);
        let name = quoted_path(name);
        for (number, finding) in (1..).zip(&review.findings) {
            findings.count_check();
            if let Some(problem) = sources.place_problem(finding) {
                findings.add_fixable(format!("{name} names {problem} in finding {number}"));
            }
        }
        if let Some(problem) = sources.nothing_read(&text).filter(|_| review.findings.is_empty()) {
            findings.add(&name, &problem);
        }
        let claimed = reported
            .iter()
            .find(|(column, _)| column.eq_ignore_ascii_case("verdict"));
        if let (Some((_, claimed)), Some(written)) = (claimed, &review.verdict)
            && !claimed.trim().eq_ignore_ascii_case(written)
        {
            findings.add_fixable(format!(
                "{name} says {written}, but {} was reported: they must be the same",
                quoted_path(claimed)
            ));
        }
    }
}

impl Sources<'_> {
    /// What is wrong with the place of a finding.
    fn place_problem(&self, finding: &ReviewFinding) -> Option<String> {
        let (file, line) = (&finding.file, finding.line);
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let below = Path::new(file).strip_prefix(self.project);
        let path = below.unwrap_or(Path::new(file));
        if !path.components().all(plain) {
            return Some(format!(
                "{}, which is not a path in the project",
                quoted_path(file)
            ));
        }
        match self.lines(path) {
            None => Some(format!("{}, which does not exist", quoted_path(file))),
            Some(lines) if u64::from(line) > lines => {
                Some(format!("line {line} of {}, which has {lines}", quoted_path(file)))
            }
            Some(_) => None,
        }
    }

    /// The files that a text names, if none of them exists.
    fn nothing_read(&self, text: &str) -> Option<Problem> {
        let kept = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_');
        let is_path = |word: &&str| {
            let (stem, ending) = word.rsplit_once('.').unwrap_or_default();
            stem.contains('/')
                && !stem.contains("//")
                && (1..=4).contains(&ending.len())
                && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let named: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || ",;:()`".contains(c))
            .map(|word| word.trim_matches(|c| !kept(c)))
            .filter(is_path)
            .collect();
        let first = named.first()?;
        let is_there = |name: &&str| self.lines(Path::new(name.trim_start_matches('/'))).is_some();
        (!named.iter().any(is_there)).then(|| {
            let text = format!(
                "names only files that do not exist, such as {}",
                quoted_path(first)
            );
            Problem::new(Rule::Absent, text)
        })
    }

    /// The number of lines of a file; `None` if it does not exist.
    pub(super) fn lines(&self, path: &Path) -> Option<u64> {
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
    // A pipe or a device may have no end.
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
    // An empty file has a first line, too.
    Some(lines.max(1))
}
