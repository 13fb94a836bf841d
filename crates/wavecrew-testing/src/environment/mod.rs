//! Runs tests of the session in the measuring copy of the project, framework by framework. When a run hangs
//! or dies, its files run one by one, so that a bad file affects only itself. A broken environment is a
//! separate error.

mod harmless;
mod test_files;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wavecrew_measure::run::{Collect, MeasureError, Request, Runner, TestOrder};
use wavecrew_measure::verify;
use wavecrew_measure::{
    Coverage, CoverageStatus, FileCoverage, LineRange, Measurement, Note, Ratio, TestCase, TestId,
    TestOutcome,
};

use crate::coverage_figures::merge_coverage;
use crate::layer::{self, Kind, Placed};
use crate::progress::{ProgressOutput, StepProgress};
use crate::scope::{FrameworkInScope, Scope};
use crate::sealed;
use crate::snapshot::Snapshot;
use wavecrew_session::SessionPaths;

/// A session's scope with its copies and how tests are run.
#[derive(Debug)]
pub struct TestEnvironment {
    /// The scope of the layer that is checked.
    pub scope: Scope,
    /// The scope of the session.
    pub whole: Scope,
    pub snapshot: Snapshot,
    tree: PathBuf,
    cache: PathBuf,
    timeout: Duration,
    stop: Option<OwnedFd>,
    pub progress: StepProgress,
    canaries: Cell<Canaries>,
    /// Facts of the session that were changed, but not by a check; they are restored.
    pub(crate) changed_facts: Vec<PathBuf>,
    /// One check at a time: checks put tests into the same copy, and mutate its source.
    _lock: File,
}

/// Whether canaries run beside tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Canaries {
    Run,
    Omitted,
}

/// The result of a run of a layer. Paths of tests are relative to the layer's folder, paths of files to the project.
#[derive(Debug, Clone, Default)]
pub struct LayerRun {
    pub tests: Vec<TestCase>,
    /// `None` when no framework measures it.
    pub coverage: Option<Vec<FileCoverage>>,
    pub notes: Vec<Note>,
    /// Files that hang, or kill the process that runs them.
    pub ended_runs: BTreeSet<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// No test can run until a person has fixed this.
    #[error("the tests cannot be run here: {0}")]
    Measure(MeasureError),
    /// A canary came out wrong, or two reports of the same run disagree.
    #[error("the measurement was tampered with: {0}")]
    Tampered(String),
    #[error("the copy of the project cannot be used: {0}")]
    Disk(#[from] std::io::Error),
}

impl EnvironmentError {
    pub fn help(&self) -> String {
        match self {
            Self::Measure(error) => error.help(),
            Self::Tampered(_) => "look at what the tests and their helpers do to the framework".to_owned(),
            Self::Disk(_) => "check the space and the permissions of the session folder".to_owned(),
        }
    }
}

impl TestEnvironment {
    pub fn open(session: &Path, cache: PathBuf, stop: Option<OwnedFd>) -> Result<Self, EnvironmentError> {
        let lock = File::create(SessionPaths::at(session).measuring_lock())?;
        lock.lock()?;
        let changed_facts = sealed::restore_changed(session)?;
        let scope = Scope::read(session)?;
        // After the lock: the process that held it before may have made the copy.
        let mut snapshot = Snapshot::open(session)?;
        let tree = snapshot.measuring_copy()?;
        // A check that was killed may have left mutated source and its tests behind.
        let sources: Vec<PathBuf> = scope.files.iter().map(|file| file.path.clone()).collect();
        snapshot.restore_changed(&sources)?;
        for framework in &scope.frameworks {
            for layer in &scope.layers {
                let folder =
                    layer::folder_of(framework, Path::new(layer.folder.file_name().unwrap_or_default()));
                if !snapshot.manifest.names().any(|known| known.starts_with(&folder))
                    && tree.join(&folder).is_dir()
                {
                    std::fs::remove_dir_all(tree.join(&folder))?;
                }
            }
        }
        Ok(Self {
            tree,
            _lock: lock,
            timeout: Duration::from_secs(scope.run_seconds),
            whole: scope.clone(),
            scope,
            snapshot,
            cache,
            stop,
            progress: StepProgress::new(ProgressOutput::Lines),
            canaries: Cell::new(Canaries::Run),
            changed_facts,
        })
    }

