//! Mutants of Python in warm processes: pytest and the project are loaded once per worker, every mutant is a fork. Only the tests
//! that run the changed line are run. What cannot be tried like this gets a fresh run of pytest each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use wavecrew_syntax::LineSet;

use super::project_copy::ProjectCopy;
use super::{
    KillingTests, MutantOutcome, MutationReport, Planned, Stage, limit, separate_runs, side_by_side,
    workers_for,
};
use crate::framework::pytest::{interpreter, probe, pytest_args, python_step};
use crate::measurement::Note;
use crate::run::{Collect, Focus, MeasureError, Request, Runner, TestOrder, report_folder};

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
        /// Go on after the first test that notices.
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
    /// The changed line runs while the project is loaded.
    cold: bool,
}

/// What every test ran, by the numbers of the files and of the tests.
#[derive(Deserialize)]
struct Baseline {
    tests: Vec<Test>,
    hits: Vec<(usize, u32, Vec<usize>)>,
    loaded: Vec<(usize, u32)>,
    unloaded: Vec<String>,
    loading: f64,
}

#[derive(Deserialize)]
struct Test {
    id: String,
    passed: bool,
    seconds: f64,
}

#[derive(Deserialize)]
struct Verdict {
    number: usize,
    fate: Told,
    #[serde(default)]
    by: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Killed,
    Survived,
    TimedOut,
}

pub fn mutate(stage: &Stage<'_>) -> Result<MutationReport, MeasureError> {
    let first = Worker::new(stage)?;
    let Some(baseline) = first.baseline(stage)? else {
        if stage.is_over() {
            return Ok(stage.report(stage.plan(|target| target.lines.clone()), Vec::new(), Vec::new()));
        }
        let note = Note {
            what: "pytest cannot be kept warm for this project: each mutant has a run of its own".to_owned(),
            fix: None,
        };
        return separate_runs::mutate_these(stage, stage.plan(|target| target.lines.clone()), vec![note]);
    };
    let seen = Seen::new(stage, &baseline);
    let planned = stage.plan(|target| seen.lines(target));
    let count = workers_for(planned.len());
    let mut workers = vec![first];
    while workers.len() < count {
        workers.push(Worker::new(stage)?);
    }
    let shares = side_by_side(workers, count, |worker, share| {
        let mine = planned.iter().enumerate().skip(share).step_by(count);
        let jobs = mine.map(|(number, planned)| seen.job(number, planned, &worker.copy));
        worker.run(stage, jobs.collect(), &baseline.unloaded).map(Some)
    })?;
    let mut fates: Vec<Option<MutantOutcome>> = planned.iter().map(|_| None).collect();
    for (number, fate) in shares.into_iter().flatten().flatten() {
        fates[number] = Some(fate);
    }
    Ok(stage.report(planned, fates, Vec::new()))
}

/// Which tests run which lines.
struct Seen<'a> {
    baseline: &'a Baseline,
    /// Numbers of files, as the baseline has them.
    files: BTreeMap<&'a Path, usize>,
    by_line: BTreeMap<(usize, u32), &'a [usize]>,
    loaded: BTreeSet<(usize, u32)>,
}

impl<'a> Seen<'a> {
    fn new(stage: &Stage<'a>, baseline: &'a Baseline) -> Self {
        let targets = stage.request.targets.iter().enumerate();
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

    /// Of the target's lines those that ran.
    fn lines(&self, target: &super::MutationTarget) -> LineSet {
        let number = self.files.get(target.file.as_path()).copied();
        let ran = self.by_line.keys().chain(&self.loaded);
        let here = ran.filter(|(file, line)| Some(*file) == number && target.lines.contains(*line));
        here.map(|(_, line)| *line).collect()
    }

    fn job<'p>(&self, number: usize, planned: &'p Planned, copy: &ProjectCopy) -> Job<'p>
    where
        'a: 'p,
    {
        let mutant = &planned.mutant;
        let file = self
            .files
            .get(planned.file.as_path())
            .copied()
            .unwrap_or(usize::MAX);
        let places = [(file, mutant.line), (file, mutant.statement)];
        let cold = places.iter().any(|place| self.loaded.contains(place));
        let tests: BTreeSet<usize> = if cold {
            (0..self.baseline.tests.len()).collect()
        } else {
            let of = |place| self.by_line.get(place).copied().unwrap_or_default();
            places.iter().flat_map(of).copied().collect()
        };
        let mut tests: Vec<&'a Test> = tests.iter().map(|&n| &self.baseline.tests[n]).collect();
        tests.retain(|test| test.passed);
        // Those that say something soonest come first.
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
            limit: limit(baseline).as_secs_f64(),
            cold,
        }
    }
}

