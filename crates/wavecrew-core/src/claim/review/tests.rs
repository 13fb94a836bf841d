//! Reviews as data: a text, and what is wrong with it.

use super::*;

fn rules() -> ReviewRules {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let severity = |name: &str, verdicts: &str| Severity {
        name: name.to_owned(),
        verdicts: words(verdicts),
    };
    ReviewRules {
        severities: vec![
            severity("critical", "BLOCK"),
            severity("high", "CONDITIONAL BLOCK"),
            severity("low", "APPROVE CONDITIONAL BLOCK"),
        ],
        dimensions: words("quality security"),
        clean: words("APPROVE"),
    }
}

/// What is proven to be wrong, or in doubt.
fn problems(text: &str, rules: &ReviewRules) -> Vec<String> {
    let found = super::problems(text, rules).into_iter();
    found.map(|problem| problem.text).collect()
}

/// What is proven to be wrong.
fn proven(text: &str, rules: &ReviewRules) -> Vec<String> {
    let found = super::problems(text, rules).into_iter();
    found
        .filter(|problem| problem.rule.refutes())
        .map(|problem| problem.text)
        .collect()
}

const HEAD: &str =
    "| File | Line | Severity | Dimension | What | Suggested fix |\n|---|---|---|---|---|---|\n";

fn review(verdict: &str, findings: &str) -> String {
    format!(
        "# Review\n## Verdict\n{verdict}\n## Findings\n{findings}\n## Notes\n| severity |\n|---|\n| any |\n"
    )
}

#[test]
fn what_is_wrong_with_a_review() {
    let row = |severity: &str| format!("{HEAD}| `a.py` | 3 | {severity} | quality | w | do it |\n");
    let json = |line: &str| {
        format!(
            "```json\n[{{\"file\":\"a.py\",\"line\":{line},\"severity\":\"low\",\"dimension\":\"security\",\"suggested_fix\":\"f\"}}]\n```"
        )
    };
    let fine: &[&str] = &[];
    for (text, expected) in [
        (review("APPROVE: fine.", "None."), fine),
        (review("**APPROVE**", "*No findings*"), fine),
        (
            review(
                "APPROVE",
                "None.\n\nHow I looked: I read a.py (lines 4-19) and ran `make test`.",
            ),
            fine,
        ),
        (review("**BLOCK** - see below", &row("Critical")), fine),
        (review("CONDITIONAL", &row("high")), fine),
        (review("APPROVE", &row("low")), fine),
        (review("APPROVE", HEAD), fine),
        (review("APPROVE", &json("12")), fine),
        (
            review(
                "BLOCK",
                "| Severity | Location | Dimension | Fix |\n|-|-|-|-|\n| critical | a/b.py:7 | quality | x |",
            ),
            fine,
        ),
        (
            review("Good.", "None"),
            &["names no verdict below `Verdict`: it is one of APPROVE, BLOCK, CONDITIONAL"],
        ),
        (
            review("APPROVE", &row("critical")),
            &["has the verdict APPROVE, but 1 of its findings is `critical`: the verdict would be BLOCK"],
        ),
        (
            review(
                "APPROVE",
                &(row("high") + "| b.py | 1 | high | quality | w | f |\n"),
            ),
            &[
                "has the verdict APPROVE, but 2 of its findings are `high`: the verdict would be CONDITIONAL or BLOCK",
            ],
        ),
        (
            review("BLOCK", "None."),
            &["has the verdict BLOCK, but it has no findings: the verdict would be APPROVE"],
        ),
        (
            review("BLOCK", "a.py:12 is wrong"),
            &[
                "has findings that are not in a table: list them as | file | line | severity | dimension | description | suggested fix |, or write `None`",
            ],
        ),
        (
            review("BLOCK", "| File | Severity |\n|-|-|\n| a | critical |"),
            &[
                "has a table of findings without the columns dimension, suggested fix: it is | file | line | severity | dimension | description | suggested fix |",
            ],
        ),
        (
            review("BLOCK", &format!("{HEAD}| | x | awful | taste | w | |\n")),
            &[
                "has a finding 1 whose severity is `awful`, but must be one of critical, high, low",
                "has a finding 1 whose dimension is `taste`, but must be one of quality, security",
                "has a finding 1 without a file",
                "has a finding 1 whose line is `x`, but must be a number from 1",
                "has a finding 1 without a suggested fix",
            ],
        ),
        (
            review("APPROVE", &json("0")),
            &["has a finding 1 whose line is `0`, but must be a number from 1"],
        ),
    ] {
        assert_eq!(proven(&text, &rules()), expected, "{text}");
    }
}

