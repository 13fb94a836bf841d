//! From a request to a specification.

use crate::lifecycle::team_sandbox::TeamSandbox;
use std::fs;

#[test]
fn a_request_becomes_a_specification() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.run_pipeline("spec-only").expect_exit(0);
    assert_eq!(
        sandbox.statuses(),
        "RESEARCH-001 completed, DRAFT-001 completed, DRAFT-002 completed, CHECKPOINT-001 completed, \
         DRAFT-003 completed, DRAFT-004 completed, CHECKPOINT-002 completed, QUALITY-001 completed"
    );
    assert_eq!(sandbox.cell("CHECKPOINT-001", "supervision_verdict"), "pass");
    assert_eq!(sandbox.cell("QUALITY-001", "quality_score"), "85");
    assert_eq!(
        sandbox.decisions(),
        ["CHECKPOINT-001 pass", "CHECKPOINT-002 pass", "QUALITY-001 pass"]
    );
    for text in [
        "| `spec/requirements.md` | DRAFT-002 |",
        "| FR-001 | Must | EPIC-001 | – |",
        "No gaps.",
    ] {
        sandbox.expect_read("context.md", text);
    }
    sandbox.expect_read("interactive/CHECKPOINT-001-result.json", "0.95");
}

#[test]
fn deliverables_are_exported_once() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.run_pipeline("spec-only --no-supervision").expect_exit(0);
    assert!(
        !sandbox.statuses().contains("CHECKPOINT"),
        "{}",
        sandbox.statuses()
    );
    let session = sandbox.session();
    let export = format!("export {} out", sandbox.session_id());
    sandbox.wavecrew(&export).expect_exit(0);
    let out = sandbox.path("out");
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
    sandbox
        .wavecrew(&export)
        .expect_exit(2)
        .expect_output("already exists");
}

#[test]
fn a_missing_request_is_refused() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox
        .wavecrew("lifecycle -y")
        .expect_exit(2)
        .expect_output("the request is missing");
    sandbox
        .wavecrew("lifecycle -y --pipeline all x")
        .expect_exit(2)
        .expect_output("full-lifecycle");
    assert!(!sandbox.path(".workflow").exists());
}
