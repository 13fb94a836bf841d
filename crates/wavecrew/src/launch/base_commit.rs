//! The commit that results are built on.

use std::path::Path;
use std::process::{Command, Stdio};
use wavecrew_core::view::short_commit;

/// The commit that is checked out, if the project is a git repository with one.
pub fn head(project: &Path) -> Option<String> {
    let output = git(project, &["rev-parse", "--verify", "--quiet", "HEAD"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// Why results made on `base` no longer stand: its commit is not an ancestor of the checked-out one. Commits
/// on top of it, by workers or by a person, do not matter.
pub fn moved(project: &Path, base: Option<&str>) -> Option<String> {
    let (base, now) = (base?, head(project)?);
    if base == now {
        return None;
    }
    let below = git(project, &["merge-base", "--is-ancestor", base, &now])
        .status()
        .ok()?
        .success();
    (!below).then(|| {
        format!(
            "it was made on commit {}, which {} does not contain",
            short_commit(base),
            short_commit(&now)
        )
    })
}

fn git(project: &Path, args: &[&str]) -> Command {
    let mut command = wavecrew_process::git_command(project, args);
    command.stderr(Stdio::null());
    command
}
