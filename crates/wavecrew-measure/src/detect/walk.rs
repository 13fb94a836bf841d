//! The source files of a project, without dependencies, build output and hidden files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Language, Project, project_of};
use crate::framework::language::has_test_name;

/// Folders that never hold a project's own code.
const EXCLUDED_FOLDERS: &[&str] = &[
    "__pycache__",
    "build",
    "coverage",
    "dist",
    "env",
    "htmlcov",
    "node_modules",
    "out",
    "site-packages",
    "target",
    "vendor",
    "venv",
];

const TEST_FOLDERS: &[&str] = &[
    "test",
    "tests",
    "__tests__",
    "__mocks__",
    "__fixtures__",
    "testdata",
    "e2e",
    "benches",
];

/// All files in known languages below a folder, sorted. Does not follow links.
pub fn files(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    if !name.starts_with('.') && !EXCLUDED_FOLDERS.contains(&&*name) {
                        folders.push(entry.path());
                    }
                }
                Ok(kind) if kind.is_file() && Language::of(&entry.path()).is_some() => {
                    found.push(entry.path());
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    found.sort();
    found
}

/// The file itself, or the source files below a folder, by the project that each belongs to. Both paths are absolute. Leaves
/// out files in other languages.
pub fn by_project(path: &Path, top: &Path) -> BTreeMap<Project, Vec<PathBuf>> {
    let mut found: BTreeMap<Project, Vec<PathBuf>> = BTreeMap::new();
    let candidates = if path.is_dir() {
        files(path)
    } else {
        vec![path.to_owned()]
    };
    for file in candidates {
        let Some(project) = project_of(&file, top) else {
            continue;
        };
        if file == path || !(is_test(&file, &project.root) || is_settings(&file)) {
            found.entry(project).or_default().push(file);
        }
    }
    found
}

/// The source files of a project that tests should cover: no tests, no settings, no nested projects.
pub fn source_files(project: &Project, top: &Path) -> Vec<PathBuf> {
    let mut found = by_project(&project.root, top);
    found.retain(|owner, _| owner.root == project.root && owner.framework == project.framework);
    found.into_values().flatten().collect()
}

/// Whether a file holds tests or serves them, by its name and its folders below the project's root.
pub fn is_test(file: &Path, root: &Path) -> bool {
    let folder = file.strip_prefix(root).unwrap_or(file).parent();
    let in_test_folder = folder.is_some_and(|folder| {
        let mut parts = folder.components();
        parts.any(|part| TEST_FOLDERS.contains(&&*part.as_os_str().to_string_lossy()))
    });
    has_test_name(file) || in_test_folder
}

fn is_settings(file: &Path) -> bool {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    ["setup.py", "noxfile.py", "build.rs"].contains(&&*name)
        || name.contains(".config.")
        || name.contains(".workspace.")
        || name.ends_with(".d.ts")
}
