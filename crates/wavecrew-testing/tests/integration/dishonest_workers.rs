//! What workers do to look better than they are, each with the message that they get.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::session::{TestSession, at, figures};
use wavecrew_core::check_report::{CheckDetails, CheckReport};
use wavecrew_testing::scope::MutationEffort;

const HONEST: &str = "from shop.price import is_cheap, total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_cheap():\n    assert is_cheap(9) is True\n    assert is_cheap(10) is False\n";

fn checked_session() -> Option<TestSession> {
    let session = TestSession::python()?;
    session.write("tests/test_old.py", "def test_old():\n    assert 1 + 1 == 2\n");
    session.begin(MutationEffort::Off);
    session.test("test_price.py", HONEST);
    assert!(figures(&session.generated(1)).starts_with("holds"));
    Some(session)
}

#[test]
fn editing_source_is_detected_and_undone() {
    let Some(session) = checked_session() else { return };
    let copy = session.folder.join("tree/shop/price.py");
    fs::write(&copy, "def total(items, discount=0):\n    return 0\n").unwrap();
    assert_eq!(
        figures(&session.generated(2)),
        "contradicted source was changed, only tests of the layer may be written: shop/price.py was edited"
    );
    assert_eq!(at(&copy), at(&session.path("shop/price.py")));
    fs::remove_file(session.folder.join("tree/tests/test_old.py")).unwrap();
    assert_eq!(
        figures(&session.run(1)),
        "contradicted existing tests were changed, only new ones may be written: tests/test_old.py was removed"
    );
    assert_eq!(figures(&session.run(2)), "holds 1.00 88.88");
}

#[test]
fn weakening_tests_is_detected_and_undone() {
    let Some(session) = checked_session() else { return };
    assert_eq!(figures(&session.run(1)), "holds 1.00 88.88");
    let cases = [
        (
            "`test_cheap` (line 8) was removed",
            HONEST.split("\n\n\ndef test_cheap").next().unwrap().to_owned(),
        ),
        (
            "skipped",
            HONEST
                .replace("def test_cheap", "@pytest.mark.skip\ndef test_cheap")
                .replacen("from", "import pytest\nfrom", 1),
        ),
        (
            "fail",
            HONEST
                .replace("def test_cheap", "@pytest.mark.xfail\ndef test_cheap")
                .replacen("from", "import pytest\nfrom", 1),
        ),
        ("test_total", HONEST.replace("assert total([1, 2]) == 3", "pass")),
        (
            "test_total",
            HONEST.replace("assert total([1, 2]) == 3", "assert total([1, 2]) is not None"),
        ),
    ];
    for (part, text) in cases {
        session.test("test_price.py", &text);
        let text = figures(&session.run(2));
        assert!(
            text.starts_with("contradicted tests were weakened: test_price.py: "),
            "{text}"
        );
        assert!(text.contains(part), "no `{part}` in {text}");
        assert_eq!(session.read("tests/L1-unit/test_price.py"), HONEST);
    }
    fs::remove_file(session.folder.join("tests/L1-unit/test_price.py")).unwrap();
    assert_eq!(
        figures(&session.generated(2)),
        "contradicted tests were weakened: test_price.py was deleted with its 2 tests"
    );
}

#[test]
fn tests_without_assertions_are_sent_back() {
    let Some(session) = TestSession::python() else {
        return;
    };
    session.begin(MutationEffort::Off);
    for (part, text) in [
        (
            "test_a.py::test_a (asserts nothing that could fail)",
            "from shop.price import total\n\n\ndef test_a():\n    total([1])\n",
        ),
        (
            "test_a.py::test_a (asserts nothing that could fail)",
            "def test_a():\n    assert True\n",
        ),
        (
            "test_a.py::test_a (is skipped)",
            "import pytest\n\n\n@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n",
        ),
        (
            "test_a.py (does not parse: line 1",
            "def test_a(:\n    assert f() == 1\n",
        ),
        ("test_a.py (contains no test)", "x = 1\n"),
        (
            "no test file loads: test_a.py:",
            "from shop.nowhere import f\n\n\ndef test_a():\n    assert f() == 1\n",
        ),
        (
            "tests change source while they run: shop/price.py",
            "from shop import price\n\n\ndef test_a():\n    open(price.__file__, 'a').write('x = 1\\n')\n    assert price.total([1]) == 1\n",
        ),
    ] {
        session.test("test_a.py", text);
        let text = figures(&session.generated(1));
        assert!(
            text.starts_with("send back ") && text.contains(part),
            "no `{part}` in {text}"
        );
    }
    fs::rename(
        session.folder.join("tests/L1-unit/test_a.py"),
        session.folder.join("tests/L1-unit/a.py"),
    )
    .unwrap();
    assert_eq!(
        figures(&session.generated(1)),
        "send back none of the files counts as a test (a.py): names have to look like test_*.py"
    );
}

