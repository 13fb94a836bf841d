//! Documents that are compared with others: epics with the requirements, scores with the text that explains them.

use std::path::Path;
use wavecrew_core::claim::{ClaimCheck, OwedPaths, coverage_problems, quoted_path, score_problems};
use wavecrew_core::id::TaskIx;
use wavecrew_core::plan::Plan;
use wavecrew_core::team::{Content, Team};

/// Checks documents that are complete by themselves.
pub(super) fn check(
    session_dir: &Path,
    team: &Team,
    plan: &Plan,
    task: TaskIx,
    debts: &OwedPaths<'_>,
    reported: &[(String, String)],
    findings: &mut ClaimCheck,
) {
    for debt in &debts.by_worker {
        let name = debt.pattern.as_str();
        let text = |path: &str| std::fs::read_to_string(session_dir.join(path)).ok();
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
    }
}

/// Where the requirements of the team lie.
fn requirements_path(team: &Team) -> Option<&str> {
    let owed = team.roles.iter().flat_map(|role| &role.owes);
    let of_requirements = |content: &Content| matches!(content, Content::Requirements { .. });
    owed.into_iter()
        .find(|owed| of_requirements(&owed.content))
        .map(|owed| owed.path.as_str())
}
