//! Mutants of Rust code, made and tested by cargo-mutants in its own copy of the project.

use std::ffi::OsString;
use std::fs;

use serde_json::Value;

use super::{MutantOutcome, MutationReport, MutationRun, MutationTarget, TestedMutant};
use crate::framework::on_path;
use crate::measurement::{NO_MUTANTS, Note};
use crate::run::{Focus, MeasureError, Request, option, os_args, report_folder};

pub fn mutate(mutation: &MutationRun<'_>) -> Result<MutationReport, MeasureError> {
    if !on_path("cargo-mutants") {
        return Ok(MutationReport::only_note(Note::missing_tool(
            "cargo-mutants is not installed",
            NO_MUTANTS,
            "cargo install --locked cargo-mutants".to_owned(),
        )));
    }
    let folder = report_folder()?;
    let request = Request::tests_only(mutation.request.project, &[]);
    let runner = mutation.runner(mutation.runner.timeout, mutation.request.top)?;
    let run = runner.test_run(&request, Focus::default(), folder.path())?;
    let mut args = os_args(["mutants", "--colors=never", "--no-times", "--shuffle"]);
    args.push(option("--output", &run.file("mutants")));
    for MutationTarget { file, .. } in mutation.request.targets {
        let below = file.strip_prefix(&mutation.request.project.root).unwrap_or(file);
        args.extend([OsString::from("--file"), below.into()]);
    }
    // Integration tests are selected by name, as in a plain run.
    let names = mutation.request.tests.iter().filter_map(|test| test.file_stem());
    let tests: Vec<OsString> = names
        .flat_map(|name| ["--test".into(), name.to_owned()])
        .collect();
    if !tests.is_empty() {
        args.push("--".into());
        args.extend(tests);
    }
    fs::create_dir(run.file("mutants"))?;
    // The report also has the outcomes up to a timeout.
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
    Ok(parse(&report, mutation.request.targets))
}

fn with_note(what: &str, fix: &str) -> MutationReport {
    MutationReport::only_note(Note {
        what: what.to_owned(),
        fix: Some(fix.to_owned()),
    })
}

/// The mutants on the lines of the targets.
fn parse(report: &[u8], targets: &[MutationTarget]) -> MutationReport {
    let report: Value = serde_json::from_slice(report).unwrap_or_default();
    let Some(outcomes) = report["outcomes"].as_array() else {
        return with_note(
            "the report of cargo-mutants cannot be read",
            "check the version of cargo-mutants",
        );
    };
    let mut found = MutationReport::default();
    found
        .tested
        .extend(outcomes.iter().filter_map(|outcome| tested(outcome, targets)));
    found
        .tested
        .sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    found
}

fn tested(outcome: &Value, targets: &[MutationTarget]) -> Option<TestedMutant> {
    let mutant = &outcome["scenario"]["Mutant"];
    let file = mutant["file"].as_str()?;
    let line = u32::try_from(mutant["span"]["start"]["line"].as_u64()?).ok()?;
    // Files are named from the root of the workspace.
    let is_target = |target: &MutationTarget| target.file.ends_with(file) && target.lines.contains(line);
    if !targets.iter().any(is_target) {
        return None;
    }
    // The name begins with the file, the line and the column.
    let what = mutant["name"].as_str()?.splitn(4, ':').last()?;
    Some(TestedMutant {
        file: file.to_owned(),
        line,
        what: what.trim().to_owned(),
        mutant: None,
        outcome: match outcome["summary"].as_str()? {
            "CaughtMutant" => MutantOutcome::Killed { by: Vec::new() },
            "MissedMutant" => MutantOutcome::Survived,
            "Timeout" => MutantOutcome::TimedOut,
            // The mutant does not compile, or this is the run without a mutant.
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_cargo_mutants_is_parsed() {
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
        let found = parse(report.to_string().as_bytes(), &targets);
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
        assert_eq!(parse(b"{}", &targets).notes.len(), 1);
    }
}
