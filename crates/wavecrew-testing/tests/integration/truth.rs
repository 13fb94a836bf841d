//! Holds workers that cheat and workers that are honest in many styles against the checks, with real frameworks.
//! `WAVECREW_TEST_DEPTH=full` runs all of them; `WAVECREW_TRUTH=ONE|OTHER` those whose names contain a text, one after the
//! other, and says more.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::session::TestSession;
use wavecrew_core::check_report::CheckReport;
use wavecrew_core::event::Verdict;
use wavecrew_test_support::depth;
use wavecrew_test_support::testing_cases::{Change, Edit, Place, TestingCase, testing_cases};
use wavecrew_test_support::truth::Worker;
use wavecrew_testing::rounds;
use wavecrew_testing::scope::MutationEffort;

/// The suites of each framework, and how many of their workers run at default depth.
const SAMPLE: [(&[&str], usize); 3] = [
    (&["pytest", "later", "unseen", "unseen3", "further"], 3),
    (
        &["vitest", "unseen vitest", "unseen3 vitest", "further vitest"],
        2,
    ),
    (&["jest", "unseen jest", "unseen3 jest"], 1),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// Sent back with proof.
    Caught,
    /// The result is unverified, with the reason.
    Flagged,
    Verified,
}

struct Held {
    case: TestingCase,
    outcome: Outcome,
    reason: String,
    seconds: f64,
}

#[test]
fn cheats_are_not_verified_and_honest_workers_are() {
    let chosen = chosen();
    let next = AtomicUsize::new(0);
    let held = Mutex::new(Vec::new());
    let work = || {
        while let Some(case) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(result) = hold(case) else { return };
            if is_verbose() {
                println!("{:.1} s {}", result.seconds, described(&result));
            }
            held.lock().unwrap().push(result);
        }
    };
    let lanes = if std::env::var_os("WAVECREW_TRUTH").is_some() {
        1
    } else {
        2
    };
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(work);
        }
    });
    let held = held.into_inner().unwrap();
    print_table(&held);
    let wrong: Vec<String> = held.iter().filter(|held| is_wrong(held)).map(described).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn chosen() -> Vec<TestingCase> {
    let all = testing_cases();
    if let Ok(parts) = std::env::var("WAVECREW_TRUTH") {
        let is_named = |case: &TestingCase| parts.split('|').any(|part| format!("{case:?}").contains(part));
        return all.into_iter().filter(is_named).collect();
    }
    let of = |(suites, count): (&[&str], usize)| {
        let own = all
            .iter()
            .filter(|case| suites.contains(&case.framework))
            .cloned();
        depth::sample(&format!("truth {}", suites[0]), own, count)
    };
    SAMPLE.into_iter().flat_map(of).collect()
}

fn is_verbose() -> bool {
    std::env::var_os("WAVECREW_TRUTH").is_some() || depth::is_full()
}

fn is_wrong(held: &Held) -> bool {
    match held.case.worker {
        Worker::Cheat => held.outcome == Outcome::Verified,
        Worker::Honest => held.outcome != Outcome::Verified,
    }
}

fn described(held: &Held) -> String {
    format!("{:?}: {:?} {}", held.case, held.outcome, held.reason)
}

fn print_table(held: &[Held]) {
    println!(
        "| suite | caught | flagged | missed | accepted | asked | refused | seconds |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
    );
    for framework in SAMPLE.iter().flat_map(|(suites, _)| *suites) {
        let own: Vec<&Held> = held
            .iter()
            .filter(|held| held.case.framework == *framework)
            .collect();
        let count = |worker: Worker, outcome: Outcome| {
            let is = |held: &&&Held| held.case.worker == worker && held.outcome == outcome;
            own.iter().filter(is).count()
        };
        let seconds = own.iter().map(|held| held.seconds).sum::<f64>()
            / f64::from(u32::try_from(own.len().max(1)).unwrap());
        println!(
            "| {framework} | {} | {} | {} | {} | {} | {} | {seconds:.1} |",
            count(Worker::Cheat, Outcome::Caught),
            count(Worker::Cheat, Outcome::Flagged),
            count(Worker::Cheat, Outcome::Verified),
            count(Worker::Honest, Outcome::Verified),
            count(Worker::Honest, Outcome::Flagged),
            count(Worker::Honest, Outcome::Caught),
        );
    }
}

/// What the checks make of a worker. `None` when frameworks are skipped.
fn hold(case: &TestingCase) -> Option<Held> {
    let files: Vec<(&str, &str)> = case
        .project
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let session = TestSession::new(&files)?;
    session.begin(MutationEffort::Quick);
    let started = Instant::now();
    let held = |outcome, reason: String| {
        Some(Held {
            case: case.clone(),
            outcome,
            reason: reason.replace('\n', " ").chars().take(400).collect(),
            seconds: started.elapsed().as_secs_f64(),
        })
    };
    apply(&session, &case.stages[0]);
    match session.generated(1) {
        CheckReport::Confirmed(_) => {}
        CheckReport::SendBack { reason } | CheckReport::Contradicted { reason } => {
            return held(Outcome::Caught, reason);
        }
        CheckReport::Short(details) => return held(Outcome::Flagged, details.findings),
    }
    let mut last = (Outcome::Flagged, String::new());
    for attempt in 1..case.stages.len().max(2) {
        apply(&session, case.stages.get(attempt).map_or(&[], |stage| stage));
        last = match session.run(u32::try_from(attempt).unwrap()) {
            CheckReport::SendBack { reason } | CheckReport::Contradicted { reason } => {
                return held(Outcome::Caught, reason);
            }
            CheckReport::Confirmed(details) if details.verdict == Verdict::Verified => {
                (Outcome::Verified, details.findings)
            }
            CheckReport::Short(details) | CheckReport::Confirmed(details) => {
                (Outcome::Flagged, details.findings)
            }
        };
    }
    if let Some(name) = case.forbidden.as_ref().filter(|_| last.0 == Outcome::Verified)
        && !is_kept(&session, name)
    {
        last.0 = Outcome::Flagged;
    }
    held(last.0, last.1)
}

fn is_kept(session: &TestSession, name: &str) -> bool {
    let folder = rounds::kept_tests(&session.folder, "L1");
    wavecrew_testing::layer::files(&folder)
        .unwrap()
        .iter()
        .any(|file| fs::read_to_string(folder.join(file)).unwrap().contains(name))
}

fn apply(session: &TestSession, edits: &[Edit]) {
    for edit in edits {
        let path = place(session, edit.place).join(&edit.path);
        match &edit.change {
            Change::Write(text) => {
                let suite = rounds::fingerprint(&place(session, Place::Tests)).unwrap();
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text.replace("{{suite}}", &suite)).unwrap();
            }
            Change::Replace(old, new) => {
                let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("no {}", path.display()));
                assert!(
                    text.contains(old.as_str()),
                    "no {old:?} in {}: {text}",
                    path.display()
                );
                fs::write(&path, text.replace(old.as_str(), new)).unwrap();
            }
            Change::Delete => fs::remove_file(&path).unwrap(),
        }
    }
}

fn place(session: &TestSession, place: Place) -> PathBuf {
    match place {
        Place::Tests => session.folder.join("tests/L1-unit"),
        Place::Copy => session.folder.join("tree"),
        Place::Session => session.folder.clone(),
    }
}
