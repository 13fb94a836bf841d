//! What a person may answer when a checkpoint or a gate holds the run up: each answer, and what comes of it.

use crate::lifecycle::team_sandbox::{CRITICAL, TeamSandbox};
use serde_json::json;

/// Runs a pipeline with a person who gives these answers; returns the exit code and the questions.
fn with_answers(sandbox: &TeamSandbox, pipeline: &str, answers: &[&str]) -> (i32, Vec<String>) {
    let mut run = sandbox.start_asking(pipeline);
    let mut reply = |answer: &&str| sandbox.answer(&mut run, answer)["question"].to_string();
    let asked = answers.iter().map(&mut reply).collect();
    let outcome = run.wait();
    (
        outcome.code.unwrap_or_else(|| panic!("{}", outcome.text())),
        asked,
    )
}

fn of<'a>(decisions: &'a [String], task: &str) -> Vec<&'a str> {
    decisions
        .iter()
        .filter_map(|decision| decision.strip_prefix(task)?.strip_prefix(' '))
        .collect()
}

#[test]
fn answers_to_a_blocking_checkpoint() {
    for (scores, answers, code, decided, drafts) in [
        (&["0.2"][..], &["go-on"][..], 0, &["overridden"][..], 1),
        (&["0.2"], &["abort"], 3, &["stop"], 1),
        (&["0.2"], &["revise"], 0, &["revise", "pass"], 2),
        (&["0.2", "0.6"], &["revise"], 0, &["revise", "warn"], 2),
        (
            &["0.2", "0.3"],
            &["revise", "go-on"],
            0,
            &["revise", "overridden"],
            2,
        ),
        (
            &["0.2", "0.3", "0.4"],
            &["revise", "revise", "abort"],
            3,
            &["revise", "revise", "stop"],
            3,
        ),
    ] {
        let sandbox = TeamSandbox::lifecycle();
        for (n, score) in (1..).zip(scores) {
            sandbox.score(&format!("CHECKPOINT-001.{n}"), &format!(r#""score":{score}"#));
        }
        let (ended, asked) = with_answers(&sandbox, "spec-only", answers);
        assert_eq!(ended, code, "{answers:?}: {asked:?}");
        let decisions = sandbox.decisions();
        assert_eq!(of(&decisions, "CHECKPOINT-001"), decided, "{answers:?}");
        assert_eq!(
            (sandbox.turns("DRAFT-002"), sandbox.turns("DRAFT-001")),
            (drafts, 1),
            "{answers:?}"
        );
        if let [_, .., last] = asked.as_slice() {
            assert!(last.contains("revision"), "{last}");
        }
        if drafts > 1 {
            sandbox.expect_prompt("DRAFT-002.2.1", &["Say who the users are."]);
        }
    }
}

#[test]
fn a_third_revision_is_not_offered() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.score("CHECKPOINT-001", r#""score":0.2"#);
    // The last answer is not one of those that are offered any more, so it does not count.
    let mut run = sandbox.start_asking("spec-only");
    for _ in 0..2 {
        sandbox.answer(&mut run, "revise");
    }
    assert_eq!(sandbox.question(&mut run)["options"], json!(["go-on", "abort"]));
    sandbox.answer(&mut run, "abort");
    run.wait().expect_exit(3);
    assert_eq!(sandbox.turns("DRAFT-002"), 3);
}

#[test]
fn answers_to_a_middle_score() {
    for (answers, code, decided, drafts) in [
        (&["go-on"][..], 0, &["overridden"][..], 1),
        (&["revise"], 0, &["revise", "pass"], 2),
        (&["abort"], 3, &["stop"], 1),
    ] {
        let sandbox = TeamSandbox::lifecycle();
        sandbox.readiness("QUALITY-001.1", 70);
        let (ended, asked) = with_answers(&sandbox, "spec-only --no-supervision", answers);
        assert_eq!(ended, code, "{answers:?}: {asked:?}");
        assert!(
            asked[0].contains("QUALITY-001 scored 70 of 100, below 80"),
            "{asked:?}"
        );
        let decisions = sandbox.decisions();
        assert_eq!(of(&decisions, "QUALITY-001"), decided, "{answers:?}");
        assert_eq!(sandbox.turns("DRAFT-004"), drafts, "{answers:?}");
    }
}

#[test]
fn a_low_score_is_revised_without_a_question() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.readiness("QUALITY-001.1", 30);
    let (ended, _) = with_answers(&sandbox, "spec-only --no-supervision", &[]);
    assert_eq!(ended, 0);
    assert_eq!(of(&sandbox.decisions(), "QUALITY-001"), ["revise", "pass"]);
}

#[test]
fn a_refused_approval_can_be_given_later() {
    let sandbox = TeamSandbox::lifecycle();
    let (ended, _) = with_answers(&sandbox, "full-lifecycle --no-supervision", &["abort"]);
    assert_eq!(ended, 3);
    assert_eq!(sandbox.turns("PLAN-001"), 0);
    sandbox
        .wavecrew(&format!("lifecycle -y --continue {}", sandbox.session_id()))
        .expect_exit(0);
    assert_eq!(of(&sandbox.decisions(), "QUALITY-001"), ["stop", "approved"]);
    assert_eq!((sandbox.turns("DRAFT-004"), sandbox.turns("QUALITY-001")), (1, 1));
}

#[test]
fn answers_to_a_blocking_review() {
    for (answers, code, decided, built) in [
        (&["go-on"][..], 0, &["overridden"][..], 1),
        (&["revise"], 0, &["revise", "pass"], 2),
        (&["abort"], 3, &["stop"], 1),
    ] {
        let sandbox = TeamSandbox::lifecycle();
        sandbox.review("REVIEW-001.1", "BLOCK", CRITICAL);
        sandbox.repairs();
        let (ended, asked) = with_answers(&sandbox, "impl-only --no-supervision", answers);
        assert_eq!(ended, code, "{answers:?}: {asked:?}");
        assert!(asked[0].contains("REVIEW-001 says BLOCK"), "{asked:?}");
        let decisions = sandbox.decisions();
        assert_eq!(of(&decisions, "REVIEW-001"), decided, "{answers:?}");
        assert_eq!(sandbox.turns("IMPL-001"), built, "{answers:?}");
    }
}

#[test]
fn a_review_that_keeps_blocking_stops_after_two_rounds() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.review("REVIEW-001", "BLOCK", CRITICAL);
    sandbox.repairs();
    sandbox
        .run_pipeline("impl-only --no-supervision")
        .expect_exit(3)
        .expect_output("says BLOCK");
    assert_eq!(
        of(&sandbox.decisions(), "REVIEW-001"),
        ["revise", "revise", "stop"]
    );
    assert_eq!(
        (
            sandbox.turns("IMPL-001"),
            sandbox.turns("REVIEW-001"),
            sandbox.turns("PLAN-001")
        ),
        (3, 3, 1)
    );
}
