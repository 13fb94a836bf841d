//! From a request to a specification.

use crate::lifecycle::lab::Lab;
use std::fs;

#[test]
fn a_request_becomes_a_specification() {
    let lab = Lab::new();
    lab.run("spec-only", &[]).exits(0);
    assert_eq!(
        lab.statuses(),
        "RESEARCH-001 completed, DRAFT-001 completed, DRAFT-002 completed, CHECKPOINT-001 completed, \
         DRAFT-003 completed, DRAFT-004 completed, CHECKPOINT-002 completed, QUALITY-001 completed"
    );
    assert_eq!(lab.cell("CHECKPOINT-001", "supervision_verdict"), "pass");
    assert_eq!(lab.cell("QUALITY-001", "quality_score"), "85");
    assert_eq!(
        lab.decisions(),
        ["CHECKPOINT-001 pass", "CHECKPOINT-002 pass", "QUALITY-001 pass"]
    );
    let report = lab.read("context.md");
    assert!(
        report.contains("| `spec/requirements.md` | DRAFT-002 |"),
        "{report}"
    );
    assert!(report.contains("| FR-001 | Must | EPIC-001 | – |"), "{report}");
    assert!(report.contains("No gaps."), "{report}");
    let result = lab.read("interactive/CHECKPOINT-001-result.json");
    assert!(result.contains("0.95"), "{result}");
}

#[test]
fn what_was_delivered_can_be_taken_out_once() {
    let lab = Lab::new();
    lab.run("spec-only", &["--no-supervision"]).exits(0);
    assert!(!lab.statuses().contains("CHECKPOINT"), "{}", lab.statuses());
    let session = lab.session();
    let id = &lab.session_id();
    lab.wavecrew(&["export", id, "out"]).exits(0);
    let out = lab.project().join("out");
    for file in [
        "spec/epics.md",
        "spec/discovery-context.json",
        "artifacts/QUALITY-001-report.md",
        "context.md",
    ] {
        let (kept, copied) = (
            fs::read(session.join(file)).unwrap(),
            fs::read(out.join(file)).unwrap(),
        );
        assert_eq!(kept, copied, "{file}");
    }
    lab.wavecrew(&["export", id, "out"])
        .exits(2)
        .says("already exists");
}

#[test]
fn nothing_requested_runs_nothing() {
    let lab = Lab::new();
    lab.wavecrew(&["lifecycle", "-y"])
        .exits(2)
        .says("the request is missing");
    lab.wavecrew(&["lifecycle", "-y", "--pipeline", "all", "x"])
        .exits(2)
        .says("full-lifecycle");
    assert!(!lab.project().join(".workflow").exists());
}
