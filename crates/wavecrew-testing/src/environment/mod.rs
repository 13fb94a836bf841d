//! Runs tests of the session in the measuring copy of the project, framework by framework. A suite that hangs or dies is
//! taken apart into its files, so that one bad file costs itself alone; an environment that is broken is told apart.

mod test_files;

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wavecrew_measure::run::{Collect, MeasureError, Request, Runner, TestOrder};
use wavecrew_measure::{
    Coverage, CoverageStatus, FileCoverage, LineRange, Measurement, Note, Ratio, TestCase, TestId,
    TestOutcome,
};

use crate::coverage_figures::together;
use crate::layer::{self, Kind, Placed};
use crate::scope::{FrameworkInScope, Scope};
use crate::snapshot::Snapshot;
use wavecrew_session::SessionPaths;

/// A session's scope with its copies and how tests are run.
#[derive(Debug)]
pub struct TestEnvironment {
    pub scope: Scope,
    pub snapshot: Snapshot,
    tree: PathBuf,
    cache: PathBuf,
    timeout: Duration,
    stop: Option<OwnedFd>,
    /// One examination at a time: they lay tests into the same copy, and change its source on purpose.
    _turn: File,
}

/// What a run of a layer showed. Tests bear their path in the layer's folder, files their path in the project.
#[derive(Debug, Clone, Default)]
pub struct LayerRun {
    pub tests: Vec<TestCase>,
    /// `None` when no framework could tell.
    pub coverage: Option<Vec<FileCoverage>>,
    pub notes: Vec<Note>,
}

#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// Nothing can be said about any test before a person has mended this.
    #[error("the tests cannot be run here: {0}")]
    Measure(MeasureError),
    #[error("the copy of the project cannot be used: {0}")]
    Disk(#[from] std::io::Error),
}

impl EnvironmentError {
    pub fn help(&self) -> String {
        match self {
            Self::Measure(error) => error.help(),
            Self::Disk(_) => "check the space and the rights of the session folder".to_owned(),
        }
    }
}

