//! The coordinator is killed in the middle of every step, and the session is continued: nothing that was completed runs
//! again, the result is that of a run that was left alone, and nothing is left behind.

use crate::example_files::examples;
use crate::lifecycle::lab::Lab;
use std::collections::BTreeMap;
use std::fs;
use std::process::Child;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wavecrew_core::event::Event;
use wavecrew_session::Journal;

/// Longer than anything here takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(3);

/// What is run: each half of the lifecycle by itself, or issues.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Team {
    Specify,
    Build,
    Planex,
}

/// Where the coordinator dies.
enum Moment {
    /// A worker of this attempt has begun and done nothing.
    Begun(&'static str),
    /// It has done its work, and not said so.
    Worked(&'static str),
    /// Its own words decide how far it got; it says so with `reached`.
    Doing(&'static str, &'static str),
    /// This event of this task has just been put on record.
    On(&'static str, &'static str),
}

impl Team {
    fn lab(self) -> Lab {
        match self {
            Self::Specify | Self::Build => Lab::new(),
            Self::Planex => {
                let lab = Lab::planex();
                // Whoever finds half of the work in the working copy does it all: the example only ever adds to it.
                for task in ["EXEC-002", "EXEC-003"] {
                    lab.answer(task, &format!("git checkout -q -- .; exec sh {}", self.agent()));
                }
                lab
            }
        }
    }

    fn agent(self) -> String {
        let agent = match self {
            Self::Specify | Self::Build => "lifecycle/agent.sh",
            Self::Planex => "planex/agent.sh",
        };
        examples().join(agent).display().to_string()
    }

    fn start(self, lab: &Lab) -> Child {
        match self {
            Self::Specify => lab.start_run("spec-only", &[]),
            Self::Build => lab.start_run("impl-only", &[]),
            Self::Planex => {
                let issues = lab.path("issues.jsonl");
                lab.start(&["planex", "-y", "--agent", &lab.agent(), issues.to_str().unwrap()])
            }
        }
    }

    /// The tree of a run that was left alone.
    fn undisturbed(self) -> &'static str {
        static TREES: [OnceLock<String>; 3] = [const { OnceLock::new() }; 3];
        TREES[self as usize].get_or_init(|| {
            let lab = self.lab();
            let output = self.start(&lab).wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            tree(&lab)
        })
    }
}

fn tree(lab: &Lab) -> String {
    lab.git(&["rev-parse", "main^{tree}"])
}

fn events(lab: &Lab) -> Vec<Event> {
    let sessions = lab.project().join(".workflow/.csv-wave");
    let journal = fs::read_dir(sessions)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("journal.ndjson"))
        .find(|path| path.exists());
    let read = journal.and_then(|path| Journal::<Event>::read(&path).ok());
    read.map(|(events, _)| events).unwrap_or_default()
}

/// Whether an event of this kind is on record for a task; no task is any.
fn is_on_record(lab: &Lab, kind: &str, task: &str) -> bool {
    events(lab).iter().any(|event| {
        let event = serde_json::to_value(event).unwrap();
        let of = event.get("task").or_else(|| event.pointer("/judgement/task"));
        event["e"] == kind && (task.is_empty() || of.is_some_and(|of| of == task))
    })
}

fn finished(lab: &Lab) -> BTreeMap<String, usize> {
    let task = |event: Event| match event {
        Event::Finished { task, .. } => Some(task),
        _ => None,
    };
    let tasks = events(lab).into_iter().filter_map(task);
    tasks
        .map(|task| {
            let ran = lab.ran(&task);
            (task, ran)
        })
        .collect()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Processes that stand in the project.
fn alive(lab: &Lab) -> Vec<String> {
    let folder = lab.project().canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let here = processes.filter(|process| {
        let cwd = fs::read_link(process.path().join("cwd"));
        cwd.is_ok_and(|cwd| cwd.starts_with(&folder))
    });
    here.map(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    })
    .collect()
}

/// Runs until the moment, kills, and waits until nothing is left of it.
fn kill_at(team: Team, lab: &Lab, moment: &Moment) {
    let reached = lab.path("reached");
    let hold = format!("reached() {{ : > {}; exec sleep 3600; }}\n", reached.display());
    let agent = team.agent();
    match moment {
        Moment::Begun(attempt) => lab.answer(attempt, &format!("{hold}reached")),
        Moment::Worked(attempt) => lab.answer(attempt, &format!("{hold}sh {agent} > /dev/null\nreached")),
        Moment::Doing(attempt, words) => {
            lab.answer(attempt, &format!("{hold}{}", words.replace("AGENT", &agent)))
        }
        Moment::On(..) => lab,
    };
    let mut run = team.start(lab);
    wait_until("the moment", || {
        let over = run.try_wait().unwrap().is_some();
        match moment {
            Moment::On(kind, task) => over || is_on_record(lab, kind, task),
            Moment::Begun(what) | Moment::Worked(what) | Moment::Doing(what, _) => {
                assert!(!over, "the run ended before {what}");
                reached.exists()
            }
        }
    });
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("the end of the workers", || alive(lab).is_empty());
}

