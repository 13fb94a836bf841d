//! Mutants of Python code in warm processes: pytest and the project are loaded once per worker, every mutant is a fork. Runs only
//! the tests that cover the mutated line. If that is impossible, every mutant gets a separate run of pytest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use wavecrew_syntax::LineSet;

use super::project_copy::ProjectCopy;
use super::{
    KillingTests, MutantOutcome, MutationReport, MutationRun, PlannedMutant, run_in_parallel, separate_runs,
    time_limit, workers_for,
};
use crate::framework::pytest::{interpreter, probe, pytest_args, python_step};
use crate::measurement::Note;
use crate::run::scope::relative_path;
use crate::run::{Focus, MeasureError, Request, progress, report_folder};

const WARM: &str = include_str!("warm.py");

#[derive(Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
enum Plan<'a> {
    Baseline {
        args: Vec<String>,
        files: Vec<PathBuf>,
        out: PathBuf,
    },
    Run {
        args: Vec<String>,
        /// Continue after the first test that fails.
        all: bool,
        jobs: Vec<Job<'a>>,
        unloaded: &'a [String],
        out: PathBuf,
    },
}

#[derive(Serialize)]
struct Job<'a> {
    number: usize,
    file: PathBuf,
    start: usize,
    end: usize,
    text: &'a str,
    tests: Vec<&'a str>,
    /// Seconds.
    limit: f64,
    /// The mutated line runs while the project is loaded.
    cold: bool,
}

/// What every test covers, by the numbers of files and tests.
#[derive(Deserialize)]
struct Baseline {
    tests: Vec<Test>,
    hits: Vec<(usize, u32, Vec<usize>)>,
    loaded: Vec<(usize, u32)>,
    unloaded: Vec<String>,
    loading: f64,
    /// Lines that ran only outside their module.
    #[serde(default)]
    foreign: Vec<(usize, u32)>,
}

#[derive(Deserialize)]
struct Test {
    id: String,
    passed: bool,
    seconds: f64,
}

#[derive(Deserialize)]
struct MutantResult {
    number: usize,
    #[serde(rename = "fate")]
    outcome: Kind,
    #[serde(default)]
    by: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Killed,
    Survived,
    TimedOut,
}

pub fn mutate(mutation: &MutationRun<'_>) -> Result<MutationReport, MeasureError> {
    let first = Worker::new(mutation)?;
    let Some(baseline) = first.baseline(mutation)? else {
        if mutation.is_time_up() {
            return Ok(mutation.report(
                mutation.plan(|target| target.lines.clone()),
                Vec::new(),
                Vec::new(),
            ));
        }
        let note = Note {
            what: "pytest cannot be kept warm for this project: every mutant gets a separate run".to_owned(),
            fix: None,
        };
        return separate_runs::test_mutants(
            mutation,
            mutation.plan(|target| target.lines.clone()),
            vec![note],
        );
    };
    let index = CoverageIndex::new(mutation, &baseline);
    let planned = mutation.plan(|target| index.lines(target));
    let count = workers_for(planned.len());
    let mut workers = vec![first];
    while workers.len() < count {
        workers.push(Worker::new(mutation)?);
    }
    let verdicts: Vec<PathBuf> = workers.iter().map(Worker::verdicts).collect();
    let current = || Some(progress::of_mutants(&verdicts, planned.len()));
    let shares = progress::watch(mutation.runner.progress.as_ref(), current, || {
        run_in_parallel(workers, count, |worker, share| {
            let mine = planned.iter().enumerate().skip(share).step_by(count);
            let jobs = mine.map(|(number, planned)| index.job(number, planned, &worker.copy));
            worker.run(mutation, jobs.collect(), &baseline.unloaded).map(Some)
        })
    })?;
    let mut outcomes: Vec<Option<MutantOutcome>> = planned.iter().map(|_| None).collect();
    for (number, outcome) in shares.into_iter().flatten().flatten() {
        outcomes[number] = Some(outcome);
    }
    let mut report = mutation.report(planned, outcomes, Vec::new());
    for (file, line) in &baseline.foreign {
        if let Some(target) = mutation.request.targets.get(*file) {
            let root = &mutation.request.project.root;
            let name = relative_path(&target.file.to_string_lossy(), root);
            report.foreign.entry(name).or_default().insert(*line);
        }
    }
    Ok(report)
}

