//! Later rounds, and projects with existing tests: only new tests are written.

use std::collections::BTreeMap;
use std::fs;

use wavecrew_testgen::{Feedback, Framework, Module};

use super::project::{TestProject, text};

/// Only the comparison itself reveals the value that the inner branch needs.
const DOOR: &str = "export function open(code, floor) {\n\
    if (typeof code !== 'string') return 'no code';\n\
    const mark = code.length * 7919 + 13;\n\
    if (floor === mark) {\n    return 'vault';\n  }\n\
    return floor > 10 ? 'high' : 'low';\n}\n";

/// Feedback of a round that left these lines open.
fn feedback(project: &TestProject, file: &str, uncovered: &[(u32, u32)], survivors: &[u32]) -> Feedback {
    let file = project.root().canonicalize().unwrap().join(file);
    Feedback {
        uncovered: BTreeMap::from([(file.clone(), uncovered.to_vec())]),
        failing_tests: Vec::new(),
        refused_tests: Vec::new(),
        surviving_mutants: BTreeMap::from([(file, survivors.to_vec())]),
    }
}

#[track_caller]
fn assert_nothing_new(module: &Module) {
    assert_eq!(module.written, [], "{module:?}");
    assert!(
        module
            .dropped
            .iter()
            .any(|dropped| dropped.why.starts_with("nothing new: ")),
        "{module:?}"
    );
}

const FIRST: &str = "import { expect, it } from 'vitest';\nimport { open } from '../src/door';\n\
    it('is low', () => { expect(open('a', 1)).toBe('low'); });\n\
    it('is high', () => { expect(open('a', 11)).toBe('high'); expect(open('a', 10)).toBe('low'); });\n\
    it('has no code', () => { expect(open(1, 1)).toBe('no code'); });\n";

#[test]
fn a_later_round_covers_only_what_is_open() {
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        ("src/door.js", DOOR),
        ("tests/door.test.js", FIRST),
    ];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let round = feedback(&project, "src/door.js", &[(5, 5)], &[]);
    let second = project.generate_again(Framework::Vitest, "src/door.js", Some(round.clone()));
    let written = text(&second);
    assert!(
        second.written[0].path.ends_with("tests/door-2.test.js"),
        "{second:?}"
    );
    assert!(written.contains("toBe('vault')"), "{written}");
    for known in ["toBe('high')", "toBe('low')", "toBe('no code')"] {
        assert!(!written.contains(known), "{known} exists already:\n{written}");
    }
    project.assert_passes(&["vitest", "run"]);

    let third = project.generate_again(Framework::Vitest, "src/door.js", Some(round));
    assert_nothing_new(&third);
    let left = fs::read_dir(project.root().join("tests")).unwrap().count();
    assert_eq!(left, 2, "the search removes its files");
}

#[test]
fn surviving_mutants_are_searched_for() {
    let source = "function fee(age) {\n  if (age < 18) return 5;\n  return 9;\n}\n\
                  function label(age) {\n  return age > 65 ? 'old' : 'young';\n}\nmodule.exports = { fee, label };\n";
    let test = "const { fee, label } = require('../lib/fee');\n\
                describe('fee', () => {\n  let age;\n  beforeEach(() => { age = 3; });\n  \
                it.each([[3, 5], [40, 9]])('of %i', (age, due) => { expect(fee(age)).toBe(due); });\n  \
                it('is small', () => { expect(fee(age)).toBe(5); });\n});\n\
                it('labels', () => { expect(label(80)).toBe('old'); expect(label(8)).toBe('young'); });\n";
    let files = [
        ("package.json", "{}"),
        ("lib/fee.js", source),
        ("tests/fee.test.js", test),
    ];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let round = feedback(&project, "lib/fee.js", &[], &[2]);
    let module = project.generate_again(Framework::Jest, "lib/fee.js", Some(round));
    let written = text(&module);
    assert!(
        written.contains("fee(18)") || written.contains("fee(17)"),
        "{written}"
    );
    assert!(
        !written.contains("label("),
        "line 6 was not asked for:\n{written}"
    );
    project.assert_passes(&["jest", "--ci"]);
}

#[test]
fn a_second_run_writes_no_test_twice() {
    let source = "export function sign(n: number): number {\n  if (n > 0) return 1;\n  if (n < 0) return -1;\n  return 0;\n}\n\
                  export class Box {\n  private n = 0;\n  put(n: number): number { this.n += n; return this.n; }\n}\n";
    let Some(project) =
        TestProject::new(&[("package.json", r#"{"type": "module"}"#), ("src/sign.ts", source)])
    else {
        return;
    };
    let first = project.generate(Framework::Vitest, "src/sign.ts");
    assert!(
        first.mutants.is_some_and(|mutants| mutants.survived == 0),
        "{first:?}"
    );
    // As if somebody had moved them into their own tests.
    fs::create_dir(project.root().join("checks")).unwrap();
    let kept = project.root().join("checks/sign.test.ts");
    fs::rename(&first.written[0].path, &kept).unwrap();
    assert_nothing_new(&project.generate(Framework::Vitest, "src/sign.ts"));
    // Tests that need setup are not run alone.
    let apart = fs::read_to_string(&kept).unwrap() + "\nvi.useFakeTimers();\n";
    fs::write(&kept, apart).unwrap();
    assert_eq!(
        project.generate(Framework::Vitest, "src/sign.ts").written.len(),
        1
    );
}
