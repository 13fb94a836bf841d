//! The recorded runs of the examples, played back.

use crate::example_files::examples;
use crate::lifecycle::lab::Lab;

/// What plays back a recording, in which every file is known to be its worker's.
fn replay(name: &str) -> String {
    let cassette = examples().join(name).join("cassette.jsonl");
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
    let lab = Lab::new();
    let cassette = replay("lifecycle");
    let cassette = cassette.strip_prefix("replay:").unwrap();
    std::fs::copy(cassette, lab.path("cassette.jsonl")).unwrap();
    lab.wavecrew(&[
        "lifecycle",
        "-y",
        "--pipeline",
        "full-lifecycle",
        "--agent",
        // Relative to the project, also for workers in worktrees.
        "replay:../cassette.jsonl",
        "Tag notes",
    ])
    .exits(0);
    let mut subjects = lab.subjects("main");
    subjects.sort();
    assert_eq!(
        subjects,
        [
            "IMPL-001: Keep tags",
            "IMPL-002: Find by tag",
            "IMPL-003: Offer tags",
            "notes"
        ]
    );
    assert!(lab.project().join("tests/test_tags.py").exists());
}

#[test]
fn planex() {
    let lab = Lab::planex();
    let agent = replay("planex");
    lab.wavecrew(&["planex", "-y", "--agent", &agent, "../issues.jsonl"])
        .exits(0);
    assert_eq!(lab.cell("EXEC-003", "deps"), "PLAN-003;EXEC-002");
    let subjects = lab.subjects("main");
    assert_eq!(
        subjects
            .iter()
            .filter(|subject| subject.starts_with("feat(ISS-"))
            .count(),
        3,
        "{subjects:?}"
    );
}
