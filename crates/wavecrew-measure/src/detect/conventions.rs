//! The conventions of a project's tests: where they are, their file names, and what they share.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::walk::{files, is_test};
use super::{Language, Project, project_of};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conventions {
    pub test_files: usize,
    /// Folders with tests, the fullest first; `.` is the root. Without tests, the folder in the settings.
    pub folders: Vec<String>,
    /// Patterns of test file names, the most common first. Without tests, the pattern in the settings.
    pub naming: Vec<String>,
    /// Files that tests share, relative to the root.
    pub fixtures: Vec<String>,
    /// Source files that contain tests, as in Rust.
    pub inline: usize,
}

pub fn conventions(project: &Project, top: &Path) -> Conventions {
    let language = project.framework.language();
    let mut found = Conventions::default();
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    let mut naming: BTreeMap<String, usize> = BTreeMap::new();
    for file in files(&project.root) {
        if Language::of(&file) != language
            || project_of(&file, top).is_none_or(|owner| owner.root != project.root)
        {
            continue;
        }
        let below = file.strip_prefix(&project.root).unwrap_or(&file);
        if let Some(mark) = project.framework.facts().inline_tests
            && fs::read_to_string(&file).is_ok_and(|text| text.contains(mark))
        {
            found.inline += 1;
        }
        if !is_test(&file, &project.root) {
            continue;
        }
        if is_shared(below) {
            found.fixtures.push(below.to_string_lossy().into_owned());
            continue;
        }
        found.test_files += 1;
        let folder = below
            .parent()
            .map(|folder| folder.to_string_lossy().into_owned())
            .unwrap_or_default();
        *folders
            .entry(if folder.is_empty() { ".".to_owned() } else { folder })
            .or_default() += 1;
        *naming.entry(pattern(below)).or_default() += 1;
    }
    found.folders = by_count(folders);
    found.naming = by_count(naming);
    if found.test_files == 0 {
        let configured = project.framework.adapter().configured_tests(&project.root);
        found.folders = configured.folder.into_iter().collect();
        found.naming = configured.naming.into_iter().collect();
    }
    found
}

fn is_shared(file: &Path) -> bool {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let folders = [
        "__mocks__",
        "__fixtures__",
        "fixtures",
        "testdata",
        "helpers",
        "common",
        "support",
    ];
    name == "conftest.py"
        || name.starts_with("setup")
        || name == "__init__.py"
        || file
            .components()
            .any(|part| folders.contains(&&*part.as_os_str().to_string_lossy()))
}

/// `test_price.py` becomes `test_*.py`, `cart.spec.ts` becomes `*.spec.ts`.
fn pattern(file: &Path) -> String {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    if stem.starts_with("test_") {
        return format!("test_*.{ending}");
    }
    for mark in ["_test", ".test", ".spec", ".cy", ".e2e"] {
        if stem.ends_with(mark) {
            return format!("*{mark}.{ending}");
        }
    }
    format!("*.{ending}")
}

fn by_count(counts: BTreeMap<String, usize>) -> Vec<String> {
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().map(|(name, _)| name).collect()
}
