//! Two versions of a module, compared in real vitest and jest and in plain node.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wavecrew_testgen::diff::{
    ChangedFile, ComparedModule, Difference, ModuleTime, Versions, WantedTests, compare,
};

use super::project::TestProject;

/// Compares a file whose text differs in all lines from `first` on.
fn compared(old: &Path, new: &Path, file: &str, first: u32) -> ComparedModule {
    let lines = |root: &Path| {
        let text = fs::read_to_string(root.join(file)).unwrap();
        vec![(first, u32::try_from(text.lines().count()).unwrap())]
    };
    let (old_root, new_root) = (old.canonicalize().unwrap(), new.canonicalize().unwrap());
    let versions = Versions {
        changed: vec![ChangedFile {
            file: PathBuf::from(file),
            old_lines: lines(old),
            new_lines: lines(new),
            ..ChangedFile::default()
        }],
        project: new_root.clone(),
        old_root,
        new_root,
        changed_tests: Vec::new(),
        test_files: Vec::new(),
        quick: false,
        test_folders: Vec::new(),
        search_path: Vec::new(),
        seed: 1,
        tests: WantedTests {
            change: true,
            guard: true,
        },
        commit: None,
        suite: Vec::new(),
    };
    let time = ModuleTime {
        budget: Duration::from_secs(5),
        until: Instant::now() + Duration::from_mins(2),
    };
    compare(&versions, Path::new(file), time, &mut |_| true).unwrap()
}

fn difference<'a>(module: &'a ComparedModule, function: &str, kind: &str) -> &'a Difference {
    let found = module
        .differences
        .iter()
        .find(|one| one.function == function && one.kind == kind);
    found.unwrap_or_else(|| panic!("{function} {kind}: {module:#?}"))
}

fn write_tests(module: &ComparedModule, kind: &str, root: &Path) -> String {
    let file = module.tests.iter().find(|file| file.kind == kind);
    let file = file.unwrap_or_else(|| panic!("{module:#?}"));
    let path = root.join(&file.name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, &file.text).unwrap();
    file.text.clone()
}

#[test]
fn differences_of_typescript_become_tests_of_vitest() {
    let old = "export type Unit = 'ms' | 's';\n\
        export function duration(text: string): number {\n  const match = /^(\\d+)(ms|s)$/.exec(text);\n  \
        if (!match) throw new Error('bad duration');\n  return match[2] === 's' ? Number(match[1]) * 1000 : Number(match[1]);\n}\n\
        export class Counter {\n  private n = 0;\n  constructor(readonly limit: number) {}\n  \
        up(): number { if (this.n < this.limit) this.n += 1; return this.n; }\n}\n\
        export function same(n: number): number { return n + 1; }\n";
    let new = old
        .replace("this.n < this.limit", "this.n <= this.limit")
        .replace(
            "throw new Error('bad duration')",
            "throw new RangeError(`bad duration: ${text}`)",
        );
    let files = |text| {
        [
            (
                "package.json",
                r#"{"type": "module", "devDependencies": {"vitest": "*"}}"#,
            ),
            ("src/time.ts", text),
        ]
    };
    let (Some(before), Some(after)) = (TestProject::new(&files(old)), TestProject::new(&files(&new))) else {
        return;
    };
    let module = compared(before.root(), after.root(), "src/time.ts", 2);
    let error = difference(&module, "duration", "exception");
    assert!(
        error.before.starts_with("throws Error: bad duration"),
        "{error:?}"
    );
    assert!(
        error.after.starts_with("throws RangeError: bad duration: "),
        "{error:?}"
    );
    assert_eq!(
        (error.cause_file.as_path(), error.new_lines.is_empty()),
        (Path::new("src/time.ts"), false)
    );
    difference(&module, "Counter.up", "value");
    assert!(
        module.differences.iter().all(|one| one.function != "same"),
        "{module:#?}"
    );
    assert!(
        module.reached.new["src/time.ts".as_ref() as &Path].len() > 3,
        "{module:#?}"
    );
    for root in [before.root(), after.root()] {
        let text = write_tests(&module, "change", root);
        assert!(text.contains("from '../src/time'"), "{text}");
    }
    after.assert_passes(&["vitest", "run"]);
    before.assert_fails(&["vitest", "run"]);
}

