//! Rust has cargo-mutants, which makes mutants of its own and tries them in a copy of its own. Where it is not installed there
//! are none.

use std::ffi::OsString;
use std::fs;

use serde::Deserialize;

use super::{MutantOutcome, MutationReport, MutationTarget, Stage, TestedMutant};
use crate::framework::cargo::on_path;
use crate::measurement::{NO_MUTANTS, Note};
use crate::run::{Collect, Focus, MeasureError, Request, TestOrder, option, report_folder, words};

#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: Summary,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Made),
}

#[derive(Deserialize)]
struct Made {
    name: String,
    file: String,
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Start,
}

#[derive(Deserialize)]
struct Start {
    line: u32,
}

#[derive(Deserialize)]
enum Summary {
    CaughtMutant,
    MissedMutant,
    Timeout,
    /// It does not compile, so that it says nothing about the tests; or it is the run without a change.
    #[serde(other)]
    Other,
}

pub fn mutate(stage: &Stage<'_>) -> Result<MutationReport, MeasureError> {
    if !on_path("cargo-mutants") {
        let fix = "cargo install --locked cargo-mutants".to_owned();
        return Ok(MutationReport {
            notes: vec![Note::missing_tool(
                "cargo-mutants is not installed",
                NO_MUTANTS,
                fix,
            )],
            ..MutationReport::default()
        });
    }
    let folder = report_folder()?;
    let request = Request {
        project: stage.request.project,
        scope: &[],
        tests: &[],
        coverage: Collect::TestsOnly,
        order: TestOrder::Default,
    };
    let runner = stage.runner(stage.runner.timeout)?;
    let run = runner.test_run(&request, Focus::default(), folder.path())?;
    let mut args = words(["mutants", "--colors=never", "--no-times", "--shuffle"]);
    args.push(option("--output", &run.file("mutants")));
    for MutationTarget { file, .. } in stage.request.targets {
        let below = file.strip_prefix(&stage.request.project.root).unwrap_or(file);
        args.extend([OsString::from("--file"), below.into()]);
    }
    // Integration tests are chosen by their name, as for a plain run.
    let names = stage.request.tests.iter().filter_map(|test| test.file_stem());
    let tests: Vec<OsString> = names
        .flat_map(|name| ["--test".into(), name.to_owned()])
        .collect();
    if !tests.is_empty() {
        args.push("--".into());
        args.extend(tests);
    }
    fs::create_dir(run.file("mutants"))?;
    // What was found out before the time was up is in the report already.
    match run.run(&run.step("cargo", args)) {
        Ok(_) | Err(MeasureError::TimedOut { .. }) => {}
        Err(error) => return Err(error),
    }
    let path = run.file("mutants").join("mutants.out/outcomes.json");
    let Ok(report) = fs::read(path) else {
        return Ok(with_note(
            &format!("cargo-mutants wrote no report: {NO_MUTANTS}"),
            "run `cargo mutants` in the project to see why",
        ));
    };
    Ok(read(&report, stage.request.targets))
}

fn with_note(what: &str, fix: &str) -> MutationReport {
    MutationReport {
        notes: vec![Note {
            what: what.to_owned(),
            fix: Some(fix.to_owned()),
        }],
        ..MutationReport::default()
    }
}

/// Those on the lines of the targets.
fn read(report: &[u8], targets: &[MutationTarget]) -> MutationReport {
    let Ok(Outcomes { outcomes }) = serde_json::from_slice(report) else {
        return with_note(
            "the report of cargo-mutants cannot be read",
            "check the version of cargo-mutants",
        );
    };
    let mut found = MutationReport::default();
    for Outcome { scenario, summary } in outcomes {
        let Scenario::Mutant(made) = scenario else {
            continue;
        };
        let line = made.span.start.line;
        // Files are named from the root of the workspace.
        let is_meant =
            |target: &MutationTarget| target.file.ends_with(&made.file) && target.lines.contains(line);
        let fate = match summary {
            Summary::CaughtMutant => MutantOutcome::Killed { by: Vec::new() },
            Summary::MissedMutant => MutantOutcome::Survived,
            Summary::Timeout => MutantOutcome::TimedOut,
            Summary::Other => continue,
        };
        if targets.iter().any(is_meant) {
            // The name begins with the place, which is told beside it.
            let what = made
                .name
                .splitn(4, ':')
                .last()
                .unwrap_or_default()
                .trim()
                .to_owned();
            found.tested.push(TestedMutant {
                file: made.file,
                line,
                what,
                mutant: None,
                outcome: fate,
            });
        }
    }
    found
        .tested
        .sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_cargo_mutants_is_read() {
        let mutant = |file: &str, line: u32, what: &str, summary: &str| {
            serde_json::json!({
                "scenario": { "Mutant": {
                    "name": format!("{file}:{line}:5: {what}"),
                    "file": file,
                    "package": "a",
                    "span": { "start": { "line": line, "column": 5 }, "end": { "line": line, "column": 6 } },
                } },
                "summary": summary,
                "phase_results": [],
            })
        };
        let report = serde_json::json!({
            "outcomes": [
                { "scenario": "Baseline", "summary": "Success" },
                mutant("src/lib.rs", 7, "replace f -> A::B with ()", "MissedMutant"),
                mutant("src/lib.rs", 3, "replace + with -", "CaughtMutant"),
                mutant("src/lib.rs", 3, "replace + with *", "Timeout"),
                mutant("src/lib.rs", 3, "replace g with 1", "Unviable"),
                mutant("src/lib.rs", 9, "replace h with 1", "MissedMutant"),
                mutant("src/other.rs", 3, "replace h with 1", "MissedMutant"),
            ],
            "total_mutants": 6,
        });
        let targets = [MutationTarget {
            file: "/work/src/lib.rs".into(),
            lines: [3, 7].into_iter().collect(),
            extra: Vec::new(),
        }];
        let found = read(report.to_string().as_bytes(), &targets);
        let seen: Vec<(u32, &str, &MutantOutcome)> = found
            .tested
            .iter()
            .map(|t| (t.line, &*t.what, &t.outcome))
            .collect();
        assert_eq!(
            seen,
            [
                (3, "replace + with -", &MutantOutcome::Killed { by: Vec::new() }),
                (3, "replace + with *", &MutantOutcome::TimedOut),
                (7, "replace f -> A::B with ()", &MutantOutcome::Survived),
            ]
        );
        assert_eq!(read(b"{}", &targets).notes.len(), 1);
    }
}
