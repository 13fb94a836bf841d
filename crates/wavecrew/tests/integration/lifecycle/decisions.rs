//! Checkpoints and gates: every outcome, with and without a person.

use crate::lifecycle::lab::{Lab, said};

#[test]
fn a_warning_goes_on() {
    let lab = Lab::new();
    lab.score("CHECKPOINT-001", r#""score":0.6"#);
    lab.run("spec-only", &[]).exits(0);
    assert_eq!(lab.cell("CHECKPOINT-001", "supervision_verdict"), "warn");
    assert_eq!(lab.decisions()[0], "CHECKPOINT-001 warn");
}

#[test]
fn a_block_is_revised_once_and_then_stops_until_it_is_continued() {
    let lab = Lab::new();
    // What it calls itself does not count against the score.
    lab.score("CHECKPOINT-001", r#""score":0.2,"supervision_verdict":"pass""#);
    lab.run("spec-only", &[])
        .exits(3)
        .says("blocked with 0.2, below 0.5");
    assert_eq!(
        (
            lab.ran("DRAFT-001"),
            lab.ran("DRAFT-002"),
            lab.ran("CHECKPOINT-001")
        ),
        (1, 2, 2)
    );
    assert_eq!(lab.cell("CHECKPOINT-001", "supervision_verdict"), "block");
    assert_eq!(lab.cell("DRAFT-003", "status"), "pending");
    assert_eq!(lab.decisions(), ["CHECKPOINT-001 revise", "CHECKPOINT-001 stop"]);
    let told = lab.prompt("DRAFT-002.2.1");
    assert!(
        told.contains("Say who the users are."),
        "the report is the brief:\n{told}"
    );

    // It is judged again when the run goes on; the person may change the table or the documents in between.
    lab.no_answer("CHECKPOINT-001");
    lab.wavecrew(&["retry", &lab.session_id(), "CHECKPOINT-001", "-y"])
        .exits(0);
    assert_eq!(lab.cell("CHECKPOINT-001", "supervision_verdict"), "pass");
    assert_eq!(
        (lab.ran("DRAFT-001"), lab.ran("DRAFT-002")),
        (1, 2),
        "nothing that stands runs again"
    );
}

#[test]
fn a_person_may_override_or_stop() {
    for (word, code, decision) in [
        ("go-on", 0, "CHECKPOINT-001 overridden"),
        ("abort", 3, "CHECKPOINT-001 stop"),
    ] {
        let lab = Lab::new();
        lab.score("CHECKPOINT-001", r#""score":0.2"#);
        let mut run = lab.start_asking("spec-only", &[]);
        let asked = lab.reply(&mut run, word);
        assert!(asked.contains("CHECKPOINT-001 blocked with 0.2"), "{asked}");
        said(&run.wait_with_output().unwrap()).exits(code);
        assert_eq!(lab.decisions()[0], decision);
    }
}

#[test]
fn a_score_in_the_middle_goes_on_with_a_warning() {
    let lab = Lab::new();
    lab.readiness("QUALITY-001", 70);
    lab.run("spec-only", &["--no-supervision"]).exits(0);
    assert_eq!(lab.decisions(), ["QUALITY-001 warn"]);
    assert_eq!(lab.cell("QUALITY-001", "quality_score"), "70");
}

#[test]
fn a_low_score_goes_back_to_the_writers_twice_and_then_stops() {
    let lab = Lab::new();
    lab.readiness("QUALITY-001", 40);
    lab.run("spec-only", &["--no-supervision"])
        .exits(3)
        .says("scored 40 of 100, below 60");
    assert_eq!(
        lab.decisions(),
        ["QUALITY-001 revise", "QUALITY-001 revise", "QUALITY-001 stop"]
    );
    assert_eq!(
        (
            lab.ran("DRAFT-001"),
            lab.ran("DRAFT-004"),
            lab.ran("RESEARCH-001")
        ),
        (3, 3, 1)
    );

    let lab = Lab::new();
    lab.readiness("QUALITY-001.1", 40);
    lab.run("spec-only", &["--no-supervision"]).exits(0);
    assert_eq!(lab.decisions(), ["QUALITY-001 revise", "QUALITY-001 pass"]);
}

#[test]
fn implementation_begins_with_an_approval() {
    for (word, code) in [("approve", 0), ("abort", 3)] {
        let lab = Lab::new();
        let mut run = lab.start_asking("full-lifecycle", &["--no-supervision"]);
        let asked = lab.reply(&mut run, word);
        assert!(asked.contains("QUALITY-001 scored 85 of 100"), "{asked}");
        said(&run.wait_with_output().unwrap()).exits(code);
        let planned = lab.ran("PLAN-001") > 0;
        assert_eq!(planned, code == 0);
    }
}

#[test]
fn a_review_that_blocks_has_it_fixed() {
    let lab = Lab::new();
    lab.review("REVIEW-001.1", "BLOCK", "critical")
        .review("REVIEW-001.2", "CONDITIONAL", "high")
        .repairs();
    lab.run("impl-only", &["--no-supervision"]).exits(0);
    assert_eq!(
        (lab.ran("IMPL-001"), lab.ran("REVIEW-001"), lab.ran("PLAN-001")),
        (2, 2, 1)
    );
    let told = lab.prompt("IMPL-001.2.1");
    assert!(
        told.contains("| app/store/tags.py:2 | critical | quality |"),
        "{told}"
    );
    let reviews: Vec<String> = lab
        .decisions()
        .into_iter()
        .filter(|d| d.starts_with("REVIEW"))
        .collect();
    assert_eq!(reviews, ["REVIEW-001 revise", "REVIEW-001 warn"]);
}
