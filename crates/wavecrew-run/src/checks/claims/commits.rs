//! Checks the commits that a worker reports.

use crate::worktree::{CommitContent, commit_contains};
use std::path::Path;
use wavecrew_core::claim::{ClaimCheck, quoted_path, reported_commits, reported_paths};
use wavecrew_core::team::Team;

/// Checks that reported commits exist, are on the branch that is checked out, and contain the reported files.
pub(super) fn check(
    folder: &Path,
    team: &Team,
    outputs: &[(String, String)],
    started_from: Option<&str>,
    findings: &mut ClaimCheck,
) {
    for (column, commit) in reported_commits(team, outputs) {
        let what = format!("{} in `{column}`", quoted_path(commit));
        let files: Vec<&str> = reported_paths(team, outputs)
            .map(|(_, path)| path)
            .filter(|path| folder.join(path).is_file())
            .collect();
        match commit_contains(folder, commit, &files, started_from) {
            Ok(CommitContent::All) => findings.count_check(),
            Ok(CommitContent::NoSuchCommit) => {
                findings.add_fixable(format!("the commit {what} does not exist"));
            }
            Ok(CommitContent::Earlier) => {
                findings.add_fixable(format!("the commit {what} was there before the task began"));
            }
            Ok(CommitContent::Empty) => findings.add_fixable(format!("the commit {what} changes nothing")),
            Ok(CommitContent::OtherBranch) => findings.add_fixable(format!(
                "the commit {what} is not on the branch that is checked out here"
            )),
            Ok(CommitContent::Missing(file)) => {
                findings.add_fixable(format!(
                    "the commit {what} does not contain {}",
                    quoted_path(&file)
                ));
            }
            Err(error) => findings.add_fixable(format!("the commit {what} cannot be searched for: {error}")),
        }
    }
}
