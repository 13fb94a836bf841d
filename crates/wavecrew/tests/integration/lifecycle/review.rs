//! What a reviewer writes is looked at: the places it names are there, and the verdict follows from the findings.

use crate::lifecycle::team_sandbox::TeamSandbox;

const HEAD: &str = r"| file | line | severity | dimension | description | suggested fix |\n|-|-|-|-|-|-|\n";

/// A reviewer with these findings.
fn reviewer(sandbox: &TeamSandbox, name: &str, verdict: &str, rows: &str) {
    sandbox.review(name, verdict, &format!("{HEAD}{rows}"));
}

#[test]
fn impossible_findings_are_sent_back_in_the_same_conversation() {
    let sandbox = TeamSandbox::lifecycle();
    reviewer(
        &sandbox,
        "REVIEW-001.1.1",
        "APPROVE",
        r"| app/store/tags.py | 4000 | low | quality | x | y |\n| no/such.py | 1 | low | quality | x | y |\n",
    );
    reviewer(
        &sandbox,
        "REVIEW-001.1.2",
        "APPROVE",
        r"| app/store/tags.py | 1 | critical | quality | x | y |\n",
    );
    reviewer(
        &sandbox,
        "REVIEW-001.1.3",
        "APPROVE",
        r"| app/store/tags.py | 1 | low | quality | x | y |\n",
    );
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(0);
    sandbox.expect_prompt(
        "REVIEW-001.1.2",
        &[
            "names line 4000 of `app/store/tags.py`, which has",
            "names `no/such.py`, which does not exist in finding 2",
        ],
    );
    sandbox.expect_prompt(
        "REVIEW-001.1.3",
        &["has the verdict APPROVE, but 1 of its findings is `critical`: the verdict would be BLOCK"],
    );
    assert_eq!(sandbox.cell("REVIEW-001", "status"), "completed");
}

#[test]
fn a_review_that_stays_wrong_fails() {
    for (word, rows, error) in [
        ("BLOCK", "", "has the verdict BLOCK, but it has no findings"),
        (
            "BLOCK",
            r"| app/store/tags.py | 1 | terrible | taste | x | y |\n",
            "whose severity is `terrible`, but must be one of critical, high, medium, low",
        ),
    ] {
        let sandbox = TeamSandbox::lifecycle();
        reviewer(&sandbox, "REVIEW-001", word, rows);
        sandbox.run_pipeline("impl-only --no-supervision").expect_exit(1);
        sandbox.expect_cell("REVIEW-001", "error", error);
        assert_eq!(sandbox.turns("REVIEW-001"), 3, "sent back twice");
    }
}

#[test]
fn a_reported_verdict_must_match_the_document() {
    let sandbox = TeamSandbox::lifecycle();
    let two_minds = format!(
        r#"printf '## Verdict\nBLOCK\n## Findings\n{HEAD}| app/store/tags.py | 1 | critical | security | x | y |\n' > "$session/artifacts/review-report.md"; report seen '"verdict":"APPROVE"'"#
    );
    sandbox.worker("REVIEW-001", &two_minds);
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(1);
    sandbox.expect_cell("REVIEW-001", "error", "says BLOCK, but `APPROVE` was reported");
}

#[test]
fn work_beside_a_dirty_checkout_can_be_reviewed() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.write("app/__init__.py", "mine = 1\n");
    // The file is only where the work was merged.
    reviewer(
        &sandbox,
        "REVIEW-001",
        "APPROVE",
        r"| app/store/tags.py | 2 | low | quality | x | y |\n",
    );
    sandbox
        .run_pipeline("impl-only --no-supervision")
        .expect_exit(0)
        .expect_output("Your checkout has uncommitted changes");
    assert!(!sandbox.path("app/store/tags.py").exists());
    assert_eq!(sandbox.text("app/__init__.py"), "mine = 1\n");
    let prompt = sandbox.prompt("REVIEW-001.1.1");
    let commit = prompt
        .split("it is at commit ")
        .nth(1)
        .unwrap()
        .split('.')
        .next()
        .unwrap();
    sandbox.git(&["cat-file", "-e", &format!("{commit}:app/store/tags.py")]);
}
