//! `wavecrew measure`: runs the tests of the projects around some files and shows what they cover. Changes nothing.

mod mutation;

use crate::cli::Global;
use crate::clock::LONGEST_SECONDS;
use crate::exit::{Exit, Failure};
use crate::json;
use crate::layout::fit;
use crate::show::{self, safe};
use mutation::Effort;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;
use unicode_width::UnicodeWidthStr;
use wavecrew_measure::detect::{Certainty, Framework, Project, by_project, conventions};
use wavecrew_measure::mutation::{KillingTests, MutationReport, MutationRequest, MutationTarget};
use wavecrew_measure::run::{Collect, MeasureError, Request, Runner, TestOrder};
use wavecrew_measure::run::{cache_folder, stop_on_signals};
use wavecrew_measure::{CoverageStatus, FileCoverage, Measurement, Ratio, TestOutcome};

/// Run the project's tests and show pass rate and coverage
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew measure\n  wavecrew measure src/auth --json\n  wavecrew measure src/cart.ts --reruns 3\n  \
    wavecrew measure src/cart.ts --mutation quick\n  \
    wavecrew measure --command 'make test REPORTS=\"$WAVECREW_REPORTS\"'"
)]
pub struct Args {
    /// Files and folders whose coverage counts [default: all sources]
    #[arg(value_name = "PATHS")]
    paths: Vec<PathBuf>,
    /// Time limit of one run of a test suite, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=LONGEST_SECONDS))]
    timeout: u64,
    /// Run the tests N more times and name flaky ones
    #[arg(long, value_name = "N", default_value_t = 0)]
    reruns: u32,
    /// Run this in place of the framework that was found; it writes JUnit XML, and LCOV or Cobertura, into
    /// `$WAVECREW_REPORTS`
    #[arg(long, value_name = "LINE")]
    command: Option<String>,
    /// Take coverage from passing tests only; a suite with failures runs again without them
    #[arg(long)]
    passing_only: bool,
    /// Make mutants (small faults) in covered code and show which survive
    #[arg(long, value_name = "EFFORT", value_enum, default_value_t = Effort::Off)]
    mutation: Effort,
    /// Random seed that chooses the mutants
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// What came of one project.
struct Measured {
    project: Project,
    result: Result<Measurement, MeasureError>,
    mutation: Option<Result<MutationReport, MeasureError>>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let here = env::current_dir()?;
        let top = repository(&here);
        let runner = Runner {
            cache: cache_folder(),
            timeout: Duration::from_secs(self.timeout),
            python_path: Vec::new(),
            stop: Some(stop_on_signals()?),
        };
        let mut all = Vec::new();
        for (project, scope) in self.scopes(&here, &top)? {
            if project.certainty == Certainty::Assumed && !global.quiet {
                let what = format!(
                    "no sign of a test framework for {} ({}): {} is assumed",
                    place(&project, &here),
                    project.evidence,
                    project.framework.name()
                );
                show::warning(&what, None);
            }
            let request = Request {
                project: &project,
                scope: &scope,
                tests: &[],
                coverage: Collect::TestsAndCoverage,
                order: TestOrder::Default,
            };
            let result = runner.measure(&request).and_then(|mut measurement| {
                runner.find_flaky(&request, self.reruns, &mut measurement)?;
                if self.passing_only {
                    runner.measure_passing_coverage(&request, &mut measurement)?;
                }
                Ok(measurement)
            });
            let mutation = match (&result, self.mutation.budget(self.seed)) {
                (Ok(found), Some(budget)) => Some(runner.mutate(&MutationRequest {
                    project: &project,
                    top: &top,
                    targets: &MutationTarget::covered(found, &scope, &project.root),
                    tests: &[],
                    budget,
                    killing_tests: KillingTests::First,
                })),
                _ => None,
            };
            if matches!(result, Err(MeasureError::Stopped))
                || matches!(mutation, Some(Err(MeasureError::Stopped)))
            {
                return Ok(Exit::Interrupted);
            }
            all.push(Measured {
                project,
                result,
                mutation,
            });
        }
        let mut out = stdout().lock();
        if global.json {
            let projects: Vec<Value> = all.iter().map(|measured| measured.json(&top)).collect();
            json::print_pretty(json!({ "projects": projects }))?;
        } else {
            for measured in &all {
                measured.print(&here, &mut out)?;
            }
        }
        let green = |m: &Measured| matches!(&m.result, Ok(found) if found.failing().next().is_none());
        Ok(if all.iter().all(green) {
            Exit::Done
        } else {
            Exit::TasksFailed
        })
    }

