//! The coordinator is killed in the middle of every step, and the session is resumed: completed tasks do not run again,
//! the result is that of an undisturbed run, and nothing is left behind.

use crate::lifecycle::team_sandbox::{TeamSandbox, example};
use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;
use wavecrew_test_support::depth;
use wavecrew_test_support::sandbox::{Running, wait_until};

/// What is run: each half of the lifecycle by itself, or issues.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Team {
    Specify,
    Build,
    Planex,
}

/// Where the coordinator dies.
#[derive(Debug)]
enum Moment {
    /// A worker of this attempt has begun and done nothing.
    Begun(&'static str),
    /// It has done its work and not reported.
    Worked(&'static str),
    /// Its own text decides how far it got; it reports that with `reached`.
    Doing(&'static str, &'static str),
    /// This event of this task has just been put on record.
    On(&'static str, &'static str),
}

impl Team {
    fn sandbox(self) -> TeamSandbox {
        match self {
            Self::Specify | Self::Build => TeamSandbox::lifecycle(),
            Self::Planex => {
                let sandbox = TeamSandbox::planex();
                // Whoever finds half of the work in the working copy does it all: the example only ever adds to it.
                for task in ["EXEC-002", "EXEC-003"] {
                    sandbox.worker(task, &format!("git checkout -q -- .; exec sh {}", self.agent()));
                }
                sandbox
            }
        }
    }

    fn agent(self) -> String {
        let agent = match self {
            Self::Specify | Self::Build => "lifecycle/agent.sh",
            Self::Planex => "planex/agent.sh",
        };
        example(agent).display().to_string()
    }

    fn start(self, sandbox: &TeamSandbox) -> Running {
        match self {
            Self::Specify => sandbox.start_pipeline("spec-only"),
            Self::Build => sandbox.start_pipeline("impl-only"),
            Self::Planex => sandbox.start_planex(""),
        }
    }

    /// The git tree that an undisturbed run produces.
    fn undisturbed(self) -> &'static str {
        static TREES: [OnceLock<String>; 3] = [const { OnceLock::new() }; 3];
        TREES[self as usize].get_or_init(|| {
            let sandbox = self.sandbox();
            self.start(&sandbox).wait().expect_exit(0);
            tree(&sandbox)
        })
    }
}

fn tree(sandbox: &TeamSandbox) -> String {
    sandbox.git(&["rev-parse", "main^{tree}"])
}

/// Whether an event of this kind is on record for a task; no task is any.
fn is_on_record(sandbox: &TeamSandbox, kind: &str, task: &str) -> bool {
    sandbox.events(kind).iter().any(|event| {
        let of = event.get("task").or_else(|| event.pointer("/judgement/task"));
        task.is_empty() || of.is_some_and(|of| of == task)
    })
}

/// The tasks that are finished, with the number of their turns.
fn finished(sandbox: &TeamSandbox) -> BTreeMap<String, usize> {
    let turns = |event: &serde_json::Value| {
        let task = event["task"].as_str().unwrap().to_owned();
        (task.clone(), sandbox.turns(&task))
    };
    sandbox.events("finished").iter().map(turns).collect()
}

/// Runs until the moment, kills, and waits until nothing is left of it.
fn kill_at(team: Team, sandbox: &TeamSandbox, moment: &Moment) {
    let reached = sandbox.beside("traces/reached");
    let hold = format!("reached() {{ : > {}; exec sleep 3600; }}\n", reached.display());
    let agent = team.agent();
    match moment {
        Moment::Begun(attempt) => sandbox.worker(attempt, &format!("{hold}reached")),
        Moment::Worked(attempt) => sandbox.worker(attempt, &format!("{hold}sh {agent} > /dev/null\nreached")),
        Moment::Doing(attempt, words) => {
            sandbox.worker(attempt, &format!("{hold}{}", words.replace("AGENT", &agent)))
        }
        Moment::On(..) => sandbox,
    };
    let mut run = team.start(sandbox);
    wait_until("the moment", || {
        let over = !run.is_running();
        match moment {
            Moment::On(kind, task) => over || is_on_record(sandbox, kind, task),
            Moment::Begun(what) | Moment::Worked(what) | Moment::Doing(what, _) => {
                assert!(!over, "the run ended before {what}");
                reached.exists()
            }
        }
    });
    run.kill();
    wait_until("the end of the workers", || sandbox.processes().is_empty());
}

fn resume(team: Team, sandbox: &TeamSandbox) {
    let command = match team {
        Team::Specify | Team::Build => "lifecycle",
        Team::Planex => "planex",
    };
    sandbox
        .wavecrew(&format!("{command} -y --continue {}", sandbox.session_id()))
        .expect_exit(0);
}

/// Everything that has to hold when a session was continued.
fn check(team: Team, sandbox: &TeamSandbox, before: &BTreeMap<String, usize>, moment: &str) {
    for (task, ran) in before {
        assert_eq!(
            sandbox.turns(task),
            *ran,
            "{moment}: {task} was completed and ran again"
        );
    }
    let statuses = sandbox.statuses();
    for row in statuses.split(", ") {
        assert!(row.ends_with(" completed"), "{moment}: {statuses}");
    }
    assert_eq!(tree(sandbox), team.undisturbed(), "{moment}: another result");
    assert_eq!(
        sandbox.git(&["worktree", "list"]).lines().count(),
        1,
        "{moment}: a worktree is left"
    );
    let branches = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads",
        "refs/wavecrew",
    ]);
    assert_eq!(branches, "refs/heads/main", "{moment}");
    sandbox.expect_no_processes();
    let subjects = sandbox.subjects("main");
    let mut once = subjects.clone();
    once.sort();
    once.dedup();
    assert_eq!(subjects.len(), once.len(), "{moment}: merged twice: {subjects:?}");
    if team == Team::Planex {
        let issues = sandbox.text(".workflow/issues/issues.jsonl");
        assert_eq!(
            issues.matches(r#""status":"closed""#).count(),
            3,
            "{moment}: {issues}"
        );
    }
}