#[test]
fn only_a_line_that_says_just_none_says_that_there_are_no_findings() {
    for (findings, nothing) in [
        ("None", true),
        ("None.", true),
        ("**none**", true),
        ("No findings", true),
        ("_No findings._", true),
        ("- none", true),
        ("* No issues.", true),
        ("No issues were found.", true),
        ("None identified", true),
        ("No issues found in the parser, one in the writer.", false),
        ("`n/a`", true),
        ("(none)", true),
        ("—", true),
        ("### High\nNone.\n### Low\nNo findings.", true),
        ("", false),
        (
            "None of the checks failed to find a problem: a.py is wrong.",
            false,
        ),
        ("None\nof these works: a.py", false),
        ("None.\n\nBut a.py:12 is wrong.", false),
        ("Nothing works", false),
        ("No problem is as bad as a.py:12", false),
        ("- a.py:12 is wrong\n- none", false),
        ("None in app/store.py.", true),
        (
            "I read app/store.py and tests/test_store.py and have nothing to object to.",
            true,
        ),
        ("-12 is no valid index in a.py", false),
    ] {
        let problems = problems(&review("APPROVE", findings), &rules());
        assert_eq!(problems.is_empty(), nothing, "{findings:?}: {problems:?}");
    }
}

#[test]
fn places_are_read() {
    let rows = format!(
        "{HEAD}| a.py | L12-14 | low | quality | w | f |\n| `src/b.rs` | 3 | low | security | w | f |\n"
    );
    let rows =
        format!("{rows}| None | - | - | n/a | No findings | |\n| none.py | 1 | low | quality | w | f |\n");
    let read = read_review(&review("APPROVE", &rows), &rules());
    let places: Vec<(&str, u32)> = read.findings.iter().map(|f| (f.file.as_str(), f.line)).collect();
    assert_eq!(places, [("a.py", 12), ("src/b.rs", 3), ("none.py", 1)]);
    assert_eq!(read.verdict.as_deref(), Some("APPROVE"));
}

#[test]
fn only_the_first_flaws_are_told() {
    let rows = format!("{HEAD}{}", "| a.py | 1 | odd | quality | w | f |\n".repeat(12));
    let problems = proven(&review("APPROVE", &rows), &rules());
    assert_eq!(problems.len(), MAX_PROBLEMS + 1);
    assert_eq!(problems[MAX_PROBLEMS], "has 4 more such flaws");
}

#[test]
fn reviews_without_findings_name_what_was_read_or_keep_to_it() {
    let problem = |text: &str| problems(text, &rules()).join("; ");
    for text in [
        review(
            "APPROVE, it does what was asked.",
            "I did not find any issues in the changed files.",
        ),
        review(
            "APPROVE",
            "Geen. Gelezen: app/cli.py, app/store.py. Alles geslaagd, ook met een komma.",
        ),
    ] {
        assert_eq!(problem(&text), "", "{text}");
    }
    for (text, expected) in [
        (
            review(
                "APPROVE: I have carefully reviewed the entire implementation.",
                "No issues were found. The code is clean and readable and follows best practices.",
            ),
            "names nothing that was read or run",
        ),
        (
            review("APPROVE", "None.\n\nThe store loses notes when it restarts."),
            "findings that are not in a table",
        ),
        (
            review("APPROVE", "None.\n\nIn a.py:4 the store loses notes."),
            "findings that are not in a table",
        ),
    ] {
        assert!(problem(&text).contains(expected), "{text}: {}", problem(&text));
    }
}
