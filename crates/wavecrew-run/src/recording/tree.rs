//! Lists the files that a worker may change, with what tells one version of a file from the next. Follows no links.

use super::Root;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wavecrew_session::paths::{SessionPaths, WORKFLOW_FOLDER, is_work_folder, worktree_of};

/// A folder with more files is not looked at any further.
const MOST_FILES: usize = 200_000;
/// Folders that hold no work: histories, sessions, installed packages.
const SKIPPED: [&str; 3] = [".git", WORKFLOW_FOLDER, "node_modules"];

/// A file below one of the two folders.
pub(super) type Spot = (Root, String);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    inode: u64,
    length: u64,
    mode: u32,
    changed: (i64, i64),
}

#[derive(Debug)]
pub(super) struct Tree {
    project: PathBuf,
    session: PathBuf,
    lister: Lister,
    /// Files that are never listed, such as the cassette itself.
    not: Vec<PathBuf>,
}

#[derive(Debug)]
enum Lister {
    /// Knows which files are of no interest.
    Git,
    Walk,
}

impl Tree {
    pub fn new(project: &Path, session: &Path, not: Vec<PathBuf>) -> Self {
        let lister = match git_files(project) {
            Some(_) => Lister::Git,
            None => Lister::Walk,
        };
        Self {
            project: project.to_owned(),
            session: session.to_owned(),
            lister,
            not,
        }
    }

    pub fn folder(&self, root: Root) -> &Path {
        match root {
            Root::Project => &self.project,
            Root::Session => &self.session,
        }
    }

    /// Every file as it is now.
    pub fn look(&self) -> BTreeMap<Spot, Stamp> {
        let mut found = BTreeMap::new();
        let listed = match self.lister {
            Lister::Git => git_files(&self.project),
            Lister::Walk => None,
        };
        let listed = listed.unwrap_or_else(|| {
            let mut files = Vec::new();
            walk(&self.project, "", &|name| SKIPPED.contains(&name), &mut files);
            files
        });
        let mut add = |root: Root, path: String| {
            let file = self.folder(root).join(&path);
            if let Some(stamp) = stamp(&file).filter(|_| !self.not.contains(&file)) {
                found.insert((root, path), stamp);
            }
        };
        for path in listed {
            add(Root::Project, path);
        }
        for (name, files) in self.working_copies() {
            for path in files {
                let file = SessionPaths::relative().worktree(&name).join(path);
                add(Root::Session, file.to_string_lossy().into_owned());
            }
        }
        for folder in self.team_folders() {
            let mut files = Vec::new();
            let path = self.session.join(&folder);
            walk(&path, &format!("{folder}/"), &|_| false, &mut files);
            for path in files {
                add(Root::Session, path);
            }
        }
        found
    }

    /// The working copies of workers, with their files.
    fn working_copies(&self) -> Vec<(String, Vec<String>)> {
        let Ok(entries) = fs::read_dir(SessionPaths::at(&self.session).worktrees_folder()) else {
            return Vec::new();
        };
        let copy = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let files = git_files(&entry.path())?;
            Some((name, files))
        };
        entries.flatten().filter_map(copy).collect()
    }

    /// Folders of the session in which workers leave their work.
    fn team_folders(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.session) else {
            return Vec::new();
        };
        let folder = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            (is_folder && is_work_folder(&name)).then_some(name)
        };
        entries.flatten().filter_map(folder).collect()
    }
}

/// The working copy that a file lies in.
pub(super) fn working_copy((root, path): &Spot) -> Option<&str> {
    worktree_of(path).filter(|_| *root == Root::Session)
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::symlink_metadata(path).ok()?;
    (!found.is_dir()).then(|| Stamp {
        inode: found.ino(),
        length: found.len(),
        mode: found.mode(),
        changed: (found.mtime(), found.mtime_nsec()),
    })
}

/// Tracked files and new ones that are not ignored; nothing where there is no repository.
fn git_files(project: &Path) -> Option<Vec<String>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(project)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    if !listed.status.success() {
        return None;
    }
    let names = listed.stdout.split(|byte| *byte == 0);
    let text = names.filter_map(|name| std::str::from_utf8(name).ok());
    let ours = text.filter(|name| !name.is_empty() && !name.split('/').any(|part| SKIPPED.contains(&part)));
    Some(ours.take(MOST_FILES).map(str::to_owned).collect())
}

fn walk(folder: &Path, prefix: &str, skip: &dyn Fn(&str) -> bool, files: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if files.len() >= MOST_FILES {
            return;
        }
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if !skip(&name) {
                    walk(&entry.path(), &format!("{prefix}{name}/"), skip, files);
                }
            }
            Ok(_) => files.push(format!("{prefix}{name}")),
            Err(_) => {}
        }
    }
}
