//! What was changed in a working copy since a commit. Asks git, changes nothing.

use std::path::Path;
use std::process::Command;
use wavecrew_session::WORKFLOW_FOLDER;

/// A working copy, and the commit that its work began with.
pub struct Changes {
    /// From its root, sorted.
    pub files: Vec<String>,
    /// The branch that is checked out; none with a detached head.
    pub branch: Option<String>,
}

/// What differs from the commit, committed or not; `None` where there is no repository.
pub fn since(folder: &Path, base: &str) -> Option<Changes> {
    let tracked = git(folder, &["diff", "--name-only", "-z", base])?;
    let fresh = git(folder, &["ls-files", "--others", "--exclude-standard", "-z"])?;
    let names = tracked.split('\0').chain(fresh.split('\0'));
    let ours = |name: &&str| !name.is_empty() && !Path::new(name).starts_with(WORKFLOW_FOLDER);
    let mut files: Vec<String> = names.filter(ours).map(str::to_owned).collect();
    files.sort_unstable();
    files.dedup();
    let branch = git(folder, &["symbolic-ref", "-q", "--short", "HEAD"]);
    Some(Changes {
        files,
        branch: branch.map(|name| name.trim().to_owned()),
    })
}

/// What git prints; `None` when it fails.
pub fn git(folder: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        // Nothing that a repository's settings name is run.
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
        .current_dir(folder)
        .args(words)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .ok()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(printed)
}