/// Finds the tests that cover a line.
struct CoverageIndex<'a> {
    baseline: &'a Baseline,
    /// The numbers of files in the baseline.
    files: BTreeMap<&'a Path, usize>,
    by_line: BTreeMap<(usize, u32), &'a [usize]>,
    loaded: BTreeSet<(usize, u32)>,
}

impl<'a> CoverageIndex<'a> {
    fn new(mutation: &MutationRun<'a>, baseline: &'a Baseline) -> Self {
        let targets = mutation.request.targets.iter().enumerate();
        let hits = baseline.hits.iter();
        Self {
            baseline,
            files: targets
                .map(|(number, target)| (target.file.as_path(), number))
                .collect(),
            by_line: hits
                .map(|(file, line, tests)| ((*file, *line), &tests[..]))
                .collect(),
            loaded: baseline.loaded.iter().copied().collect(),
        }
    }

    /// The lines of a target that ran.
    fn lines(&self, target: &super::MutationTarget) -> LineSet {
        let number = self.files.get(target.file.as_path()).copied();
        let ran = self.by_line.keys().chain(&self.loaded);
        let here = ran.filter(|(file, line)| Some(*file) == number && target.lines.contains(*line));
        here.map(|(_, line)| *line).collect()
    }

    fn job<'p>(&self, number: usize, planned: &'p PlannedMutant, copy: &ProjectCopy) -> Job<'p>
    where
        'a: 'p,
    {
        let mutant = &planned.mutant;
        let file = self
            .files
            .get(planned.file.as_path())
            .copied()
            .unwrap_or(usize::MAX);
        let lines = [(file, mutant.line), (file, mutant.statement)];
        let is_control = mutant.kind.is_control();
        let cold = !is_control && lines.iter().any(|line| self.loaded.contains(line));
        let tests: BTreeSet<usize> = if cold || is_control {
            (0..self.baseline.tests.len()).collect()
        } else {
            let of = |line| self.by_line.get(line).copied().unwrap_or_default();
            lines.iter().flat_map(of).copied().collect()
        };
        let mut tests: Vec<&'a Test> = tests.iter().map(|&n| &self.baseline.tests[n]).collect();
        tests.retain(|test| test.passed);
        // The fastest tests first.
        tests.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let seconds: f64 = tests.iter().map(|test| test.seconds).sum();
        let baseline =
            Duration::try_from_secs_f64(seconds + self.baseline.loading).unwrap_or(Duration::MAX / 8);
        Job {
            number,
            file: copy.at(&planned.file),
            start: mutant.range.start,
            end: mutant.range.end,
            text: &mutant.replacement,
            tests: tests.into_iter().map(|test| test.id.as_str()).collect(),
            limit: time_limit(baseline).as_secs_f64(),
            cold,
        }
    }
}

/// A copy of the project, and a folder for the files of its process.
struct Worker {
    copy: ProjectCopy,
    folder: TempDir,
}

impl Worker {
    fn new(mutation: &MutationRun<'_>) -> Result<Self, MeasureError> {
        Ok(Self {
            copy: ProjectCopy::of(mutation.request.top)?,
            folder: report_folder()?,
        })
    }

