//! The source files of a project, without dependencies, build output and hidden files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Language, Project, project_of};
use crate::framework::language::has_test_name;
use crate::framework::python_environment::is_environment;

/// Folders that never hold a project's own code.
const EXCLUDED_FOLDERS: &[&str] = &[
    "__pycache__",
    "_vendor",
    "_vendored",
    "bower_components",
    "build",
    "coverage",
    "dist",
    "env",
    "htmlcov",
    "node_modules",
    "out",
    "site-packages",
    "target",
    "third_party",
    "vendor",
    "vendored",
    "venv",
];

/// Folders beside a project's code, unless they are packages of it.
const BESIDE: &[&str] = &[
    "bench",
    "benchmark",
    "benchmarks",
    "demo",
    "demos",
    "doc",
    "docs",
    "example",
    "examples",
];

/// Files that mark the root of a project.
pub const ROOT_MARKS: &[&str] = &[
    ".git",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "package.json",
    "Cargo.toml",
    "go.mod",
];

/// Whether a folder holds something else than code of the project.
fn is_foreign(folder: &Path, name: &str, in_root: bool) -> bool {
    name.starts_with('.')
        || EXCLUDED_FOLDERS.contains(&name)
        || is_environment(folder)
        || in_root && BESIDE.contains(&name) && !folder.join("__init__.py").is_file()
}

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
        let is_root = folder == top || ROOT_MARKS.iter().any(|name| folder.join(name).exists());
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    if !is_foreign(&entry.path(), &name, is_root) {
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
        if file == path || !(is_test(&file, &project.root) || is_settings(&file) || is_generated(&file)) {
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

/// The number of lines at the top of a file that are searched for a generator's note.
const HEADER_LINES: usize = 10;

/// Whether a program wrote the file, by its name or its first lines.
fn is_generated(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let by_name = ["_pb2.py", "_pb2_grpc.py", ".min.js", ".bundle.js", ".pb.go"];
    if by_name.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    let mut head = Vec::new();
    let read = File::open(file).and_then(|file| file.take(4096).read_to_end(&mut head));
    if read.is_err() {
        return false;
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let marks = [
        "@generated",
        "do not edit",
        "generated by",
        "automatically generated",
        "autogenerated",
    ];
    head.lines()
        .take(HEADER_LINES)
        .map(str::trim_start)
        .filter(|line| line.starts_with(['#', '/', '*', '"', '\'']))
        .any(|line| marks.iter().any(|mark| line.contains(mark)))
}

fn is_settings(file: &Path) -> bool {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    ["setup.py", "noxfile.py", "versioneer.py", "build.rs"].contains(&&*name)
        || name.contains(".config.")
        || name.contains(".workspace.")
        || name.ends_with(".d.ts")
}