/// A copy of the tree with a process that works in it.
struct Worker {
    copy: ProjectCopy,
    folder: TempDir,
}

impl Worker {
    fn new(stage: &Stage<'_>) -> Result<Self, MeasureError> {
        Ok(Self {
            copy: ProjectCopy::of(stage.request.top)?,
            folder: report_folder()?,
        })
    }

    /// `None` when the suite did not come to its end.
    fn baseline(&self, stage: &Stage<'_>) -> Result<Option<Baseline>, MeasureError> {
        let files = stage
            .request
            .targets
            .iter()
            .map(|target| self.copy.at(&target.file))
            .collect();
        let out = self.folder.path().join("baseline.json");
        let ended = self.start(stage, stage.runner.timeout, |args| Plan::Baseline {
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

    /// The fates that were found out before the time was up.
    fn run(
        &self,
        stage: &Stage<'_>,
        jobs: Vec<Job<'_>>,
        unloaded: &[String],
    ) -> Result<Vec<(usize, MutantOutcome)>, MeasureError> {
        let out = self.folder.path().join("verdicts.jsonl");
        // Each job keeps its own limit; this is for what goes wrong around them.
        let spare = stage.runner.timeout;
        let longest: f64 = jobs.iter().map(|job| job.limit * 2.0).sum();
        let time = spare.saturating_add(Duration::try_from_secs_f64(longest).unwrap_or(spare));
        let ended = self.start(stage, time, |args| Plan::Run {
            args,
            all: stage.request.killing_tests == KillingTests::All,
            jobs,
            unloaded,
            out: out.clone(),
        });
        match ended {
            Ok(()) | Err(MeasureError::TimedOut { .. }) => {}
            Err(error) => return Err(error),
        }
        let text = fs::read_to_string(out).unwrap_or_default();
        let verdicts = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Verdict>(line).ok());
        let fate = |verdict: Verdict| match verdict.fate {
            Told::Killed => MutantOutcome::Killed { by: verdict.by },
            Told::Survived => MutantOutcome::Survived,
            Told::TimedOut => MutantOutcome::TimedOut,
        };
        Ok(verdicts.map(|verdict| (verdict.number, fate(verdict))).collect())
    }

    fn start<'p>(
        &self,
        stage: &Stage<'_>,
        time: Duration,
        plan: impl FnOnce(Vec<String>) -> Plan<'p>,
    ) -> Result<(), MeasureError> {
        let project = self.copy.project(stage.request.project);
        let request = Request {
            project: &project,
            scope: &[],
            tests: &[],
            coverage: Collect::TestsOnly,
            order: TestOrder::Default,
        };
        let runner: Runner = stage.runner(time)?;
        let run = runner.test_run(&request, Focus::default(), self.folder.path())?;
        let python = interpreter(&stage.request.project.root);
        let mut args = pytest_args(&run, &probe(&run, &python)?)?;
        args.extend(
            stage
                .request
                .tests
                .iter()
                .map(|test| self.copy.at(test).into_os_string()),
        );
        let args = args
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let (script, file) = (run.file("warm.py"), run.file("plan.json"));
        fs::write(&script, WARM)?;
        fs::write(
            &file,
            serde_json::to_vec(&plan(args)).map_err(std::io::Error::other)?,
        )?;
        let mut step = python_step(&run, &python, vec![script.into(), file.into()]);
        step.env.push(("PYTHONPATH", self.import_path(stage)));
        run.run(&step).map(drop)
    }

    /// The folders of the copy that its packages are imported from, before all others: an installation of the project that
    /// points to its own folder would otherwise be imported in place of the copy.
    fn import_path(&self, stage: &Stage<'_>) -> std::ffi::OsString {
        let mut folders: Vec<PathBuf> = Vec::new();
        for target in stage.request.targets {
            let file = self.copy.at(&target.file);
            let top = file
                .ancestors()
                .skip(1)
                .find(|folder| !folder.join("__init__.py").exists());
            if let Some(top) = top.filter(|top| !folders.iter().any(|known| known == top)) {
                folders.push(top.to_owned());
            }
        }
        let given = &stage.runner.python_path;
        folders.extend(given.iter().map(|folder| self.copy.at(folder)));
        let old = std::env::var_os("PYTHONPATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&old).filter(|path| !path.as_os_str().is_empty()));
        std::env::join_paths(folders).unwrap_or(old)
    }
}
