//! The files of a project that people wrote: no dependencies, no build output, nothing hidden.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Language, Project, project_of};

/// Folders that are never a project's own code.
const FOREIGN: &[&str] = &[
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

/// All files in known languages below a folder, sorted. Links are not followed.
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
                    if !name.starts_with('.') && !FOREIGN.contains(&&*name) {
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

/// The files that a path stands for, by the project that each belongs to: a file for itself, a folder for the sources in
/// and below it. Both absolute. Files in other languages are nobody's.
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

/// The source files of a project that tests are to cover: no tests, no settings, nothing of a project inside it.
pub fn source_files(project: &Project, top: &Path) -> Vec<PathBuf> {
    let mut found = by_project(&project.root, top);
    found.retain(|owner, _| owner.root == project.root && owner.framework == project.framework);
    found.into_values().flatten().collect()
}

/// Whether a file holds tests or serves them, by its name and its folders below the project's root.
pub fn is_test(file: &Path, root: &Path) -> bool {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(&*name, |(stem, _)| stem);
    let by_name = match Language::of(file) {
        Some(Language::Python) => stem.starts_with("test_") || stem.ends_with("_test") || stem == "conftest",
        Some(Language::JavaScript) => [".test", ".spec", ".cy", ".e2e", ".stories"]
            .iter()
            .any(|end| stem.ends_with(end)),
        Some(Language::Rust) => stem == "tests",
        Some(Language::Go) => stem.ends_with("_test"),
        None => false,
    };
    let below = file.strip_prefix(root).unwrap_or(file).parent();
    let by_folder = below.is_some_and(|folder| {
        folder.components().any(|part| {
            let part = part.as_os_str().to_string_lossy();
            [
                "test",
                "tests",
                "__tests__",
                "__mocks__",
                "__fixtures__",
                "testdata",
                "e2e",
                "benches",
            ]
            .contains(&&*part)
        })
    });
    by_name || by_folder
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
