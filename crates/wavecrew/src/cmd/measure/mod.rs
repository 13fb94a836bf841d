//! `wavecrew measure`: runs the tests of the projects around some files and shows what they cover. Changes nothing.

mod mutation;

use crate::clock::LONGEST_SECONDS;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::launch;
use crate::layout::fit;
use crate::show::{self, safe};
use mutation::Effort;
use serde_json::{Value, json};
use std::env;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;
use unicode_width::UnicodeWidthStr;
use wavecrew_measure::detect::{Certainty, Project, conventions};
use wavecrew_measure::run::{MeasureError, Runner, cache_folder, stop_on_signals};
use wavecrew_measure::{
    CoverageStatus, FileCoverage, MeasureOptions, MeasuredProject, Measurement, Ratio, TestOutcome,
    projects_in_scope, repository_root,
};
use wavecrew_run::sandbox::program_rules;

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
    /// Run this command instead of the detected framework; it writes JUnit XML, and LCOV or Cobertura, into
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

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let here = env::current_dir()?;
        let top = repository_root(&here);
        let settings = launch::sandbox_settings(&Config::load(&here)?, &[], &here)?;
        program_rules(&settings).apply();
        let runner = Runner {
            progress: None,
            cache: cache_folder(),
            writable: vec![top.to_owned()],
            timeout: Duration::from_secs(self.timeout),
            python_path: Vec::new(),
            stop: Some(stop_on_signals()?),
        };
        let options = MeasureOptions {
            reruns: self.reruns,
            passing_only: self.passing_only,
            mutation: self.mutation.budget(self.seed),
        };
        let scopes = projects_in_scope(&self.paths, &here, top, self.command.as_deref())
            .map_err(|error| Failure::with_help(error.to_string(), error.help()))?;
        let mut all = Vec::new();
        for (project, scope) in scopes {
            if project.certainty == Certainty::Assumed && !global.quiet {
                let what = format!(
                    "no test framework detected for {} ({}): assuming {}",
                    place(&project, &here),
                    project.evidence,
                    project.framework.name()
                );
                show::warning(&what, None);
            }
            let measured = runner.measure_project(project, &scope, top, options);
            if measured.was_stopped() {
                return Ok(Exit::Interrupted);
            }
            all.push(measured);
        }
        if global.json {
            let projects: Vec<Value> = all.iter().map(|measured| to_json(measured, top)).collect();
            json::print_pretty(json!({ "projects": projects }))?;
        } else {
            let mut out = stdout().lock();
            for measured in &all {
                print(measured, &here, &mut out)?;
            }
        }
        Ok(if all.iter().all(MeasuredProject::all_tests_passed) {
            Exit::Done
        } else {
            Exit::TasksFailed
        })
    }
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

fn error_json(error: &MeasureError) -> Value {
    json!({
        "message": error.to_string(),
        "help": error.help(),
        "output": error.output(),
    })
}

fn to_json(measured: &MeasuredProject, top: &Path) -> Value {
    let mut value = json!({
        "root": measured.project.root,
        "framework": measured.project.framework.name(),
        "evidence": measured.project.evidence,
        "conventions": conventions(&measured.project, top),
    });
    match &measured.result {
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
        Err(error) => value["error"] = error_json(error),
    }
    match &measured.mutation {
        Some(Ok(report)) => {
            value["mutation"] = json!(report);
            value["mutation"]["rate"] = json!(report.rate().map(|r| r.percent() / 100.0));
        }
        Some(Err(error)) => value["mutation"] = json!({ "error": error_json(error) }),
        None => {}
    }
    value
}

fn print(measured: &MeasuredProject, here: &Path, out: &mut impl Write) -> io::Result<()> {
    let name = measured.project.framework.name();
    writeln!(
        out,
        "{name} in {} ({})",
        safe(&place(&measured.project, here)),
        safe(&measured.project.evidence)
    )?;
    match &measured.result {
        Ok(found) => {
            print_measurement(found, out)?;
            match &measured.mutation {
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
        // pytest marks the line with the error; other frameworks put it first.
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
    let remark = match file.status {
        CoverageStatus::Measured => "",
        CoverageStatus::NotLoaded => "  loaded by no test",
        CoverageStatus::Excluded => return "excluded by the coverage settings".to_owned(),
        CoverageStatus::Broken => "  cannot be parsed",
    };
    let Ratio { covered, total } = file.lines;
    format!("{:>9}  {covered}/{total}{remark}{missing}", percent(file.lines))
}
