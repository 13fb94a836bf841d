//! Checks the tests that a generator delivers, one by one: each parses, asserts something and is collected by
//! the framework. Drops and names the others. The delivery is sent back only if no test remains.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use wavecrew_measure::detect::Framework;
use wavecrew_measure::run::{Collect, TestOrder};
use wavecrew_measure::{TestId, TestOutcome};
use wavecrew_syntax::{Grammar, TestMode, asserting_names, errors, tests_with_helpers};

use super::integrity::{changed_by_tests, read, with_integrity};
use super::offenders::run_without_offenders;
use super::{Case, Delivery, delivery, facts, listed, text_scan};
use crate::apply;
use crate::baseline::Baseline;
use crate::coverage_figures::lines;
use crate::environment::{EnvironmentError, LayerRun, TestEnvironment};
use crate::layer::{self, Kind, Placed};
use crate::result::RunResult;
use crate::rounds;
use crate::scope::{FrameworkInScope, Scope};
use crate::select::{self, DropReason, Dropped};
use wavecrew_core::event::Verdict;

use wavecrew_core::check_report::{CheckDetails, CheckReport};

pub fn check(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    with_integrity(environment, case, check_tests)
}

fn check_tests(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    let folder = case.folder(environment)?;
    let last = RunResult::read(case.session, case.layer).ok();
    let placed = match delivery(environment, case, &folder, last.as_ref())? {
        Delivery::Refused(report) => return Ok(report),
        Delivery::NothingNew => {
            return Ok(CheckReport::Confirmed(CheckDetails {
                verdict: Verdict::Verified,
                measured: BTreeMap::from([("test_files".to_owned(), String::new())]),
                facts: facts([("files", 0), ("tests", 0)]),
                ..CheckDetails::default()
            }));
        }
        Delivery::Missing => return Ok(CheckReport::send_back(no_test_file(environment, &folder)?)),
        Delivery::Tests(placed) => placed,
    };
    // The delivery is changed only if some of it counts. A worker that has to repair all of it finds it
    // unchanged.
    let staged = tempfile::tempdir()?;
    let staged = staged.path();
    let mut unusable = unusable_tests(&folder, &placed);
    select::write_kept(&folder, staged, &unusable.dropped, &unusable.all)?;
    rename_conflicting(environment, case, staged)?;
    let placed = layer::place(&environment.scope, case.layer, staged)?;
    if !placed.iter().any(|file| file.kind == Kind::Test) {
        return Ok(CheckReport::send_back(described(&unusable.dropped)));
    }
    environment
        .progress
        .begin(&format!("first run of {}", case.layer));
    let run = match first_run(environment, case, staged, &mut unusable)? {
        Ok(run) => run,
        Err(reason) => return Ok(CheckReport::send_back(reason)),
    };
    // Tests that fail, hang or do not load are measured first, and may be repaired.
    let dropped = unusable.dropped;
    rounds::save_dropped(case.session, case.layer, &folder, &dropped)?;
    rounds::mirror(staged, &folder)?;
    rounds::save_checked(case.session, case.layer, staged)?;
    let placed = layer::place(&environment.scope, case.layer, &folder)?;
    let files: Vec<String> = placed
        .iter()
        .filter(|file| file.kind == Kind::Test)
        .map(|file| format!("{}/{}", folder_name(environment, case.layer), file.file.display()))
        .collect();
    let passing = run
        .tests
        .iter()
        .filter(|test| test.outcome == TestOutcome::Passed)
        .count();
    Ok(CheckReport::Confirmed(CheckDetails {
        verdict: Verdict::Verified,
        // A generator cannot know any figures, so its claims about them are ignored.
        measured: BTreeMap::from([
            ("pass_rate".to_owned(), String::new()),
            ("coverage_achieved".to_owned(), String::new()),
            ("test_files".to_owned(), files.join(";")),
        ]),
        facts: facts([
            ("files", files.len()),
            ("tests", run.tests.len()),
            ("passing", passing),
            ("dropped", dropped.len()),
        ]),
        findings: if dropped.is_empty() {
            String::new()
        } else {
            format!("dropped {}", described(&dropped))
        },
        ..CheckDetails::default()
    }))
}

