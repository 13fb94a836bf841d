//! Lists the files that workers may change, with their versions. Does not follow links.

use super::Root;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wavecrew_process::{git_bytes, git_names};
use wavecrew_session::paths::{self, SessionPaths, WORKFLOW_FOLDER, is_work_folder};

/// Further files of a folder are ignored.
const MAX_FILES: usize = 200_000;
/// Folders without work: histories, sessions, installed packages.
const SKIPPED: [&str; 3] = [".git", WORKFLOW_FOLDER, "node_modules"];

/// A file in one of the two folders.
pub(super) type FileId = (Root, String);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileVersion {
    inode: u64,
    length: u64,
    mode: u32,
    changed: (i64, i64),
}

#[derive(Debug)]
pub(super) struct Folders {
    project: PathBuf,
    session: PathBuf,
    lister: Lister,
    /// Files that are never listed, such as the cassette itself.
    excluded: Vec<PathBuf>,
}

#[derive(Debug)]
enum Lister {
    /// Leaves out ignored files.
    Git,
    Walk,
}

impl Folders {
    pub fn new(project: &Path, session: &Path, excluded: Vec<PathBuf>) -> Self {
        let lister = match git_files(project) {
            Some(_) => Lister::Git,
            None => Lister::Walk,
        };
        Self {
            project: project.to_owned(),
            session: session.to_owned(),
            lister,
            excluded,
        }
    }

    pub fn folder(&self, root: Root) -> &Path {
        match root {
            Root::Project => &self.project,
            Root::Session => &self.session,
        }
    }

    /// The version of every file.
    pub fn snapshot(&self) -> BTreeMap<FileId, FileVersion> {
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
            if let Some(version) = version(&file).filter(|_| !self.excluded.contains(&file)) {
                found.insert((root, path), version);
            }
        };
        for path in listed {
            add(Root::Project, path);
        }
        for (name, files) in self.worktrees() {
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

    /// The worktrees of workers, with their files.
    fn worktrees(&self) -> Vec<(String, Vec<String>)> {
        let Ok(entries) = fs::read_dir(SessionPaths::at(&self.session).worktrees_folder()) else {
            return Vec::new();
        };
        let worktree = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let files = git_files(&entry.path())?;
            Some((name, files))
        };
        entries.flatten().filter_map(worktree).collect()
    }

    /// Folders of the session that workers write to.
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

/// The worktree that a file is in.
pub(super) fn worktree_of((root, path): &FileId) -> Option<&str> {
    paths::worktree_of(path).filter(|_| *root == Root::Session)
}

fn version(path: &Path) -> Option<FileVersion> {
    let found = fs::symlink_metadata(path).ok()?;
    (!found.is_dir()).then(|| FileVersion {
        inode: found.ino(),
        length: found.len(),
        mode: found.mode(),
        changed: (found.mtime(), found.mtime_nsec()),
    })
}

/// Tracked files and new files that are not ignored; `None` without a repository.
fn git_files(project: &Path) -> Option<Vec<String>> {
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = git_bytes(project, &words).ok()??;
    let text = git_names(&listed).filter_map(|name| name.into_os_string().into_string().ok());
    let ours = text.filter(|name| !name.split('/').any(|part| SKIPPED.contains(&part)));
    Some(ours.take(MAX_FILES).collect())
}

fn walk(folder: &Path, prefix: &str, skip: &dyn Fn(&str) -> bool, files: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if files.len() >= MAX_FILES {
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
