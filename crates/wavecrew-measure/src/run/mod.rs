//! Runs a project's own framework so that it writes machine reports into a folder of its own, and reads them. Leaves
//! nothing behind: no process, no cache, no file in the project. Decides nothing about what the figures mean.

pub(crate) mod coverage_by_test;
pub(crate) mod diagnose;
mod error;
mod flaky;
pub mod mutation;
mod passing_coverage;
pub(crate) mod process;
mod process_setup;
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
use crate::measurement::{Coverage, CoverageStatus, Measurement, Note, TestId};
use crate::report::{CoverageFormat, HitsByFile, TestFormat};
pub use coverage_by_test::{CoveragePoint, PointKind, TestCoverage};
pub use error::MeasureError;
use process::{Ended, Ran, Step};
pub use process_setup::{cache_folder, stop_on_signals};
use scope::WhenMissing;

/// How test runs are made. One for many runs.
#[derive(Debug)]
pub struct Runner {
    /// What may live on between runs: build output of compilers. Never in the project.
    pub cache: PathBuf,
    /// For one run of the suite with its coverage.
    pub timeout: Duration,
    /// Where Python looks for modules first. In a copy of a project they have to be named: its environment may know the
    /// original by its path.
    pub python_path: Vec<PathBuf>,
    /// Readable: end the run now.
    pub stop: Option<OwnedFd>,
}

/// What to run and what to count.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub project: &'a Project,
    /// The files whose coverage counts. Absolute.
    pub scope: &'a [PathBuf],
    /// Test files to run; none: the whole suite. Absolute.
    pub tests: &'a [PathBuf],
    pub coverage: Collect,
    pub order: TestOrder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    TestsAndCoverage,
    TestsOnly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestOrder {
    /// As the framework has it.
    Default,
    /// Shuffled where the framework can, with another hash seed and another time zone.
    Shuffled { seed: u32 },
}

/// A test run as programs and the reports that they will have written.
pub(crate) struct Invocation {
    pub tests: Step,
    pub test_report: (TestFormat, PathBuf),
    /// What turns collected data into a report, after the tests.
    pub then: Vec<Step>,
    pub coverage: Option<(CoverageFormat, PathBuf)>,
    pub when_missing: WhenMissing,
    pub notes: Vec<Note>,
}

/// One run of tests: what it runs, its folder for reports, and its deadline.
pub(crate) struct TestRun<'a> {
    pub runner: &'a Runner,
    pub request: &'a Request<'a>,
    pub focus: Focus<'a>,
    folder: PathBuf,
    deadline: Instant,
}

/// What narrows a run beside its request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Focus<'a> {
    /// Where the request names no tests: only those that load this file, as far as the framework can tell.
    pub related: Option<&'a Path>,
    /// The first red test is enough.
    pub stop_early: bool,
    /// What the framework may keep from one run to the next.
    pub cache: Option<&'a Path>,
    /// Tests that are left out, where the framework can.
    pub without: &'a [TestId],
}

impl Runner {
    /// Runs the suite once. Red tests are a measurement; a framework that cannot say anything is an error.
    pub fn measure(&self, request: &Request<'_>) -> Result<Measurement, MeasureError> {
        self.measure_with(request, Focus::default())
    }

    fn measure_with(&self, request: &Request<'_>, focus: Focus<'_>) -> Result<Measurement, MeasureError> {
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

/// A folder for the reports of one run, and for what its programs put aside. Removed when dropped.
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

    /// A step in the project's root, with what every run has: its own folder for temporary files, and nobody watching.
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
            copy_to: None,
        }
    }

    /// Runs a step; being stopped or too slow is an error, how it ended otherwise is not.
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
        let ran = self.run(&invocation.tests)?;
        let (format, path) = invocation.test_report;
        let Some(report) = read(&path)? else {
            return Err(diagnose::no_report(self.request.project, ran));
        };
        let mut tests = format.parse(&report)?;
        for test in &mut tests {
            test.id.file = scope::shown(&test.id.file, self.root());
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
                    coverage =
                        self.counted(format.parse(&report)?, invocation.when_missing, &ran, &mut notes)?;
                }
                None => notes.push(unknown(
                    "the coverage tool wrote no report, as when its settings leave out all files in scope",
                )),
            }
        }
        Ok(Measurement {
            tests,
            coverage,
            flaky: Vec::new(),
            notes,
        })
    }

    pub(crate) fn counted(
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
            notes.push(unknown("the coverage settings leave out all files in scope"));
            return Ok(Coverage::Unknown);
        }
        notes.extend(scope::notes(&files));
        Ok(Coverage::Known { files })
    }
}

/// Why there are no figures although a coverage tool is there.
fn unknown(why: &str) -> Note {
    Note {
        what: format!("{why}: only the pass rate is known"),
        fix: Some("look at what the coverage settings omit, include and exclude".to_owned()),
    }
}

/// The bytes of a report; `None` when there is none, or an empty one that was begun and never written.
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

/// Words of a command line.
pub(crate) fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// `name=path` as one word.
pub(crate) fn option(name: &str, value: &Path) -> OsString {
    let mut word = OsString::from(format!("{name}="));
    word.push(value);
    word
}
