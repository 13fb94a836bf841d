//! What the change under test does: a comparison of the files in scope with the version before it. Its document is part
//! of the quality report, and its tests come first.

use std::fs;
use std::path::Path;
use std::time::Duration;

use wavecrew_diff::{Request, Selection, TestFile, WantedTests, compare, render};
use wavecrew_session::SessionPaths;

use crate::scope::{Base, Scope};
use crate::snapshot::Snapshot;

/// Compares the files in scope with the version before the change, and writes the document. Returns tests that fail on the
/// old version, if they are wanted. Nothing without an old version, or without code that can be compared.
pub fn compare_with_base(session: &Path, scope: &Scope, budget: Duration, tests: bool) -> Vec<TestFile> {
    let Some(selection) = selection(scope) else {
        return Vec::new();
    };
    let Ok(snapshot) = Snapshot::open(session) else {
        return Vec::new();
    };
    let project = &snapshot.manifest.project;
    let request = Request {
        folder: project.clone(),
        files: Some(snapshot.worker_copy()),
        selection,
        paths: scope.files.iter().map(|file| project.join(&file.path)).collect(),
        budget,
        seed: scope.seed,
        ignore_tests: false,
        cosmetic: false,
        tests: WantedTests {
            change: tests,
            guard: false,
        },
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    // Without a comparison the tests are written as for any other code.
    let Ok((report, tests)) = compare(&request, &|_| true) else {
        return Vec::new();
    };
    if report.calls > 0 || !report.interface.is_empty() {
        let path = SessionPaths::at(session).what_changed();
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        // The report does without it.
        let _ = folder.and_then(|()| fs::write(&path, render::markdown_body(&report)));
    }
    tests
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