#[test]
fn what_stayed_the_same_becomes_tests_of_jest() {
    let old = "exports.clamp = function clamp(n, low, high) {\n  if (n < low) return low;\n  if (n > high) return high;\n  return n;\n};\n\
        exports.add = function add(list, item) { list.push(item); return list.length; };\n";
    let new = old.replace("list.push(item)", "list.unshift(item)");
    let files = |text| {
        [
            ("package.json", r#"{"devDependencies": {"jest": "*"}}"#),
            ("lib/numbers.js", text),
        ]
    };
    let (Some(before), Some(after)) = (TestProject::new(&files(old)), TestProject::new(&files(&new))) else {
        return;
    };
    let module = compared(before.root(), after.root(), "lib/numbers.js", 1);
    let [one] = module.differences.as_slice() else {
        panic!("{module:#?}");
    };
    assert_eq!((one.function.as_str(), one.kind.as_str()), ("add", "arguments"));
    for root in [before.root(), after.root()] {
        write_tests(&module, "change", root);
    }
    after.assert_passes(&["jest"]);
    before.assert_fails(&["jest"]);
    for root in [before.root(), after.root()] {
        fs::remove_file(root.join(&module.tests[0].name)).unwrap();
        let text = write_tests(&module, "guard", root);
        assert!(text.contains("clamp("), "{text}");
    }
    after.assert_passes(&["jest"]);
    before.assert_passes(&["jest"]);
}

/// Two folders without a framework.
fn in_node(old: &str, new: &str) -> (tempfile::TempDir, ComparedModule) {
    let dir = tempfile::tempdir().unwrap();
    for (side, text) in [("old", old), ("new", new)] {
        fs::create_dir(dir.path().join(side)).unwrap();
        fs::write(dir.path().join(side).join("index.js"), text).unwrap();
    }
    let module = compared(&dir.path().join("old"), &dir.path().join("new"), "index.js", 1);
    (dir, module)
}

#[test]
fn output_files_and_awaited_values_are_behaviour() {
    let old = "const fs = require('fs');\n\
        exports.log = (name) => { console.log('hi ' + name); };\n\
        exports.save = (text) => { fs.writeFileSync('out.txt', String(text)); };\n\
        exports.later = async (n) => n;\n";
    let new = old
        .replace("'hi '", "'hello '")
        .replace("String(text)", "String(text) + '\\n'")
        .replace("async (n) => n", "async (n) => (n === 3 ? 4 : n)");
    let (_dir, module) = in_node(old, &new);
    let log = difference(&module, "log", "output");
    assert!(
        log.before.contains("hi ") && log.after.contains("hello "),
        "{log:?}"
    );
    let save = difference(&module, "save", "files");
    assert!(save.after.contains("out.txt"), "{save:?}");
    assert_eq!(difference(&module, "later", "value").input, "later(3)");
}

/// Only the statements of a test make an object that the change concerns, and the deciding text is not in the test.
#[test]
fn pieces_of_tests_are_inputs() {
    let old = "class Desk {\n  constructor(rules) { this.rules = rules; }\n  find(name) {\n    const found = this.rules.get(name.trim());\n    return found ? found() : null;\n  }\n}\n\
        exports.open = (secret) => {\n  if (typeof secret !== 'symbol') throw new Error('closed');\n  const rules = new Map();\n  return { add: (name, rule) => rules.set(name, rule), desk: new Desk(rules) };\n};\n";
    let new = old.replace("name.trim()", "name.trim().toLowerCase()");
    let test = "const assert = require('assert');\nconst { open } = require('..');\n\
        const shop = open(Symbol('a'));\nshop.add('tea', () => 4);\nassert.equal(shop.desk.find('tea'), 4);\n";
    let dir = tempfile::tempdir().unwrap();
    for (side, text) in [("old", old), ("new", &new)] {
        fs::create_dir_all(dir.path().join(side).join("test")).unwrap();
        fs::write(dir.path().join(side).join("index.js"), text).unwrap();
        fs::write(dir.path().join(side).join("test/shop.js"), test).unwrap();
    }
    let module = compared(&dir.path().join("old"), &dir.path().join("new"), "index.js", 1);
    let found = difference(&module, "shop.desk.find", "value");
    assert_eq!(
        found.setup[0], "const { open } = require('./index.js');",
        "{found:?}"
    );
    assert!(found.input.starts_with("shop.desk.find("), "{found:?}");
}

#[test]
fn a_call_that_no_longer_ends_is_behaviour() {
    let old =
        "exports.count = (n) => { let i = 0; while (i < n) { i += 1; if (i > 1000) break; } return i; };\n";
    let new = old.replace("i += 1; if (i > 1000) break;", "i += n > 2 ? 0 : 1;");
    let (_dir, module) = in_node(old, &new);
    assert_eq!(difference(&module, "count", "hang").after, "does not end");
}

#[test]
fn much_more_work_for_the_same_result_is_a_difference() {
    let old = "exports.unique = (items) => [...new Set(items)];\n";
    let new = "exports.unique = (items) => {\n  const found = [];\n  for (let i = 0; i < items.length; i += 1) {\n    \
        let known = false;\n    for (let j = 0; j < i; j += 1) {\n      if (Object.is(items[j], items[i])) known = true;\n    }\n    \
        if (!known) found.push(items[i]);\n  }\n  return found;\n};\n";
    let (_dir, module) = in_node(old, new);
    let slow = difference(&module, "unique", "slow");
    assert!(slow.after.ends_with("steps, with the same result"), "{slow:?}");
}

#[test]
fn the_same_behaviour_in_other_words_is_no_difference() {
    let old = "// Adds.\nexports.total = function (items) {\n  var sum = 0;\n  for (var i = 0; i < items.length; i++) sum += items[i].price;\n  return sum;\n};\n\
        exports.now = () => Date.now();\nexports.id = () => Math.random();\nexports.year = (text) => new Date(text).getFullYear();\n";
    let new = "exports.year = (text) => { const at = new Date(text); return at.getFullYear(); };\nexports.id = () => { return Math.random(); };\n\
        exports.now = () => { const at = Date.now(); return at; };\n\
        exports.total = function (list) {\n  let result = 0;\n  for (const one of list.slice ? list : [].slice.call(list)) result += one.price;\n  return result;\n};\n";
    let (_dir, module) = in_node(old, new);
    let real = module.differences.iter().filter(|one| one.function != "total");
    assert_eq!(real.count(), 0, "{module:#?}");
    assert!(module.calls > 100, "{module:#?}");
}

/// What tests pass to the module may name the folder of the version that they belong to.
#[test]
fn folders_of_the_versions_are_no_difference() {
    let old = "exports.shown = (path) => 'in ' + path;\n";
    let new = "exports.shown = (path) => {\n  return `in ${path}`;\n};\n";
    let test = "const { shown } = require('..');\nconst { join } = require('path');\nshown(join(__dirname, 'a.txt'));\n";
    let dir = tempfile::tempdir().unwrap();
    for (side, text) in [("old", old), ("new", new)] {
        fs::create_dir_all(dir.path().join(side).join("test")).unwrap();
        fs::write(dir.path().join(side).join("index.js"), text).unwrap();
        fs::write(dir.path().join(side).join("test/shown.js"), test).unwrap();
    }
    let module = compared(&dir.path().join("old"), &dir.path().join("new"), "index.js", 1);
    assert_eq!(module.differences, [], "{module:#?}");
    assert!(module.calls > 0 && module.complete, "{module:#?}");
}

/// Each has a cause of its own.
#[test]
fn functions_in_one_line_are_told_apart() {
    let old = "exports.one = (n) => n + 1;\nexports.two = function (n) { return n + 2; };\nmodule.exports.three = { get(n) { return n + 3; } }.get;\n";
    let (_dir, module) = in_node(old, &old.replace("n + ", "n - "));
    for (line, function) in (1..).zip(["one", "two", "three"]) {
        let found = difference(&module, function, "value");
        assert_eq!(found.new_lines, [(line, line)], "{found:?}");
    }
}

#[test]
fn a_module_with_await_outside_of_functions_is_compared() {
    let old = "export const price = (n) => (n > 10 ? n * 2 : n);\nawait null;\n";
    let dir = tempfile::tempdir().unwrap();
    for (side, text) in [("old", old.to_owned()), ("new", old.replace("> 10", ">= 10"))] {
        fs::create_dir(dir.path().join(side)).unwrap();
        fs::write(dir.path().join(side).join("index.mjs"), text).unwrap();
    }
    let module = compared(&dir.path().join("old"), &dir.path().join("new"), "index.mjs", 1);
    assert_eq!(difference(&module, "price", "value").input, "price(10)");
}

#[test]
fn a_version_that_cannot_be_loaded_is_reported_with_its_error() {
    let good = "exports.one = () => 1;\n";
    for (text, why) in [
        (
            "exports.one = () => {;\n",
            "the new version cannot be loaded: SyntaxError",
        ),
        (
            "throw new Error('no licence');\n",
            "the new version cannot be loaded: Error: no licence",
        ),
        ("process.exit(3);\n", "the code tries to end the process"),
        (
            "require('net').createServer().listen(0);\n",
            "the code tries to use the network",
        ),
        (
            "require('./missing.js');\n",
            "the new version cannot be loaded: Error: Cannot find module './missing.js'",
        ),
    ] {
        let (dir, module) = in_node(good, text);
        let [dropped] = module.dropped.as_slice() else {
            panic!("{module:#?}");
        };
        assert!(dropped.why.contains(why), "{dropped:?}");
        assert!(!dropped.why.contains('\n') && module.complete, "{module:?}");
        let left = fs::read_dir(dir.path().join("new")).unwrap().count();
        assert_eq!(left, 1, "nothing is left behind");
    }
}