/// Runs the delivered tests once. Drops tests that change source. Returns an error with the reason if no test
/// remains that runs.
fn first_run(
    environment: &mut TestEnvironment,
    case: &Case<'_>,
    staged: &Path,
    unusable: &mut UnusableTests,
) -> Result<Result<LayerRun, String>, EnvironmentError> {
    let (layer, order) = (case.layer, TestOrder::Default);
    let run = environment.layer(layer, staged, Collect::TestsOnly, order, &BTreeSet::new())?;
    let placed = layer::place(&environment.scope, layer, staged)?;
    let reason = nothing_runs(&run, &placed);
    let changed = changed_by_tests(environment)?;
    if changed.is_none() && (reason.is_none() || run.ended_runs.is_empty()) {
        return Ok(reason.map_or(Ok(run), Err));
    }
    let rest = tempfile::tempdir()?;
    let (run, offenders) = run_without_offenders(environment, case, staged, rest.path(), Collect::TestsOnly)?;
    let changes_source = |test: &Dropped| test.why == DropReason::ChangesSource;
    let changers: Vec<Dropped> = offenders.into_iter().filter(changes_source).collect();
    let kept = tempfile::tempdir()?;
    select::write_kept(staged, kept.path(), &changers, &unusable.all)?;
    rounds::mirror(kept.path(), staged)?;
    let placed = layer::place(&environment.scope, layer, staged)?;
    if !placed.iter().any(|file| file.kind == Kind::Test) {
        let files = changed.unwrap_or_default();
        return Ok(Err(format!("tests change source while they run: {files}")));
    }
    unusable.dropped.extend(changers);
    let still = nothing_runs(&run, &placed);
    Ok(
        match reason.or_else(|| still.clone()).filter(|_| still.is_some()) {
            Some(reason) => Err(reason),
            None => Ok(run),
        },
    )
}

/// Whether the project's own tests cover code in scope.
pub fn is_covered_already(case: &Case<'_>, scope: &Scope) -> bool {
    let baseline = Baseline::read(case.session).unwrap_or_default();
    baseline.is_known() && lines(&baseline.coverage_of(scope)).covered > 0
}

/// `test_a.py::test_x (asserts nothing that could fail), ...`
fn described(dropped: &[Dropped]) -> String {
    let describe = |test: &Dropped| match test.message.lines().next() {
        None => format!("{} ({})", test.id, test.why.description()),
        Some(message) => format!("{} ({}: {message})", test.id, test.why.description()),
    };
    listed(&dropped.iter().map(describe).collect::<Vec<_>>())
}

fn folder_name(environment: &TestEnvironment, layer: &str) -> String {
    environment
        .scope
        .folder(layer)
        .map(|folder| folder.display().to_string())
        .unwrap_or_default()
}

/// Why none of the delivered files counts as a test.
fn no_test_file(environment: &TestEnvironment, folder: &Path) -> Result<String, EnvironmentError> {
    let names: Vec<String> = layer::files(folder)?
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    if names.is_empty() {
        return Ok(format!("no test file is in {}", folder.display()));
    }
    let frameworks = environment.scope.frameworks.iter();
    let patterns: BTreeSet<String> = frameworks.map(FrameworkInScope::test_pattern).collect();
    let patterns: Vec<String> = patterns.into_iter().collect();
    Ok(format!(
        "none of the files counts as a test ({}): names have to look like {}",
        listed(&names),
        patterns.join(" or ")
    ))
}

/// The results of reading the syntax of the delivered files.
#[derive(Default)]
struct UnusableTests {
    all: Vec<TestId>,
    dropped: Vec<Dropped>,
}