    /// The time limit of one run of the tests.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sets it, and returns what it was.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) -> Duration {
        std::mem::replace(&mut self.timeout, timeout)
    }

    /// The measuring copy.
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    pub(crate) fn runner(
        &self,
        framework: &FrameworkInScope,
        timeout: Duration,
    ) -> Result<Runner, EnvironmentError> {
        let root = framework.in_tree(&self.tree).root;
        let sources = root.join("src");
        let mut python_path = if sources.is_dir() {
            vec![sources]
        } else {
            Vec::new()
        };
        python_path.push(root);
        Ok(Runner {
            progress: self.progress.listener(),
            cache: self.cache.clone(),
            writable: vec![self.tree.clone()],
            timeout,
            python_path,
            stop: self.stop.as_ref().map(OwnedFd::try_clone).transpose()?,
        })
    }

    pub(crate) fn sources(&self, framework: &FrameworkInScope) -> Vec<PathBuf> {
        self.scope
            .files_of(framework)
            .map(|file| self.tree.join(&file.path))
            .collect()
    }

    /// One run of the given test files, or of all files if none is given.
    fn measure(
        &self,
        framework: &FrameworkInScope,
        tests: &[PathBuf],
        coverage: Collect,
        order: TestOrder,
        timeout: Duration,
        canaries: Canaries,
    ) -> Result<Measurement, EnvironmentError> {
        let project = framework.in_tree(&self.tree);
        let request = Request {
            project: &project,
            scope: &self.sources(framework),
            tests,
            coverage,
            order,
            canaries: canaries == Canaries::Run,
        };
        let found = self.runner(framework, timeout)?.measure(&request);
        let found = found.map_err(EnvironmentError::Measure)?;
        if found.tampering.is_empty() {
            Ok(found)
        } else {
            Err(EnvironmentError::Tampered(found.tampering.join("; ")))
        }
    }

    /// Runs the project's own tests of one framework, as they are in the copy now: these files, relative to the project, or
    /// all without any.
    pub fn run_own_tests(
        &self,
        framework: &FrameworkInScope,
        files: &[PathBuf],
        coverage: Collect,
    ) -> Result<Measurement, EnvironmentError> {
        let conventions = &framework.conventions;
        // pytest counts lines also without tests; the others report only that there are none.
        if !framework.framework.facts().measures_without_tests
            && conventions.test_files + conventions.inline == 0
        {
            return Ok(Measurement {
                coverage: Coverage::Known {
                    files: self.uncovered_files(framework),
                },
                ..Measurement::default()
            });
        }
        let files: Vec<PathBuf> = files.iter().map(|file| self.tree.join(file)).collect();
        let mut found = self.measure(
            framework,
            &files,
            coverage,
            TestOrder::Default,
            self.timeout,
            Canaries::Omitted,
        )?;
        for file in covered_files(&mut found) {
            file.path = project_path(&framework.root, &file.path);
        }
        Ok(found)
    }

    /// The project's own test files that name a file in scope, relative to the project.
    pub fn affected_tests(&self, framework: &FrameworkInScope) -> Vec<PathBuf> {
        let affected = verify::affected_tests(&framework.in_tree(&self.tree), &self.sources(framework));
        let relative = |file: &PathBuf| Some(file.strip_prefix(&self.tree).ok()?.to_owned());
        affected.iter().filter_map(relative).collect()
    }

