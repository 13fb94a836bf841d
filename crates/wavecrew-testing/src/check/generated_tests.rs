//! Tests that a generator says it has written: there, of this layer, parsing, collected by the framework, asserting
//! something; and nothing else touched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wavecrew_measure::TestOutcome;
use wavecrew_measure::detect::Framework;
use wavecrew_measure::run::{Collect, TestOrder};
use wavecrew_syntax::{Grammar, TestMode, errors, tests};

use super::integrity::{changed_by_tests, read, weakened_tests, with_integrity};
use super::{Case, facts, listed, text_scan};
use crate::environment::{EnvironmentError, LayerRun, TestEnvironment};
use crate::layer::{self, Kind, Placed};
use crate::result::RunResult;
use crate::rounds;
use crate::scope::FrameworkInScope;
use wavecrew_core::event::Verdict;

use wavecrew_core::check_report::{CheckDetails, CheckReport};

pub fn check(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    with_integrity(environment, case, check_tests)
}

fn check_tests(environment: &mut TestEnvironment, case: &Case<'_>) -> Result<CheckReport, EnvironmentError> {
    let folder = case.folder(environment)?;
    let last = RunResult::read(case.session, case.layer).ok();
    if let Some(reason) = weakened_tests(case, &folder, last.as_ref())? {
        return Ok(CheckReport::contradicted(reason));
    }
    let placed = layer::place(&environment.scope, case.layer, &folder)?;
    if let Some(reason) = shape_problem(environment, &folder, &placed)? {
        return Ok(CheckReport::send_back(reason));
    }
    let run = environment.layer(
        case.layer,
        &folder,
        Collect::TestsOnly,
        TestOrder::Default,
        &BTreeSet::new(),
    )?;
    if let Some(reason) = changed_by_tests(environment)? {
        return Ok(CheckReport::send_back(reason));
    }
    if let Some(reason) = nothing_runs(&run, &placed) {
        return Ok(CheckReport::send_back(reason));
    }
    rounds::mirror(&folder, &rounds::kept(case.session, case.layer))?;
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
        // What a generator claims about figures is nothing that it can know.
        measured: BTreeMap::from([
            ("pass_rate".to_owned(), String::new()),
            ("coverage_achieved".to_owned(), String::new()),
            ("test_files".to_owned(), files.join(";")),
        ]),
        facts: facts([
            ("files", files.len()),
            ("tests", run.tests.len()),
            ("passing", passing),
        ]),
        ..CheckDetails::default()
    }))
}

fn folder_name(environment: &TestEnvironment, layer: &str) -> String {
    environment
        .scope
        .folder(layer)
        .map(|folder| folder.display().to_string())
        .unwrap_or_default()
}

/// What can be seen without running anything.
fn shape_problem(
    environment: &TestEnvironment,
    folder: &Path,
    placed: &[Placed],
) -> Result<Option<String>, EnvironmentError> {
    if !placed.iter().any(|file| file.kind == Kind::Test) {
        let there = layer::files(folder)?;
        let pattern: BTreeSet<String> = environment
            .scope
            .frameworks
            .iter()
            .map(FrameworkInScope::test_pattern)
            .collect();
        let pattern: Vec<String> = pattern.into_iter().collect();
        return Ok(Some(if there.is_empty() {
            format!("no test file is in {}", folder.display())
        } else {
            let names: Vec<String> = there.iter().map(|file| file.display().to_string()).collect();
            format!(
                "none of the files would be taken for a test ({}): names have to look like {}",
                listed(&names),
                pattern.join(" or ")
            )
        }));
    }
    let mut problems = Vec::new();
    for file in placed {
        let shown = file.file.display();
        let framework = &environment.scope.frameworks[file.framework];
        if environment.snapshot.manifest.knows(&file.target) {
            problems.push(format!(
                "{shown} would overwrite {} of the project: rename it",
                file.target.display()
            ));
        } else if let Some(other) = namesake(environment, file, &framework.framework) {
            problems.push(format!(
                "{shown} is called like {other} of the project, and pytest loads only one of them: rename it"
            ));
        }
        let source = read(&folder.join(&file.file));
        let Some(language) = Grammar::of(&file.file) else {
            let problem = text_scan::problem(&file.file, &source).filter(|_| file.kind == Kind::Test);
            problems.extend(problem.map(|problem| format!("{shown} {problem}")));
            continue;
        };
        if let Some(error) = errors(language, &source).first() {
            problems.push(format!("{shown} does not parse: {error}"));
            continue;
        }
        if file.kind == Kind::Helper {
            continue;
        }
        let shapes = tests(language, &source);
        if shapes.is_empty() {
            problems.push(format!("{shown} holds no test"));
        }
        let named = |keep: &dyn Fn(&wavecrew_syntax::TestDefinition) -> bool| -> Vec<String> {
            shapes
                .iter()
                .filter(|shape| keep(shape))
                .map(|shape| format!("`{}`", shape.name))
                .collect()
        };
        for (names, what) in [
            (
                named(&|s| s.assertions.is_empty() && s.mode != TestMode::Todo),
                "assert nothing that could fail",
            ),
            (
                named(&|s| matches!(s.mode, TestMode::Skipped | TestMode::Todo | TestMode::SkippedIf)),
                "are skipped, and a test that does not run proves nothing",
            ),
            (
                named(&|s| s.mode == TestMode::ExpectedToFail),
                "are marked as expected to fail; leave the mark out: a test that shows a defect is set aside by itself",
            ),
            (
                named(&|s| s.mode == TestMode::Only),
                "keep all others from running",
            ),
        ] {
            if !names.is_empty() {
                problems.push(format!("in {shown} these tests {what}: {}", listed(&names)));
            }
        }
    }
    Ok((!problems.is_empty()).then(|| problems.join("; ")))
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

/// Whether any test file could be loaded. Single ones that cannot are the executor's to repair.
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

/// The last lines of a message: where frameworks say what is wrong.
fn end_of(message: &str) -> String {
    let lines: Vec<&str> = message.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(8);
    lines[from..].join("\n")
}