fn go_on(team: Team, lab: &Lab) {
    let command = match team {
        Team::Specify | Team::Build => "lifecycle",
        Team::Planex => "planex",
    };
    lab.wavecrew(&[command, "-y", "--continue", &lab.session_id()])
        .exits(0);
}

/// Everything that has to hold when a session was continued.
fn check(team: Team, lab: &Lab, before: &BTreeMap<String, usize>, moment: &str) {
    for (task, ran) in before {
        assert_eq!(
            lab.ran(task),
            *ran,
            "{moment}: {task} was completed and ran again"
        );
    }
    let statuses = lab.statuses();
    for row in statuses.split(", ") {
        assert!(row.ends_with(" completed"), "{moment}: {statuses}");
    }
    assert_eq!(tree(lab), team.undisturbed(), "{moment}: another result");
    assert_eq!(
        lab.git(&["worktree", "list"]).lines().count(),
        1,
        "{moment}: a worktree is left"
    );
    let branches = lab.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads",
        "refs/wavecrew",
    ]);
    assert_eq!(branches, "refs/heads/main\n", "{moment}");
    assert_eq!(alive(lab), Vec::<String>::new(), "{moment}");
    let subjects = lab.subjects("main");
    let mut once = subjects.clone();
    once.sort();
    once.dedup();
    assert_eq!(subjects.len(), once.len(), "{moment}: merged twice: {subjects:?}");
    if team == Team::Planex {
        let issues = fs::read_to_string(lab.project().join(".workflow/issues/issues.jsonl")).unwrap();
        assert_eq!(
            issues.matches(r#""status":"closed""#).count(),
            3,
            "{moment}: {issues}"
        );
    }
}

fn strike(team: Team, moments: &[Moment]) {
    for moment in moments {
        let lab = team.lab();
        let name = match moment {
            Moment::Begun(what) | Moment::Worked(what) | Moment::Doing(what, _) => (*what).to_owned(),
            Moment::On(kind, task) => format!("{kind} {task}"),
        };
        kill_at(team, &lab, moment);
        let before = finished(&lab);
        go_on(team, &lab);
        check(team, &lab, &before, &name);
    }
}

#[test]
fn a_specification_that_was_cut_off_goes_on() {
    strike(
        Team::Specify,
        &[
            Moment::Begun("RESEARCH-001.1"),
            Moment::Worked("DRAFT-002.1"),
            Moment::Begun("CHECKPOINT-001.1"),
            Moment::Worked("CHECKPOINT-002.1"),
            Moment::On("finished", "QUALITY-001"),
        ],
    );
}

#[test]
fn a_worker_that_had_done_its_work_is_told_so() {
    let lab = Lab::new();
    kill_at(Team::Specify, &lab, &Moment::Worked("DRAFT-003.1"));
    go_on(Team::Specify, &lab);
    let told = lab.prompt("DRAFT-003.2.1");
    assert!(
        told.contains("Everything this task owes is already there"),
        "{told}"
    );
}

#[test]
fn a_planner_that_was_cut_off_goes_on() {
    strike(
        Team::Build,
        &[Moment::Worked("PLAN-001.1"), Moment::On("finished", "PLAN-001")],
    );
}

#[test]
fn a_plan_becomes_rows_once() {
    strike(
        Team::Build,
        &[
            Moment::On("edited", ""),
            Moment::On("judged", "PLAN-001"),
            Moment::Begun("CHECKPOINT-003.1"),
        ],
    );
}

#[test]
fn an_implementation_that_was_cut_off_goes_on() {
    strike(
        Team::Build,
        &[
            Moment::Begun("IMPL-001.1"),
            Moment::Worked("IMPL-002.1"),
            Moment::Begun("IMPL-003.1"),
        ],
    );
}

#[test]
fn work_that_was_being_merged_is_merged_once() {
    strike(
        Team::Build,
        &[
            Moment::On("finished", "IMPL-002"),
            Moment::On("tree_merged", "IMPL-001"),
            Moment::On("tree_merged", "IMPL-003"),
        ],
    );
}