/// Moments that run at default depth.
const SAMPLED: usize = 2;

fn kill_and_resume(team: Team, moments: &[Moment]) {
    for moment in depth::sample("moments of a kill", moments, SAMPLED) {
        let sandbox = team.sandbox();
        let name = match moment {
            Moment::Begun(what) | Moment::Worked(what) | Moment::Doing(what, _) => (*what).to_owned(),
            Moment::On(kind, task) => format!("{kind} {task}"),
        };
        kill_at(team, &sandbox, moment);
        let before = finished(&sandbox);
        resume(team, &sandbox);
        check(team, &sandbox, &before, &name);
    }
}

#[test]
fn an_interrupted_specification_resumes() {
    kill_and_resume(
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
fn an_interrupted_worker_learns_that_its_work_is_done() {
    let sandbox = TeamSandbox::lifecycle();
    kill_at(Team::Specify, &sandbox, &Moment::Worked("DRAFT-003.1"));
    resume(Team::Specify, &sandbox);
    sandbox.expect_prompt("DRAFT-003.2.1", &["Everything this task owes is already there"]);
}

#[test]
fn an_interrupted_planner_resumes() {
    kill_and_resume(
        Team::Build,
        &[Moment::Worked("PLAN-001.1"), Moment::On("finished", "PLAN-001")],
    );
}

#[test]
fn a_plan_becomes_rows_once() {
    kill_and_resume(
        Team::Build,
        &[
            Moment::On("edited", ""),
            Moment::On("judged", "PLAN-001"),
            Moment::Begun("CHECKPOINT-003.1"),
        ],
    );
}

#[test]
fn an_interrupted_implementation_resumes() {
    kill_and_resume(
        Team::Build,
        &[
            Moment::Begun("IMPL-001.1"),
            Moment::Worked("IMPL-002.1"),
            Moment::Begun("IMPL-003.1"),
        ],
    );
}

#[test]
fn an_interrupted_merge_is_made_once() {
    kill_and_resume(
        Team::Build,
        &[
            Moment::On("finished", "IMPL-002"),
            Moment::On("tree_merged", "IMPL-001"),
            Moment::On("tree_merged", "IMPL-003"),
        ],
    );
}

#[test]
fn interrupted_tests_and_review_resume() {
    kill_and_resume(
        Team::Build,
        &[
            Moment::Worked("TEST-001.1"),
            Moment::Worked("REVIEW-001.1"),
            Moment::On("finished", "REVIEW-001"),
        ],
    );
}

#[test]
fn a_tester_interrupted_between_repairs_resumes() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.worker(
        "TEST-001.1.1",
        r#"sed -i 's/added/put/' app/cli/__init__.py; echo 'The tests of the notes store were run once.' > "$session/artifacts/$task-report.md"; report broke"#,
    )
    // The next one finds the working copy as it was left.
    .worker(
        "TEST-001.2.1",
        "grep -q put app/cli/__init__.py && sed -i 's/put/added/' app/cli/__init__.py; report repaired",
    );
    kill_at(Team::Build, &sandbox, &Moment::Begun("TEST-001.1.2"));
    let before = finished(&sandbox);
    resume(Team::Build, &sandbox);
    check(Team::Build, &sandbox, &before, "between repairs");
}

#[test]
fn an_interrupted_revision_resumes() {
    for (moment, drafts) in [
        (Moment::Begun("DRAFT-002.2"), 3),
        // The revision may have begun by then.
        (Moment::On("reworked", "DRAFT-002"), 3),
        (Moment::Begun("CHECKPOINT-001.2"), 2),
    ] {
        let sandbox = TeamSandbox::lifecycle();
        sandbox.score("CHECKPOINT-001.1", r#""score":0.2"#);
        kill_at(Team::Specify, &sandbox, &moment);
        resume(Team::Specify, &sandbox);
        check(Team::Specify, &sandbox, &BTreeMap::new(), "a revision");
        let began = sandbox.turns("DRAFT-002");
        assert!(began <= drafts, "{began} instead of {drafts}");
        assert_eq!(sandbox.turns("DRAFT-001"), 1);
        let decisions = sandbox.decisions();
        assert_eq!(
            decisions.iter().filter(|d| *d == "CHECKPOINT-001 revise").count(),
            1,
            "{decisions:?}"
        );
        let last = if began == 3 || !sandbox.beside("traces/prompts/DRAFT-002.2.1").exists() {
            "DRAFT-002.3.1"
        } else {
            "DRAFT-002.2.1"
        };
        sandbox.expect_prompt(last, &["Say who the users are."]);
    }
}

#[test]
fn an_open_question_is_asked_again() {
    let sandbox = TeamSandbox::lifecycle();
    let mut run = sandbox.start_asking("full-lifecycle --no-supervision");
    wait_until("the question", || {
        assert!(run.is_running(), "no question");
        is_on_record(&sandbox, "asked", "")
    });
    run.kill();
    wait_until("the end of the workers", || sandbox.processes().is_empty());
    let before = finished(&sandbox);
    // So that it is the new run that is answered.
    let _ = fs::remove_file(sandbox.in_session(".run/question.json"));
    let session = sandbox.session_id();
    let mut again = sandbox.start(&format!("lifecycle -y --ask-in-folder --continue {session}"));
    let question = sandbox.answer(&mut again, "approve")["question"].to_string();
    assert!(question.contains("QUALITY-001 scored 85 of 100"), "{question}");
    again.wait().expect_exit(0);
    check(Team::Build, &sandbox, &before, "an open question");
}

#[test]
fn issues_interrupted_while_planned_resume() {
    kill_and_resume(
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
fn issues_interrupted_while_implemented_resume() {
    kill_and_resume(
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
fn issues_interrupted_while_merged_are_merged_once() {
    kill_and_resume(
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
