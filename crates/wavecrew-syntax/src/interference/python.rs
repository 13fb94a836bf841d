//! Python: hooks of pytest, replaced parts of pytest, unittest and the built-ins, tracing.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Interference, about_measuring};
use crate::tree::{children, field, text, walk};

/// Modules that no test may change.
const FRAMEWORK: &[&str] = &["pytest", "_pytest", "pluggy", "unittest", "builtins"];
/// Hooks that only describe tests or add cases.
const HARMLESS_HOOKS: &[&str] = &[
    "pytest_generate_tests",
    "pytest_addoption",
    "pytest_assertrepr_compare",
    "pytest_make_parametrize_id",
    "pytest_report_header",
    "pytest_plugins",
];
/// Settings of unittest that change messages alone.
const HARMLESS_ATTRIBUTES: &[&str] = &["maxDiff", "longMessage"];
const TRACING: &[&str] = &[
    "settrace",
    "setprofile",
    "settrace_all_threads",
    "setprofile_all_threads",
];
/// Methods of `unittest.TestCase` that decide about a test.
const TEST_CASE: &[&str] = &[
    "run",
    "debug",
    "__call__",
    "fail",
    "failureException",
    "assertEqual",
    "assertNotEqual",
    "assertTrue",
    "assertFalse",
    "assertIs",
    "assertIsNot",
    "assertIsNone",
    "assertIsNotNone",
    "assertIn",
    "assertNotIn",
    "assertIsInstance",
    "assertRaises",
    "assertRaisesRegex",
    "assertAlmostEqual",
    "assertGreater",
    "assertLess",
    "assertListEqual",
    "assertDictEqual",
    "assertCountEqual",
];

pub fn interferences(root: Node<'_>, source: &str) -> Vec<Interference> {
    let mut finder = Finder {
        source,
        framework: FRAMEWORK.iter().copied().collect(),
        found: Vec::new(),
    };
    walk(root, |node| {
        finder.imports(node);
        true
    });
    walk(root, |node| {
        finder.node(node);
        true
    });
    finder.found
}

struct Finder<'s> {
    source: &'s str,
    /// Names in this file that stand for parts of the framework.
    framework: BTreeSet<&'s str>,
    found: Vec<Interference>,
}

impl<'s> Finder<'s> {
    fn text(&self, node: Node<'_>) -> &'s str {
        text(node, self.source)
    }

    fn report(&mut self, node: Node<'_>, what: String) {
        self.found.push(Interference::at(node, what));
    }

    /// Notes names that an import binds to parts of the framework.
    fn imports(&mut self, node: Node<'_>) {
        match node.kind() {
            "import_statement" => {
                for name in children(node) {
                    let (module, alias) = (field(name, "name"), field(name, "alias"));
                    if let Some((module, alias)) = module.zip(alias)
                        && is_framework(self.text(module))
                    {
                        self.framework.insert(self.text(alias));
                    }
                }
            }
            "import_from_statement" => {
                let module = field(node, "module_name").map_or("", |module| self.text(module));
                // What mocks replace is up to the test.
                if !is_framework(module) || module.starts_with("unittest.mock") {
                    return;
                }
                for name in children(node).into_iter().skip(1) {
                    let bound = field(name, "alias").unwrap_or(name);
                    if self.text(bound) != "mock" {
                        self.framework.insert(self.text(bound));
                    }
                }
            }
            _ => {}
        }
    }

    fn node(&mut self, node: Node<'_>) {
        match node.kind() {
            "import_statement" | "import_from_statement" => {
                let module = match field(node, "module_name") {
                    Some(module) => vec![module],
                    None => children(node),
                };
                let is_coverage = |name: &Node<'_>| {
                    let name = field(*name, "name").unwrap_or(*name);
                    self.text(name).split('.').next() == Some("coverage")
                };
                if module.iter().any(is_coverage) {
                    self.report(node, "uses coverage.py".to_owned());
                }
            }
            "function_definition" => {
                let name = field(node, "name").map_or("", |name| self.text(name));
                let body = field(node, "body");
                if is_hook(name)
                    && !body.is_some_and(|body| name == "pytest_configure" && self.only_marks(body))
                {
                    self.report(node, format!("defines the hook `{name}`"));
                }
            }
            "class_definition" => self.class(node),
            "assignment" | "augmented_assignment" => {
                if let Some(left) = field(node, "left") {
                    self.assigned(left);
                }
            }
            "call" => self.call(node),
            "string" => {
                if let Some(what) = about_measuring(self.text(node)) {
                    self.report(node, what);
                }
            }
            _ => {}
        }
    }

