//! What single tests run, so that one can be told from the others: from one run of pytest that keeps coverage apart by test,
//! from a run each of vitest and jest. Judges no test.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use super::scope::shown;
use super::{Collect, Focus, MeasureError, Request, Runner, TestOrder, TestRun, read, report_folder, words};
use crate::framework::CoverageByTest;
use crate::framework::pytest::{self, interpreter, probe, pytest_args, python_step};
use crate::measurement::TestId;
use crate::report::istanbul;

/// What some tests run together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCoverage {
    /// One test, or all of a file where looking at each has its price.
    pub tests: Vec<TestId>,
    pub points: BTreeSet<CoveragePoint>,
}

/// A line of a file in scope, or a way that is taken from it.
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
    /// By numbers that are the same in each run of the same code.
    Branch(i64, i64),
}

/// Has coverage.py note what runs in each test, and while each file is loaded.
const BY_TEST: &str = include_str!("by_test.py");

/// Which lines and ways coverage.py has seen in each test.
#[derive(Deserialize)]
struct ByTest {
    /// The tests that ran, as pytest names them.
    tests: Vec<String>,
    /// By test, or by file for what ran while it was loaded.
    arcs: BTreeMap<String, BTreeMap<String, Vec<(i64, i64)>>>,
}

impl Runner {
    /// What each of these passing tests runs; the request names their files. `None` where the framework or a missing tool
    /// leaves that open. A framework that has to be started anew for it is started `most` times.
    pub fn coverage_by_test(
        &self,
        request: &Request<'_>,
        tests: &[TestId],
        most: usize,
    ) -> Result<Option<Vec<TestCoverage>>, MeasureError> {
        let request = Request {
            coverage: Collect::TestsAndCoverage,
            order: TestOrder::Default,
            ..request.clone()
        };
        match request.project.framework.facts().coverage_by_test {
            CoverageByTest::Contexts => self.by_context(&request, tests),
            CoverageByTest::OneRunEach => self.one_by_one(&request, tests, most),
            CoverageByTest::Unknown => Ok(None),
        }
    }

    fn by_context(
        &self,
        request: &Request<'_>,
        tests: &[TestId],
    ) -> Result<Option<Vec<TestCoverage>>, MeasureError> {
        let folder = report_folder()?;
        let run = self.test_run(request, Focus::default(), folder.path())?;
        let python = interpreter(run.root());
        let installed = probe(&run, &python)?;
        if !run.wants_coverage() || !installed.has("coverage") {
            return Ok(None);
        }
        let (script, out) = (run.file("by_test.py"), run.file("by_test.json"));
        fs::write(&script, BY_TEST)?;
        let mut args = words(["-m", "coverage", "run", "--branch"]);
        args.push(pytest::sources(&run));
        args.extend([script.clone().into(), out.clone().into()]);
        args.extend(pytest_args(&run, &installed)?);
        args.extend(request.tests.iter().map(OsString::from));
        let mut step = python_step(&run, &python, args);
        // The newest way to trace notes each line but once, whatever the test.
        step.env.push(("COVERAGE_CORE", "ctrace".into()));
        run.run(&step)?;
        let tell = vec![script.into(), "--tell".into(), out.clone().into()];
        for args in [pytest::combine(), tell] {
            run.run(&python_step(&run, &python, args))?;
        }
        let found = read(&out)?.and_then(|bytes| serde_json::from_slice::<ByTest>(&bytes).ok());
        Ok(found.and_then(|found| found.reaches(tests, &run)))
    }

    fn one_by_one(
        &self,
        request: &Request<'_>,
        tests: &[TestId],
        most: usize,
    ) -> Result<Option<Vec<TestCoverage>>, MeasureError> {
        let mut files: BTreeMap<&str, Vec<&TestId>> = BTreeMap::new();
        for test in tests {
            files.entry(&test.file).or_default().push(test);
        }
        let units: Vec<Vec<&TestId>> = if tests.len() <= most {
            tests.iter().map(|test| vec![test]).collect()
        } else if files.len() <= most {
            files.values().cloned().collect()
        } else {
            return Ok(None);
        };
        let mut reaches = Vec::new();
        for unit in units {
            let file = request.project.root.join(&unit[0].file);
            let others = files[unit[0].file.as_str()].iter().copied();
            let without: Vec<TestId> = others.filter(|test| !unit.contains(test)).cloned().collect();
            let request = Request {
                tests: &[file],
                ..request.clone()
            };
            let focus = Focus {
                without: &without,
                ..Focus::default()
            };
            let Some(points) = self.points(&request, focus)? else {
                return Ok(None);
            };
            reaches.push(TestCoverage {
                tests: unit.into_iter().cloned().collect(),
                points,
            });
        }
        Ok(Some(reaches))
    }

    /// What one run of vitest or jest covers.
    fn points(
        &self,
        request: &Request<'_>,
        focus: Focus<'_>,
    ) -> Result<Option<BTreeSet<CoveragePoint>>, MeasureError> {
        let folder = report_folder()?;
        let run = self.test_run(request, focus, folder.path())?;
        let invocation = request.project.framework.adapter().invocation(&run)?;
        let Some((_, report)) = invocation.coverage else {
            return Ok(None);
        };
        run.run(&invocation.tests)?;
        let Some(report) = read(&report)? else {
            return Ok(None);
        };
        let scope = scope_names(&run);
        let mut points = BTreeSet::new();
        for (path, line, kind) in istanbul::ran(&report)? {
            let file = shown(&path, run.root());
            if scope.contains(&file) {
                points.insert(CoveragePoint { file, line, kind });
            }
        }
        Ok(Some(points))
    }
}

impl ByTest {
    /// `None` when a test is not found again: then nothing can be said about any.
    fn reaches(&self, tests: &[TestId], run: &TestRun<'_>) -> Option<Vec<TestCoverage>> {
        if self.arcs.is_empty() {
            return None;
        }
        let scope = scope_names(run);
        let ran: BTreeSet<&str> = self.tests.iter().map(String::as_str).collect();
        let mut reaches = Vec::new();
        for test in tests {
            let id = test.node_id();
            if !ran.contains(id.as_str()) {
                return None;
            }
            let mut points = BTreeSet::new();
            // Whoever keeps a test keeps its file, and what loading it runs.
            for context in [id.as_str(), test.file.as_str()] {
                for (path, arcs) in self.arcs.get(context).into_iter().flatten() {
                    let file = shown(path, run.root());
                    if scope.contains(&file) {
                        points.extend(arcs.iter().flat_map(|&arc| of_arc(&file, arc)));
                    }
                }
            }
            reaches.push(TestCoverage {
                tests: vec![test.clone()],
                points,
            });
        }
        Some(reaches)
    }
}

/// Lines that are left or entered count from 1; what is not above that is the outside of a function or module.
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
    let name = |file: &PathBuf| shown(&file.to_string_lossy(), run.root());
    scope.iter().map(name).collect()
}
