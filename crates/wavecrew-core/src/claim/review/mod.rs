//! A code review as a document: its verdict, its findings, and whether they fit each other. The caller, which
//! can read files, checks whether the places in findings exist.

mod entries;
mod review_text;
mod words;

use super::rules::{Problem, Rule};
use super::text::{
    Gap, admission, gap, is_english, names_a_place, particulars, particulars_without, quoted,
    words as words_of,
};
use crate::team::{ReviewRules, Severity};
use entries::Entry;
use review_text::ReviewText;

/// A review as it was parsed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// One of the known words.
    pub verdict: Option<String>,
    pub findings: Vec<ReviewFinding>,
}

/// Something that the review found, at a place of the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewFinding {
    pub file: String,
    pub line: u32,
    severity: String,
}

/// An example of a table of findings, for a reviewer who wrote none.
const TABLE: &str = "| file | line | severity | dimension | description | suggested fix |";
/// A reviewer repairs the first few and gets the rest the next time.
const MAX_PROBLEMS: usize = 8;

/// What is wrong with the text of a review; each problem goes on from the file's name.
pub(super) fn problems(text: &str, rules: &ReviewRules) -> Vec<Problem> {
    let read = read(text, rules);
    let mut problems = read.problems;
    let words: Vec<&str> = words(rules);
    match &read.review.verdict {
        None => problems.insert(
            0,
            Problem::new(
                Rule::Missing,
                format!(
                    "names no verdict below `Verdict`: it is one of {}",
                    words.join(", ")
                ),
            ),
        ),
        Some(verdict) if problems.is_empty() => {
            problems.extend(
                misfit(verdict, &read.review.findings, rules).map(|text| Problem::new(Rule::Disagrees, text)),
            );
        }
        Some(_) => {}
    }
    if problems.len() > MAX_PROBLEMS {
        let more = problems.len() - MAX_PROBLEMS;
        problems.truncate(MAX_PROBLEMS);
        problems.push(Problem::new(
            Rule::Malformed,
            format!("has {more} more such flaws"),
        ));
    }
    problems.extend(read.doubts);
    problems
}

/// The review in a text, as far as there is one.
pub fn read_review(text: &str, rules: &ReviewRules) -> Review {
    let headings = ["Verdict", "Findings"].map(str::to_owned);
    read(&super::normal::usual_form(text, &headings), rules).review
}

/// Why the verdict does not follow from the findings.
fn misfit(verdict: &str, findings: &[ReviewFinding], rules: &ReviewRules) -> Option<String> {
    let of = |severity: &Severity| findings.iter().filter(|f| f.severity == severity.name).count();
    let worst = rules.severities.iter().find(|severity| of(severity) > 0);
    let (allowed, why) = match worst {
        Some(worst) => (
            &worst.verdicts,
            format!(
                "{} of its findings {} `{}`",
                of(worst),
                if of(worst) == 1 { "is" } else { "are" },
                worst.name
            ),
        ),
        None => (&rules.clean, "it has no findings".to_owned()),
    };
    (!allowed.iter().any(|word| word == verdict)).then(|| {
        format!(
            "has the verdict {verdict}, but {why}: the verdict would be {}",
            allowed.join(" or ")
        )
    })
}

fn words(rules: &ReviewRules) -> Vec<&str> {
    let all = rules
        .severities
        .iter()
        .flat_map(|severity| &severity.verdicts)
        .chain(&rules.clean);
    let mut words: Vec<&str> = all.map(String::as_str).collect();
    words.sort_unstable();
    words.dedup();
    words
}

struct Read {
    review: Review,
    problems: Vec<Problem>,
    doubts: Vec<Problem>,
}

fn read(text: &str, rules: &ReviewRules) -> Read {
    let review = ReviewText::read(text);
    let known = words(rules);
    let named = words::verdicts(&review.verdict, &known);
    let mut read = Read {
        review: Review {
            verdict: named.first().map(|word| (*word).to_owned()),
            findings: Vec::new(),
        },
        problems: Vec::new(),
        doubts: Vec::new(),
    };
    if named.len() > 1 {
        read.doubts.push(Problem::new(
            Rule::Unclear,
            format!("names more than one verdict: {}", named.join(", ")),
        ));
    }
    if let Some(phrase) = admission(&review.verdict) {
        read.doubts.push(Problem::new(
            Rule::Admits,
            format!("states in its verdict {}", quoted(phrase)),
        ));
    }
    let entries = match review.entries(rules) {
        Ok(entries) => entries,
        Err(problem) => {
            let list = if problem.rule.refutes() {
                &mut read.problems
            } else {
                &mut read.doubts
            };
            list.push(problem);
            return read;
        }
    };
    for (number, entry) in (1..).zip(&entries) {
        match finding(entry, rules) {
            Ok(finding) => read.review.findings.push(finding),
            Err(flaws) => {
                let named = flaws
                    .into_iter()
                    .map(|flaw| format!("has a finding {number} {flaw}"));
                read.problems
                    .extend(named.map(|text| Problem::new(Rule::Malformed, text)));
            }
        }
    }
    read.doubts.extend(descriptions(&entries));
    if entries.is_empty() && is_praise(&review) {
        read.doubts.push(Problem::new(
            Rule::Vague,
            "has no findings, and names nothing that was read or run",
        ));
    }
    if entries.is_empty()
        && let Some(line) = words::alarm(&review.elsewhere)
    {
        read.doubts.push(Problem::new(
            Rule::Unclear,
            format!("has no findings, but states elsewhere: {}", quoted(line)),
        ));
    }
    read
}

