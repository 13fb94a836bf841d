//! Asks git about the commits that a worker reports.

use crate::worktree::{CommitContent, commit_contains};
use std::path::Path;
use wavecrew_core::claim::{Findings, reported, reported_commits, shown};
use wavecrew_core::team::Team;

/// Checks that reported commits are there, on the branch that the worker was to work on, and hold the reported files.
pub(super) fn check(folder: &Path, team: &Team, outputs: &[(String, String)], findings: &mut Findings) {
    for (column, commit) in reported_commits(team, outputs) {
        let what = format!("{} in `{column}`", shown(commit));
        let files: Vec<&str> = reported(team, outputs)
            .map(|(_, path)| path)
            .filter(|path| folder.join(path).is_file())
            .collect();
        match commit_contains(folder, commit, &files) {
            Ok(CommitContent::All) => findings.look(),
            Ok(CommitContent::NoSuchCommit) => findings.missing(format!("the commit {what} does not exist")),
            Ok(CommitContent::OtherBranch) => findings.missing(format!(
                "the commit {what} is not on the branch that is checked out here"
            )),
            Ok(CommitContent::Missing(file)) => {
                findings.missing(format!("the commit {what} does not hold {}", shown(&file)));
            }
            Err(error) => findings.missing(format!("the commit {what} cannot be looked for: {error}")),
        }
    }
}
