//! Tests for JavaScript and TypeScript, inside real vitest and jest.

mod bad_input;
mod compare;
mod defects;
mod project;
mod rounds;
mod settings;
mod units;

use std::fs;

use project::{TestProject, text};
use wavecrew_testgen::{Feedback, Framework};

const TEXT: &str = r"
export type Align = 'left' | 'right';
export function pad(text: string, width: number, align: Align = 'left'): string {
  const missing = width - text.length;
  if (missing <= 0) return text;
  return align === 'left' ? text + ' '.repeat(missing) : ' '.repeat(missing) + text;
}
export function duration(text: string): number {
  const match = /^(\d+)(ms|s)$/.exec(text);
  if (!match) throw new Error('bad duration');
  return match[2] === 's' ? Number(match[1]) * 1000 : Number(match[1]);
}
export async function twice(n: number): Promise<number> {
  return n * 2;
}
export function now(): number {
  return Date.now();
}
export class Counter {
  private n = 0;
  constructor(readonly step = 1) {}
  up(): this { this.n += this.step; return this; }
  get value(): number { return this.n; }
}
";

#[test]
fn modules_are_searched_at_the_same_time() {
    let source = |name: &str| format!("export function {name}(n) {{ return n > 2 ? '{name}' : 'none'; }}\n");
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        ("src/a/index.js", &source("first")),
        ("src/b/index.js", &source("second")),
        ("src/c.js", &source("third")),
    ];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let paths: Vec<&str> = files[1..].iter().map(|(path, _)| *path).collect();
    let modules = project.generate_all(Framework::Vitest, &paths, None);
    for (module, name) in modules.iter().zip(["first", "second", "third"]) {
        assert!(text(module).contains(&format!("describe('{name}'")), "{module:?}");
    }
    project.assert_passes(&["vitest", "run"]);
    let left: Vec<_> = fs::read_dir(project.root().join("tests"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn typescript_in_vitest() {
    let Some(project) = TestProject::new(&[("package.json", r#"{"type": "module"}"#), ("src/text.ts", TEXT)])
    else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/text.ts");
    let text = text(&module);
    for part in [
        "from '../src/text'",
        "describe('pad'",
        "describe('duration'",
        "toThrow(/^bad duration$/)",
        "await twice(",
        "new Counter(",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("now()"), "the clock is asserted:\n{text}");
    assert!(
        text.starts_with("// Records how src/text.ts behaves as of commit abc1234"),
        "{text}"
    );
    project.assert_passes(&["vitest", "run"]);
    let left: Vec<_> = fs::read_dir(project.root().join("tests")).unwrap().collect();
    assert_eq!(left.len(), 1, "the search removes its other files");
}

#[test]
fn common_modules_in_jest() {
    let source = "function clamp(n, low, high) { if (n < low) return low; if (n > high) return high; return n; }\n\
                  function last(items) { return items[items.length - 1]; }\nmodule.exports = { clamp, last };\n";
    let Some(project) = TestProject::new(&[("package.json", "{}"), ("lib/num.js", source)]) else {
        return;
    };
    let module = project.generate(Framework::Jest, "lib/num.js");
    let text = text(&module);
    assert!(
        text.contains("= require('../lib/num')") && text.contains("describe('clamp'"),
        "{text}"
    );
    project.assert_passes(&["jest", "--ci"]);
}

#[test]
fn tests_follow_the_naming_of_the_project_and_failed_ones_are_not_written_again() {
    let source = "export function sign(n: number): number { return n > 0 ? 1 : n < 0 ? -1 : 0; }\n";
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        ("src/sign.ts", source),
        (
            "src/old.spec.ts",
            "import { it } from 'vitest';\nit('is', () => {});\n",
        ),
    ];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/sign.ts");
    let written = &module.written[0];
    assert!(written.path.ends_with("tests/sign.spec.ts"), "{written:?}");
    fs::remove_file(&written.path).unwrap();
    let failing_tests = vec![written.tests[0].clone()];
    let round = Feedback {
        failing_tests: failing_tests.clone(),
        ..Feedback::default()
    };
    let again = project.generate_again(Framework::Vitest, "src/sign.ts", Some(round));
    assert_eq!(
        again.written[0].tests,
        written.tests[1..],
        "all but {failing_tests:?}"
    );
}

#[test]
fn path_aliases_and_both_module_systems() {
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        (
            "vitest.config.ts",
            "import { defineConfig } from 'vitest/config';\n\
             export default defineConfig({ resolve: { alias: { '@lib': new URL('./src/lib', import.meta.url).pathname } } });\n",
        ),
        (
            "src/lib/scale.ts",
            "export const scale = (n: number): number => n * 3;\n",
        ),
        (
            "src/use.ts",
            "import { scale } from '@lib/scale';\nimport old from './old.cjs';\n\
             export function both(n: number): number { return n > 5 ? scale(n) : old.half(n); }\n",
        ),
        ("src/old.cjs", "exports.half = (n) => n / 2;\n"),
        (
            "src/noisy.js",
            "console.log('loading');\nexport const one = () => 1;\n",
        ),
    ];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    for (file, call) in [
        ("src/use.ts", "both("),
        ("src/old.cjs", "half("),
        ("src/noisy.js", "one("),
    ] {
        let module = project.generate(Framework::Vitest, file);
        assert!(text(&module).contains(call), "{}", text(&module));
    }
    project.assert_passes(&["vitest", "run"]);
}
