//! How a project already writes its tests: where they are, what they are called, what they share.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::walk::{files, is_test};
use super::{Language, Project, project_of};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conventions {
    pub test_files: usize,
    /// Folders that hold tests, the fullest first; `.` is the root. Without any, the one that settings name.
    pub folders: Vec<String>,
    /// Patterns of the names of test files, the commonest first, or what settings ask for.
    pub naming: Vec<String>,
    /// Files and folders that tests share, relative to the root.
    pub fixtures: Vec<String>,
    /// Tests stand in the source files themselves, as in Rust.
    pub inline: usize,
}

/// Looks at all tests of a project.
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
        if language == Some(Language::Rust)
            && fs::read_to_string(&file).is_ok_and(|text| text.contains("#[cfg(test)]"))
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
