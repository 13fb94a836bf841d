//! Checkpoints and gates: every outcome, with and without a person.

use crate::lifecycle::team_sandbox::{CRITICAL, TeamSandbox};

#[test]
fn a_warning_does_not_stop_the_run() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.score("CHECKPOINT-001", r#""score":0.6"#);
    sandbox.run_pipeline("spec-only").expect_exit(0);
    assert_eq!(sandbox.cell("CHECKPOINT-001", "supervision_verdict"), "warn");
    assert_eq!(sandbox.decisions()[0], "CHECKPOINT-001 warn");
}

#[test]
fn a_block_is_revised_once_and_then_stops_until_it_is_continued() {
    let sandbox = TeamSandbox::lifecycle();
    // What it calls itself does not count against the score.
    sandbox.score("CHECKPOINT-001", r#""score":0.2,"supervision_verdict":"pass""#);
    sandbox
        .run_pipeline("spec-only")
        .expect_exit(3)
        .expect_output("blocked with 0.2, below 0.5");
    assert_eq!(
        (
            sandbox.turns("DRAFT-001"),
            sandbox.turns("DRAFT-002"),
            sandbox.turns("CHECKPOINT-001")
        ),
        (1, 2, 2)
    );
    assert_eq!(sandbox.cell("CHECKPOINT-001", "supervision_verdict"), "block");
    assert_eq!(sandbox.cell("DRAFT-003", "status"), "pending");
    assert_eq!(
        sandbox.decisions(),
        ["CHECKPOINT-001 revise", "CHECKPOINT-001 stop"]
    );
    let prompt = sandbox.prompt("DRAFT-002.2.1");
    assert!(
        prompt.contains("Say who the users are."),
        "the report is the brief:\n{prompt}"
    );

    // It is decided again when the run continues; the person may change the table or the documents in
    // between.
    sandbox.example_worker("CHECKPOINT-001");
    sandbox
        .wavecrew(&format!("retry {} CHECKPOINT-001 -y", sandbox.session_id()))
        .expect_exit(0);
    assert_eq!(sandbox.cell("CHECKPOINT-001", "supervision_verdict"), "pass");
    assert_eq!(
        (sandbox.turns("DRAFT-001"), sandbox.turns("DRAFT-002")),
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
        let sandbox = TeamSandbox::lifecycle();
        sandbox.score("CHECKPOINT-001", r#""score":0.2"#);
        let mut run = sandbox.start_asking("spec-only");
        let asked = sandbox.answer(&mut run, word)["question"].to_string();
        assert!(asked.contains("CHECKPOINT-001 blocked with 0.2"), "{asked}");
        run.wait().expect_exit(code);
        assert_eq!(sandbox.decisions()[0], decision);
    }
}

#[test]
fn a_middle_score_is_a_warning() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.readiness("QUALITY-001", 70);
    sandbox.run_pipeline("spec-only --no-supervision").expect_exit(0);
    assert_eq!(sandbox.decisions(), ["QUALITY-001 warn"]);
    assert_eq!(sandbox.cell("QUALITY-001", "quality_score"), "70");
}

#[test]
fn a_low_score_is_revised_twice_and_then_stops() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.readiness("QUALITY-001", 40);
    sandbox
        .run_pipeline("spec-only --no-supervision")
        .expect_exit(3)
        .expect_output("scored 40 of 100, below 60");
    assert_eq!(
        sandbox.decisions(),
        ["QUALITY-001 revise", "QUALITY-001 revise", "QUALITY-001 stop"]
    );
    assert_eq!(
        (
            sandbox.turns("DRAFT-001"),
            sandbox.turns("DRAFT-004"),
            sandbox.turns("RESEARCH-001")
        ),
        (3, 3, 1)
    );

    let sandbox = TeamSandbox::lifecycle();
    sandbox.readiness("QUALITY-001.1", 40);
    sandbox.run_pipeline("spec-only --no-supervision").expect_exit(0);
    assert_eq!(sandbox.decisions(), ["QUALITY-001 revise", "QUALITY-001 pass"]);
}

#[test]
fn implementation_begins_with_an_approval() {
    for (word, code) in [("approve", 0), ("abort", 3)] {
        let sandbox = TeamSandbox::lifecycle();
        let mut run = sandbox.start_asking("full-lifecycle --no-supervision");
        let asked = sandbox.answer(&mut run, word)["question"].to_string();
        assert!(asked.contains("QUALITY-001 scored 85 of 100"), "{asked}");
        run.wait().expect_exit(code);
        let planned = sandbox.turns("PLAN-001") > 0;
        assert_eq!(planned, code == 0);
    }
}

#[test]
fn a_blocking_review_is_fixed() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox
        .review("REVIEW-001.1", "BLOCK", CRITICAL)
        .review(
            "REVIEW-001.2",
            "CONDITIONAL",
            &CRITICAL.replace("critical", "high"),
        )
        .repairs();
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(0);
    assert_eq!(
        (
            sandbox.turns("IMPL-001"),
            sandbox.turns("REVIEW-001"),
            sandbox.turns("PLAN-001")
        ),
        (2, 2, 1)
    );
    sandbox.expect_prompt("IMPL-001.2.1", &["| app/store/tags.py:2 | critical | quality |"]);
    let reviews: Vec<String> = sandbox
        .decisions()
        .into_iter()
        .filter(|d| d.starts_with("REVIEW"))
        .collect();
    assert_eq!(reviews, ["REVIEW-001 revise", "REVIEW-001 warn"]);
}
