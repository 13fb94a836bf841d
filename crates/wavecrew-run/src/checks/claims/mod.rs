//! Compares a worker's claim with the disk: the files its task owes and the paths it reports. Looks and reads,
//! never writes; follows no link out of the folders a worker may use.

mod commits;
mod documents;
mod owed_files;
mod plan_tasks;
mod reported_paths;
mod review;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use wavecrew_core::claim::{document_context, owed_paths};
use wavecrew_core::engine::CheckOutcome;
use wavecrew_core::id::TaskIx;
use wavecrew_core::plan::Plan;
use wavecrew_core::team::Team;

/// What the facts say about a claim of success, and what is in doubt about it. `beside` has the files of work that is not in the project's folder.
pub fn check(
    session_dir: &Path,
    project_dir: &Path,
    team: &Team,
    plan: &Plan,
    task: TaskIx,
    outputs: &[(String, String)],
    beside: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> (CheckOutcome, Option<String>) {
    let owed_paths = owed_paths(team, plan, task);
    let context = document_context(team, plan, task);
    let mut findings = owed_files::check(session_dir, project_dir, &owed_paths, context);
    let paths = wavecrew_core::claim::reported_paths(team, outputs);
    reported_paths::check(session_dir, project_dir, &owed_paths, paths, &mut findings);
    commits::check(project_dir, team, outputs, &mut findings);
    // What is incomplete is not looked into.
    if findings.has_no_problems() {
        let places = review::Places {
            project: project_dir,
            session: session_dir,
            beside,
        };
        review::check(&places, &owed_paths, outputs, &mut findings);
        plan_tasks::check(session_dir, team, plan.id(task), &mut findings);
        documents::check(session_dir, team, plan, task, &owed_paths, outputs, &mut findings);
    }
    let doubts = findings.doubts();
    (findings.outcome(), doubts)
}

/// Whether everything that the task's worker owes is there and complete; `false` when it owes nothing.
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

/// What is there of the files that the task owes, named from the session folder.
pub fn delivered(session_dir: &Path, team: &Team, plan: &Plan, task: TaskIx) -> Vec<String> {
    owed_files::delivered(session_dir, &owed_paths(team, plan, task))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
