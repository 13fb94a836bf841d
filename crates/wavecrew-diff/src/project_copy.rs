//! Copies a project: which files are copied, linked or omitted.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use wavecrew_measure::framework::python_environment::{interpreter, is_environment};
use wavecrew_process::{git_bytes, git_names};

/// Folders that installers create and frameworks read. Linked, because they are too large to copy.
const ENVIRONMENTS: &[&str] = &["node_modules", ".venv", "venv", ".tox", ".nox"];
/// Folders that builds and tests create. They would be stale in a copy and never contain source.
const BUILD_FOLDERS: &[&str] = &[
    ".git",
    ".hypothesis",
    ".mypy_cache",
    ".next",
    ".pytest_cache",
    ".ruff_cache",
    ".turbo",
    wavecrew_session::WORKFLOW_FOLDER,
    "__pycache__",
    "coverage",
    "htmlcov",
    "target",
];
/// Larger files that git ignores are data or builds, and are not copied.
const IGNORED_BYTES: u64 = 1 << 20;

/// Copies a project and links its environments. Returns the names of the copied files.
pub fn copy(project: &Path, into: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let files = listed(project)?;
    for file in &files {
        copy_file(&project.join(file), &into.join(file))?;
    }
    link_environments(project, into)?;
    Ok(files)
}

/// Copies a file or a link, with its permissions.
pub fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if to.symlink_metadata().is_ok() {
        fs::remove_file(to)?;
    }
    if from.symlink_metadata()?.is_symlink() {
        symlink(fs::read_link(from)?, to)
    } else if clone_file(from, to).is_err() {
        fs::copy(from, to).map(drop)
    } else {
        Ok(())
    }
}

/// Copies a file by reference, where the file system can. A hard link would be unsafe: an edit of one file would change
/// the other.
fn clone_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let target = File::create_new(to)?;
    let cloned = rustix::fs::ioctl_ficlone(&target, &source);
    let kept = cloned
        .map_err(io::Error::from)
        .and_then(|()| target.set_permissions(source.metadata()?.permissions()));
    if kept.is_err() {
        fs::remove_file(to)?;
    }
    kept
}

/// The files of a project: those that git tracks or would add, and small ignored ones such as generated modules and
/// settings. Without git, all but build folders.
fn listed(project: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut files: BTreeSet<PathBuf> = walk(project, |_| true)?.into_iter().collect();
    let Ok(Some(known)) = git_bytes(
        project,
        &["ls-files", "--cached", "--others", "--exclude-standard", "-z"],
    ) else {
        return Ok(files);
    };
    let known: BTreeSet<PathBuf> = git_names(&known).collect();
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

/// Regular files and links below a folder, relative to it, without build folders and environments.
pub fn walk(top: &Path, enter: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if BUILD_FOLDERS.contains(&&*name) || ENVIRONMENTS.contains(&&*name) {
                continue;
            }
            let (kind, path) = (entry.file_type()?, entry.path());
            if kind.is_dir() {
                if enter(&path) && !is_environment(&path) {
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
pub fn link_environments(project: &Path, into: &Path) -> io::Result<()> {
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(project.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            let below = folder.join(&name);
            if ENVIRONMENTS.contains(&&*shown) || is_environment(&entry.path()) {
                let target = into.join(&below);
                if target.symlink_metadata().is_ok() || !entry.path().is_dir() {
                    continue;
                }
                if let Some(parent) = target.parent() {
                    fs::create_dir_all(parent)?;
                }
                if shown == "node_modules" {
                    link_packages(&entry.path(), &target)?;
                } else {
                    symlink(entry.path().canonicalize()?, target)?;
                }
            } else if entry.file_type()?.is_dir()
                && !BUILD_FOLDERS.contains(&&*shown)
                && !shown.starts_with('.')
            {
                open.push(below);
            }
        }
    }
    link_outer_environment(project, into)
}

/// Links a Python environment that tools find by the location or name of the project, which differ for a
/// copy: one in a folder above it, or one that pipenv keeps.
fn link_outer_environment(project: &Path, into: &Path) -> io::Result<()> {
    let python = interpreter(project);
    let environment = python.parent().and_then(Path::parent);
    let target = into.join(".venv");
    match environment {
        Some(environment)
            if python.is_absolute() && !python.starts_with(project) && interpreter(into) != python =>
        {
            symlink(environment, target)
        }
        Some(_) | None => Ok(()),
    }
}

/// Creates a folder of links to packages. Packages of a workspace are relative links already; they stay
/// relative and lead into the copy.
fn link_packages(from: &Path, to: &Path) -> io::Result<()> {
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
            link_packages(&path, &target)?;
        } else if kind.is_symlink()
            && fs::read_link(&path)?.is_relative()
            && is_workspace_package(&path, from)
        {
            symlink(fs::read_link(&path)?, target)?;
        } else {
            symlink(path.canonicalize()?, target)?;
        }
    }
    Ok(())
}

/// Whether a package is outside every `node_modules` folder.
fn is_workspace_package(package: &Path, modules: &Path) -> bool {
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
