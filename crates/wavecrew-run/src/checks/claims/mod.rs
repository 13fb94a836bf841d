//! Compares a worker's claim with the disk and with git: owed files, reported paths, commits, reviews, plans. Never writes, and
//! follows no link out of the folders that a worker may use.

mod commits;
mod documents;
mod owed_files;
mod plan_tasks;
mod reported_paths;
mod review;
#[cfg(test)]
mod tests;

pub use review::Sources;
use std::io;
use std::path::Path;
use wavecrew_core::claim::{document_context, owed_paths};
use wavecrew_core::engine::CheckOutcome;
use wavecrew_core::id::TaskIx;
use wavecrew_core::plan::Plan;
use wavecrew_core::team::Team;

/// Checks a claim of success; with the outcome comes what is in doubt. `started_from` is the commit that the work began with.
pub fn check(
    sources: &Sources<'_>,
    team: &Team,
    plan: &Plan,
    task: TaskIx,
    outputs: &[(String, String)],
    started_from: Option<&str>,
) -> (CheckOutcome, Option<String>) {
    let (session_dir, project_dir) = (sources.session, sources.project);
    let owed_paths = owed_paths(team, plan, task);
    let context = document_context(team, plan, task);
    let mut findings = owed_files::check(session_dir, project_dir, &owed_paths, context);
    let paths = wavecrew_core::claim::reported_paths(team, outputs);
    reported_paths::check(session_dir, project_dir, &owed_paths, paths, &mut findings);
    commits::check(project_dir, team, outputs, started_from, &mut findings);
    // The content is checked once everything is there.
    if findings.has_no_problems() {
        review::check(sources, &owed_paths, outputs, &mut findings);
        plan_tasks::check(session_dir, team, plan.id(task), &mut findings);
        documents::check(sources, team, plan, task, &owed_paths, outputs, &mut findings);
    }
    let doubts = findings.doubts();
    (findings.outcome(), doubts)
}

/// Whether everything that the task's worker owes is complete; `false` if it owes nothing.
pub fn artifacts_complete(session_dir: &Path, team: &Team, plan: &Plan, task: TaskIx) -> bool {
    let owed = owed_paths(team, plan, task);
    owed_files::check(
        session_dir,
        session_dir,
        &owed,
        document_context(team, plan, task),
    )
    .is_verified()
}

/// The owed files that exist, as paths in the session folder.
pub fn delivered(session_dir: &Path, team: &Team, plan: &Plan, task: TaskIx) -> Vec<String> {
    owed_files::delivered(session_dir, &owed_paths(team, plan, task))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
