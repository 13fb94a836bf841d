//! Runs a project's own framework so that it writes machine reports into a temporary folder, and reads them. Leaves nothing
//! behind: no process, no cache, no file in the project.

pub(crate) mod canary;
pub(crate) mod coverage_by_test;
pub(crate) mod diagnose;
mod error;
mod flaky;
pub mod mutation;
mod passing_coverage;
pub(crate) mod process;
mod process_setup;
pub mod progress;
pub(crate) mod scope;
pub mod watchdog;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::detect::Project;
use crate::measurement::{Coverage, CoverageStatus, Measurement, Note, TestCase, TestId, TestOutcome};
use crate::report::{CoverageFormat, HitsByFile, NEVER_RAN, TestFormat};
use canary::Canaries;
pub use coverage_by_test::{CoveragePoint, PointKind, TestCoverage};
pub use error::MeasureError;
use process::{Ended, Ran, Step};
pub use process_setup::{cache_folder, end_watchdog, stop_on_signals};
use progress::OnProgress;
use scope::WhenMissing;

/// The file, in the folder for reports, that a framework appends to while tests run.
pub(crate) const PROGRESS_FILE: &str = "progress";

/// Runs tests; can be used for many runs.
#[derive(Debug)]
pub struct Runner {
    /// Build output of compilers, kept between runs. Outside the project.
    pub cache: PathBuf,
    /// Folders that tests may change besides the root of their project: the copy that they run in.
    pub writable: Vec<PathBuf>,
    /// For one run of the suite, including its coverage.
    pub timeout: Duration,
    /// Where Python looks for modules first. Needed in a copy of a project, whose environment may refer to the original.
    pub python_path: Vec<PathBuf>,
    /// Ends the run as soon as it is readable.
    pub stop: Option<OwnedFd>,
    /// Receives the progress of a run, if the framework reports it.
    pub progress: Option<OnProgress>,
}

/// What to run and what to measure.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub project: &'a Project,
    /// The files whose coverage counts. Absolute.
    pub scope: &'a [PathBuf],
    /// Test files to run; none: the whole suite. Absolute.
    pub tests: &'a [PathBuf],
    pub coverage: Collect,
    pub order: TestOrder,
    /// Whether canaries run beside the tests. Their files lie in the project while it runs.
    pub canaries: bool,
}

impl<'a> Request<'a> {
    /// Runs the whole suite in the default order, and measures the coverage of these files.
    pub fn new(project: &'a Project, scope: &'a [PathBuf]) -> Self {
        Self {
            project,
            scope,
            tests: &[],
            coverage: Collect::TestsAndCoverage,
            order: TestOrder::Default,
            canaries: false,
        }
    }

    /// Runs these tests in the default order, without coverage; none: the whole suite.
    pub fn tests_only(project: &'a Project, tests: &'a [PathBuf]) -> Self {
        Self {
            tests,
            coverage: Collect::TestsOnly,
            ..Self::new(project, &[])
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    TestsAndCoverage,
    TestsOnly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestOrder {
    /// The framework's own order.
    Default,
    /// Shuffled where the framework can, with a different hash seed and time zone.
    Shuffled { seed: u32 },
}

/// The programs of a test run, and the reports that they write.
pub(crate) struct Invocation {
    pub tests: Step,
    pub test_report: (TestFormat, PathBuf),
    /// Run after the tests, to turn collected data into a report.
    pub then: Vec<Step>,
    pub coverage: Option<(CoverageFormat, PathBuf)>,
    pub when_missing: WhenMissing,
    pub notes: Vec<Note>,
    pub canaries: Option<Canaries>,
}

/// One run of tests, with its folder for reports and its deadline.
pub(crate) struct TestRun<'a> {
    pub runner: &'a Runner,
    pub request: &'a Request<'a>,
    pub focus: Focus<'a>,
    folder: PathBuf,
    deadline: Instant,
}

/// What narrows a run further than its request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Focus<'a> {
    /// If the request names no tests: only those that load this file, as far as the framework can determine
    /// that.
    pub related: Option<&'a Path>,
    /// Stop at the first failing test.
    pub stop_early: bool,
    /// The cache that the framework may keep between runs.
    pub cache: Option<&'a Path>,
    /// Tests to skip, where the framework can.
    pub skip: &'a [TestId],
}

impl Runner {
    /// Runs the suite once. Failing tests are a measurement; a framework that writes no report is an error.
    pub fn measure(&self, request: &Request<'_>) -> Result<Measurement, MeasureError> {
        self.measure_with(request, Focus::default())
    }

