//! What is copied, what is linked, what is left out.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::scope::git;

/// Made by installers, read by frameworks, too large to copy.
const ENVIRONMENTS: &[&str] = &["node_modules", ".venv", "venv"];
/// Made by runs; stale in a copy, and never a source.
const LEAVINGS: &[&str] = &[
    ".git",
    ".hypothesis",
    ".mypy_cache",
    ".next",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".turbo",
    wavecrew_session::WORKFLOW_FOLDER,
    "__pycache__",
    "coverage",
    "htmlcov",
    "target",
];
/// Ignored files above this are data or builds, and stay where they are.
const IGNORED_BYTES: u64 = 1 << 20;

/// Copies a project and links its environments. Gives the names of the copied files.
pub fn copy(project: &Path, into: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let files = listed(project)?;
    for file in &files {
        one(&project.join(file), &into.join(file))?;
    }
    links(project, into)?;
    Ok(files)
}

/// A file or a link, with its rights.
pub fn one(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if to.symlink_metadata().is_ok() {
        fs::remove_file(to)?;
    }
    if from.symlink_metadata()?.is_symlink() {
        symlink(fs::read_link(from)?, to)
    } else {
        fs::copy(from, to).map(drop)
    }
}

/// What a person would call the project: what git knows or would add, and small things that it ignores, such as generated
/// modules and settings. Without git, everything but leavings.
fn listed(project: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut files: BTreeSet<PathBuf> = walk(project, |_| true)?.into_iter().collect();
    let Ok(Some(known)) = git::run(
        project,
        &["ls-files", "--cached", "--others", "--exclude-standard", "-z"],
    ) else {
        return Ok(files);
    };
    let known: BTreeSet<PathBuf> = git::names(&known).collect();
    files.retain(|file| {
        let small = || {
            project
                .join(file)
                .metadata()
                .is_ok_and(|about| about.len() <= IGNORED_BYTES)
        };
        known.contains(file) || small()
    });
    Ok(files)
}

/// Regular files and links below a folder, relative to it, without leavings and environments.
pub fn walk(top: &Path, enter: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if LEAVINGS.contains(&&*name) || ENVIRONMENTS.contains(&&*name) {
                continue;
            }
            let (kind, path) = (entry.file_type()?, entry.path());
            if kind.is_dir() {
                if enter(&path) {
                    open.push(path);
                }
            } else if kind.is_file() || kind.is_symlink() {
                found.extend(path.strip_prefix(top).map(Path::to_owned));
            }
        }
    }
    Ok(found)
}

/// Links the environments of a project and of its packages into a copy.
pub fn links(project: &Path, into: &Path) -> io::Result<()> {
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(project.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            let below = folder.join(&name);
            if ENVIRONMENTS.contains(&&*shown) {
                let target = into.join(&below);
                if target.symlink_metadata().is_ok() || !entry.path().is_dir() {
                    continue;
                }
                if let Some(parent) = target.parent() {
                    fs::create_dir_all(parent)?;
                }
                if shown == "node_modules" {
                    packages(&entry.path(), &target)?;
                } else {
                    symlink(entry.path().canonicalize()?, target)?;
                }
            } else if entry.file_type()?.is_dir() && !LEAVINGS.contains(&&*shown) && !shown.starts_with('.') {
                open.push(below);
            }
        }
    }
    Ok(())
}

/// A folder of links to packages. Those of a workspace are links into the project already: they stay relative, and so lead
/// into the copy.
fn packages(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let shown = name.to_string_lossy();
        let (path, target) = (entry.path(), to.join(&name));
        if [".cache", ".vite", ".vite-temp", ".vitest"].contains(&&*shown) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() && shown.starts_with('@') {
            packages(&path, &target)?;
        } else if kind.is_symlink() && fs::read_link(&path)?.is_relative() && leads_out(&path, from) {
            symlink(fs::read_link(&path)?, target)?;
        } else {
            symlink(path.canonicalize()?, target)?;
        }
    }
    Ok(())
}

/// Whether a package is really somewhere else than in an installer's folder.
fn leads_out(package: &Path, modules: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    match (real(package), real(modules)) {
        (Some(package), Some(modules)) => {
            !package.starts_with(&modules)
                && !package
                    .components()
                    .any(|part| part.as_os_str() == "node_modules")
        }
        _ => false,
    }
}
