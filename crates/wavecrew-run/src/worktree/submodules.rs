//! Submodules in a worktree: those that are checked out in the project are checked out there too, from the project's
//! copy.

use super::error::WorktreeError;
use super::git::{Git, GitError};
use std::path::Path;

/// Checks out the submodules in `worktree` that are checked out in the repository at `root`.
pub(super) fn check_out(root: &Path, worktree: &Path) -> Result<(), WorktreeError> {
    if !worktree.join(".gitmodules").exists() {
        return Ok(());
    }
    for (name, path) in declared(worktree)? {
        let source = root.join(&path);
        if !source.join(".git").exists() {
            continue;
        }
        let url = format!("submodule.{name}.url={}", source.to_string_lossy());
        // Git forbids local submodules by default; this one comes from the project.
        let words = [
            "-c",
            "protocol.file.allow=always",
            "-c",
            &url,
            "submodule",
            "--quiet",
            "update",
            // Not by a command that the settings name.
            "--checkout",
            "--init",
            "--",
            &path,
        ];
        match Git::at(worktree).run(&words) {
            Ok(_) => check_out(&source, &worktree.join(&path))?,
            Err(error) => {
                let why = error.to_string();
                return Err(WorktreeError::SubmoduleMissing { path, why });
            }
        }
    }
    Ok(())
}

/// Names and paths.
fn declared(worktree: &Path) -> Result<Vec<(String, String)>, GitError> {
    let words = [
        "config",
        "--file",
        ".gitmodules",
        "--null",
        "--get-regexp",
        r"^submodule\..*\.path$",
    ];
    let output = Git::at(worktree).output(&words)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entry = |entry: &str| {
        let (key, path) = entry.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        Some((name.to_owned(), path.to_owned()))
    };
    Ok(text.split('\0').filter_map(entry).collect())
}

/// Submodules that differ between two commits.
pub(super) fn changed(git: &Git, from: &str, to: &str) -> Result<Vec<String>, GitError> {
    let raw = git.run(&["diff", "--raw", "--no-renames", "--abbrev=40", "-z", from, to])?;
    Ok(in_diff(&raw))
}

fn in_diff(raw: &str) -> Vec<String> {
    // `:MODE MODE SHA SHA STATUS`, NUL, path, NUL.
    let mut parts = raw.split('\0');
    let mut paths = Vec::new();
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let mut modes = about.trim_start_matches(':').split(' ').take(2);
        if modes.any(|mode| mode == "160000") {
            paths.push(path.to_owned());
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::in_diff;

    #[test]
    fn a_submodule_is_recognised_by_its_mode() {
        let hash = "0000000160000000000000000000000000000000";
        let raw = format!(
            ":100644 100644 {hash} {hash} M\0file\0:160000 160000 {hash} {hash} M\0lib\0:000000 160000 {hash} {hash} A\0new\0"
        );
        assert_eq!(in_diff(&raw), ["lib", "new"]);
    }
}