    /// Runs the tests of `folder`, except some files, in the place of the layer's tests. An error when something acts on the
    /// measurement, unless it is the project itself.
    pub fn layer(
        &self,
        layer: &str,
        folder: &Path,
        coverage: Collect,
        order: TestOrder,
        except: &BTreeSet<String>,
    ) -> Result<LayerRun, EnvironmentError> {
        let run = || self.run_layer(layer, folder, coverage, order, except);
        match run() {
            Err(EnvironmentError::Tampered(_)) if self.project_bends_canaries(layer, folder)? => {
                self.canaries.set(Canaries::Omitted);
                run()
            }
            other => other,
        }
    }

    fn run_layer(
        &self,
        layer: &str,
        folder: &Path,
        coverage: Collect,
        order: TestOrder,
        except: &BTreeSet<String>,
    ) -> Result<LayerRun, EnvironmentError> {
        let mut placed = layer::place(&self.scope, layer, folder)?;
        placed.retain(|file| !except.contains(&*file.file.to_string_lossy()));
        let _overlay = layer::overlay(&self.tree, folder, &placed, &self.snapshot.manifest)?;
        let mut run = LayerRun::default();
        let mut unknown = coverage == Collect::TestsOnly;
        for (index, framework) in self.scope.frameworks.iter().enumerate() {
            let mine: Vec<&Placed> = placed
                .iter()
                .filter(|file| file.framework == index && file.kind == Kind::Test)
                .collect();
            if !mine.is_empty() {
                for part in self.files(framework, &mine, coverage, order, &mut run.ended_runs)? {
                    unknown |= part.coverage == Coverage::Unknown;
                    run.add(part, framework, &mine, &self.tree);
                }
            }
            run.add_uncovered(self.uncovered_files(framework));
        }
        if unknown {
            run.coverage = None;
        }
        Ok(run)
    }

    /// Runs test files together, or one by one if that gives no result.
    fn files(
        &self,
        framework: &FrameworkInScope,
        placed: &[&Placed],
        coverage: Collect,
        order: TestOrder,
        ended_runs: &mut BTreeSet<String>,
    ) -> Result<Vec<Measurement>, EnvironmentError> {
        let mut unloaded = |file: &Placed, error: &MeasureError| {
            if !matches!(error, MeasureError::NoReport { .. }) {
                ended_runs.insert(file.file.to_string_lossy().into_owned());
            }
            unloaded(file, framework, error)
        };
        let tests: Vec<PathBuf> = placed.iter().map(|file| self.tree.join(&file.target)).collect();
        let error = match self.measure(
            framework,
            &tests,
            coverage,
            order,
            self.timeout,
            self.canaries.get(),
        ) {
            Ok(found) => return Ok(vec![found]),
            Err(EnvironmentError::Measure(error)) if is_caused_by_tests(&error) => error,
            Err(other) => return Err(other),
        };
        if let [only] = placed {
            return Ok(vec![unloaded(only, &error)]);
        }
        let each = self.timeout / u32::try_from(placed.len()).unwrap_or(u32::MAX).clamp(2, 10);
        let mut parts = Vec::new();
        let mut any_ran = false;
        for (file, test) in placed.iter().zip(&tests) {
            parts.push(
                match self.measure(
                    framework,
                    std::slice::from_ref(test),
                    coverage,
                    order,
                    each,
                    self.canaries.get(),
                ) {
                    Ok(found) => {
                        any_ran = true;
                        found
                    }
                    Err(EnvironmentError::Measure(error)) if is_caused_by_tests(&error) => {
                        unloaded(file, &error)
                    }
                    Err(other) => return Err(other),
                },
            );
        }
        // If no file gives a report, the cause is not in the files.
        if !any_ran && matches!(error, MeasureError::NoReport { .. }) {
            return Err(EnvironmentError::Measure(error));
        }
        Ok(parts)
    }

