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
        let is_specification = match &debt.owed.content {
            Content::Markdown { headings } => !headings.is_empty(),
            Content::Requirements { .. } | Content::Epics { .. } => true,
            Content::Review(_) | Content::Json { .. } | Content::Any | Content::TestFile => false,
        };
        let absent = text(name)
            .filter(|_| is_specification)
            .and_then(|text| absent_line(sources, &text));
        for problem in problems.unwrap_or_default().into_iter().chain(absent) {
            findings.add(&quoted_path(name), &problem);
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

/// Where the requirements of the team lie.
fn requirements_path(team: &Team) -> Option<&str> {
    let owed = team.roles.iter().flat_map(|role| &role.owes);
    let of_requirements = |content: &Content| matches!(content, Content::Requirements { .. });
    owed.into_iter()
        .find(|owed| of_requirements(&owed.content))
        .map(|owed| owed.path.as_str())
}
