//! vitest and jest.

use std::fs;

use serde_json::Value;
use wavecrew_measure::Measurement;
use wavecrew_measure::run::{Collect, Request, TestOrder};

use crate::measured::{MeasureSandbox, figures, fixes, rate};

/// The totals that istanbul's own summary has for a run by hand.
fn same_as_by_hand(sandbox: &MeasureSandbox, measured: &Measurement) {
    let text = fs::read(sandbox.path("coverage/coverage-summary.json")).unwrap();
    let json: Value = serde_json::from_slice(&text).unwrap();
    let (lines, branches) = (
        measured.coverage.lines().unwrap(),
        measured.coverage.branches().unwrap(),
    );
    let total = &json["total"];
    assert_eq!(total["lines"]["covered"], lines.covered);
    assert_eq!(total["lines"]["total"], lines.total);
    assert_eq!(total["branches"]["covered"], branches.covered);
    assert_eq!(total["branches"]["total"], branches.total);
}

#[test]
fn vitest() {
    let sandbox = MeasureSandbox::of("vitest");
    if !sandbox.link("node_modules", "node_modules") {
        return;
    }
    let before = sandbox.files();
    let measured = sandbox.measure("src/cart.ts").unwrap();
    assert_eq!(sandbox.files(), before);
    assert_eq!(
        figures(&measured),
        [
            "src/cart.ts 4/7 3/7",
            "src/generated.ts excluded 0/0",
            "src/größe map [1].ts 3/4 1/2",
            "src/unused.ts 0/1 0/2",
        ]
    );
    assert_eq!(rate(&measured), (2, 4));
    let names: Vec<String> = measured.failing().map(|test| test.id.to_string()).collect();
    assert!(
        names.contains(&"test/cart.test.ts::total > is wrong".to_owned()),
        "{names:?}"
    );
    assert!(names.contains(&"test/unloaded.test.ts".to_owned()), "{names:?}");

    sandbox.by_hand(
        "node_modules/.bin/vitest",
        &[
            "run",
            "--coverage.enabled",
            "--coverage.reporter=json-summary",
            "--coverage.reportOnFailure",
            "--coverage.include=src/**",
        ],
    );
    same_as_by_hand(&sandbox, &measured);
}

#[test]
fn jest() {
    let sandbox = MeasureSandbox::of("jest");
    if !sandbox.link("node_modules", "node_modules") {
        return;
    }
    let before = sandbox.files();
    let measured = sandbox.measure("src/cart.js").unwrap();
    assert_eq!(sandbox.files(), before);
    assert_eq!(
        figures(&measured),
        [
            "src/cart.js 5/8 3/7",
            "src/generated.js excluded 0/0",
            "src/größe map [1].js 3/4 1/2",
            "src/unused.js 0/2 0/2",
        ]
    );
    assert_eq!(rate(&measured), (2, 4));

    let cache = format!("--cacheDirectory={}", sandbox.beside("jest").display());
    sandbox.by_hand(
        "node_modules/.bin/jest",
        &[
            "--coverage",
            "--coverageReporters=json-summary",
            "--collectCoverageFrom=src/*.js",
            &cache,
        ],
    );
    same_as_by_hand(&sandbox, &measured);
}

#[test]
fn coverage_of_passing_tests_alone() {
    let cases = [
        (
            "vitest",
            "src/cart.ts",
            "test/label.test.ts",
            "import { describe, expect, it } from 'vitest';\nimport { label } from '../src/cart';\n",
        ),
        (
            "jest",
            "src/cart.js",
            "src/__tests__/label.test.js",
            "const { label } = require('../cart');\n",
        ),
    ];
    for (framework, source, test, head) in cases {
        let sandbox = MeasureSandbox::of(framework);
        if !sandbox.link("node_modules", "node_modules") {
            return;
        }
        let body =
            "describe('a label', () => { it('is > (no) label?', () => expect(label(1)).toBe('')); });\n";
        sandbox.write(test, format!("{head}{body}"));
        let project = sandbox.project_of(source);
        let scope = [sandbox.path(source)];
        let request = Request {
            project: &project,
            scope: &scope,
            tests: &[],
            coverage: Collect::TestsAndCoverage,
            order: TestOrder::Default,
            canaries: false,
        };
        let mut measured = sandbox.runner().measure(&request).unwrap();
        let all = measured.coverage.lines().unwrap().covered;
        sandbox
            .runner()
            .measure_passing_coverage(&request, &mut measured)
            .unwrap();
        assert_eq!(measured.coverage.lines().unwrap().covered, all - 1, "{framework}");
    }
}

#[test]
fn a_missing_npm_package_is_named() {
    let sandbox = MeasureSandbox::of("jest");
    if !sandbox.link("node_modules", "node_modules") {
        return;
    }
    sandbox.write(
        "src/__tests__/unloaded.test.js",
        "require('surely-not-there/deep');\n",
    );
    let measured = sandbox.measure("src/cart.js").unwrap();
    assert!(
        fixes(&measured).contains("npm install --save-dev surely-not-there"),
        "{:?}",
        measured.notes
    );
}

#[test]
fn without_the_framework_the_install_command_is_shown() {
    for (project, of, fix) in [
        (
            "vitest",
            "src/cart.ts",
            "npm install --save-dev vitest @vitest/coverage-v8",
        ),
        ("jest", "src/cart.js", "npm install --save-dev jest"),
    ] {
        assert_eq!(MeasureSandbox::of(project).measure(of).unwrap_err().help(), fix);
    }
}