    /// The projects that are asked for, each with its files that count.
    fn scopes(&self, here: &Path, top: &Path) -> Result<BTreeMap<Project, Vec<PathBuf>>, Failure> {
        let mut scopes: BTreeMap<Project, Vec<PathBuf>> = BTreeMap::new();
        let all = [PathBuf::from(".")];
        let given = if self.paths.is_empty() {
            &all[..]
        } else {
            &self.paths
        };
        for path in given {
            let full = here.join(path).canonicalize().map_err(|error| {
                Failure::with_help(
                    format!("cannot measure {}: {error}", path.display()),
                    "name a file or a folder",
                )
            })?;
            let found = by_project(&full, top);
            if found.is_empty() {
                return Err(Failure::with_help(
                    format!("{} holds no source that can be measured", path.display()),
                    "known are Python, JavaScript, TypeScript, Rust and Go",
                ));
            }
            for (project, files) in found {
                let project = match &self.command {
                    Some(line) => by_command(line, here),
                    None => project,
                };
                let scope = scopes.entry(project).or_default();
                scope.extend(files);
                scope.sort();
                scope.dedup();
            }
        }
        Ok(scopes)
    }
}

fn by_command(line: &str, here: &Path) -> Project {
    Project {
        root: here.to_owned(),
        framework: Framework::Command {
            line: line.to_owned(),
        },
        evidence: format!("`{line}`"),
        certainty: Certainty::Found,
    }
}

/// The folder with `.git` above, beyond which no project is looked for.
fn repository(here: &Path) -> PathBuf {
    let top = here.ancestors().find(|folder| folder.join(".git").exists());
    top.unwrap_or(here).to_owned()
}

fn place(project: &Project, here: &Path) -> String {
    match project.root.strip_prefix(here) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.display().to_string(),
        Err(_) => project.root.display().to_string(),
    }
}

/// Percent with two decimals, rounded down: 100 means all.
fn percent(ratio: Ratio) -> String {
    format!("{:.2} %", (ratio.percent() * 100.0).floor() / 100.0)
}

fn told(error: &MeasureError) -> Value {
    json!({
        "message": error.to_string(),
        "help": error.help(),
        "output": error.output(),
    })
}

impl Measured {
    fn json(&self, top: &Path) -> Value {
        let mut value = json!({
            "root": self.project.root,
            "framework": self.project.framework.name(),
            "evidence": self.project.evidence,
            "conventions": conventions(&self.project, top),
        });
        match &self.result {
            Ok(found) => {
                let figure = |ratio: Option<Ratio>| {
                    ratio.map(|r| json!({ "covered": r.covered, "total": r.total, "percent": r.percent() }))
                };
                let rate = found.pass_rate(&found.skipped());
                value["pass_rate"] = json!(rate.map(|r| r.percent() / 100.0));
                value["lines"] = json!(figure(found.coverage.lines()));
                value["branches"] = json!(figure(found.coverage.branches()));
                value["measurement"] = json!(found);
            }
            Err(error) => value["error"] = told(error),
        }
        match &self.mutation {
            Some(Ok(report)) => {
                value["mutation"] = json!(report);
                value["mutation"]["rate"] = json!(report.rate().map(|r| r.percent() / 100.0));
            }
            Some(Err(error)) => value["mutation"] = json!({ "error": told(error) }),
            None => {}
        }
        value
    }

