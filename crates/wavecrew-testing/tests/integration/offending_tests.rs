//! Tests that spoil a run for others: they are dropped one by one and named, and the rest counts, in every framework.

use crate::session::{TestSession, figures};
use wavecrew_core::check_report::CheckReport;
use wavecrew_test_support::depth;
use wavecrew_testing::scope::MutationEffort;

const PRICE_JS: &str =
    "export function isCheap(price) {\n  if (price < 10) {\n    return true;\n  }\n  return false;\n}\n";

struct Case {
    files: &'static [(&'static str, &'static str)],
    test: &'static str,
    text: String,
    changes: &'static str,
    ends: &'static str,
}

/// A file of two good tests, one that changes source and one that ends the run.
#[track_caller]
fn only_offenders_are_dropped(case: &Case) {
    let Some(mut session) = TestSession::new(case.files) else {
        return;
    };
    session.run_seconds = 20;
    session.begin(MutationEffort::Off);
    session.test(case.test, &case.text);
    let CheckReport::Confirmed(details) = session.generated(1) else {
        panic!("the rest of the delivery counts");
    };
    let source = case.files[0].0;
    let dropped = format!(
        "dropped {}::{} (changes source while it runs: {source})",
        case.test, case.changes
    );
    assert_eq!(details.findings, dropped);
    assert_eq!(session.text(source), case.files[0].1);
    assert_eq!(figures(&session.run(1)), "short 1.00 of 0.66 100.00");
    let result: serde_json::Value = serde_json::from_str(&session.read("results/run-L1.json")).unwrap();
    assert_eq!(result["accepted"]["tests"], 2);
    assert_eq!(result["rejected"].as_array().unwrap().len(), 1, "{result:#}");
    assert_eq!(result["rejected"][0]["name"], case.ends);
    assert_eq!(result["rejected"][0]["why"], "ends-run");
    // The worker adds a test that changes source: it is dropped too, and nothing else is.
    session.test(case.test, &case.text);
    assert_eq!(figures(&session.run(2)), "short 1.00 of 0.50 100.00");
    let result: serde_json::Value = serde_json::from_str(&session.read("results/run-L1.json")).unwrap();
    assert_eq!(result["accepted"]["tests"], 2);
    assert_eq!(session.text(source), case.files[0].1);
}

const PYTHON: &[(&str, &str)] = &[
    (
        "shop/price.py",
        "def is_cheap(price):\n    if price < 10:\n        return True\n    return False\n",
    ),
    ("pyproject.toml", "[tool.pytest.ini_options]\n"),
];

#[test]
fn pytest() {
    let text = "import os\n\nfrom shop import price\n\n\ndef test_cheap():\n    assert price.is_cheap(9) is True\n\n\ndef test_writes():\n    open(price.__file__, 'a').write('x = 1\\n')\n    assert price.is_cheap(1) is True\n\n\ndef test_dies():\n    os.kill(os.getpid(), 9)\n    assert price.is_cheap(2) is True\n\n\ndef test_dear():\n    assert price.is_cheap(10) is False\n";
    only_offenders_are_dropped(&Case {
        files: PYTHON,
        test: "test_price.py",
        text: text.to_owned(),
        changes: "test_writes",
        ends: "test_dies",
    });
}

#[test]
fn unittest() {
    let text = "import time\nimport unittest\n\nfrom shop import price\n\n\nclass TestPrice(unittest.TestCase):\n    def test_cheap(self):\n        self.assertTrue(price.is_cheap(9))\n\n    def test_writes(self):\n        open(price.__file__, 'a').write('x = 1\\n')\n        self.assertTrue(price.is_cheap(1))\n\n    def test_hangs(self):\n        time.sleep(6000)\n        self.assertTrue(price.is_cheap(2))\n\n    def test_dear(self):\n        self.assertFalse(price.is_cheap(10))\n";
    only_offenders_are_dropped(&Case {
        files: PYTHON,
        test: "test_price.py",
        text: text.to_owned(),
        changes: "TestPrice::test_writes",
        ends: "TestPrice::test_hangs",
    });
}

/// The same tests for both JavaScript frameworks.
fn javascript(imports: &str) -> String {
    let changes = "appendFileSync(join(process.cwd(), 'src/price.js'), '// x\\n')";
    format!(
        "{imports}import {{ appendFileSync }} from 'node:fs';\nimport {{ join }} from 'node:path';\nimport {{ isCheap }} from '../../src/price.js';\n\ntest('is cheap', () => {{\n  expect(isCheap(9)).toBe(true);\n}});\n\ntest('writes', () => {{\n  {changes};\n  expect(isCheap(1)).toBe(true);\n}});\n\ntest('hangs', () => {{\n  for (;;) {{}}\n  expect(isCheap(2)).toBe(true);\n}});\n\ntest('is dear', () => {{\n  expect(isCheap(10)).toBe(false);\n}});\n"
    )
}

/// Each run with a test that hangs takes its whole time limit, so the default depth has one that dies.
#[test]
fn vitest() {
    let mut text = javascript("import { expect, test } from 'vitest';\n");
    if !depth::is_full() {
        text = text.replace("for (;;) {}", "process.kill(process.pid, 'SIGKILL');");
    }
    only_offenders_are_dropped(&Case {
        files: &[
            ("src/price.js", PRICE_JS),
            (
                "package.json",
                r#"{"type":"module","devDependencies":{"vitest":"4"}}"#,
            ),
        ],
        test: "price.test.js",
        text,
        changes: "writes",
        ends: "hangs",
    });
}

#[test]
fn jest() {
    let text = javascript("")
        .replace(
            "import { appendFileSync } from 'node:fs'",
            "const { appendFileSync } = require('node:fs')",
        )
        .replace(
            "import { join } from 'node:path'",
            "const { join } = require('node:path')",
        )
        .replace(
            "import { isCheap } from '../../src/price.js'",
            "const { isCheap } = require('../../src/price.js')",
        )
        .replace("test('hangs'", "test('dies'")
        .replace("for (;;) {}", "process.kill(process.pid, 'SIGKILL');");
    only_offenders_are_dropped(&Case {
        files: &[
            (
                "src/price.js",
                "exports.isCheap = (price) => {\n  if (price < 10) {\n    return true;\n  }\n  return false;\n};\n",
            ),
            ("package.json", r#"{"devDependencies":{"jest":"30"}}"#),
        ],
        test: "price.test.js",
        text,
        changes: "writes",
        ends: "dies",
    });
}

#[test]
fn a_file_that_changes_source_when_it_loads_is_dropped_as_a_whole() {
    let Some(session) = TestSession::new(PYTHON) else {
        return;
    };
    session.begin(MutationEffort::Off);
    let test = |name: &str, price: u32, is: &str| {
        format!("\n\ndef {name}():\n    assert price.is_cheap({price}) is {is}\n")
    };
    let (cheap, dear) = (test("test_cheap", 9, "True"), test("test_dear", 10, "False"));
    session.test("test_good.py", &format!("from shop import price\n{cheap}{dear}"));
    session.test(
        "test_load.py",
        &format!("from shop import price\n\nopen(price.__file__, 'a').write('x = 1\\n')\n{cheap}{dear}"),
    );
    let CheckReport::Confirmed(details) = session.generated(1) else {
        panic!("the rest of the delivery counts");
    };
    assert_eq!(
        details.findings,
        "dropped test_load.py (changes source while it runs: shop/price.py)"
    );
    assert_eq!(figures(&session.run(1)), "holds 1.00 100.00");
}
