//! Later rounds, and runs on projects that have tests: only what is new is written.

use std::collections::BTreeMap;
use std::fs;

use wavecrew_testgen::{Feedback, Framework, Module};

use crate::lab::{Lab, text};

/// The inner branch asks for a value that only the comparison itself tells.
const DOOR: &str = "export function open(code, floor) {\n\
    if (typeof code !== 'string') return 'no code';\n\
    const mark = code.length * 7919 + 13;\n\
    if (floor === mark) {\n    return 'vault';\n  }\n\
    return floor > 10 ? 'high' : 'low';\n}\n";

/// What a round would say that left these lines open.
fn open(lab: &Lab, file: &str, uncovered: &[(u32, u32)], survivors: &[u32]) -> Feedback {
    let file = lab.root().canonicalize().unwrap().join(file);
    Feedback {
        uncovered: BTreeMap::from([(file.clone(), uncovered.to_vec())]),
        failing_tests: Vec::new(),
        surviving_mutants: BTreeMap::from([(file, survivors.to_vec())]),
    }
}

#[track_caller]
fn says_nothing_new(module: &Module) {
    assert_eq!(module.written, [], "{module:?}");
    assert!(
        module
            .left_out
            .iter()
            .any(|left| left.why.starts_with("nothing new: the ")),
        "{module:?}"
    );
}

const FIRST: &str = "import { expect, it } from 'vitest';\nimport { open } from '../src/door';\n\
    it('is low', () => { expect(open('a', 1)).toBe('low'); });\n\
    it('is high', () => { expect(open('a', 11)).toBe('high'); expect(open('a', 10)).toBe('low'); });\n\
    it('has no code', () => { expect(open(1, 1)).toBe('no code'); });\n";

#[test]
fn a_later_round_reaches_what_is_open_and_writes_nothing_else() {
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        ("src/door.js", DOOR),
        ("tests/door.test.js", FIRST),
    ];
    let Some(lab) = Lab::new(&files) else { return };
    let round = open(&lab, "src/door.js", &[(5, 5)], &[]);
    let second = lab.write_again(Framework::Vitest, "src/door.js", Some(round.clone()));
    let written = text(&second);
    assert!(
        second.written[0].path.ends_with("tests/door-2.test.js"),
        "{second:?}"
    );
    assert!(written.contains("toBe('vault')"), "{written}");
    for known in ["toBe('high')", "toBe('low')", "toBe('no code')"] {
        assert!(!written.contains(known), "{known} is there already:\n{written}");
    }
    lab.passes(&["vitest", "run"]);

    let third = lab.write_again(Framework::Vitest, "src/door.js", Some(round));
    says_nothing_new(&third);
    let left = fs::read_dir(lab.root().join("tests")).unwrap().count();
    assert_eq!(left, 2, "nothing is left of the search");
}

#[test]
fn faults_that_nobody_notices_are_aimed_at() {
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
    let Some(lab) = Lab::new(&files) else { return };
    let round = open(&lab, "lib/fee.js", &[], &[2]);
    let module = lab.write_again(Framework::Jest, "lib/fee.js", Some(round));
    let written = text(&module);
    assert!(
        written.contains("fee(18)") || written.contains("fee(17)"),
        "{written}"
    );
    assert!(
        !written.contains("label("),
        "line 6 was not asked for:\n{written}"
    );
    lab.passes(&["jest", "--ci"]);
}

#[test]
fn a_second_run_writes_nothing_twice() {
    let source = "export function sign(n: number): number {\n  if (n > 0) return 1;\n  if (n < 0) return -1;\n  return 0;\n}\n\
                  export class Box {\n  private n = 0;\n  put(n: number): number { this.n += n; return this.n; }\n}\n";
    let Some(lab) = Lab::new(&[("package.json", r#"{"type": "module"}"#), ("src/sign.ts", source)]) else {
        return;
    };
    let first = lab.write(Framework::Vitest, "src/sign.ts");
    assert!(
        first.mutants.is_some_and(|mutants| mutants.survived == 0),
        "{first:?}"
    );
    // As somebody has taken them over.
    fs::create_dir(lab.root().join("checks")).unwrap();
    let kept = lab.root().join("checks/sign.test.ts");
    fs::rename(&first.written[0].path, &kept).unwrap();
    says_nothing_new(&lab.write(Framework::Vitest, "src/sign.ts"));
    // Tests that prepare their surroundings are not run apart from them.
    let apart = fs::read_to_string(&kept).unwrap() + "\nvi.useFakeTimers();\n";
    fs::write(&kept, apart).unwrap();
    assert_eq!(lab.write(Framework::Vitest, "src/sign.ts").written.len(), 1);
}