#[test]
fn one_bad_test_does_not_cost_the_others() {
    let Some(session) = TestSession::python() else {
        return;
    };
    session.write("tests/test_old.py", "def test_old():\n    assert 1 + 1 == 2\n");
    session.begin(MutationEffort::Off);
    let mixed = format!("{HONEST}\n\ndef test_nothing():\n    total([1])\n");
    session.test("test_price.py", &mixed);
    session.test("test_typo.py", "def test_a(:\n    assert f() == 1\n");
    session.test(
        "test_dies.py",
        "import os\n\n\ndef test_dies():\n    os.kill(os.getpid(), 9)\n    assert os.getpid() == 0\n",
    );
    // The project has a file of this name.
    session.test(
        "test_old.py",
        "from shop.price import total\n\n\ndef test_none():\n    assert total([]) == 0\n",
    );
    let CheckReport::Confirmed(details) = session.generated(1) else {
        panic!("the rest of the delivery counts");
    };
    assert_eq!(
        details.measured["test_files"],
        "tests/L1-unit/test_dies.py;tests/L1-unit/test_old_l1.py;tests/L1-unit/test_price.py"
    );
    for part in [
        "test_price.py::test_nothing (asserts nothing that could fail)",
        "test_typo.py (does not parse: line 1",
    ] {
        assert!(
            details.findings.contains(part),
            "no `{part}` in {}",
            details.findings
        );
    }
    assert_eq!(session.read("tests/L1-unit/test_price.py"), HONEST);
    assert_eq!(session.read("results/dropped/L1/test_price.py"), mixed);
    assert_eq!(figures(&session.run(1)), "short 1.00 of 0.75 88.88");
    let feedback = session.read("results/feedback-L1.md");
    for part in [
        "- `test_price.py::test_nothing` asserts nothing that could fail\n",
        "### `test_dies.py` hangs, or kills the process that runs it\n",
    ] {
        assert!(feedback.contains(part), "no `{part}` in {feedback}");
    }
    let summary: serde_json::Value = serde_json::from_str(&session.read("results/summary.json")).unwrap();
    assert_eq!(summary["line"], "3 tests in 2 files kept · coverage 88.8 %");
}

#[test]
fn a_false_claim_is_answered_with_the_measured_figures() {
    let Some(session) = checked_session() else { return };
    let verdict = session.run_claiming(1, &[("pass_rate", "1.0"), ("coverage_achieved", "100%")]);
    let text = format!("{verdict:?}");
    assert!(
        text.contains("claimed coverage_achieved 100%, measured 88.88")
            && !text.contains("claimed pass_rate"),
        "{text}"
    );
}

#[test]
fn changes_of_the_project_are_reported() {
    let Some(session) = checked_session() else { return };
    let source = at(&session.path("shop/price.py"));
    session.write("shop/price.py", "def total(items, discount=0):\n    return 0\n");
    session.write("shop/new.py", "x = 1\n");
    session.write("notes.txt", "not code\n");
    fs::remove_file(session.path("tests/test_old.py")).unwrap();
    // What a person did before the worker began is not held against it.
    session.began.set(SystemTime::now() + Duration::from_hours(1));
    assert_eq!(figures(&session.run(1)), "holds 1.00 88.88");
    session.began.set(UNIX_EPOCH);
    let verdict = session.run(1);
    // It may have been a person, so it is only a remark.
    assert_eq!(figures(&verdict), "holds 1.00 88.88");
    let CheckReport::Confirmed(CheckDetails { findings, .. }) = &verdict else {
        panic!("{verdict:?}")
    };
    let expected = "the project itself was changed while the worker was at work: shop/price.py was edited, \
                    tests/test_old.py was removed, shop/new.py was added (if it was not you,";
    assert!(findings.contains(expected), "{findings}");
    // Nothing is undone.
    assert_ne!(at(&session.path("shop/price.py")), source);
}
