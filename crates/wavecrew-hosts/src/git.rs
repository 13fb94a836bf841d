//! The commits of a worker's folder: to the host as bundles, and back. A host keeps the objects of all
//! bundles it got, so that only new commits are sent.

use crate::objects::ObjectId;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;
use wavecrew_process::{git_command, git_output, git_output_to};

/// The repository of a worker's folder as the coordinator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// The top of the working tree.
    pub top: PathBuf,
    /// `None` before the first commit.
    pub commit: Option<String>,
    /// The full name of the checked out branch; `None` for a detached head.
    pub branch: Option<String>,
    /// Bundles in the order in which they build on each other, with the commit that each ends at.
    pub bundles: Vec<(ObjectId, String)>,
}

/// What a worker committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitBack {
    pub top: PathBuf,
    pub branch: Option<String>,
    pub before: Option<String>,
    pub commit: String,
    pub bundle: ObjectId,
}

/// The commit and branch of a working tree, read from its files: no process is started.
pub fn head(top: &Path) -> Option<(Option<String>, Option<String>)> {
    let git = git_folder(top)?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(branch) = head.trim().strip_prefix("ref: ") else {
        return Some((Some(head.trim().to_owned()), None));
    };
    let common = common_folder(&git);
    let commit = [&git, &common]
        .iter()
        .find_map(|folder| fs::read_to_string(folder.join(branch)).ok())
        .map(|text| text.trim().to_owned())
        .or_else(|| packed(&common, branch));
    Some((commit, Some(branch.to_owned())))
}

/// The folder with `HEAD` of a working tree.
pub fn git_folder(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    let link = PathBuf::from(text.strip_prefix("gitdir:")?.trim());
    Some(if link.is_absolute() { link } else { top.join(link) })
}

/// The folder with the objects and branches of a repository.
pub fn common_folder(git: &Path) -> PathBuf {
    match fs::read_to_string(git.join("commondir")) {
        Ok(text) => git.join(text.trim()),
        Err(_) => git.to_owned(),
    }
}

fn packed(common: &Path, branch: &str) -> Option<String> {
    let text = fs::read_to_string(common.join("packed-refs")).ok()?;
    text.lines()
        .find_map(|line| Some(line.strip_suffix(branch)?.strip_suffix(' ')?.to_owned()))
}

/// Runs git in a folder; returns its last line of output if it fails.
pub fn run(folder: &Path, args: &[&str]) -> io::Result<String> {
    finished(&git_output(git_command(folder, args))?, args)
}

fn finished(done: &Output, args: &[&str]) -> io::Result<String> {
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
    }
    let reason = String::from_utf8_lossy(&done.stderr);
    let reason = reason
        .trim()
        .lines()
        .last()
        .unwrap_or("no reason given")
        .to_owned();
    let what = args.first().copied().unwrap_or_default();
    Err(io::Error::other(format!("git {what} failed: {reason}")))
}

/// Writes a bundle of the commits that lead to `commit` and are not in `known`.
pub fn bundle(folder: &Path, file: &Path, commit: &str, known: Option<&str>) -> io::Result<()> {
    // A bundle needs a ref name for its content.
    const NAME: &str = "refs/wavecrew/bundle";
    let name = format!("{NAME}/{commit}");
    run(folder, &["update-ref", &name, commit])?;
    let without = known.map(|known| format!("^{known}"));
    let mut args = vec!["bundle", "create", "--quiet", "-", name.as_str()];
    args.extend(without.as_deref());
    // Through standard output: the file is outside the repository, and git may not write there.
    let made = git_output_to(git_command(folder, &args), fs::File::create(file)?);
    let made = made.and_then(|done| finished(&done, &args));
    let _ = run(folder, &["update-ref", "-d", &name]);
    made.map(drop)
}

/// Imports the objects of a bundle into a repository.
pub fn unbundle(folder: &Path, file: &Path) -> io::Result<()> {
    run(folder, &["bundle", "unbundle", &file.to_string_lossy()]).map(drop)
}

/// Whether a repository has a commit.
pub fn has_commit(folder: &Path, commit: &str) -> bool {
    run(folder, &["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok()
}
