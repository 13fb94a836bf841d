//! vitest and jest of the project's own `node_modules`, with istanbul's coverage report from both.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::MeasureError;
use super::scope::WhenMissing;
use super::{Bench, Invocation, Order, option, words};
use crate::measurement::{NO_COVERAGE, Note};
use crate::report::{CoverageFormat, TestFormat};

pub fn vitest(bench: &Bench<'_>) -> Result<Invocation, MeasureError> {
    let program = installed(bench.root(), ".bin/vitest").ok_or_else(|| MeasureError::NotInstalled {
        what: "vitest",
        fix: "npm install --save-dev vitest @vitest/coverage-v8".to_owned(),
    })?;
    let report = bench.file("tests.json");
    // Console output goes straight through: vitest would keep it for its report.
    let related = bench.focus.related.filter(|_| bench.request.tests.is_empty());
    let mut args = match related {
        Some(file) => vec!["related".into(), file.into(), "--run".into()],
        None => words(["run"]),
    };
    if bench.focus.stop_early {
        args.push("--bail=1".into());
    }
    args.extend(words([
        "--reporter=json",
        "--disable-console-intercept",
        "--no-cache",
    ]));
    if related.is_some() {
        args.push("--passWithNoTests".into());
    }
    args.push(option("--outputFile.json", &report));
    args.extend(left_out(bench));
    if let Order::Shuffled { seed } = bench.request.order {
        args.extend([
            "--sequence.shuffle".into(),
            format!("--sequence.seed={seed}").into(),
        ]);
    }
    let mut notes = Vec::new();
    let providers: Vec<&str> = ["v8", "istanbul"]
        .into_iter()
        .filter(|name| installed(bench.root(), &format!("@vitest/coverage-{name}")).is_some())
        .collect();
    let covered = bench.wants_coverage() && !providers.is_empty();
    if covered {
        args.extend(words([
            "--coverage.enabled",
            "--coverage.reporter=json",
            "--coverage.reportOnFailure",
        ]));
        args.push(option("--coverage.reportsDirectory", &bench.file("coverage")));
        // With both installed the project's settings choose.
        if let [only] = providers[..] {
            args.push(format!("--coverage.provider={only}").into());
        }
        args.extend(globs(bench).map(|glob| OsString::from(format!("--coverage.include={glob}"))));
    } else {
        args.push("--coverage.enabled=false".into());
        if bench.wants_coverage() {
            notes.push(Note::missing_tool(
                "vitest has no coverage provider",
                NO_COVERAGE,
                "npm install --save-dev @vitest/coverage-v8".to_owned(),
            ));
        }
    }
    args.extend(bench.request.tests.iter().map(OsString::from));
    Ok(invocation(bench, &program, args, covered, notes))
}

pub fn jest(bench: &Bench<'_>) -> Result<Invocation, MeasureError> {
    let program = installed(bench.root(), ".bin/jest").ok_or_else(|| MeasureError::NotInstalled {
        what: "jest",
        fix: "npm install --save-dev jest".to_owned(),
    })?;
    // Silent: jest would keep console output in memory. Only its own reporter: others write files into the project.
    let mut args = words([
        "--ci",
        "--json",
        "--silent",
        "--watchAll=false",
        "--reporters=default",
    ]);
    args.push(option("--outputFile", &bench.file("tests.json")));
    let own = bench.file("cache");
    args.push(option("--cacheDirectory", bench.focus.cache.unwrap_or(&own)));
    if bench.focus.stop_early {
        args.push("--bail".into());
    }
    args.extend(left_out(bench));
    if let Order::Shuffled { seed } = bench.request.order {
        args.extend(["--randomize".into(), format!("--seed={seed}").into()]);
    }
    let covered = bench.wants_coverage();
    if covered {
        args.extend(words([
            "--coverage",
            "--coverageReporters=json",
            "--coverageThreshold={}",
        ]));
        args.push(option("--coverageDirectory", &bench.file("coverage")));
        args.extend(globs(bench).map(|glob| OsString::from(format!("--collectCoverageFrom={glob}"))));
    } else {
        args.push("--coverage=false".into());
    }
    if !bench.request.tests.is_empty() {
        args.push("--runTestsByPath".into());
        args.extend(bench.request.tests.iter().map(OsString::from));
    } else if let Some(file) = bench.focus.related {
        args.extend([
            "--passWithNoTests".into(),
            "--findRelatedTests".into(),
            file.into(),
        ]);
    }
    Ok(invocation(bench, &program, args, covered, Vec::new()))
}

fn invocation(
    bench: &Bench<'_>,
    program: &Path,
    args: Vec<OsString>,
    covered: bool,
    notes: Vec<Note>,
) -> Invocation {
    Invocation {
        tests: bench.step(program, args),
        test_report: (TestFormat::Jest, bench.file("tests.json")),
        then: Vec::new(),
        coverage: covered.then(|| {
            (
                CoverageFormat::Istanbul,
                bench.file("coverage").join("coverage-final.json"),
            )
        }),
        when_missing: WhenMissing::Excluded,
        notes,
    }
}

/// Something in the nearest `node_modules` that has it.
fn installed(root: &Path, what: &str) -> Option<PathBuf> {
    let found = root
        .ancestors()
        .map(|folder| folder.join("node_modules").join(what));
    found.into_iter().find(|path| path.exists())
}

fn left_out(bench: &Bench<'_>) -> Option<OsString> {
    let pattern = bench.left_out_pattern()?;
    Some(format!("--testNamePattern={pattern}").into())
}

/// The files in scope as patterns that match just them.
fn globs(bench: &Bench<'_>) -> impl Iterator<Item = String> {
    bench.request.scope.iter().map(|file| {
        let path = file.strip_prefix(bench.root()).unwrap_or(file).to_string_lossy();
        let mut glob = String::with_capacity(path.len());
        for c in path.chars() {
            if "[]{}()*?!+@\\".contains(c) {
                glob.push('\\');
            }
            glob.push(c);
        }
        glob
    })
}
