//! What a reviewer writes is looked at: the places it names are there, and the verdict follows from the findings.

use crate::lifecycle::lab::Lab;
use std::fs;

const HEAD: &str = r"| file | line | severity | dimension | description | suggested fix |\n|-|-|-|-|-|-|\n";

/// A reviewer's answer: the word in the document and in the report, and the rows of its table.
fn reviewer(lab: &Lab, name: &str, word: &str, rows: &str) {
    lab.answer(
        name,
        &format!(
            r#"printf '## Verdict\n{word}\n## Findings\n{HEAD}{rows}' > "$session/artifacts/review-report.md"; report seen '"verdict":"{word}"'"#
        ),
    );
}

#[test]
fn findings_that_cannot_be_are_sent_back_in_the_same_conversation() {
    let lab = Lab::new();
    reviewer(
        &lab,
        "REVIEW-001.1.1",
        "APPROVE",
        r"| app/store/tags.py | 4000 | low | quality | x | y |\n| no/such.py | 1 | low | quality | x | y |\n",
    );
    reviewer(
        &lab,
        "REVIEW-001.1.2",
        "APPROVE",
        r"| app/store/tags.py | 1 | critical | quality | x | y |\n",
    );
    reviewer(
        &lab,
        "REVIEW-001.1.3",
        "APPROVE",
        r"| app/store/tags.py | 1 | low | quality | x | y |\n",
    );
    lab.run("impl-only", &["--no-supervision"]).exits(0);
    let told = lab.prompt("REVIEW-001.1.2");
    assert!(
        told.contains("names line 4000 of `app/store/tags.py`, which has"),
        "{told}"
    );
    assert!(
        told.contains("names `no/such.py`, which does not exist in finding 2"),
        "{told}"
    );
    let told = lab.prompt("REVIEW-001.1.3");
    assert!(
        told.contains("says APPROVE, but 1 of its findings is `critical`: the verdict would be BLOCK"),
        "{told}"
    );
    assert_eq!(lab.cell("REVIEW-001", "status"), "completed");
}

#[test]
fn a_review_that_stays_wrong_fails() {
    for (word, rows, error) in [
        ("BLOCK", "", "says BLOCK, but it has no findings"),
        (
            "BLOCK",
            r"| app/store/tags.py | 1 | terrible | taste | x | y |\n",
            "whose severity is `terrible`, and has to be one of critical, high, medium, low",
        ),
    ] {
        let lab = Lab::new();
        reviewer(&lab, "REVIEW-001", word, rows);
        lab.run("impl-only", &["--no-supervision"]).exits(1);
        let said = lab.cell("REVIEW-001", "error");
        assert!(said.contains(error), "{error:?} is not in {said:?}");
        assert_eq!(lab.ran("REVIEW-001"), 3, "sent back twice");
    }
}

#[test]
fn what_is_reported_is_what_is_written() {
    let lab = Lab::new();
    let two_minds = format!(
        r#"printf '## Verdict\nBLOCK\n## Findings\n{HEAD}| app/store/tags.py | 1 | critical | security | x | y |\n' > "$session/artifacts/review-report.md"; report seen '"verdict":"APPROVE"'"#
    );
    lab.answer("REVIEW-001", &two_minds);
    lab.run("impl-only", &["--no-supervision"]).exits(1);
    let error = lab.cell("REVIEW-001", "error");
    assert!(
        error.contains("says BLOCK, and `APPROVE` was reported"),
        "{error}"
    );
}

#[test]
fn work_beside_a_dirty_checkout_can_be_reviewed() {
    let lab = Lab::new();
    let mine = lab.project().join("app/__init__.py");
    fs::write(&mine, "mine = 1\n").unwrap();
    // The file is only where the work was merged.
    reviewer(
        &lab,
        "REVIEW-001",
        "APPROVE",
        r"| app/store/tags.py | 2 | low | quality | x | y |\n",
    );
    lab.run("impl-only", &["--no-supervision"])
        .exits(0)
        .says("Your checkout has uncommitted changes");
    assert!(!lab.project().join("app/store/tags.py").exists());
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine = 1\n");
    let told = lab.prompt("REVIEW-001.1.1");
    let commit = told
        .split("it is at commit ")
        .nth(1)
        .unwrap()
        .split('.')
        .next()
        .unwrap();
    lab.git(&["cat-file", "-e", &format!("{commit}:app/store/tags.py")]);
}