    /// `None` when the suite did not finish.
    fn baseline(&self, mutation: &MutationRun<'_>) -> Result<Option<Baseline>, MeasureError> {
        let files = mutation
            .request
            .targets
            .iter()
            .map(|target| self.copy.at(&target.file))
            .collect();
        let out = self.folder.path().join("baseline.json");
        let ended = self.start(mutation, mutation.runner.timeout, |args| Plan::Baseline {
            args,
            files,
            out: out.clone(),
        });
        match ended {
            Ok(()) => Ok(fs::read(out)
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok())),
            Err(MeasureError::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file with a line for each mutant that was tried.
    fn verdicts(&self) -> PathBuf {
        self.folder.path().join("verdicts.jsonl")
    }

    /// The outcomes up to a timeout.
    fn run(
        &self,
        mutation: &MutationRun<'_>,
        jobs: Vec<Job<'_>>,
        unloaded: &[String],
    ) -> Result<Vec<(usize, MutantOutcome)>, MeasureError> {
        let out = self.verdicts();
        // Each job has its own limit; this limit is for everything else.
        let spare = mutation.runner.timeout;
        let longest: f64 = jobs.iter().map(|job| job.limit * 2.0).sum();
        let time = spare.saturating_add(Duration::try_from_secs_f64(longest).unwrap_or(spare));
        let ended = self.start(mutation, time, |args| Plan::Run {
            args,
            all: mutation.request.killing_tests == KillingTests::All,
            jobs,
            unloaded,
            out: out.clone(),
        });
        match ended {
            Ok(()) | Err(MeasureError::TimedOut { .. }) => {}
            Err(error) => return Err(error),
        }
        let text = fs::read_to_string(out).unwrap_or_default();
        let results = text
            .lines()
            .filter_map(|line| serde_json::from_str::<MutantResult>(line).ok());
        let outcome = |result: MutantResult| match result.outcome {
            Kind::Killed => MutantOutcome::Killed { by: result.by },
            Kind::Survived => MutantOutcome::Survived,
            Kind::TimedOut => MutantOutcome::TimedOut,
        };
        Ok(results.map(|result| (result.number, outcome(result))).collect())
    }

    fn start<'p>(
        &self,
        mutation: &MutationRun<'_>,
        time: Duration,
        plan: impl FnOnce(Vec<String>) -> Plan<'p>,
    ) -> Result<(), MeasureError> {
        let project = self.copy.project(mutation.request.project);
        let request = Request::tests_only(&project, &[]);
        let runner = mutation.runner(time, self.copy.top())?;
        let run = runner.test_run(&request, Focus::default(), self.folder.path())?;
        let python = interpreter(&mutation.request.project.root);
        let mut args = pytest_args(&run, &probe(&run, &python)?)?;
        args.extend(
            mutation
                .request
                .tests
                .iter()
                .map(|test| self.copy.at(test).into_os_string()),
        );
        let args = args
            .iter()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect();
        let (script, file) = (run.file("warm.py"), run.file("plan.json"));
        fs::write(&script, WARM)?;
        fs::write(
            &file,
            serde_json::to_vec(&plan(args)).map_err(std::io::Error::other)?,
        )?;
        let mut step = python_step(&run, &python, vec![script.into(), file.into()]);
        step.env
            .push(("PYTHONPATH", self.import_path(mutation, &run.file("plugin"))));
        run.run(&step).map(drop)
    }

    /// The folders of the copy that hold its packages, before all others: an editable installation of the project would
    /// otherwise be imported in place of the copy.
    fn import_path(&self, mutation: &MutationRun<'_>, plugins: &Path) -> std::ffi::OsString {
        let mut folders: Vec<PathBuf> = Vec::new();
        for target in mutation.request.targets {
            let file = self.copy.at(&target.file);
            let top = file.ancestors().skip(1).find(|folder| !is_package(folder));
            if let Some(top) = top.filter(|top| !folders.iter().any(|known| known == top)) {
                folders.push(top.to_owned());
            }
        }
        let given = &mutation.runner.python_path;
        folders.extend(given.iter().map(|folder| self.copy.at(folder)));
        folders.push(plugins.to_owned());
        let old = std::env::var_os("PYTHONPATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&old).filter(|path| !path.as_os_str().is_empty()));
        std::env::join_paths(folders).unwrap_or(old)
    }
}

/// The root of a project is no package, even if it has an `__init__.py`.
fn is_package(folder: &Path) -> bool {
    let has = |name| folder.join(name).exists();
    has("__init__.py") && !["pyproject.toml", "setup.cfg", "setup.py"].into_iter().any(has)
}