#[test]
fn tests_and_review_that_were_cut_off_go_on() {
    strike(
        Team::Build,
        &[
            Moment::Worked("TEST-001.1"),
            Moment::Worked("REVIEW-001.1"),
            Moment::On("finished", "REVIEW-001"),
        ],
    );
}

#[test]
fn a_tester_that_was_cut_off_between_repairs_goes_on() {
    let lab = Lab::new();
    lab.answer(
        "TEST-001.1.1",
        r#"sed -i 's/added/put/' app/cli/__init__.py; echo seen > "$session/artifacts/$task-report.md"; report broke"#,
    )
    // The next one finds the working copy as it was left.
    .answer(
        "TEST-001.2.1",
        "grep -q put app/cli/__init__.py && sed -i 's/put/added/' app/cli/__init__.py; report repaired",
    );
    kill_at(Team::Build, &lab, &Moment::Begun("TEST-001.1.2"));
    let before = finished(&lab);
    go_on(Team::Build, &lab);
    check(Team::Build, &lab, &before, "between repairs");
}

#[test]
fn a_revision_that_was_cut_off_goes_on() {
    for (moment, drafts) in [
        (Moment::Begun("DRAFT-002.2"), 3),
        // The revision may have begun by then.
        (Moment::On("reworked", "DRAFT-002"), 3),
        (Moment::Begun("CHECKPOINT-001.2"), 2),
    ] {
        let lab = Lab::new();
        lab.score("CHECKPOINT-001.1", r#""score":0.2"#);
        kill_at(Team::Specify, &lab, &moment);
        go_on(Team::Specify, &lab);
        check(Team::Specify, &lab, &BTreeMap::new(), "a revision");
        let began = lab.ran("DRAFT-002");
        assert!(began <= drafts, "{began} instead of {drafts}");
        assert_eq!(lab.ran("DRAFT-001"), 1);
        let decisions = lab.decisions();
        assert_eq!(
            decisions.iter().filter(|d| *d == "CHECKPOINT-001 revise").count(),
            1,
            "{decisions:?}"
        );
        let last = if began == 3 || !lab.path("prompts/DRAFT-002.2.1").exists() {
            "DRAFT-002.3.1"
        } else {
            "DRAFT-002.2.1"
        };
        let told = lab.prompt(last);
        assert!(told.contains("Say who the users are."), "{told}");
    }
}

#[test]
fn a_question_that_was_open_is_asked_again() {
    let lab = Lab::new();
    let mut run = lab.start_asking("full-lifecycle", &["--no-supervision"]);
    wait_until("the question", || {
        assert!(run.try_wait().unwrap().is_none(), "no question");
        is_on_record(&lab, "asked", "")
    });
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("the end", || alive(&lab).is_empty());
    let before = finished(&lab);
    // So that it is the new run that is answered.
    let _ = fs::remove_file(lab.session().join(".run/question.json"));
    let mut again = lab.start(&[
        "lifecycle",
        "-y",
        "--ask-in-folder",
        "--continue",
        &lab.session_id(),
    ]);
    let asked = lab.reply(&mut again, "approve");
    assert!(asked.contains("QUALITY-001 scored 85 of 100"), "{asked}");
    assert!(again.wait().unwrap().success());
    check(Team::Build, &lab, &before, "an open question");
}

#[test]
fn issues_that_were_cut_off_while_they_were_planned_go_on() {
    strike(
        Team::Planex,
        &[
            Moment::Begun("PLAN-001.1"),
            Moment::Worked("PLAN-002.1"),
            Moment::On("finished", "PLAN-003"),
            Moment::On("edited", ""),
        ],
    );
}

#[test]
fn issues_that_were_cut_off_while_they_were_implemented_go_on() {
    strike(
        Team::Planex,
        &[
            Moment::Begun("EXEC-001.1"),
            Moment::Worked("EXEC-001.1"),
            // The commit is its own; the next worker finds nothing left to do but to report.
            Moment::Doing(
                "EXEC-001.1",
                "sh AGENT > /dev/null; git add -A; git commit -q -m 'feat(ISS-20260308-000001): Count the notes'; reached",
            ),
        ],
    );
}

#[test]
fn issues_that_were_being_merged_are_merged_once() {
    strike(
        Team::Planex,
        &[
            Moment::On("finished", "EXEC-001"),
            Moment::On("tree_merged", "EXEC-001"),
            Moment::On("tree_merged", "EXEC-002"),
            Moment::Begun("EXEC-003.1"),
            Moment::On("tree_merged", "EXEC-003"),
        ],
    );
}
