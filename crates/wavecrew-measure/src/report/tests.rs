use super::CoverageFormat::{Cobertura, CoveragePy, GoProfile, Istanbul, Lcov, LlvmCov};
use super::*;
use crate::measurement::{Ratio, TestOutcome};

macro_rules! sample {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/samples/", $name))
    };
}

/// `outcome file::name` of each test, without texts.
fn outcomes(format: TestFormat, report: &[u8]) -> Vec<String> {
    let tests = format.parse(report).unwrap();
    let word = |outcome: &TestOutcome| match outcome {
        TestOutcome::Passed => "passed",
        TestOutcome::Failed { .. } => "failed",
        TestOutcome::Error { .. } => "error",
        TestOutcome::Unloaded { .. } => "unloaded",
        TestOutcome::ExpectedFailure { .. } => "xfail",
        TestOutcome::Skipped { .. } => "skipped",
    };
    tests
        .iter()
        .map(|t| format!("{} {}", word(&t.outcome), t.id))
        .collect()
}

/// `file covered/total covered/total of branches, ranges`.
fn figures(format: CoverageFormat, report: &[u8]) -> Vec<String> {
    let show = |r: Ratio| format!("{}/{}", r.covered, r.total);
    let files = format.parse(report).unwrap();
    let line = |(path, hits): (String, Hits)| {
        let file = hits.into_coverage(path);
        let ranges: Vec<String> = file.uncovered.iter().map(ToString::to_string).collect();
        let branches = file.branches.map_or("-".to_owned(), show);
        format!(
            "{} {} {branches} [{}]",
            file.path,
            show(file.lines),
            ranges.join(",")
        )
    };
    files.into_iter().map(line).collect()
}

#[test]
fn pytest_junit() {
    let report = sample!("pytest.xml");
    assert_eq!(
        outcomes(TestFormat::JUnit, report),
        [
            "unloaded tests/test_unloaded.py",
            "passed tests/test_price.py::test_sum",
            "passed tests/test_price.py::TestDiscount::test_discount[0-350]",
            "passed tests/test_price.py::TestDiscount::test_discount[50-175]",
            "failed tests/test_price.py::TestDiscount::test_wrong",
            "error tests/test_price.py::test_set_up",
            "skipped tests/test_price.py::test_later",
            "xfail tests/test_price.py::test_known",
            "passed tests/with space/test_größe.py::test_weit_ü",
            "passed tests/with space/test_größe.py::test_stock_list",
        ]
    );
    let tests = TestFormat::JUnit.parse(report).unwrap();
    assert!(
        tests[4]
            .outcome
            .text()
            .contains(">       assert total(prices, 10) == 999\nE       assert 315 == 999")
    );
    assert_eq!(tests[6].outcome.text(), "later");
    assert_eq!(tests[2].duration, std::time::Duration::from_millis(4));
}

#[test]
fn nextest_junit() {
    let report = sample!("nextest.xml");
    assert_eq!(
        outcomes(TestFormat::JUnit, report),
        [
            "passed fixture-shop::price::adds",
            "failed fixture-shop::price::is_wrong"
        ]
    );
    let tests = TestFormat::JUnit.parse(report).unwrap();
    assert!(tests[1].outcome.text().contains("left: 100\n right: 999"));
}

#[test]
fn vitest_and_jest_count_files_that_do_not_load() {
    let expected = |folder: &str, ending: &str| {
        let file = |name: &str| format!("/project/{folder}/{name}.test.{ending}");
        let cart = file("cart");
        vec![
            format!("passed {cart}::total > adds"),
            format!("failed {cart}::total > is wrong"),
            format!("skipped {cart}::total > is later"),
            format!("passed {cart}::weit ü"),
            format!("unloaded {}", file("unloaded")),
        ]
    };
    let sorted = |report: &[u8]| {
        let mut found = outcomes(TestFormat::Jest, report);
        found.sort_by_key(|line| line.contains("unloaded"));
        found
    };
    assert_eq!(sorted(sample!("vitest.json")), expected("vitest/test", "ts"));
    assert_eq!(sorted(sample!("jest.json")), expected("jest/src/__tests__", "js"));
}

