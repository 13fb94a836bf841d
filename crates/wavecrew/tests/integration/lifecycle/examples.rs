//! The recorded runs of the examples, played back.

use crate::lifecycle::team_sandbox::{TeamSandbox, example};

/// What plays back a recording, in which every file is known to be its worker's.
fn replay(name: &str) -> String {
    let cassette = example(name).join("cassette.jsonl");
    let text = std::fs::read_to_string(&cassette).unwrap();
    assert!(
        !text.contains(r#""guessed":true"#),
        "record it again: {}",
        cassette.display()
    );
    format!("replay:{}", cassette.display())
}

#[test]
fn lifecycle() {
    let sandbox = TeamSandbox::lifecycle().comparing_behaviour();
    let cassette = replay("lifecycle");
    let cassette = cassette.strip_prefix("replay:").unwrap();
    std::fs::copy(cassette, sandbox.beside("cassette.jsonl")).unwrap();
    // Relative to the project, also for workers in worktrees.
    let words = "lifecycle -y --pipeline full-lifecycle --agent replay:../cassette.jsonl tags";
    sandbox.wavecrew(words).expect_exit(0);
    let mut subjects = sandbox.subjects("main");
    subjects.sort();
    assert_eq!(
        subjects,
        [
            "IMPL-001: Keep tags",
            "IMPL-002: Find by tag",
            "IMPL-003: Offer tags",
            "first"
        ]
    );
    assert!(sandbox.path("tests/test_tags.py").exists());
}

#[test]
fn planex() {
    let sandbox = TeamSandbox::planex().comparing_behaviour();
    let agent = replay("planex");
    sandbox
        .wavecrew(&format!("planex -y --agent {agent} ../issues.jsonl"))
        .expect_exit(0);
    assert_eq!(sandbox.cell("EXEC-003", "deps"), "PLAN-003;EXEC-002");
    let subjects = sandbox.subjects("main");
    assert_eq!(
        subjects
            .iter()
            .filter(|subject| subject.starts_with("feat(ISS-"))
            .count(),
        3,
        "{subjects:?}"
    );
}
