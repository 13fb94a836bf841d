//! The coverage of single tests: from one run of pytest that records it by test, or from separate runs of vitest and jest.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use super::scope::relative_path;
use super::{
    Collect, Focus, Invocation, MeasureError, Request, Runner, TestOrder, TestRun, os_args, read,
    report_folder,
};
use crate::framework::pytest::{combine_args, interpreter, probe, pytest_args, python_step, source_option};
use crate::measurement::TestId;
use crate::report::istanbul;

/// The combined coverage of some tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCoverage {
    /// One test, or all tests of a file where one run per test would be too slow.
    pub tests: Vec<TestId>,
    pub points: BTreeSet<CoveragePoint>,
}

/// A line of a file in scope, or a branch that starts there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoveragePoint {
    /// Relative to the project's root where it lies below it.
    pub file: String,
    pub line: u32,
    pub kind: PointKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PointKind {
    /// The line itself.
    Line,
    /// Identified by numbers that are the same in each run of the same code.
    Branch(i64, i64),
}

/// Makes coverage.py record what runs in each test, and while each file is loaded.
const BY_TEST: &str = include_str!("by_test.py");

/// The lines and branches that coverage.py recorded.
#[derive(Deserialize)]
struct ByTest {
    /// The tests that ran, as pytest names them.
    tests: Vec<String>,
    /// By test, or by test file for what ran while it was loaded.
    arcs: BTreeMap<String, BTreeMap<String, Vec<(i64, i64)>>>,
}

impl Runner {
    /// What each of these passing tests covers; the request names their files. `None` where the framework or a missing tool
    /// cannot tell. A framework that needs a run per test is started at most `max_runs` times.
    pub fn coverage_by_test(
        &self,
        request: &Request<'_>,
        tests: &[TestId],
        max_runs: usize,
    ) -> Result<Option<Vec<TestCoverage>>, MeasureError> {
        let request = Request {
            coverage: Collect::TestsAndCoverage,
            order: TestOrder::Default,
            ..request.clone()
        };
        let framework = request.project.framework.adapter();
        framework.coverage_by_test(self, &request, tests, max_runs)
    }

