//! Facts from the project's files: how its tests are named, and texts that call its modules. Read only.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders without files of the project's own.
const SKIPPED_FOLDERS: [&str; 6] = ["node_modules", "dist", "build", "coverage", "target", "vendor"];
const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 5000;
/// Larger files are not read for examples.
const MAX_BYTES: u64 = 200_000;
const MAX_TEXTS: usize = 10;

#[derive(Debug, Default)]
pub struct Project {
    tests: Vec<PathBuf>,
    readme: Option<PathBuf>,
    /// Code and documentation.
    others: Vec<PathBuf>,
}

impl Project {
    pub fn read(root: &Path) -> Self {
        let mut found = Self::default();
        let mut left = MAX_FILES;
        found.walk(root, 0, &mut left);
        found.tests.sort();
        found
    }

    fn walk(&mut self, folder: &Path, depth: usize, left: &mut usize) {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        for path in entries {
            if *left == 0 {
                return;
            }
            *left -= 1;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') || path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                if depth < MAX_DEPTH && !SKIPPED_FOLDERS.contains(&name.as_ref()) {
                    self.walk(&path, depth + 1, left);
                }
            } else if test_word_in(&name).is_some() {
                self.tests.push(path);
            } else if depth == 0 && name.eq_ignore_ascii_case("readme.md") {
                self.readme = Some(path);
            } else if is_script(&name) || name.ends_with(".md") {
                self.others.push(path);
            }
        }
    }

    /// `spec` when most of its tests are named so, otherwise `test`.
    pub fn test_word(&self) -> &'static str {
        let specs = self
            .tests
            .iter()
            .filter(|path| {
                test_word_in(&path.file_name().unwrap_or_default().to_string_lossy()) == Some("spec")
            })
            .count();
        if specs * 2 > self.tests.len() {
            "spec"
        } else {
            "test"
        }
    }

    /// Texts that may call a module: the README, and tests, documentation and code that name it.
    pub fn texts(&self, file: &Path, stem: &str) -> Vec<String> {
        let others = self.others.iter().filter(|path| *path != file);
        self.readme
            .iter()
            .filter_map(read)
            .chain(self.tests_naming(stem).map(|(_, text)| text))
            .chain(others.filter_map(read).filter(|text| text.contains(stem)))
            .take(MAX_TEXTS)
            .collect()
    }

    /// Tests that name a module, with their texts.
    pub fn tests_naming<'a>(&'a self, stem: &'a str) -> impl Iterator<Item = (&'a Path, String)> {
        self.tests
            .iter()
            .filter_map(|path| Some((path.as_path(), read(path)?)))
            .filter(move |(_, text)| text.contains(stem))
    }
}

fn read(path: &PathBuf) -> Option<String> {
    let small = fs::metadata(path).is_ok_and(|found| found.len() <= MAX_BYTES);
    small.then(|| fs::read_to_string(path).ok()).flatten()
}

fn is_script(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or_default();
    ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"].contains(&extension)
}

/// The part of a file name that marks a test.
fn test_word_in(name: &str) -> Option<&'static str> {
    if !is_script(name) {
        return None;
    }
    let mut parts = name.rsplit('.').skip(1);
    let word = parts.next()?;
    parts.next()?;
    ["spec", "test"].into_iter().find(|known| *known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_tests_are_named_like_existing_ones() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Project::read(dir.path()).test_word(), "test");
        for file in [
            "src/a.spec.ts",
            "src/b.spec.ts",
            "c.test.js",
            "node_modules/x/d.test.js",
        ] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "slug('a')").unwrap();
        }
        fs::write(dir.path().join("README.md"), "slug('b')").unwrap();
        fs::write(dir.path().join("src/slug.js"), "slug('c')").unwrap();
        fs::write(dir.path().join("src/use.js"), "slug('d')").unwrap();
        let own = dir.path().join("src/slug.js");
        let project = Project::read(dir.path());
        assert_eq!(project.test_word(), "spec");
        assert_eq!(project.texts(&own, "slug").len(), 5, "all but its own text");
        assert_eq!(
            project.texts(&own, "other"),
            ["slug('b')"],
            "only the README applies to every module"
        );
    }
}
