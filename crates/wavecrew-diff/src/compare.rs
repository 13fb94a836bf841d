//! One comparison from its request to its report: versions, files, searches, results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use wavecrew_testgen::diff::{ChangedFile, ComparedModule, Difference, LineRange, TestFile, Versions};

use crate::changes::{FileKind, kind_of, source_changes};
use crate::report::{ChangedLineCount, Note, Report, ReportedRevision};
use crate::request::{DiffError, Progress, Request};
use crate::revision::{self, RevisionError, Revisions};
use crate::searches::{run_suites, search_all};
use crate::versions::{Change, VersionFolders, changes};

/// Folders of tests and their data.
const TEST_FOLDERS: [&str; 10] = [
    "test",
    "tests",
    "testing",
    "__tests__",
    "__fixtures__",
    "__snapshots__",
    "spec",
    "fixtures",
    "testdata",
    "examples",
];

/// Compares two versions. Returns the report and the test files to write. `on_progress` ends the search when
/// it returns false; differences that were confirmed before are reported.
pub fn compare(
    request: &Request,
    on_progress: &(dyn Fn(Progress<'_>) -> bool + Sync),
) -> Result<(Report, Vec<TestFile>), DiffError> {
    let started = Instant::now();
    let top = revision::top_of(&request.folder)?;
    let revisions = revision::resolve(&top, &request.selection)?;
    let changes = changes(&top, &revisions).map_err(RevisionError::Unusable)?;
    check_kinds(request, &top, &revisions, &changes)?;
    let files = request.files.as_deref().unwrap_or(&top);
    let folders = VersionFolders::make(&top, files, &revisions, changes, |path| {
        request.ignore_tests && kind_of(path) == FileKind::Test
    })
    .map_err(DiffError::Copy)?;
    let found = source_changes(
        &folders,
        |path| is_selected(request, &top, path),
        request.cosmetic,
    );
    let mut versions = Versions {
        old_root: folders.old.clone(),
        new_root: folders.new.clone(),
        project: top.clone(),
        changed: found.comparable.clone(),
        changed_tests: changed_tests(request, &folders, |path| kind_of(path) == FileKind::Test),
        test_files: changed_tests(request, &folders, |path| {
            kind_of(path) == FileKind::Test || is_in_test_folder(path)
        }),
        search_path: Vec::new(),
        seed: request.seed,
        quick: request.quick,
        tests: request.tests,
        test_folders: request.test_folders.clone(),
        commit: revisions
            .new
            .commit()
            .map(|commit| commit.chars().take(12).collect()),
        suite: Vec::new(),
    };
    on_progress(Progress::Started {
        files: found.comparable.len(),
    });
    let deadline = started + request.budget;
    let mut suites = run_suites(&versions, deadline, on_progress)?;
    versions.suite = suites
        .iter_mut()
        .flat_map(|suite| std::mem::take(&mut suite.suite))
        .collect();
    let mut modules = search_all(request, &versions, deadline, on_progress)?;
    let compared = modules.iter().filter(|module| module.calls > 0).count();
    for suite in &mut suites {
        drop_explained(suite, &modules, request.tests.change);
    }
    modules.extend(suites);
    let mut report = Report {
        base: ReportedRevision {
            name: revisions.old_name.clone(),
            commit: Some(revisions.old.clone()),
        },
        head: ReportedRevision {
            name: revisions.new.name().to_owned(),
            commit: revisions.new.commit().map(str::to_owned),
        },
        changed_lines: line_count(&found.comparable, &modules),
        files: found.files,
        interface: found.interface,
        differences: Vec::new(),
        notes: found.notes,
        calls: modules.iter().map(|module| module.calls).sum(),
        unconfirmed: modules.iter().map(|module| module.unconfirmed).sum(),
        compared: compared.max(usize::from(
            modules.iter().any(|module| !module.differences.is_empty()),
        )),
        written: Vec::new(),
        seconds: 0.0,
        complete: modules.iter().all(|module| module.complete),
    };
    let mut tests = Vec::new();
    for module in modules {
        report.differences.extend(module.differences);
        tests.extend(module.tests);
        report
            .notes
            .extend(module.dropped.into_iter().map(|dropped| Note {
                what: dropped.what,
                why: dropped.why,
            }));
    }
    report.differences = one_per_cause(report.differences);
    report.notes.sort();
    report.notes.dedup();
    report.seconds = (started.elapsed().as_secs_f64() * 100.0).round() / 100.0;
    Ok((report, tests))
}

fn is_selected(request: &Request, top: &Path, path: &Path) -> bool {
    let path = top.join(path);
    request.paths.is_empty() || request.paths.iter().any(|selected| path.starts_with(selected))
}

/// The reason why there is nothing to compare.
fn check_kinds(
    request: &Request,
    top: &Path,
    revisions: &Revisions,
    changes: &BTreeMap<PathBuf, Change>,
) -> Result<(), DiffError> {
    let (old, new) = (revisions.old_name.clone(), revisions.new.name().to_owned());
    let is_known =
        |path: &&PathBuf| path.exists() || changes.keys().any(|changed| top.join(changed).starts_with(path));
    if let Some(path) = request.paths.iter().find(|path| !is_known(path)) {
        let path = path.strip_prefix(top).unwrap_or(path).display().to_string();
        return Err(DiffError::NoSuchPath { path, old, new });
    }
    let selected: Vec<&PathBuf> = changes
        .keys()
        .filter(|path| is_selected(request, top, path))
        .collect();
    if changes.is_empty() {
        return Err(DiffError::NothingChanged { old, new });
    }
    if selected.is_empty() {
        let shown = |path: &PathBuf| path.strip_prefix(top).unwrap_or(path).display().to_string();
        let paths = request.paths.iter().map(shown).collect::<Vec<_>>().join(", ");
        return Err(DiffError::NothingInPaths { paths, old, new });
    }
    let kinds: Vec<FileKind> = selected.iter().map(|path| kind_of(path)).collect();
    if kinds.iter().any(|kind| matches!(kind, FileKind::Source(_))) {
        return Ok(());
    }
    let mut files = selected
        .iter()
        .take(3)
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(", ");
    if selected.len() > 3 {
        files = format!("{files} and {} more", selected.len() - 3);
    }
    Err(if kinds.contains(&FileKind::Test) {
        DiffError::OnlyTests { old, new, files }
    } else {
        DiffError::OnlyDocuments { old, new, files }
    })
}

/// The files of the new version's tests that the change touches.
fn changed_tests(
    request: &Request,
    folders: &VersionFolders,
    is_wanted: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    if request.ignore_tests {
        return Vec::new();
    }
    folders
        .changes
        .iter()
        .filter(|(path, change)| **change != Change::Removed && is_wanted(path))
        .map(|(path, _)| path.clone())
        .collect()
}

fn is_in_test_folder(path: &Path) -> bool {
    path.parent()
        .into_iter()
        .flat_map(Path::iter)
        .any(|folder| folder.to_str().is_some_and(|name| TEST_FOLDERS.contains(&name)))
}

/// Drops each difference of a test whose changed lines other differences show too: these are easier to read.
/// If tests are requested, only a difference with a test replaces one.
fn drop_explained(suite: &mut ComparedModule, modules: &[ComparedModule], is_tested: bool) {
    let others: Vec<&Difference> = modules
        .iter()
        .flat_map(|module| &module.differences)
        .filter(|other| !is_tested || other.test.is_some())
        .collect();
    let is_shown = |one: &Difference, ranges: fn(&Difference) -> &[LineRange]| {
        ranges(one).iter().all(|(first, last)| {
            others.iter().any(|other| {
                other.cause_file == one.cause_file
                    && ranges(other)
                        .iter()
                        .any(|(start, end)| start <= last && end >= first)
            })
        })
    };
    let (dropped, kept) = std::mem::take(&mut suite.differences)
        .into_iter()
        .partition(|one| {
            !others.is_empty() && is_shown(one, |one| &one.new_lines) && is_shown(one, |one| &one.old_lines)
        });
    suite.differences = kept;
    let dropped: Vec<Difference> = dropped;
    suite
        .tests
        .retain(|file| !dropped.iter().any(|one| one.test.as_ref() == Some(&file.text)));
}

fn line_count(changed: &[ChangedFile], modules: &[ComparedModule]) -> ChangedLineCount {
    let mut count = ChangedLineCount::default();
    for file in changed {
        let reported = modules
            .iter()
            .find_map(|module| module.executable.get(&file.file));
        let lines: BTreeSet<u32> = match reported {
            Some(lines) => lines.iter().copied().collect(),
            None => file
                .new_lines
                .iter()
                .flat_map(|(first, last)| *first..=*last)
                .collect(),
        };
        let reached: BTreeSet<u32> = modules
            .iter()
            .filter_map(|module| module.reached.new.get(&file.file))
            .flatten()
            .copied()
            .collect();
        count.total += lines.len();
        count.reached += lines.intersection(&reached).count();
    }
    count
}

/// Modules that share changed code may report the same cause.
fn one_per_cause(mut differences: Vec<Difference>) -> Vec<Difference> {
    differences.sort_by_key(|one| {
        let length = one.input.len() + one.setup.iter().map(String::len).sum::<usize>();
        (one.cause_file.clone(), one.file != one.cause_file, length)
    });
    let mut kept: Vec<Difference> = Vec::new();
    for one in differences {
        let same = kept.iter_mut().find(|other| {
            (&other.cause_file, &other.old_lines, &other.new_lines, &other.kind)
                == (&one.cause_file, &one.old_lines, &one.new_lines, &one.kind)
        });
        match same {
            Some(other) => {
                other.inputs += one.inputs;
                other.test = other.test.take().or(one.test);
            }
            None => kept.push(one),
        }
    }
    kept
}