impl TestEnvironment {
    pub fn open(session: &Path, cache: PathBuf, stop: Option<OwnedFd>) -> Result<Self, EnvironmentError> {
        let scope = Scope::read(session)?;
        let turn = File::create(SessionPaths::at(session).measuring_lock())?;
        turn.lock()?;
        // Only now: whoever had the turn before may have made the copy.
        let mut snapshot = Snapshot::open(session)?;
        let tree = snapshot.measuring_copy()?;
        // One that was killed may have left the source changed and its tests lying there.
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
            _turn: turn,
            timeout: Duration::from_secs(scope.run_seconds),
            scope,
            snapshot,
            cache,
            stop,
        })
    }

    /// For one run of the tests.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
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
            cache: self.cache.clone(),
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

    /// One run of chosen test files, all of them without any.
    fn measure(
        &self,
        framework: &FrameworkInScope,
        tests: &[PathBuf],
        coverage: Collect,
        order: TestOrder,
        timeout: Duration,
    ) -> Result<Measurement, EnvironmentError> {
        let project = framework.in_tree(&self.tree);
        let request = Request {
            project: &project,
            scope: &self.sources(framework),
            tests,
            coverage,
            order,
        };
        self.runner(framework, timeout)?
            .measure(&request)
            .map_err(EnvironmentError::Measure)
    }

    /// The project's own suite of one framework, as it is in the copy now.
    pub fn own_suite(
        &self,
        framework: &FrameworkInScope,
        coverage: Collect,
    ) -> Result<Measurement, EnvironmentError> {
        let conventions = &framework.conventions;
        // pytest counts lines also without tests; the others only say that there are none.
        if !framework.framework.facts().measures_without_tests
            && conventions.test_files + conventions.inline == 0
        {
            return Ok(Measurement {
                coverage: Coverage::Known {
                    files: self.untouched(framework),
                },
                ..Measurement::default()
            });
        }
        let mut found = self.measure(framework, &[], coverage, TestOrder::Default, self.timeout)?;
        for file in found_files(&mut found) {
            file.path = project_path(&framework.root, &file.path);
        }
        Ok(found)
    }

    /// The tests that lie in `folder` but for some files, laid where the layer's tests are run.
    pub fn layer(
        &self,
        layer: &str,
        folder: &Path,
        coverage: Collect,
        order: TestOrder,
        except: &BTreeSet<String>,
    ) -> Result<LayerRun, EnvironmentError> {
        let mut placed = layer::place(&self.scope, layer, folder)?;
        placed.retain(|file| !except.contains(&*file.file.to_string_lossy()));
        let _laid = layer::lay(&self.tree, folder, &placed, &self.snapshot.manifest)?;
        let mut run = LayerRun::default();
        let mut unknown = coverage == Collect::TestsOnly;
        for (index, framework) in self.scope.frameworks.iter().enumerate() {
            let mine: Vec<&Placed> = placed
                .iter()
                .filter(|file| file.framework == index && file.kind == Kind::Test)
                .collect();
            if !mine.is_empty() {
                for part in self.files(framework, &mine, coverage, order)? {
                    unknown |= part.coverage == Coverage::Unknown;
                    run.add(part, framework, &mine, &self.tree);
                }
            }
            run.cover_rest(self.untouched(framework));
        }
        if unknown {
            run.coverage = None;
        }
        Ok(run)
    }

    /// Some test files together; when that says nothing, one by one.
    fn files(
        &self,
        framework: &FrameworkInScope,
        placed: &[&Placed],
        coverage: Collect,
        order: TestOrder,
    ) -> Result<Vec<Measurement>, EnvironmentError> {
        let tests: Vec<PathBuf> = placed.iter().map(|file| self.tree.join(&file.target)).collect();
        let error = match self.measure(framework, &tests, coverage, order, self.timeout) {
            Ok(found) => return Ok(vec![found]),
            Err(EnvironmentError::Measure(error)) if is_of_the_tests(&error) => error,
            Err(other) => return Err(other),
        };
        if let [only] = placed {
            return Ok(vec![unloaded(only, framework, &error)]);
        }
        let each = self.timeout / u32::try_from(placed.len()).unwrap_or(u32::MAX).clamp(2, 10);
        let mut parts = Vec::new();
        let mut heard = false;
        for (file, test) in placed.iter().zip(&tests) {
            parts.push(
                match self.measure(framework, std::slice::from_ref(test), coverage, order, each) {
                    Ok(found) => {
                        heard = true;
                        found
                    }
                    Err(EnvironmentError::Measure(error)) if is_of_the_tests(&error) => {
                        unloaded(file, framework, &error)
                    }
                    Err(other) => return Err(other),
                },
            );
        }
        // When no file at all can be run without a report, it is not the files.
        if !heard && matches!(error, MeasureError::NoReport { .. }) {
            return Err(EnvironmentError::Measure(error));
        }
        Ok(parts)
    }

    /// All files in scope, none of them run.
    pub fn nothing_covered(&self) -> Vec<FileCoverage> {
        self.scope
            .frameworks
            .iter()
            .flat_map(|framework| self.untouched(framework))
            .collect()
    }

    /// The files of a framework for which there are no tests.
    fn untouched(&self, framework: &FrameworkInScope) -> Vec<FileCoverage> {
        let silent = |file: &crate::scope::ScopedFile| FileCoverage {
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
        self.scope.files_of(framework).map(silent).collect()
    }
}

/// Whether a run that said nothing may have been brought down by a test.
fn is_of_the_tests(error: &MeasureError) -> bool {
    match error {
        MeasureError::TimedOut { .. } | MeasureError::Killed { .. } | MeasureError::NoReport { .. } => true,
        MeasureError::NotInstalled { .. }
        | MeasureError::Stopped
        | MeasureError::Start { .. }
        | MeasureError::HugeReport { .. }
        | MeasureError::Report(_)
        | MeasureError::Folder(_) => false,
    }
}

/// A file that brings its run down counts as one that does not load.
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
        // It covers nothing, which is known.
        coverage: Coverage::Known { files: Vec::new() },
        ..Measurement::default()
    }
}

fn found_files(measurement: &mut Measurement) -> &mut [FileCoverage] {
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
        for file in found_files(&mut part) {
            file.path = project_path(&framework.root, &file.path);
        }
        if let Coverage::Known { files } = part.coverage {
            self.cover(&files);
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

    fn cover(&mut self, files: &[FileCoverage]) {
        let known = self.coverage.take().unwrap_or_default();
        self.coverage = Some(together(&known, files));
    }

    /// Files that no test touched.
    fn cover_rest(&mut self, files: Vec<FileCoverage>) {
        let known = self.coverage.get_or_insert_default();
        for file in files {
            if !known.iter().any(|there| there.path == file.path) {
                known.push(file);
            }
        }
    }

    /// As a measurement, for its arithmetic.
    pub fn measurement(&self) -> Measurement {
        Measurement {
            tests: self.tests.clone(),
            ..Measurement::default()
        }
    }
}