#[test]
fn tests_that_vitest_did_not_get_to_never_ran() {
    let report = |extra: &str| {
        format!(
            r#"{{{extra}"testResults":[{{"name":"a.js","status":"passed","assertionResults":[{{"title":"t","status":"pending"}}]}}]}}"#
        )
    };
    for (extra, expected) in [
        ("", "never ran"),
        (r#""numRuntimeErrorTestSuites":0,"#, "pending"),
    ] {
        let tests = TestFormat::Jest.parse(report(extra).as_bytes()).unwrap();
        let [test] = &tests[..] else {
            panic!("{tests:?}");
        };
        assert_eq!(test.outcome.text(), expected);
    }
}

#[test]
fn failure_messages_have_no_colours() {
    for report in [&sample!("vitest.json")[..], sample!("jest.json")] {
        let tests = TestFormat::Jest.parse(report).unwrap();
        let failed = tests
            .iter()
            .find(|t| matches!(t.outcome, TestOutcome::Failed { .. }))
            .unwrap();
        assert!(failed.outcome.text().contains("999"));
        assert!(!failed.outcome.text().contains('\u{1b}'));
    }
}

#[test]
fn go_test_events() {
    assert_eq!(
        outcomes(TestFormat::GoEvents, sample!("go-events.jsonl")),
        [
            "passed example.com/shop::TestTotal",
            "failed example.com/shop::TestWrong/inner",
            "failed example.com/shop::TestWrong",
            "skipped example.com/shop::TestLater",
        ]
    );
}

#[test]
fn a_go_package_that_does_not_build_is_unloaded() {
    let report = br#"{"Action":"build-output","ImportPath":"m/a","Output":"a.go:1: undefined: x\n"}
{"Action":"build-fail","ImportPath":"m/a"}
{"Action":"start","Package":"m/a"}
{"Action":"output","Package":"m/a","Output":"FAIL\tm/a [build failed]\n"}
{"Action":"fail","Package":"m/a","Elapsed":0}
"#;
    assert_eq!(outcomes(TestFormat::GoEvents, report), ["unloaded m/a"]);
    assert!(
        TestFormat::GoEvents.parse(report).unwrap()[0]
            .outcome
            .text()
            .starts_with("a.go:1: undefined: x")
    );
}

/// The figures that `coverage report` printed for the same data.
#[test]
fn coverage_py_in_its_three_formats() {
    let expected = [
        "shop/__init__.py 0/0 0/0 []",
        "shop/größe.py 3/4 1/2 [4]",
        "shop/price.py 6/11 3/6 [8,13-16]",
        "shop/unused.py 0/4 0/2 [1-4]",
        "tools/stock list.py 3/4 0/0 [6]",
    ];
    assert_eq!(
        figures(CoverageFormat::CoveragePy, sample!("coverage-py.json")),
        expected
    );
    // These two have no word for a file with no branches.
    let bare: Vec<String> = expected
        .iter()
        .map(|line| line.replace(" 0/0 [", " - ["))
        .collect();
    assert_eq!(figures(CoverageFormat::Lcov, sample!("coverage-py.lcov")), bare);
    let below: Vec<String> = bare
        .iter()
        .map(|line| format!("/project/python/{line}"))
        .collect();
    assert_eq!(
        figures(CoverageFormat::Cobertura, sample!("cobertura.xml")),
        below
    );
}

/// The figures of the json-summary reporter for the same runs.
#[test]
fn istanbul() {
    assert_eq!(
        figures(CoverageFormat::Istanbul, sample!("istanbul-vitest.json")),
        [
            "/project/vitest/src/cart.ts 4/7 3/7 [3,6,13]",
            "/project/vitest/src/größe map [1].ts 3/4 1/2 [5]",
            "/project/vitest/src/unused.ts 0/1 0/2 [2]",
        ]
    );
    assert_eq!(
        figures(CoverageFormat::Istanbul, sample!("istanbul-jest.json")),
        [
            "/project/jest/src/cart.js 5/8 3/7 [3,6,13]",
            "/project/jest/src/größe map [1].js 3/4 1/2 [5]",
            "/project/jest/src/unused.js 0/2 0/2 [1-2]",
        ]
    );
}

#[test]
fn a_negative_count_means_that_nothing_ran() {
    let report = br#"{"/a.js": {"path": "/a.js",
        "statementMap": {"0": {"start": {"line": 1}}, "1": {"start": {"line": 2}}}, "s": {"0": 1, "1": -1},
        "branchMap": {"0": {"loc": {"start": {"line": 2}}}}, "b": {"0": [-1, 1]}}}"#;
    assert_eq!(figures(CoverageFormat::Istanbul, report), ["/a.js 1/2 1/2 [2]"]);
}

#[test]
fn llvm_cov_json_has_the_lines_of_its_lcov() {
    let json = CoverageFormat::LlvmCov.parse(sample!("llvm-cov.json")).unwrap();
    let lcov = CoverageFormat::Lcov.parse(sample!("llvm-cov.lcov")).unwrap();
    assert_eq!(json.keys().collect::<Vec<_>>(), lcov.keys().collect::<Vec<_>>());
    for (file, hits) in &json {
        assert_eq!(hits.lines, lcov[file].lines, "{file}");
    }
    assert!(
        figures(CoverageFormat::LlvmCov, sample!("llvm-cov.json"))[0]
            .starts_with("/project/cargo/src/lib.rs 5/9")
    );
}

#[test]
fn go_cover_profile() {
    assert_eq!(
        figures(CoverageFormat::GoProfile, sample!("go-profile.txt")),
        ["example.com/shop/price.go 5/9 - [14-17]"]
    );
}

#[test]
fn coverage_formats_are_guessed() {
    let cases: [(&[u8], CoverageFormat); 6] = [
        (sample!("coverage-py.json"), CoverageFormat::CoveragePy),
        (sample!("istanbul-jest.json"), CoverageFormat::Istanbul),
        (sample!("coverage-py.lcov"), CoverageFormat::Lcov),
        (sample!("cobertura.xml"), CoverageFormat::Cobertura),
        (sample!("go-profile.txt"), CoverageFormat::GoProfile),
        (sample!("llvm-cov.json"), CoverageFormat::LlvmCov),
    ];
    for (report, format) in cases {
        assert_eq!(CoverageFormat::guess(report), Some(format));
    }
    assert_eq!(CoverageFormat::guess(sample!("pytest.xml")), None);
}

#[test]
fn truncated_and_invalid_reports_are_errors() {
    let cut = &sample!("pytest.xml")[..600];
    assert!(TestFormat::JUnit.parse(cut).is_err());
    for format in [TestFormat::JUnit, TestFormat::Jest, TestFormat::GoEvents] {
        assert!(format.parse(b"Segmentation fault").is_err(), "{format:?}");
    }
    for format in [CoveragePy, Istanbul, Lcov, Cobertura, GoProfile, LlvmCov] {
        assert!(format.parse(b"Segmentation fault").is_err(), "{format:?}");
    }
}

#[test]
fn a_long_message_is_cut_in_the_middle() {
    let text = message(&"ü".repeat(1_000_000));
    assert!(text.len() < 2 * MESSAGE_LIMIT);
    assert!(text.contains("bytes left out"));
}