    /// All files in scope, with no line covered.
    pub fn all_uncovered(&self) -> Vec<FileCoverage> {
        self.scope
            .frameworks
            .iter()
            .flat_map(|framework| self.uncovered_files(framework))
            .collect()
    }

    /// The files of a framework, with no line covered.
    fn uncovered_files(&self, framework: &FrameworkInScope) -> Vec<FileCoverage> {
        let uncovered = |file: &crate::scope::ScopedFile| FileCoverage {
            path: file.path.to_string_lossy().into_owned(),
            status: CoverageStatus::NotLoaded,
            lines: Ratio {
                covered: 0,
                total: file.lines as u64,
            },
            branches: None,
            uncovered: vec![LineRange {
                first: 1,
                last: u32::try_from(file.lines).unwrap_or(u32::MAX).max(1),
            }],
            missed: Vec::new(),
        };
        self.scope.files_of(framework).map(uncovered).collect()
    }
}

/// Whether a test can be the cause of a run without a result.
fn is_caused_by_tests(error: &MeasureError) -> bool {
    match error {
        MeasureError::TimedOut { .. }
        | MeasureError::Killed { .. }
        | MeasureError::Unfinished { .. }
        | MeasureError::NoReport { .. } => true,
        MeasureError::NotInstalled { .. }
        | MeasureError::Stopped
        | MeasureError::Start { .. }
        | MeasureError::HugeReport { .. }
        | MeasureError::Report(_)
        | MeasureError::Folder(_) => false,
    }
}

/// A file that hangs or kills its run counts as one that does not load.
fn unloaded(file: &Placed, framework: &FrameworkInScope, error: &MeasureError) -> Measurement {
    let output = error.output().unwrap_or_default().trim();
    let end = output.char_indices().rev().nth(1500).map_or(0, |(at, _)| at);
    let root = framework.root.strip_prefix(".").unwrap_or(&framework.root);
    Measurement {
        tests: vec![TestCase {
            id: TestId {
                file: file
                    .target
                    .strip_prefix(root)
                    .unwrap_or(&file.target)
                    .to_string_lossy()
                    .into_owned(),
                name: String::new(),
            },
            outcome: TestOutcome::Unloaded {
                message: format!("{error}; {}\n{}", error.help(), &output[end..]),
            },
            duration: Duration::ZERO,
        }],
        // Known: it covers nothing.
        coverage: Coverage::Known { files: Vec::new() },
        ..Measurement::default()
    }
}

fn covered_files(measurement: &mut Measurement) -> &mut [FileCoverage] {
    match &mut measurement.coverage {
        Coverage::Known { files } => files,
        Coverage::Unknown => &mut [],
    }
}

/// A path below a framework's root as one of the project.
pub(crate) fn project_path(root: &Path, below: &str) -> String {
    let root = root.strip_prefix(".").unwrap_or(root);
    root.join(below).to_string_lossy().into_owned()
}

impl LayerRun {
    fn add(&mut self, mut part: Measurement, framework: &FrameworkInScope, placed: &[&Placed], tree: &Path) {
        for file in covered_files(&mut part) {
            file.path = project_path(&framework.root, &file.path);
        }
        if let Coverage::Known { files } = part.coverage {
            self.add_coverage(&files);
        }
        for test in &part.tests {
            self.tests
                .extend(test_files::in_layer(test, framework, placed, tree));
        }
        for note in part.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    fn add_coverage(&mut self, files: &[FileCoverage]) {
        let known = self.coverage.take().unwrap_or_default();
        self.coverage = Some(merge_coverage(&known, files));
    }

    /// Adds files that no test covers.
    fn add_uncovered(&mut self, files: Vec<FileCoverage>) {
        let known = self.coverage.get_or_insert_default();
        for file in files {
            if !known.iter().any(|there| there.path == file.path) {
                known.push(file);
            }
        }
    }

    pub fn ids(&self) -> Vec<TestId> {
        self.tests.iter().map(|test| test.id.clone()).collect()
    }
}
