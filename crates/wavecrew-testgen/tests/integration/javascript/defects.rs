//! Suspected defects and their quarantine.

use std::fs;
use std::process::{Command, Stdio};

use wavecrew_testgen::{Feedback, Framework, Module};

use super::project::{TestProject, text};

const SUSPICIOUS: &str = r"
/**
 * Shouts.
 * @example
 * shout('hello there') // => 'HELLO THERE!'
 */
export function shout(text: string): string { return text.toUpperCase(); }
/** The inverse of `decodeKey`. */ export function encodeKey(text: string): string { return text.replace(/b/g, 'B'); }
export function decodeKey(text: string): string { return text.replace(/B/g, 'b'); }
export function first(items: string[]): string { return items[0].trim(); }
export function spin(n: number): number { while (n > 2) { n += 0; } return n; }
/**
 * @example
 * double(4); // 9
 */
export function double(n: number): number { return n * 2; }
/* `rgbToHex` reverses this. */ export function hexToRgb(text: string): string { return 'rgb' + text.replace(/a/g, 'A'); }
export function rgbToHex(text: string): string { return text.slice(3).replace(/A/g, 'a'); }
export class Basket {
  private items: string[] = [];
  add(name: string): void { this.items.push(name); }
  newest(): string { return this.items[this.items.length - 1].toUpperCase(); }
}
export function slow(n: number): number { let sum = 0; for (let i = 0; i < n * 1000; i += 1) sum += i; return sum; }
";

#[test]
fn suspected_defects_are_quarantined() {
    let Some(project) = TestProject::new(&[
        ("package.json", r#"{"type": "module"}"#),
        ("src/odd.ts", SUSPICIOUS),
    ]) else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/odd.ts");
    for (line, kind, call) in [
        (7, "example disagrees", "shout('hello there')"),
        (8, "round trip", "encodeKey('B')"),
        (10, "internal error", "first([])"),
        (11, "does not end", "spin("),
        (16, "example disagrees", "double(4)"),
        (17, "round trip", "hexToRgb('A')"),
        (22, "internal error", "made = new Basket(); made.newest()"),
    ] {
        let found = module.defects.iter().find(|defect| defect.call.starts_with(call));
        let found = found.unwrap_or_else(|| panic!("no {call} in {:?}", module.defects));
        assert_eq!((found.kind.as_str(), found.line), (kind, line), "{found:?}");
    }
    assert_eq!(
        module.defects.len(),
        7,
        "slowness with large numbers is no defect: {:?}",
        module.defects
    );
    let kept = text(&module);
    assert!(
        !kept.contains("first([])") && !kept.contains("shout('hello there')"),
        "{kept}"
    );
    project.assert_passes(&["vitest", "run"]);
    assert_eq!(
        failing(&project, &module, "vitest"),
        7,
        "each test shows its defect"
    );

    let quarantine = module.defects[0].quarantine.as_ref().unwrap();
    let before = fs::read_to_string(quarantine).unwrap();
    let again = project.generate_again(Framework::Vitest, "src/odd.ts", Some(Feedback::default()));
    assert_eq!(again.defects, [], "each is reported once");
    assert_eq!(fs::read_to_string(quarantine).unwrap(), before);
}

/// How many tests of the quarantine fail when they are run.
fn failing(project: &TestProject, module: &Module, framework: &str) -> usize {
    let quarantine = module.defects[0].quarantine.as_ref().unwrap();
    let name = quarantine.file_name().unwrap().to_str().unwrap();
    let shown = project.root().join("tests").join(name.replacen('.', ".test.", 1));
    fs::copy(quarantine, &shown).unwrap();
    let report = project.root().join("report.json");
    let mut command = Command::new(project.root().join("node_modules/.bin").join(framework));
    match framework {
        "vitest" => command.args(["run", "--reporter=json"]),
        _ => command.args(["--ci", "--json"]),
    };
    command
        .arg(&shown)
        .arg(format!("--outputFile={}", report.display()))
        .current_dir(project.root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    fs::remove_file(shown).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["numPassedTests"], 0, "{report}");
    usize::try_from(report["numFailedTests"].as_u64().unwrap()).unwrap()
}

#[test]
fn called_methods_count_as_declared_types() {
    let source = "function unit(text) { return /[a-z]+$/.exec(text.trim())[0]; }\n\
                  async function wait(text) { return text.toLowerCase().split(':')[1].trim(); }\n\
                  function open(thing) { return thing.a.b; }\nmodule.exports = { unit, wait, open };\n";
    let Some(project) = TestProject::new(&[("package.json", "{}"), ("lib/unit.js", source)]) else {
        return;
    };
    let module = project.generate(Framework::Jest, "lib/unit.js");
    let calls: Vec<(&str, &str)> = module
        .defects
        .iter()
        .map(|defect| (defect.kind.as_str(), defect.call.as_str()))
        .collect();
    assert_eq!(
        calls,
        [("internal error", "unit('')"), ("internal error", "wait('')")],
        "undeclared parameters may be anything"
    );
    assert_eq!(failing(&project, &module, "jest"), 2);
}

#[test]
fn names_alone_promise_no_round_trip() {
    let source = "export function stringifyPath(parts: string[]): string { return parts.join('.'); }\n\
                  export function parsePath(path: string): string[] { return path.split('.').filter(Boolean); }\n";
    let files = [("package.json", r#"{"type": "module"}"#), ("src/path.ts", source)];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/path.ts");
    assert_eq!(module.defects, [], "nothing says that `a..b` comes back");
}

#[test]
fn rounded_numbers_need_not_survive_a_round_trip() {
    let source = "/** `parse` reverses `format`. */\n\
                  export function format(ms: number): string { return Math.round(ms / 1000) + 's'; }\n\
                  export function parse(text: string): number { return Number(text.slice(0, -1)) * 1000; }\n";
    let files = [("package.json", r#"{"type": "module"}"#), ("src/ms.ts", source)];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/ms.ts");
    assert_eq!(module.defects, [], "they are rounded");
    assert!(text(&module).contains("describe('format'"), "{module:?}");
}
