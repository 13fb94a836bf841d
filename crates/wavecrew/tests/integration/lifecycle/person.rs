//! What a person may answer when a checkpoint or a gate holds the run up: each answer, and what comes of it.

use crate::lifecycle::lab::{Lab, said};

/// Runs with a person who gives these answers; the exit code, and what was asked.
fn with_answers(lab: &Lab, pipeline: &str, more: &[&str], answers: &[&str]) -> (i32, Vec<String>) {
    let mut run = lab.start_asking(pipeline, more);
    let asked = answers.iter().map(|answer| lab.reply(&mut run, answer)).collect();
    let ended = said(&run.wait_with_output().unwrap());
    (ended.code.unwrap_or_else(|| panic!("{}", ended.text)), asked)
}

fn of<'a>(decisions: &'a [String], task: &str) -> Vec<&'a str> {
    decisions
        .iter()
        .filter_map(|decision| decision.strip_prefix(task)?.strip_prefix(' '))
        .collect()
}

#[test]
fn a_checkpoint_that_blocks() {
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
        let lab = Lab::new();
        for (n, score) in (1..).zip(scores) {
            lab.score(&format!("CHECKPOINT-001.{n}"), &format!(r#""score":{score}"#));
        }
        let (ended, asked) = with_answers(&lab, "spec-only", &[], answers);
        assert_eq!(ended, code, "{answers:?}: {asked:?}");
        let decisions = lab.decisions();
        assert_eq!(of(&decisions, "CHECKPOINT-001"), decided, "{answers:?}");
        assert_eq!(
            (lab.ran("DRAFT-002"), lab.ran("DRAFT-001")),
            (drafts, 1),
            "{answers:?}"
        );
        if let [_, .., last] = asked.as_slice() {
            assert!(last.contains("revision"), "{last}");
        }
        if drafts > 1 {
            let told = lab.prompt("DRAFT-002.2.1");
            assert!(told.contains("Say who the users are."), "{told}");
        }
    }
}

#[test]
fn a_third_revision_is_not_offered() {
    let lab = Lab::new();
    lab.score("CHECKPOINT-001", r#""score":0.2"#);
    // The last answer is not one of those that are offered any more, so it does not count.
    let mut run = lab.start_asking("spec-only", &[]);
    for _ in 0..2 {
        lab.reply(&mut run, "revise");
    }
    assert_eq!(lab.options(&mut run), ["go-on", "abort"]);
    lab.reply(&mut run, "abort");
    said(&run.wait_with_output().unwrap()).exits(3);
    assert_eq!(lab.ran("DRAFT-002"), 3);
}

#[test]
fn a_specification_that_scores_in_the_middle() {
    for (answers, code, decided, drafts) in [
        (&["go-on"][..], 0, &["overridden"][..], 1),
        (&["revise"], 0, &["revise", "pass"], 2),
        (&["abort"], 3, &["stop"], 1),
    ] {
        let lab = Lab::new();
        lab.readiness("QUALITY-001.1", 70);
        let (ended, asked) = with_answers(&lab, "spec-only", &["--no-supervision"], answers);
        assert_eq!(ended, code, "{answers:?}: {asked:?}");
        assert!(
            asked[0].contains("QUALITY-001 scored 70 of 100, below 80"),
            "{asked:?}"
        );
        let decisions = lab.decisions();
        assert_eq!(of(&decisions, "QUALITY-001"), decided, "{answers:?}");
        assert_eq!(lab.ran("DRAFT-004"), drafts, "{answers:?}");
    }
}

#[test]
fn a_low_score_goes_back_without_a_question() {
    let lab = Lab::new();
    lab.readiness("QUALITY-001.1", 30);
    let (ended, _) = with_answers(&lab, "spec-only", &["--no-supervision"], &[]);
    assert_eq!(ended, 0);
    assert_eq!(of(&lab.decisions(), "QUALITY-001"), ["revise", "pass"]);
}

#[test]
fn an_approval_that_was_refused_can_be_given_later() {
    let lab = Lab::new();
    let (ended, _) = with_answers(&lab, "full-lifecycle", &["--no-supervision"], &["abort"]);
    assert_eq!(ended, 3);
    assert_eq!(lab.ran("PLAN-001"), 0);
    lab.wavecrew(&["lifecycle", "-y", "--continue", &lab.session_id()])
        .exits(0);
    assert_eq!(of(&lab.decisions(), "QUALITY-001"), ["stop", "approved"]);
    assert_eq!((lab.ran("DRAFT-004"), lab.ran("QUALITY-001")), (1, 1));
}

#[test]
fn a_review_that_blocks() {
    for (answers, code, decided, built) in [
        (&["go-on"][..], 0, &["overridden"][..], 1),
        (&["revise"], 0, &["revise", "pass"], 2),
        (&["abort"], 3, &["stop"], 1),
    ] {
        let lab = Lab::new();
        lab.review("REVIEW-001.1", "BLOCK", "critical");
        lab.repairs();
        let (ended, asked) = with_answers(&lab, "impl-only", &["--no-supervision"], answers);
        assert_eq!(ended, code, "{answers:?}: {asked:?}");
        assert!(asked[0].contains("REVIEW-001 says BLOCK"), "{asked:?}");
        let decisions = lab.decisions();
        assert_eq!(of(&decisions, "REVIEW-001"), decided, "{answers:?}");
        assert_eq!(lab.ran("IMPL-001"), built, "{answers:?}");
    }
}

#[test]
fn a_review_that_goes_on_blocking_stops_after_two_rounds() {
    let lab = Lab::new();
    lab.review("REVIEW-001", "BLOCK", "critical");
    lab.repairs();
    lab.run("impl-only", &["--no-supervision"])
        .exits(3)
        .says("says BLOCK");
    assert_eq!(of(&lab.decisions(), "REVIEW-001"), ["revise", "revise", "stop"]);
    assert_eq!(
        (lab.ran("IMPL-001"), lab.ran("REVIEW-001"), lab.ran("PLAN-001")),
        (3, 3, 1)
    );
}