/// Tests that prove nothing, and files without any test that could.
fn unusable_tests(folder: &Path, placed: &[Placed]) -> UnusableTests {
    let mut found = UnusableTests::default();
    let helpers = asserting_helpers(folder, placed);
    for file in placed {
        let id = |name: &str| TestId {
            file: file.file.to_string_lossy().into_owned(),
            name: name.to_owned(),
        };
        let mut drop_file = |why: DropReason, message: String| {
            found.dropped.push(Dropped {
                id: id(""),
                why,
                message,
            });
        };
        let source = read(&folder.join(&file.file));
        let Some(language) = Grammar::of(&file.file) else {
            if let Some(problem) = text_scan::problem(&file.file, &source).filter(|_| file.kind == Kind::Test)
            {
                drop_file(problem, String::new());
            }
            continue;
        };
        if let Some(error) = errors(language, &source).first() {
            drop_file(DropReason::DoesNotParse, error.to_string());
            continue;
        }
        if file.kind == Kind::Helper {
            continue;
        }
        let shapes = tests_with_helpers(language, &source, &helpers);
        if shapes.is_empty() {
            drop_file(DropReason::HoldsNoTest, String::new());
            continue;
        }
        for shape in shapes {
            let why = match shape.mode {
                TestMode::Skipped | TestMode::Todo => Some(DropReason::Skipped),
                TestMode::ExpectedToFail => Some(DropReason::ExpectedToFail),
                TestMode::Only => Some(DropReason::Focused),
                // Whether a condition is true shows in the run.
                TestMode::Runs | TestMode::SkippedIf => {
                    shape.assertions.is_empty().then_some(DropReason::AssertsNothing)
                }
            };
            let id = id(&shape.name);
            found.dropped.extend(why.map(|why| Dropped {
                id: id.clone(),
                why,
                message: String::new(),
            }));
            found.all.push(id);
        }
    }
    found
}

/// Functions and fixtures in all delivered files that assert something, directly or through other functions.
fn asserting_helpers(folder: &Path, placed: &[Placed]) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    loop {
        let mut found = known.clone();
        for file in placed {
            if let Some(language) = Grammar::of(&file.file) {
                found.extend(asserting_names(language, &read(&folder.join(&file.file)), &known));
            }
        }
        if found.len() == known.len() {
            return found;
        }
        known = found;
    }
}

/// Renames test files that would overwrite a file of the project, or that pytest would confuse with one.
fn rename_conflicting(
    environment: &TestEnvironment,
    case: &Case<'_>,
    folder: &Path,
) -> Result<(), EnvironmentError> {
    let is_taken = |file: &Placed| {
        let framework = &environment.scope.frameworks[file.framework].framework;
        environment.snapshot.manifest.contains(&file.target)
            || namesake(environment, file, framework).is_some()
    };
    for file in layer::place(&environment.scope, case.layer, folder)? {
        if !is_taken(&file) {
            continue;
        }
        let free = apply::names(&file.file, environment.scope.team_layer(case.layer)).find(|name| {
            let target = file.target.with_file_name(name.file_name().unwrap_or_default());
            let renamed = Placed {
                file: name.clone(),
                target,
                ..file.clone()
            };
            !is_taken(&renamed) && !folder.join(name).exists()
        });
        if let Some(name) = free {
            fs::rename(folder.join(&file.file), folder.join(name))?;
        }
    }
    Ok(())
}

/// pytest names modules by their file alone where there are no packages.
fn namesake(environment: &TestEnvironment, file: &Placed, framework: &Framework) -> Option<String> {
    if !framework.facts().unique_file_names || file.kind == Kind::Helper {
        return None;
    }
    let name = file.target.file_name()?;
    environment
        .snapshot
        .manifest
        .names()
        .find(|known| known.file_name() == Some(name) && framework.is_test_file(known))
        .map(|known| known.display().to_string())
}

/// Whether any test file could be loaded. The executor repairs single files that cannot.
fn nothing_runs(run: &LayerRun, placed: &[Placed]) -> Option<String> {
    let unloaded: Vec<String> = run
        .tests
        .iter()
        .filter_map(|test| match &test.outcome {
            TestOutcome::Unloaded { message } => Some(format!("{}: {}", test.id.file, end_of(message))),
            _ => None,
        })
        .collect();
    if run.tests.len() > unloaded.len() {
        return None;
    }
    let names: Vec<String> = placed
        .iter()
        .map(|file| file.file.display().to_string())
        .collect();
    Some(if unloaded.is_empty() {
        format!("the framework finds no test in {}", listed(&names))
    } else {
        format!("no test file loads: {}", listed(&unloaded))
    })
}

/// The last lines of a message, where frameworks print the cause.
fn end_of(message: &str) -> String {
    let lines: Vec<&str> = message.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(8);
    lines[from..].join("\n")
}
