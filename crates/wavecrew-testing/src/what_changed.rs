//! The behaviour diff of the change under test: compares the files in scope with the version before the
//! change. Its document is part of the quality report, and its tests come first.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wavecrew_diff::{Request, Selection, TestFile, TestFolder, WantedTests, compare, render, top_of};
use wavecrew_session::SessionPaths;

use crate::layer::folder_of;
use crate::scope::{Base, FrameworkInScope, Scope};
use crate::snapshot::Snapshot;

/// Compares the files in scope with the version before the change, and writes the document. Returns tests
/// that fail on the old version, if tests of a layer are requested, with their paths below its folder.
/// Nothing without an old version, or without code that can be compared.
pub fn compare_with_base(
    session: &Path,
    scope: &Scope,
    budget: Duration,
    layer: Option<&Path>,
) -> Vec<TestFile> {
    let Some(selection) = selection(scope) else {
        return Vec::new();
    };
    let Ok(snapshot) = Snapshot::open(session) else {
        return Vec::new();
    };
    let project = &snapshot.manifest.project;
    let Ok(top) = top_of(project) else {
        return Vec::new();
    };
    let below = project.strip_prefix(&top).unwrap_or(Path::new(""));
    let places: Vec<TestPlace> = layer
        .map(|layer| {
            scope
                .frameworks
                .iter()
                .map(|one| TestPlace::new(one, below, layer))
                .collect()
        })
        .unwrap_or_default();
    let request = Request {
        folder: project.clone(),
        // The copy is that of the project, which may be a part of the repository.
        files: below.as_os_str().is_empty().then(|| snapshot.worker_copy()),
        selection,
        paths: scope.files.iter().map(|file| project.join(&file.path)).collect(),
        budget,
        seed: scope.seed,
        ignore_tests: false,
        cosmetic: false,
        quick: false,
        tests: WantedTests {
            change: layer.is_some(),
            guard: false,
        },
        test_folders: places.iter().map(|place| place.folder.clone()).collect(),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    // Without a comparison the tests are written as for any other code.
    let Ok((report, tests)) = compare(&request, &|_| true) else {
        return Vec::new();
    };
    if report.calls > 0 || !report.interface.is_empty() {
        let path = SessionPaths::at(session).what_changed();
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        // The report is written without it.
        let _ = folder.and_then(|()| fs::write(&path, render::markdown_body(&report)));
    }
    tests
        .into_iter()
        .filter_map(|test| in_layer(test, &places))
        .collect()
}

/// The location of a framework's tests.
struct TestPlace {
    /// The folder in the repository in which they run.
    folder: TestFolder,
    /// Below the folder of the layer.
    in_layer: PathBuf,
}

impl TestPlace {
    fn new(framework: &FrameworkInScope, project: &Path, layer: &Path) -> Self {
        let root = framework.root.strip_prefix(".").unwrap_or(&framework.root);
        Self {
            folder: TestFolder {
                modules: project.join(root),
                tests: project.join(folder_of(framework, layer)),
            },
            in_layer: root.to_owned(),
        }
    }
}

/// A test with its path below the folder of the layer. If it names its folder, its imports work only there.
fn in_layer(test: TestFile, places: &[TestPlace]) -> Option<TestFile> {
    let name = Path::new(&test.name);
    let folder = name.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Some(folder) = folder else {
        return Some(test);
    };
    let place = places.iter().find(|place| place.folder.tests == folder)?;
    let path = place.in_layer.join(name.file_name()?);
    Some(TestFile {
        name: path.to_string_lossy().into_owned(),
        ..test
    })
}

/// Whether a test file records a change: its tests tell the versions apart, whatever else they show.
pub fn records_change(file: &str) -> bool {
    let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    stem.ends_with("_change") || stem.ends_with("-change")
}

/// The document, if there is one.
pub fn document(session: &Path) -> Option<String> {
    fs::read_to_string(SessionPaths::at(session).what_changed()).ok()
}

fn selection(scope: &Scope) -> Option<Selection> {
    let base = scope.base.clone()?;
    Some(if Base::Staged.revision() == Some(&*base) {
        Selection {
            worktree: true,
            ..Selection::default()
        }
    } else {
        Selection {
            revision: Some(base),
            ..Selection::default()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_record_a_change_are_known_by_their_names() {
        for (file, expected) in [
            ("tests/L1-unit/test_m_change.py", true),
            ("m-change.test.ts", true),
            ("test_exchange.py", false),
            ("change.test.js", false),
        ] {
            assert_eq!(records_change(file), expected, "{file}");
        }
    }

    #[test]
    fn a_test_goes_where_its_imports_fit() {
        let place = |root: &str, tests: &str| TestPlace {
            folder: TestFolder {
                modules: PathBuf::from(root),
                tests: PathBuf::from(tests),
            },
            in_layer: PathBuf::from(root),
        };
        let places = [
            place("", "test/unit"),
            place("packages/a", "packages/a/test/unit"),
        ];
        for (name, expected) in [
            ("test_m_change.py", Some("test_m_change.py")),
            ("test/unit/m-change.test.js", Some("m-change.test.js")),
            (
                "packages/a/test/unit/m-change.test.js",
                Some("packages/a/m-change.test.js"),
            ),
            ("spec/m-change.test.js", None),
        ] {
            let test = TestFile {
                name: name.to_owned(),
                ..TestFile::default()
            };
            assert_eq!(
                in_layer(test, &places).map(|test| test.name).as_deref(),
                expected,
                "{name}"
            );
        }
    }
}
