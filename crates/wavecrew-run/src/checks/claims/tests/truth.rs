//! Runs the checks on the suite of cheating and honest workers, in this process.

use super::super::{Sources, check};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use wavecrew_core::engine::{CheckOutcome, ReportReader, complete_report, final_object, report_doubt};
use wavecrew_core::event::{Status, Verdict};
use wavecrew_core::plan::{Plan, seal};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;
use wavecrew_test_support::truth::{Case, Worker, cases};

/// The outcome of a worker's claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Accepted,
    /// Asked about once, and then accepted as unverified.
    Asked,
    Refused,
}

#[test]
fn cheating_workers_are_caught_and_honest_ones_are_accepted() {
    let mut counts: BTreeMap<&str, [usize; 6]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in cases() {
        let (fate, why) = fate(&case);
        let column = match (case.worker, fate) {
            (Worker::Cheat, Fate::Refused) => 0,
            (Worker::Cheat, Fate::Asked) => 1,
            (Worker::Cheat, Fate::Accepted) => 2,
            (Worker::Honest, Fate::Accepted) => 3,
            (Worker::Honest, Fate::Asked) => 4,
            (Worker::Honest, Fate::Refused) => 5,
        };
        counts.entry(case.suite).or_default()[column] += 1;
        if std::env::var_os("TRUTH_ALL").is_some() || [2, 4, 5].contains(&column) {
            wrong.push(format!("{case:?}: {fate:?}: {why}"));
        }
    }
    println!("| suite | caught | flagged | missed | accepted | asked | refused |");
    for (suite, counts) in &counts {
        let cells: Vec<String> = counts.iter().map(usize::to_string).collect();
        println!("| {suite} | {} |", cells.join(" | "));
    }
    let sum: Vec<usize> = (0..6).map(|n| counts.values().map(|c| c[n]).sum()).collect();
    println!("all: {sum:?}");
    println!("{}", wrong.join("\n"));
    assert_eq!((sum[2], sum[5]), (0, 0), "missed, refused");
}

fn fate(case: &Case) -> (Fate, String) {
    let team = Team::builtin(&case.team).expect("built in");
    let plan = plan(&team, case);
    let task = plan.find(&case.task).expect("in the plan");
    let folder = tempfile::tempdir().unwrap();
    let (project, session) = (
        folder.path().join("project"),
        folder.path().join("project/.workflow/s"),
    );
    for file in [
        "app/store/__init__.py",
        "app/cli/__init__.py",
        "app/search/__init__.py",
        "tests/test_notes.py",
    ] {
        put(&project.join(file), "one\ntwo\nthree\nfour\n");
    }
    fs::create_dir_all(&session).unwrap();
    for (path, text) in &case.files {
        put(&session.join(path), text);
    }
    let body = final_object(&case.report).unwrap_or(&case.report);
    let mut report = match ReportReader::new(&team).read(&case.task, body) {
        Ok(report) => report.result,
        Err(why) => return (Fate::Refused, why),
    };
    if report.status != Status::Completed {
        return (Fate::Refused, report.error);
    }
    if let Err(why) = complete_report(&team, &plan, task, &mut report) {
        return (Fate::Refused, why);
    }
    let outputs: Vec<(String, String)> = report.outputs.iter().chain(&report.facts).cloned().collect();
    let (outcome, doubts) = {
        let sources = Sources {
            session: &session,
            project: &project,
            beside: &|_| None,
        };
        check(&sources, &team, &plan, task, &outputs, None)
    };
    let role = team.role(plan.role(task));
    let leaves_more = role.is_some_and(|role| !role.owes.is_empty() || role.check.is_some());
    let doubts = doubts.or_else(|| {
        report_doubt(&report, plan.cell(task, "description"), leaves_more).map(|doubt| doubt.reason)
    });
    match outcome {
        CheckOutcome::Confirmed { .. } if doubts.is_some() => (Fate::Asked, doubts.unwrap_or_default()),
        CheckOutcome::Confirmed {
            verdict: Verdict::Verified,
            ..
        } => (Fate::Accepted, String::new()),
        CheckOutcome::Confirmed { .. } => (Fate::Accepted, "unverified".to_owned()),
        CheckOutcome::Ask(_) | CheckOutcome::Measured(_) => unreachable!("no program runs here"),
        CheckOutcome::SendBack(why) | CheckOutcome::Contradicted(why) => (Fate::Refused, why),
    }
}

/// The rows of the pipeline that the task is from; a plain table has one row.
fn plan(team: &Team, case: &Case) -> Plan {
    let csv = if case.team == "generic" {
        format!("id,description,role\n{},\"{}\",worker\n", case.task, case.request)
    } else if case.team == "planex" {
        let issue = "ISS-20260308-000001";
        format!(
            "id,title,description,role,issue_ids,exec_mode\nPLAN-001,Plan {issue},\"Design the solution of issue {issue}, {}\",planner,{issue},csv-wave\n",
            case.request
        )
    } else {
        let pipeline = team
            .pipelines
            .iter()
            .find(|p| p.task(&case.task).is_some())
            .expect("a pipeline");
        let pipeline = pipeline.for_request(&case.request);
        let row = pipeline.task(&case.task).expect("found above");
        let phase = row.set.get("pipeline_phase").expect("set");
        format!(
            "id,title,description,role,pipeline_phase,exec_mode\n{},{},\"{}\",{},{phase},csv-wave\n",
            row.id, row.title, row.description, row.role
        )
    };
    let sheet = Sheet::read(csv.as_bytes(), Origin::User).expect("a table");
    seal(sheet, team).expect("a plan").0
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
