//! Documents that are compared with others: epics with the requirements, scores with the text that explains them, and
//! references to lines with the files of the project.

use super::Sources;
use std::path::Path;
use wavecrew_core::claim::{
    ClaimCheck, OwedPaths, Problem, Rule, coverage_problems, quoted_path, score_problems,
};
use wavecrew_core::id::TaskIx;
use wavecrew_core::plan::Plan;
use wavecrew_core::team::{Content, Team};

/// Within how many words a file belongs to the word `existing`.
const NEAR: usize = 6;

/// Checks documents that are complete by themselves.
pub(super) fn check(
    sources: &Sources<'_>,
    team: &Team,
    plan: &Plan,
    task: TaskIx,
    debts: &OwedPaths<'_>,
    reported: &[(String, String)],
    findings: &mut ClaimCheck,
) {
    let delivered = super::owed_files::delivered(sources.session, debts);
    for debt in &debts.by_worker {
        let name = debt.pattern.as_str();
        let text = |path: &str| std::fs::read_to_string(sources.session.join(path)).ok();
        let problems = match &debt.owed.content {
            Content::Epics { .. } => {
                let requirements = requirements_path(team).and_then(&text);
                requirements
                    .zip(text(name))
                    .map(|(requirements, epics)| coverage_problems(&requirements, &epics))
            }
            Content::Markdown { .. } => {
                text(name).map(|text| score_problems(team, plan, task, reported, &text))
            }
            Content::Requirements { .. }
            | Content::Review(_)
            | Content::Json { .. }
            | Content::Any
            | Content::TestFile => None,
        };
        for problem in problems.unwrap_or_default() {
            findings.add(&quoted_path(name), &problem);
        }
        for path in delivered.iter().filter(|path| debt.pattern.matches(path)) {
            // A file of the plan may be made by another of its tasks.
            let is_elsewhere = |file: &str| {
                let mut others = delivered.iter().filter(|other| *other != path);
                others.any(|other| text(other).is_some_and(|text| text.contains(file)))
            };
            let absent = text(path).and_then(|text| match &debt.owed.content {
                Content::Markdown { headings } if headings.is_empty() => None,
                Content::Markdown { .. } | Content::Requirements { .. } | Content::Epics { .. } => {
                    absent_line(sources, &text).or_else(|| absent_file(sources, &text, &is_elsewhere))
                }
                Content::Json { .. } => absent_file(sources, &text, &is_elsewhere),
                Content::Review(_) | Content::Any | Content::TestFile => None,
            });
            if let Some(problem) = absent {
                findings.add(&quoted_path(path), &problem);
            }
        }
    }
}

/// A place such as `app/store.py:12` that is neither in the project nor in the session. Files to come have no lines yet.
fn absent_line(sources: &Sources<'_>, text: &str) -> Option<Problem> {
    let place = |word: &str| -> Option<(String, u64)> {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '.'));
        let (file, line) = word.trim_end_matches(['.', ':']).rsplit_once(':')?;
        let line = line.split('-').next()?.parse().ok()?;
        let (stem, ending) = file.rsplit_once('.')?;
        let is_file = stem.contains('/')
            && !stem.contains("//")
            && (1..=4).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric());
        is_file.then(|| (file.to_owned(), line))
    };
    let mut places = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '|' | '`'))
        .filter_map(place);
    let (file, line) = places.find(|(file, line)| {
        let lines = sources.lines(Path::new(file.trim_start_matches('/')));
        lines.is_none_or(|lines| *line > lines)
    })?;
    Some(Problem::new(
        Rule::Absent,
        format!(
            "refers to line {line} of {}, which does not exist",
            quoted_path(&file)
        ),
    ))
}

/// A file that a text calls existing, as in `the existing class A in src/a.py`, and that is not there. Files that other
/// parts of the work name do not count: these may add them.
fn absent_file(sources: &Sources<'_>, text: &str, is_elsewhere: &dyn Fn(&str) -> bool) -> Option<Problem> {
    const MAKING: [&str; 9] = [
        "add", "create", "new", "write", "make", "and", "or", "with", "into",
    ];
    let is_path = |word: &str| {
        let (stem, ending) = word.rsplit_once('.').unwrap_or_default();
        stem.contains('/')
            && !stem.contains("//")
            && (1..=4).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |word: &'_ str| -> String {
        let kept = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_');
        word.trim_matches(|c| !kept(c)).to_owned()
    };
    let file = (0..words.len())
        .filter(|&at| bare(words[at]).eq_ignore_ascii_case("existing"))
        .find_map(|at| {
            let near = &words[at + 1..(at + NEAR).min(words.len())];
            let place = near.iter().position(|word| is_path(&bare(word)))?;
            let between = &near[..place];
            let goes_on = between.iter().all(|word| {
                !word.ends_with([',', ';', '.', ':']) && !MAKING.contains(&word.to_lowercase().as_str())
            });
            let file = bare(near[place]);
            // Once in the sentence, and once in the list of files of the same task.
            let is_added = text.matches(file.as_str()).count() > 2 || is_elsewhere(&file);
            let is_there = sources.lines(Path::new(file.trim_start_matches('/'))).is_some();
            (goes_on && !is_added && !is_there).then_some(file)
        })?;
    let file = quoted_path(&file);
    let text = format!("says that {file} exists, but it does not");
    Some(Problem::new(Rule::Absent, text))
}

/// Where the requirements of the team lie.
fn requirements_path(team: &Team) -> Option<&str> {
    let owed = team.roles.iter().flat_map(|role| &role.owes);
    let of_requirements = |content: &Content| matches!(content, Content::Requirements { .. });
    owed.into_iter()
        .find(|owed| of_requirements(&owed.content))
        .map(|owed| owed.path.as_str())
}