    pub(crate) fn measure_with(
        &self,
        request: &Request<'_>,
        focus: Focus<'_>,
    ) -> Result<Measurement, MeasureError> {
        let folder = report_folder()?;
        let run = self.test_run(request, focus, folder.path())?;
        request.project.framework.adapter().measure(&run)
    }

    pub(crate) fn test_run<'a>(
        &'a self,
        request: &'a Request<'a>,
        focus: Focus<'a>,
        folder: &Path,
    ) -> Result<TestRun<'a>, MeasureError> {
        Ok(TestRun {
            runner: self,
            request,
            focus,
            folder: folder.canonicalize()?,
            deadline: Instant::now() + self.timeout,
        })
    }
}

/// A folder for the reports and temporary files of one run. Removed when dropped.
pub(crate) fn report_folder() -> Result<TempDir, MeasureError> {
    let folder = tempfile::Builder::new().prefix("wavecrew-measure-").tempdir()?;
    fs::create_dir(folder.path().join("tmp"))?;
    Ok(folder)
}

impl TestRun<'_> {
    pub(crate) fn root(&self) -> &Path {
        &self.request.project.root
    }

    pub(crate) fn wants_coverage(&self) -> bool {
        self.request.coverage == Collect::TestsAndCoverage && !self.request.scope.is_empty()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A step in the project's root, with the environment of every run: its own temporary folder, no terminal.
    pub(crate) fn step(&self, program: impl Into<PathBuf>, args: Vec<OsString>) -> Step {
        let mut env: Vec<(&'static str, OsString)> = vec![
            ("CI", "true".into()),
            ("NO_COLOR", "1".into()),
            ("FORCE_COLOR", "0".into()),
            ("TMPDIR", self.file("tmp").into()),
        ];
        if let TestOrder::Shuffled { seed } = self.request.order {
            env.push(("TZ", "Etc/GMT-13".into()));
            env.push(("PYTHONHASHSEED", seed.to_string().into()));
        }
        Step {
            program: program.into(),
            args,
            cwd: self.root().to_owned(),
            env,
            writable: self.writable(),
            copy_to: None,
            mark: None,
        }
    }

    /// What the programs of this run may change.
    fn writable(&self) -> Vec<PathBuf> {
        let runner = self.runner;
        // Rules are made for what exists.
        let _ = fs::create_dir_all(&runner.cache);
        let mut folders = vec![self.root().to_owned(), self.folder.clone(), runner.cache.clone()];
        folders.extend(self.focus.cache.map(Path::to_owned));
        folders.extend(runner.writable.iter().cloned());
        let facts = self.request.project.framework.facts();
        folders.extend(facts.writable_package_folder(self.root()));
        folders
    }

    /// Runs a step. It is an error when the step is stopped or too slow, not when it fails.
    pub(crate) fn run(&self, step: &Step) -> Result<Ran, MeasureError> {
        use std::os::fd::AsFd;
        let end_now = self.runner.stop.as_ref().map(AsFd::as_fd);
        let ran = process::run(step, self.deadline, end_now).map_err(|source| MeasureError::Start {
            program: step.program.clone(),
            source,
        })?;
        match ran.ended {
            Ended::TimedOut => Err(MeasureError::TimedOut {
                after: self.runner.timeout,
                output: ran.output,
            }),
            Ended::Stopped => Err(MeasureError::Stopped),
            Ended::Code(_) | Ended::Signal(_) => Ok(ran),
        }
    }

    pub(crate) fn perform(&self, invocation: Invocation) -> Result<Measurement, MeasureError> {
        let file = self.file(PROGRESS_FILE);
        let current = || progress::of_tests(&file);
        let ran = progress::watch(self.runner.progress.as_ref(), current, || {
            self.run(&invocation.tests)
        })?;
        let (format, path) = invocation.test_report;
        let Some(report) = read(&path)? else {
            return Err(diagnose::no_report(self.request.project, ran));
        };
        let mut tests = format.parse(&report)?;
        for test in &mut tests {
            test.id.file = scope::relative_path(&test.id.file, self.root());
        }
        let canaries = invocation.canaries.as_ref();
        let mut tampering = canaries.map_or_else(Vec::new, |canaries| canaries.check(self, &mut tests, &ran));
        if is_unfinished(&tests) {
            return Err(MeasureError::Unfinished { output: ran.output });
        }
        let mut notes = invocation.notes;
        notes.extend(diagnose::notes(self.request.project, &tests, &ran));
        for step in &invocation.then {
            self.run(step)?;
        }
        let mut coverage = Coverage::Unknown;
        if let Some((format, path)) = invocation.coverage {
            match read(&path)? {
                Some(report) => {
                    let mut hits = format.parse(&report)?;
                    tampering.extend(canaries.and_then(|canaries| canaries.check_coverage(&mut hits)));
                    coverage = self.count_coverage(hits, invocation.when_missing, &ran, &mut notes)?;
                }
                None => notes.push(no_coverage(
                    "the coverage tool wrote no report, as when its settings exclude all files in scope",
                )),
            }
        }
        Ok(Measurement {
            tests,
            coverage,
            flaky: Vec::new(),
            notes,
            tampering,
        })
    }

    pub(crate) fn count_coverage(
        &self,
        hits: HitsByFile,
        when_missing: WhenMissing,
        ran: &Ran,
        notes: &mut Vec<Note>,
    ) -> Result<Coverage, MeasureError> {
        let missing = scope::missing(&hits, self.request.scope, self.root());
        let framework = self.request.project.framework.adapter();
        let broken = framework.unparsable(self, &missing, ran)?;
        let files = scope::count(hits, self.request.scope, self.root(), when_missing, &broken);
        if !files.is_empty() && files.iter().all(|file| file.status == CoverageStatus::Excluded) {
            notes.push(no_coverage("the coverage settings exclude all files in scope"));
            return Ok(Coverage::Unknown);
        }
        notes.extend(scope::notes(&files));
        Ok(Coverage::Known { files })
    }
}

