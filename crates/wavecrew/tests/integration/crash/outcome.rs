//! What a session must look like when it was continued after a fault. Problems are gathered, not thrown: one fault of
//! many should not hide the others.

use crate::crash::BEGIN;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use wavecrew_core::event::Event;
use wavecrew_session::Journal;
use wavecrew_test_support::sandbox::{Outcome, Sandbox, read_rows};

/// What is wrong, in words.
pub type Problems = Vec<String>;

const TASKS: [&str; 4] = ["a", "b", "c", "d"];

/// Inspects the state after the fault, continues, and lists everything that is wrong afterwards.
pub fn after_kill(sandbox: &Sandbox) -> Problems {
    let finished = finished(sandbox);
    let ran_before = TASKS.map(|task| sandbox.ran(task));
    let ended = if has_session(sandbox) {
        sandbox.resume()
    } else {
        // The fault came before there was a session: begin again.
        sandbox.start_run(&BEGIN).wait()
    };
    if ended.code != Some(0) {
        return vec![format!(
            "continuing ended with {:?}: {}",
            ended.code, ended.stderr
        )];
    }
    let mut problems = problems_of_finished(sandbox);
    for (task, ran) in TASKS.iter().zip(ran_before) {
        if finished.contains(*task) && sandbox.ran(task) != ran {
            problems.push(format!("{task} ran again although its result was durable"));
        }
    }
    problems
}

/// What is wrong with how the run ended that the system refused something, and with the session afterwards.
pub fn after_refusal(sandbox: &Sandbox, ended: &Outcome) -> Problems {
    let mut problems = Problems::from_iter(problem_of_ending(ended));
    problems.extend(left_running(sandbox));
    problems.extend(if ended.code == Some(0) {
        problems_of_finished(sandbox)
    } else {
        after_kill(sandbox)
    });
    problems
}

/// Everything that is wrong with a session that should be complete.
fn problems_of_finished(sandbox: &Sandbox) -> Problems {
    let mut problems = Vec::new();
    let mut expect = |holds: bool, problem: &str| {
        if !holds {
            problems.push(problem.to_owned());
        }
    };
    let statuses = sandbox.statuses();
    let all = "a completed, b completed, c completed, d completed";
    expect(statuses == all, &statuses);
    let session = sandbox.session();
    match Journal::<Event>::read(&session.join("journal.ndjson")) {
        Ok((events, recovery)) => {
            let ends = matches!(events.last(), Some(Event::RunEnded { .. }));
            expect(ends && recovery.cut_bytes == 0, "the journal has no proper end");
        }
        Err(error) => expect(false, &error.to_string()),
    }
    let read = |name: &str| fs::read_to_string(session.join(name)).unwrap_or_default();
    let rows = read_rows(&session.join("results.csv")).len();
    expect(
        read("results.csv") == read("tasks.csv") && rows == TASKS.len(),
        "results.csv is not the final table",
    );
    expect(!read("context.md").is_empty(), "context.md is missing");
    expect(
        read("logs/d.findings.txt").len() == 600,
        "the whole findings of d are lost",
    );
    let json = |name: &str| serde_json::from_str::<serde_json::Value>(&read(name)).unwrap_or_default();
    expect(
        json("interactive/c-result.json")["status"] == "completed",
        "the interactive result of c is missing",
    );
    expect(
        json("session.json")["state"] == "completed",
        "session.json does not say that it is completed",
    );
    leftovers(&sandbox.path(".workflow"), &session, &mut problems);
    problems.extend(left_running(sandbox));
    problems
}

/// The fault is reported with what to do, or it does no harm.
fn problem_of_ending(ended: &Outcome) -> Option<String> {
    let reported = ended.stderr.contains("(os error ") && ended.stderr.contains("help: ");
    let good = ended.code == Some(0) || ended.code == Some(5) && reported;
    (!good || ended.stderr.contains("panicked"))
        .then(|| format!("ended with {:?}, saying: {}", ended.code, ended.stderr))
}

fn left_running(sandbox: &Sandbox) -> Option<String> {
    let alive = sandbox.processes();
    (!alive.is_empty()).then(|| format!("left running: {alive:?}"))
}

fn has_session(sandbox: &Sandbox) -> bool {
    !sandbox.sessions().is_empty() && sandbox.in_session("session.json").exists()
}

fn finished(sandbox: &Sandbox) -> BTreeSet<String> {
    if !has_session(sandbox) {
        return BTreeSet::new();
    }
    let (events, _) =
        Journal::<Event>::read(&sandbox.in_session("journal.ndjson")).expect("a journal that opens");
    let task = |event| match event {
        Event::Finished { task, .. } => Some(task),
        _ => None,
    };
    events.into_iter().filter_map(task).collect()
}

/// Temporary files, except in folders that never became a session.
fn leftovers(folder: &Path, session: &Path, problems: &mut Vec<String>) {
    let entries = fs::read_dir(folder).expect("a folder");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().expect("an entry has a name").to_string_lossy();
        let passing = [".tmp-", ".tasks.", "wave-"]
            .iter()
            .any(|start| name.starts_with(start));
        let known = ["guardian.json", "plan.csv", "tasks.published", "team.toml"].contains(&&*name);
        // The scripted worker keeps its script beside its result.
        let of_attempt =
            folder.file_name().is_some_and(|name| name == ".run") && !known && !name.ends_with(".fake");
        if passing || of_attempt {
            problems.push(format!("left behind: {}", path.display()));
        }
        if path.is_dir() && (session.starts_with(&path) || path.starts_with(session)) {
            leftovers(&path, session, problems);
        }
    }
}
