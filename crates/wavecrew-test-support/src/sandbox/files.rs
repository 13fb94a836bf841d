//! The files of a sandbox's project, and its git repository.

use super::Sandbox;
use crate::frameworks;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

impl Sandbox {
    /// A project with links to the installed test frameworks; `None` when tests with frameworks are skipped.
    pub fn with_frameworks() -> Option<Self> {
        let installed = frameworks::installed()?;
        let sandbox = Self::new();
        for (part, name) in [("venv", ".venv"), ("node_modules", "node_modules")] {
            symlink(installed.join(part), sandbox.path(name)).expect("a link");
        }
        Some(sandbox)
    }

    /// Copies a folder into the project.
    #[must_use]
    pub fn with_copy_of(self, folder: &Path) -> Self {
        copy_folder(folder, self.project());
        self
    }

    /// A git repository of all files, with one commit.
    #[must_use]
    pub fn committed(self) -> Self {
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        self
    }

    /// Runs git in the project and returns what it prints, trimmed.
    pub fn git(&self, words: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.project())
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(["-c", "commit.gpgsign=false"])
            .args(words)
            .output()
            .expect("git is installed");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {}: {error}", words.join(" "));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Writes a file of the project.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Writes a file that may be executed.
    pub fn write_script(&self, name: &str, content: &str) {
        self.write(name, content);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("our own file");
    }

    /// The text of a file of the project.
    pub fn text(&self, name: impl AsRef<Path>) -> String {
        read(&self.path(name))
    }

    /// All files of the project with their content; not what links and `.workflow` hold.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.project().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let kind = entry.file_type().expect("a kind of file");
                if kind.is_dir() && entry.file_name() != ".workflow" {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    found.insert(entry.path(), fs::read(entry.path()).expect("a file"));
                }
            }
        }
        found
    }
}

pub(super) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What people leave who try an example.
const NOT_COPIED: [&str; 6] = [
    ".git",
    ".pytest_cache",
    ".venv",
    ".workflow",
    "__pycache__",
    "node_modules",
];

/// Copies the files of a folder.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder to copy").flatten() {
        let name = entry.file_name();
        if NOT_COPIED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let target = to.join(name);
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file is copied");
        }
    }
}