    /// One run per test, or per test file if there are too many tests, of a framework that writes istanbul's coverage report.
    pub(crate) fn coverage_by_separate_runs(
        &self,
        request: &Request<'_>,
        tests: &[TestId],
        max_runs: usize,
        invocation: impl Fn(&TestRun<'_>) -> Result<Invocation, MeasureError>,
    ) -> Result<Option<Vec<TestCoverage>>, MeasureError> {
        let mut files: BTreeMap<&str, Vec<&TestId>> = BTreeMap::new();
        for test in tests {
            files.entry(&test.file).or_default().push(test);
        }
        let units: Vec<Vec<&TestId>> = if tests.len() <= max_runs {
            tests.iter().map(|test| vec![test]).collect()
        } else if files.len() <= max_runs {
            files.values().cloned().collect()
        } else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for unit in units {
            let file = request.project.root.join(&unit[0].file);
            let others = files[unit[0].file.as_str()].iter().copied();
            let skip: Vec<TestId> = others.filter(|test| !unit.contains(test)).cloned().collect();
            let request = Request {
                tests: &[file],
                ..request.clone()
            };
            let focus = Focus {
                skip: &skip,
                ..Focus::default()
            };
            let folder = report_folder()?;
            let run = self.test_run(&request, focus, folder.path())?;
            let Some(points) = covered_points(&run, invocation(&run)?)? else {
                return Ok(None);
            };
            found.push(TestCoverage {
                tests: unit.into_iter().cloned().collect(),
                points,
            });
        }
        Ok(Some(found))
    }
}

fn covered_points(
    run: &TestRun<'_>,
    invocation: Invocation,
) -> Result<Option<BTreeSet<CoveragePoint>>, MeasureError> {
    let Some((_, report)) = invocation.coverage else {
        return Ok(None);
    };
    run.run(&invocation.tests)?;
    let Some(report) = read(&report)? else {
        return Ok(None);
    };
    let scope = scope_names(run);
    let mut points = BTreeSet::new();
    for (path, line, kind) in istanbul::covered_points(&report)? {
        let file = relative_path(&path, run.root());
        if scope.contains(&file) {
            points.insert(CoveragePoint { file, line, kind });
        }
    }
    Ok(Some(points))
}

/// One run of pytest in which coverage.py records a context for each test.
pub(crate) fn pytest_contexts(
    runner: &Runner,
    request: &Request<'_>,
    tests: &[TestId],
) -> Result<Option<Vec<TestCoverage>>, MeasureError> {
    let folder = report_folder()?;
    let run = runner.test_run(request, Focus::default(), folder.path())?;
    let python = interpreter(run.root());
    let installed = probe(&run, &python)?;
    if !run.wants_coverage() || !installed.has("coverage") {
        return Ok(None);
    }
    let (script, out) = (run.file("by_test.py"), run.file("by_test.json"));
    fs::write(&script, BY_TEST)?;
    let mut args = os_args(["-m", "coverage", "run", "--branch"]);
    args.push(source_option(&run));
    args.extend([script.clone().into(), out.clone().into()]);
    args.extend(pytest_args(&run, &installed)?);
    args.extend(request.tests.iter().map(OsString::from));
    let mut step = python_step(&run, &python, args);
    // The newest tracer records each line only once, whatever the test.
    step.env.push(("COVERAGE_CORE", "ctrace".into()));
    run.run(&step)?;
    let print_args = vec![script.into(), "--tell".into(), out.clone().into()];
    for args in [combine_args(), print_args] {
        run.run(&python_step(&run, &python, args))?;
    }
    let found = read(&out)?.and_then(|bytes| serde_json::from_slice::<ByTest>(&bytes).ok());
    Ok(found.and_then(|found| found.coverage_of(tests, &run)))
}

impl ByTest {
    /// `None` when a test is missing: then nothing is certain about the others.
    fn coverage_of(&self, tests: &[TestId], run: &TestRun<'_>) -> Option<Vec<TestCoverage>> {
        if self.arcs.is_empty() {
            return None;
        }
        let scope = scope_names(run);
        let ran: BTreeSet<&str> = self.tests.iter().map(String::as_str).collect();
        let mut found = Vec::new();
        for test in tests {
            let id = test.node_id();
            if !ran.contains(id.as_str()) {
                return None;
            }
            let mut points = BTreeSet::new();
            // A kept test keeps its file, and what loading it covers.
            for context in [id.as_str(), test.file.as_str()] {
                for (path, arcs) in self.arcs.get(context).into_iter().flatten() {
                    let file = relative_path(path, run.root());
                    if scope.contains(&file) {
                        points.extend(arcs.iter().flat_map(|&arc| of_arc(&file, arc)));
                    }
                }
            }
            found.push(TestCoverage {
                tests: vec![test.clone()],
                points,
            });
        }
        Some(found)
    }
}

/// Lines count from 1; other numbers are the outside of a function or module.
fn of_arc(file: &str, (from, to): (i64, i64)) -> Vec<CoveragePoint> {
    let line = |number: i64| u32::try_from(number).ok().filter(|&line| line > 0);
    let point = |line, kind| CoveragePoint {
        file: file.to_owned(),
        line,
        kind,
    };
    let here = [line(from), line(to)].into_iter().flatten();
    let mut points: Vec<CoveragePoint> = here.map(|line| point(line, PointKind::Line)).collect();
    points.extend(line(from).map(|line| point(line, PointKind::Branch(to, 0))));
    points
}

fn scope_names(run: &TestRun<'_>) -> BTreeSet<String> {
    let scope: &[PathBuf] = run.request.scope;
    let name = |file: &PathBuf| relative_path(&file.to_string_lossy(), run.root());
    scope.iter().map(name).collect()
}