const PRAISE: &str = " clean readable best great excellent thorough thoroughly highest carefully well perfect elegant \
solid outstanding impressive good quality ";

/// Words for the review itself.
const OF_REVIEWING: &str = " review reviewed reviewing carefully entire whole team tested standards assessed dimension \
dimensions security architecture correctness performance ";

/// Words of findings that fit every file.
const OF_EVERY_FILE: &str = " consider adding more comment comments variable variables name names ";

/// How many words of praise a review needs before they are all that it has.
const PRAISES: usize = 4;

/// Whether a review without findings says more than that, and only what can be said of every change.
fn is_praise(review: &ReviewText) -> bool {
    let text = format!("{}\n{}\n{}", review.verdict, review.text, review.elsewhere);
    let words = words_of(&text);
    let praise = words.iter().filter(|word| PRAISE.contains(&format!(" {word} ")));
    praise.count() >= PRAISES
        && is_english(&words)
        && !names_a_place(&text)
        && particulars_without(&text, OF_REVIEWING) < 2
}

/// Findings without a description, or all with the same one.
fn descriptions(entries: &[Entry]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut descriptions: Vec<String> = Vec::new();
    let mut of_every_file = 0;
    for (number, entry) in (1..).zip(entries) {
        let texts = entry
            .iter()
            .filter(|(name, _)| matches!(words::field(name), Some("what" | "fix")));
        let texts: Vec<&str> = texts.map(|(_, text)| text.as_str()).collect();
        let is_name = |text: &&&str| text.split_whitespace().count() < 3 && words::field(text).is_some();
        if let Some(text) = texts.iter().find(|text| gap(text) == Some(Gap::Placeholder)) {
            problems.push(Problem::new(
                Rule::Gaps,
                format!("has a placeholder in finding {number}: {}", quoted(text)),
            ));
        } else if texts.iter().any(|text| is_name(&text))
            || (texts.len() > 1 && particulars(&texts.join(" ")) == 0)
        {
            problems.push(Problem::new(
                Rule::Vague,
                format!(
                    "has a finding {number} that names nothing: {}",
                    quoted(&texts.join(", "))
                ),
            ));
        }
        of_every_file +=
            usize::from(texts.len() > 1 && particulars_without(&texts.join(" "), OF_EVERY_FILE) == 0);
        descriptions.push(texts.join(" "));
    }
    if problems.is_empty() && of_every_file == entries.len() && !entries.is_empty() {
        let shown = quoted(&descriptions.join("; "));
        problems.push(Problem::new(
            Rule::Vague,
            format!("has only findings that fit every file: {shown}"),
        ));
    }
    descriptions.retain(|text| !text.is_empty());
    let first = descriptions.first();
    if descriptions.len() > 1 && descriptions.iter().all(|text| Some(text) == first) {
        problems.push(Problem::new(
            Rule::Similar,
            format!("has the same text in all findings: {}", quoted(&descriptions[0])),
        ));
    }
    problems
}

fn finding(entry: &Entry, rules: &ReviewRules) -> Result<ReviewFinding, Vec<String>> {
    let value = |wanted: &str| {
        let found = entry.iter().find(|(name, _)| words::field(name) == Some(wanted));
        found.map_or("", |(_, value)| value.trim().trim_matches('`').trim())
    };
    let mut flaws = Vec::new();
    let mut one_of = |what: &str, known: Vec<&str>| {
        let stated = value(what);
        let word = words::known(stated, &known);
        if word.is_none() {
            let stated = super::quoted_path(stated);
            flaws.push(format!(
                "whose {what} is {stated}, but must be one of {}",
                known.join(", ")
            ));
        }
        word.map(str::to_owned)
    };
    let severities = rules.severities.iter().map(|severity| severity.name.as_str());
    let severity = one_of("severity", severities.collect());
    one_of("dimension", rules.dimensions.iter().map(String::as_str).collect());
    // `src/a.py:12` has both.
    let (file, line) = match (value("file"), value("line")) {
        (file, "") => file.rsplit_once(':').unwrap_or((file, "")),
        both => both,
    };
    if file.is_empty() {
        flaws.push("without a file".to_owned());
    }
    let digits = line.trim_start_matches(['L', 'l']);
    let digits = digits
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    // A finding may be about a file as a whole.
    let number = if line.trim_matches(['-', '–', '—']).is_empty() {
        Some(1)
    } else {
        digits.parse::<u32>().ok().filter(|number| *number > 0)
    };
    if number.is_none() {
        let line = super::quoted_path(line);
        flaws.push(format!("whose line is {line}, but must be a number from 1"));
    }
    if value("fix").is_empty() {
        flaws.push("without a suggested fix".to_owned());
    }
    match (severity, number) {
        (Some(severity), Some(line)) if flaws.is_empty() => Ok(ReviewFinding {
            file: file.to_owned(),
            line,
            severity,
        }),
        _ => Err(flaws),
    }
}

#[cfg(test)]
mod tests;
