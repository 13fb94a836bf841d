//! Finds code in files of tests that acts on the framework that runs them, or on how it is measured. Such
//! files may define tests, fixtures and helpers. Canaries find what only shows at run time.

mod javascript;
mod python;

use tree_sitter::Node;

use crate::grammar::Grammar;
use crate::tree::{is_deeper_than, line_of};

/// One place that acts on the framework.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interference {
    pub line: u32,
    /// `replaces pytest.raises`
    pub what: String,
}

impl Interference {
    fn at(node: Node<'_>, what: String) -> Self {
        Self {
            line: line_of(node.start_position()),
            what,
        }
    }
}

/// In the order of the source.
pub fn interferences(language: Grammar, source: &str) -> Vec<Interference> {
    let tree = language.parse(source);
    if is_deeper_than(tree.root_node(), 400) {
        return Vec::new();
    }
    if language.is_python() {
        python::interferences(tree.root_node(), source)
    } else {
        javascript::interferences(tree.root_node(), source)
    }
}

/// Texts that only code about the measurement needs.
const MEASURING: &[&str] = &["COVERAGE_FILE", "junitxml", "WAVECREW_", "__coverage__"];

/// What a text of the source reveals about the measurement, if anything.
fn about_measuring(text: &str) -> Option<String> {
    let found = MEASURING.iter().find(|word| text.contains(*word))?;
    Some(format!("uses `{found}`, which is about the measurement"))
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    fn found(language: Grammar, source: &str) -> Vec<String> {
        let all = interferences(language, source).into_iter();
        all.map(|one| format!("{}: {}", one.line, one.what)).collect()
    }

    #[test]
    fn python_that_acts_on_the_framework_is_found() {
        for (source, expected) in [
            (
                "def pytest_runtest_makereport(item, call):\n    pass\n",
                "1: defines the hook `pytest_runtest_makereport`",
            ),
            (
                "import x\npytest_pyfunc_call = x.call\n",
                "2: defines the hook `pytest_pyfunc_call`",
            ),
            (
                "def pytest_configure(config):\n    config.option.x = 1\n",
                "1: defines the hook `pytest_configure`",
            ),
            (
                "from _pytest import reports\nreports.TestReport.failed = 1\n",
                "2: replaces `reports.TestReport.failed`",
            ),
            (
                "import pytest as p\nsetattr(p, 'raises', None)\n",
                "2: replaces a part of `p`",
            ),
            (
                "import builtins\nbuiltins.__import__ = f\n",
                "2: replaces `builtins.__import__`",
            ),
            (
                "def test_a(monkeypatch):\n    monkeypatch.setattr('_pytest.x.y', 1)\n",
                "2: replaces a part of `_pytest`",
            ),
            ("import coverage\n", "1: uses coverage.py"),
            ("import sys\nsys.settrace(None)\n", "2: calls `sys.settrace`"),
            (
                "import os\nos.environ['COVERAGE_FILE']\n",
                "2: uses `COVERAGE_FILE`, which is about the measurement",
            ),
            (
                "class A(unittest.TestCase):\n    def assertEqual(self, a, b):\n        pass\n",
                "2: replaces `assertEqual` of unittest",
            ),
        ] {
            assert_eq!(found(Grammar::Python, source), [expected], "{source}");
        }
    }

    #[test]
    fn ordinary_python_is_left_alone() {
        for source in [
            "def pytest_configure(config):\n    config.addinivalue_line('markers', 'slow: x')\n",
            "def pytest_generate_tests(metafunc):\n    metafunc.parametrize('n', [1])\n",
            "pytestmark = pytest.mark.slow\npytest_plugins = ['tests.money']\n",
            "from _pytest.monkeypatch import MonkeyPatch\ndef test_a(monkeypatch: MonkeyPatch):\n    monkeypatch.setattr('builtins.open', f)\n",
            "import unittest\nunittest.TestCase.maxDiff = None\n",
            "class A(unittest.TestCase):\n    def assertMoney(self, a):\n        self.assertEqual(a, 1)\n    def setUp(self):\n        self.x = 1\n",
            "import sys\nsys.path.insert(0, '.')\nsys.argv = ['x']\n",
            "import pytest\nresult = pytest.approx(1)\n",
        ] {
            assert_eq!(found(Grammar::Python, source), Vec::<String>::new(), "{source}");
        }
    }

    #[test]
    fn javascript_that_acts_on_the_framework_is_found() {
        for (source, expected) in [
            ("global.expect = () => x;\n", "1: replaces `expect`"),
            (
                "const expect = () => new Proxy({}, {});\n",
                "1: replaces `expect`",
            ),
            ("function test(name, run) {}\n", "1: replaces `test`"),
            (
                "expect.extend({ toBe: () => ({ pass: true }) });\n",
                "1: replaces the matcher `toBe`",
            ),
            (
                "const c = globalThis.__coverage__;\n",
                "1: uses `__coverage__`, which is about the measurement",
            ),
        ] {
            assert_eq!(found(Grammar::JavaScript, source), [expected], "{source}");
        }
        for source in [
            "const { expect } = require('chai');\nconst expect2 = chai.expect;\n",
            "global.fetch = vi.fn();\nexpect.extend({ toBeMoney: () => ({ pass: true }) });\n",
            "import { expect, test } from 'vitest';\n",
        ] {
            assert_eq!(
                found(Grammar::JavaScript, source),
                Vec::<String>::new(),
                "{source}"
            );
        }
    }
}