    /// Whether a body only registers marks.
    fn only_marks(&self, body: Node<'_>) -> bool {
        children(body).into_iter().all(|statement| {
            let text = self.text(statement);
            text.contains(".addinivalue_line(") || text.starts_with(['"', '\'']) || text == "pass"
        })
    }

    fn class(&mut self, class: Node<'_>) {
        let bases = field(class, "superclasses").map_or_else(Vec::new, children);
        if !bases.iter().any(|base| self.text(*base).ends_with("TestCase")) {
            return;
        }
        for member in field(class, "body").map_or_else(Vec::new, children) {
            let member = field(member, "definition").unwrap_or(member);
            let name = match member.kind() {
                "function_definition" => field(member, "name"),
                "expression_statement" => children(member)
                    .first()
                    .and_then(|assignment| field(*assignment, "left")),
                _ => None,
            };
            let name = name.map_or("", |name| self.text(name));
            if TEST_CASE.contains(&name) {
                self.report(member, format!("replaces `{name}` of unittest"));
            }
        }
    }

    fn assigned(&mut self, target: Node<'_>) {
        match target.kind() {
            "identifier" if is_hook(self.text(target)) => {
                self.report(target, format!("defines the hook `{}`", self.text(target)));
            }
            "attribute" | "subscript" if self.is_of_framework(target) => {
                let last = field(target, "attribute").map_or("", |name| self.text(name));
                if !HARMLESS_ATTRIBUTES.contains(&last) {
                    self.report(target, format!("replaces `{}`", self.text(target)));
                }
            }
            "pattern_list" | "tuple_pattern" => {
                for part in children(target) {
                    self.assigned(part);
                }
            }
            _ => {}
        }
    }

    /// Whether an expression begins with a name of the framework.
    fn is_of_framework(&self, node: Node<'_>) -> bool {
        let mut first = node;
        while let Some(inner) = field(first, "object").or_else(|| field(first, "value")) {
            first = inner;
        }
        first.kind() == "identifier" && self.framework.contains(self.text(first))
    }

    fn call(&mut self, call: Node<'_>) {
        let Some((function, arguments)) = field(call, "function").zip(field(call, "arguments")) else {
            return;
        };
        let name = self.text(function);
        let last = name.rsplit('.').next().unwrap_or_default();
        if TRACING.contains(&last) || name.starts_with("sys.monitoring.") {
            self.report(call, format!("calls `{name}`"));
        }
        let Some(first) = children(arguments).into_iter().next() else {
            return;
        };
        let replaces = matches!(last, "setattr" | "delattr" | "patch") || name.ends_with("patch.object");
        // A fake `open` is undone after the test.
        let undone = last == "patch" || name.contains('.');
        let root = match first.kind() {
            "string" => self.text(first).trim_matches(['"', '\'']).split('.').next(),
            _ if self.is_of_framework(first) => self.text(first).split('.').next(),
            _ => None,
        };
        let Some(root) = root.filter(|_| replaces) else {
            return;
        };
        let counts = match first.kind() {
            "string" => is_framework(root),
            _ => true,
        };
        if counts && !(undone && root == "builtins") {
            self.report(call, format!("replaces a part of `{root}`"));
        }
    }
}

fn is_framework(module: &str) -> bool {
    let first = module.split('.').next().unwrap_or_default();
    FRAMEWORK.contains(&first)
}

fn is_hook(name: &str) -> bool {
    name.starts_with("pytest_") && !HARMLESS_HOOKS.contains(&name)
}
