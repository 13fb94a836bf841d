//! Checkpoints and pool_limits: when work goes back, when a person is asked, when the run stops. Loops are below.

use super::*;
use crate::event::{PolicyOutcome, Verdict};
use crate::team::CheckKind;

mod loops;

fn pipeline(team: &str, name: &str) -> (Team, Plan) {
    let mut team = Team::builtin(team).expect("built in");
    for role in &mut team.roles {
        role.check = (team.name == "testing" && role.name == "executor").then_some(CheckKind::TestRun);
    }
    let (header, rows) = team.pipeline(name).expect("it has it").to_csv_rows(&team);
    let quoted = |row: &Vec<String>| {
        let cells = row
            .iter()
            .map(|cell| format!("\"{}\"", cell.replace('"', "\"\"")));
        cells.collect::<Vec<_>>().join(",")
    };
    let lines: Vec<String> = std::iter::once(&header).chain(&rows).map(quoted).collect();
    let sheet = Sheet::read(lines.join("\n").as_bytes(), Origin::User).expect("a table");
    let plan = crate::plan::seal(sheet, &team).expect("a plan").0;
    (team, plan)
}

fn asking() -> Options {
    Options {
        ask_mode: AskMode::Person,
        ..Options::default()
    }
}

/// A run whose workers are answered by the id of their task.
struct Run {
    rig: Rig,
    worker: u64,
}

impl Run {
    fn new(team: &str, name: &str, options: Options) -> Self {
        let (team, plan) = pipeline(team, name);
        let options = Options {
            pipeline: Some(name.to_owned()),
            ..options
        };
        Self {
            rig: Rig::of(team, plan, options),
            worker: 0,
        }
    }