    fn print(&self, here: &Path, out: &mut impl Write) -> io::Result<()> {
        let name = self.project.framework.name();
        writeln!(
            out,
            "{name} in {} ({})",
            safe(&place(&self.project, here)),
            safe(&self.project.evidence)
        )?;
        match &self.result {
            Ok(found) => {
                print_measurement(found, out)?;
                match &self.mutation {
                    Some(report) => mutation::print(report, out),
                    None => Ok(()),
                }
            }
            Err(error) => {
                if let Some(output) = error.output() {
                    let last: Vec<&str> = output.lines().rev().take(20).collect();
                    for line in last.iter().rev() {
                        writeln!(out, "  | {}", safe(line))?;
                    }
                }
                writeln!(out, "  not measured: {}", safe(&error.to_string()))?;
                writeln!(out, "  help: {}", safe(&error.help()))
            }
        }
    }
}

fn print_measurement(found: &Measurement, out: &mut impl Write) -> io::Result<()> {
    let rate = found
        .pass_rate(&found.skipped())
        .map_or("unknown".to_owned(), percent);
    writeln!(out, "  tests     {}; pass rate {rate}", counts(found))?;
    if let Some(lines) = found.coverage.lines() {
        write!(
            out,
            "  coverage  {} of {} lines, {}",
            lines.covered,
            lines.total,
            percent(lines)
        )?;
        if let Some(branches) = found.coverage.branches() {
            write!(
                out,
                "; {} of {} branches, {}",
                branches.covered,
                branches.total,
                percent(branches)
            )?;
        }
        writeln!(out)?;
    }
    let files = found.coverage.files();
    let wide = files
        .iter()
        .map(|file| file.path.width())
        .max()
        .unwrap_or(0)
        .min(60);
    for file in files {
        writeln!(out, "    {} {}", fit(&file.path, wide), about(file))?;
    }
    for test in found.failing() {
        let why = test.outcome.text();
        // Python's own marks the line that says what is wrong; elsewhere the first one does.
        let line = why
            .lines()
            .find(|line| line.starts_with("E "))
            .or_else(|| why.lines().next());
        let line = line.unwrap_or_default().trim_start_matches("E ").trim();
        writeln!(out, "  red   {}: {}", safe(&test.id.to_string()), safe(line))?;
    }
    for flaky in &found.flaky {
        let (id, passed, runs) = (safe(&flaky.id.to_string()), flaky.passed, flaky.runs);
        writeln!(
            out,
            "  flaky {id}: passed in {passed} of {runs} runs, not counted"
        )?;
    }
    for note in &found.notes {
        writeln!(out, "  note: {}", safe(&note.what))?;
        if let Some(fix) = &note.fix {
            writeln!(out, "    help: {}", safe(fix))?;
        }
    }
    Ok(())
}

fn counts(found: &Measurement) -> String {
    let mut counts = [0; 6];
    for test in &found.tests {
        counts[match test.outcome {
            TestOutcome::Passed => 0,
            TestOutcome::Failed { .. } => 1,
            TestOutcome::Error { .. } => 2,
            TestOutcome::Unloaded { .. } => 3,
            TestOutcome::ExpectedFailure { .. } => 4,
            TestOutcome::Skipped { .. } => 5,
        }] += 1;
    }
    let words = [
        "passed",
        "failed",
        "broken",
        "files not loaded",
        "expected to fail",
        "skipped",
    ];
    let parts = counts
        .iter()
        .zip(words)
        .filter(|&(&n, word)| n > 0 || word == "passed");
    parts
        .map(|(n, word)| format!("{n} {word}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn about(file: &FileCoverage) -> String {
    let ranges: Vec<String> = file.uncovered.iter().map(ToString::to_string).collect();
    let missing = if ranges.is_empty() {
        String::new()
    } else {
        format!("  uncovered {}", ranges.join(", "))
    };
    let standing = match file.status {
        CoverageStatus::Measured => "",
        CoverageStatus::NotLoaded => "  loaded by no test",
        CoverageStatus::Excluded => return "left out by the coverage settings".to_owned(),
        CoverageStatus::Broken => "  cannot be parsed",
    };
    let Ratio { covered, total } = file.lines;
    format!("{:>9}  {covered}/{total}{standing}{missing}", percent(file.lines))
}
