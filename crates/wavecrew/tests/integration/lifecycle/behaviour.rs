//! What changed code does differently is evidence for reviewers and people.

use crate::lifecycle::team_sandbox::{TeamSandbox, example};

/// A worker whose notes have no spaces around them any more, with a test.
const STRIPS: &str = r#"sed -i 's/= text$/= text.strip()/' app/store/__init__.py
printf 'import unittest\n\nfrom app.store import Store\n\n\nclass Strip(unittest.TestCase):\n    def test_spaces_are_dropped(self):\n        store = Store()\n        store.add(" one ")\n        self.assertEqual(store.all(), {1: "one"})\n' > tests/test_TOPIC.py
report "notes lose the spaces around them""#;

#[test]
fn a_change_of_behaviour_is_shown_with_the_work() {
    let sandbox = TeamSandbox::planex().comparing_behaviour();
    sandbox.worker("EXEC-002", &STRIPS.replace("TOPIC", "forget"));
    sandbox.run_planex().expect_exit(0);
    sandbox.expect_cell("EXEC-002", "findings", "behaviour: ");
    sandbox.expect_cell("EXEC-002", "findings", "see analysis/behaviour-EXEC-002.md");
    let report = sandbox.read("analysis/behaviour-EXEC-002.md");
    assert!(report.contains("`app/store/__init__.py:14`"), "{report}");
    assert!(report.contains("| before | after | cause |"), "{report}");
}

#[test]
fn a_reviewer_reads_what_an_implementer_changed() {
    let sandbox = TeamSandbox::lifecycle().comparing_behaviour();
    let work = format!(
        "sed -i 's/= text$/= text.strip()/' app/store/__init__.py\nexec {}",
        example("lifecycle/agent.sh").display()
    );
    sandbox.worker("IMPL-001", &work);
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(0);
    sandbox.expect_prompt(
        "REVIEW-001.1.1",
        &["behaviour: ", "analysis/behaviour-IMPL-001.md"],
    );
}