    /// The next worker reports this besides its id, and all its claims hold.
    fn does(&mut self, id: &str, more: &str) -> &mut Self {
        self.worker += 1;
        let worker = self.worker;
        let report = format!(r#"{{"id":"{id}","status":"completed","findings":"did {id}"{more}}}"#);
        self.rig.spawned(worker).ends(worker, TurnExit::Code(0), &report);
        self.holds(worker);
        self.rig.closed(worker);
        self
    }

    fn holds(&mut self, worker: u64) {
        let outcome = CheckOutcome::Confirmed {
            verdict: Verdict::Verified,
            measured: Vec::new(),
        };
        let worker = WorkerId(worker);
        self.rig.put(Input::ClaimChecked { worker, outcome });
    }

    /// The next worker of an examined role is not needed: this was measured before it.
    fn measures(&mut self, pass_rate: &str, coverage: &str) -> &mut Self {
        self.measures_with(pass_rate, coverage, &[])
    }

    fn measures_with(&mut self, pass_rate: &str, coverage: &str, facts: &[(&str, &str)]) -> &mut Self {
        self.worker += 1;
        let examined = CheckFindings {
            verdict: Verdict::Verified,
            measured: vec![
                ("pass_rate".to_owned(), pass_rate.to_owned()),
                ("coverage_achieved".to_owned(), coverage.to_owned()),
            ],
            facts: facts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..CheckFindings::default()
        };
        let worker = WorkerId(self.worker);
        let outcome = CheckOutcome::Measured(examined);
        self.rig.put(Input::ClaimChecked { worker, outcome });
        self.rig.closed(self.worker);
        self
    }

    fn answers(&mut self, answer: Answer) -> &mut Self {
        let question = self.rig.engine.ledger().questions - 1;
        self.rig.put(Input::Answered {
            question,
            given: GivenAnswer::by(AnsweredBy::Person, answer),
        });
        self
    }

    /// What was started and how it ended, without files and closings.
    fn story(&mut self) -> String {
        let actions = self.rig.actions();
        let words = actions.split(", ").filter(|word| {
            ["spawn", "examine", "restore", "ask", "expand", "finish"]
                .iter()
                .any(|kind| word.starts_with(kind))
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn outcomes(&self) -> String {
        let decisions = self.rig.engine.ledger().decisions.iter();
        let words = decisions.map(|j| format!("{} {}", j.task, j.outcome.as_str()));
        words.collect::<Vec<_>>().join(", ")
    }

    fn cell(&self, id: &str, column: &str) -> String {
        let ledger = self.rig.engine.ledger();
        let task = ledger.plan().find(id).expect("in the plan");
        ledger.cell(task, column).expect("an output").into_owned()
    }
}

fn at_first_checkpoint(options: Options) -> Run {
    let mut run = Run::new("lifecycle", "spec-only", options);
    for id in ["RESEARCH-001", "DRAFT-001", "DRAFT-002"] {
        run.does(id, "");
    }
    run.story();
    run
}

#[test]
fn a_checkpoint_passes_warns_or_blocks_by_its_score() {
    for (score, story, verdict) in [
        ("0.8", "spawn DRAFT-003#1", "pass"),
        ("0.79", "spawn DRAFT-003#1", "warn"),
        ("0.49", "spawn DRAFT-002#2", ""),
    ] {
        let mut run = at_first_checkpoint(Options::default());
        run.does(
            "CHECKPOINT-001",
            &format!(r#","score":{score},"supervision_verdict":"pass""#),
        );
        assert_eq!(run.story(), story, "{score}");
        assert_eq!(run.cell("CHECKPOINT-001", "supervision_verdict"), verdict);
    }
}

#[test]
fn a_blocked_checkpoint_is_revised_once_when_nobody_is_asked_then_stops() {
    let mut run = at_first_checkpoint(Options::default());
    run.does("CHECKPOINT-001", r#","score":0.2"#)
        .does("DRAFT-002", "")
        .does("CHECKPOINT-001", r#","score":0.3"#);
    let story = run.story();
    assert!(
        story.starts_with(
            "spawn DRAFT-002#2, spawn CHECKPOINT-001#2, finish stopped at CHECKPOINT-001: blocked with 0.3"
        ),
        "{story}"
    );
    assert_eq!(run.outcomes(), "CHECKPOINT-001 revise, CHECKPOINT-001 stop");
}

#[test]
fn a_person_may_override_revise_twice_or_stop() {
    let blocked = || {
        let mut run = at_first_checkpoint(asking());
        run.does("CHECKPOINT-001", r#","score":0.2"#);
        assert_eq!(run.story(), "ask 0");
        run
    };
    let mut run = blocked();
    run.answers(Answer::Proceed);
    assert_eq!(run.story(), "spawn DRAFT-003#1");
    assert_eq!(run.outcomes(), "CHECKPOINT-001 overridden");
    let mut run = blocked();
    run.answers(Answer::Abort);
    assert!(run.story().starts_with("finish stopped at CHECKPOINT-001"));
    let mut run = blocked();
    for _ in 0..2 {
        run.answers(Answer::Revise)
            .does("DRAFT-002", "")
            .does("CHECKPOINT-001", r#","score":0.2"#);
    }
    assert!(run.story().ends_with("spawn CHECKPOINT-001#3, ask 2"));
    run.answers(Answer::Revise);
    assert!(
        run.story().starts_with("finish stopped"),
        "there is no third revision"
    );
}

#[test]
fn a_checkpoint_without_a_proper_score_is_asked_again() {
    for more in ["", r#","score":7"#, r#","score":"good""#] {
        let mut run = at_first_checkpoint(Options::default());
        run.worker += 1;
        let worker = run.worker;
        let report = format!(r#"{{"id":"CHECKPOINT-001","status":"completed"{more}}}"#);
        for _ in 0..2 {
            run.rig.spawned(worker).ends(worker, TurnExit::Code(0), &report);
            assert!(run.rig.actions().contains("send"), "{more}");
        }
        run.rig
            .spawned(worker)
            .ends(worker, TurnExit::Code(0), &report)
            .closed(worker);
        assert_eq!(run.cell("CHECKPOINT-001", "status"), "failed");
        assert!(run.cell("CHECKPOINT-001", "error").contains("score"));
    }
}

fn at_quality(pipeline: &str, options: Options) -> Run {
    let mut run = Run::new("lifecycle", pipeline, options);
    for id in ["RESEARCH-001", "DRAFT-001", "DRAFT-002"] {
        run.does(id, "");
    }
    run.does("CHECKPOINT-001", r#","score":0.9"#);
    run.does("DRAFT-003", "").does("DRAFT-004", "");
    run.does("CHECKPOINT-002", r#","score":0.9"#);
    run.story();
    run
}

#[test]
fn the_quality_gate_has_three_outcomes() {
    let mut run = at_quality("spec-only", Options::default());
    run.does(
        "QUALITY-001",
        r#","quality_score":81,"dimensions":{"Completeness":80,"Consistency":90,"Traceability":70,"Depth":80}"#,
    );
    assert_eq!(run.story(), "finish completed");
    assert_eq!(
        run.cell("QUALITY-001", "quality_score"),
        "80",
        "computed from its parts"
    );

    let mut run = at_quality("spec-only", Options::default());
    run.does("QUALITY-001", r#","quality_score":65"#);
    assert_eq!(run.story(), "finish completed");
    assert_eq!(run.outcomes().rsplit(", ").next(), Some("QUALITY-001 warn"));

    let mut run = at_quality("spec-only", asking());
    run.does("QUALITY-001", r#","quality_score":65"#);
    assert_eq!(run.story(), "ask 0");
    run.answers(Answer::Revise);
    assert_eq!(run.story(), "spawn DRAFT-001#2");

    let mut run = at_quality("spec-only", Options::default());
    run.does("QUALITY-001", r#","quality_score":59.9"#);
    assert_eq!(run.story(), "spawn DRAFT-001#2");
    let ledger = run.rig.engine.ledger();
    let again = ledger
        .plan()
        .tasks()
        .filter(|&t| ledger.status(t) == Status::Pending);
    assert_eq!(
        again.count(),
        7,
        "the writer's four, two checkpoints and the gate"
    );
}

#[test]
fn implementation_begins_with_an_approval() {
    let mut run = at_quality("full-lifecycle", asking());
    run.does("QUALITY-001", r#","quality_score":85"#);
    assert_eq!(run.story(), "ask 0");
    run.answers(Answer::Proceed);
    assert_eq!(run.story(), "spawn PLAN-001#1");
    let mut run = at_quality("full-lifecycle", Options::default());
    run.does("QUALITY-001", r#","quality_score":85"#);
    assert_eq!(
        run.story(),
        "spawn PLAN-001#1",
        "nobody to ask: it counts as given"
    );
    assert_eq!(
        run.rig.engine.ledger().decisions.last().map(|j| j.outcome),
        Some(PolicyOutcome::Approved)
    );
}

#[test]
fn a_review_that_blocks_starts_a_fix_round() {
    let mut run = Run::new("lifecycle", "impl-only", Options::default());
    run.does("PLAN-001", "");
    assert_eq!(run.story(), "spawn PLAN-001#1, expand");
    run.rig.put(Input::Expanded {
        task: "PLAN-001".to_owned(),
        change: Ok(None),
    });
    run.does("CHECKPOINT-003", r#","score":1"#).does("IMPL-001", "");
    run.does("TEST-001", "")
        .does("REVIEW-001", r#","verdict":"block""#);
    assert!(run.story().ends_with("spawn REVIEW-001#1, spawn IMPL-001#2"));
    for _ in 0..2 {
        run.does("IMPL-001", "").does("TEST-001", "");
        run.does("REVIEW-001", r#","verdict":"BLOCK""#);
    }
    assert!(run.story().ends_with("finish stopped at REVIEW-001: says BLOCK"));
}

#[test]
fn what_was_decided_is_replayed() {
    let mut run = at_quality("spec-only", Options::default());
    run.does("QUALITY-001", r#","quality_score":59"#);
    let (team, plan) = pipeline("lifecycle", "spec-only");
    let mut ledger = Ledger::new(Arc::new(team), plan);
    for event in &run.rig.events {
        let line = serde_json::to_string(event).expect("plain data");
        ledger.apply(&serde_json::from_str(&line).expect("what was written"));
    }
    let now = run.rig.engine.ledger();
    assert_eq!(ledger.decisions, now.decisions);
    for task in now.plan().tasks() {
        assert_eq!(ledger.task(task), now.task(task));
    }
}

#[test]
fn what_a_generator_delivered_before_its_time_limit_is_checked() {
    for (outcome, status, error) in [
        (
            CheckOutcome::Confirmed {
                verdict: Verdict::Verified,
                measured: Vec::new(),
            },
            Status::Completed,
            "",
        ),
        (
            CheckOutcome::SendBack("no test file".to_owned()),
            Status::Failed,
            "Timed out after 15m 00s",
        ),
    ] {
        let (mut team, plan) = pipeline("testing", "targeted");
        for role in &mut team.roles {
            role.check = (role.name == "generator").then_some(CheckKind::GeneratedTests);
        }
        let mut run = Run {
            rig: Rig::of(team, plan, Options::default()),
            worker: 0,
        };
        run.does("STRATEGY-001", "");
        run.rig
            .spawned(2)
            .pass(900)
            .ends(2, TurnExit::Signal(15), "")
            .closed(2);
        assert_eq!(run.rig.log.last().map(String::as_str), Some("check"));
        let worker = WorkerId(2);
        run.rig.put(Input::ClaimChecked { worker, outcome });
        let ledger = run.rig.engine.ledger();
        let task = ledger.plan().find("TESTGEN-001").expect("it has it");
        assert_eq!(ledger.status(task), status);
        assert_eq!(ledger.task(task).result.error, error);
    }
}