/// Tests never ran although nothing failed: with a failure, the framework may have stopped on purpose.
fn is_unfinished(tests: &[TestCase]) -> bool {
    let never_ran =
        |test: &TestCase| matches!(&test.outcome, TestOutcome::Skipped { reason } if reason == NEVER_RAN);
    tests.iter().any(never_ran) && !tests.iter().any(|test| test.outcome.is_failing())
}

/// Why there is no coverage although a coverage tool is installed.
fn no_coverage(why: &str) -> Note {
    Note {
        what: format!("{why}: only the pass rate is known"),
        fix: Some("check what the coverage settings omit, include and exclude".to_owned()),
    }
}

/// The bytes of a report; `None` when the file is missing or empty.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, MeasureError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.len() > process::REPORT_LIMIT {
        return Err(MeasureError::HugeReport {
            path: path.to_owned(),
        });
    }
    let mut bytes = Vec::new();
    file.take(process::REPORT_LIMIT).read_to_end(&mut bytes)?;
    Ok((!bytes.is_empty()).then_some(bytes))
}

pub(crate) fn os_args<const N: usize>(args: [&str; N]) -> Vec<OsString> {
    args.into_iter().map(OsString::from).collect()
}

/// `name=path` as one argument.
pub(crate) fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(format!("{name}="));
    option.push(value);
    option
}
