//! Finds tests of pytest and unittest: functions, methods, decorators, marks of modules and classes.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::python_assertions::body_of;
use super::{Body, TestDefinition, TestMode, asserting_functions, joined, multiplied};
use crate::assertion::{Assertion, Strength};
use crate::lines::Lines;
use crate::tree::{children, field, fingerprint, line_of, text, walk};

pub fn tests<'s>(root: Node<'_>, source: &'s str, known: &BTreeSet<&'s str>) -> Vec<TestDefinition> {
    let mut finder = Finder {
        source,
        helpers: helpers(root, source, known),
        test_cases: test_cases(root, source),
        found: Vec::new(),
    };
    let outer = Outer {
        class: String::new(),
        mode: marks_of(root, source),
        cases: Some(1),
    };
    finder.block(root, &outer);
    let mut found = finder.found;
    // A second definition of a name replaces the first, which then never runs.
    let mut seen = BTreeSet::new();
    found.reverse();
    found.retain(|test| seen.insert(test.name.clone()));
    found.reverse();
    found
}

struct Finder<'s> {
    source: &'s str,
    helpers: BTreeSet<&'s str>,
    /// Classes of the file that derive from `TestCase`.
    test_cases: BTreeSet<&'s str>,
    found: Vec<TestDefinition>,
}

/// The module or class around a definition.
struct Outer {
    /// With the outer classes, dotted; empty in a module.
    class: String,
    mode: TestMode,
    cases: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Marks {
    mode: TestMode,
    cases: Option<usize>,
}

impl Finder<'_> {
    fn block(&mut self, block: Node<'_>, outer: &Outer) {
        for node in children(block) {
            match node.kind() {
                "function_definition" | "class_definition" => self.definition(node, node, outer),
                "decorated_definition" => {
                    if let Some(inner) = field(node, "definition") {
                        self.definition(inner, node, outer);
                    }
                }
                // Definitions may depend on the platform or on installed packages.
                "if_statement" | "else_clause" | "elif_clause" | "try_statement" | "except_clause"
                | "with_statement" | "block" => self.block(node, outer),
                _ => {}
            }
        }
    }

    fn definition(&mut self, node: Node<'_>, whole: Node<'_>, outer: &Outer) {
        let Some((name, body)) = field(node, "name").zip(field(node, "body")) else {
            return;
        };
        let name = text(name, self.source);
        let marks = decorators(whole, self.source);
        let mode = outer.mode.max(marks.mode);
        let cases = multiplied(outer.cases, marks.cases);
        if node.kind() == "class_definition" {
            if name.starts_with("Test") || self.test_cases.contains(name) {
                let inner = Outer {
                    class: joined(&outer.class, ".", name),
                    mode: mode.max(marks_of(body, self.source)),
                    cases,
                };
                self.block(body, &inner);
            }
            return;
        }
        if !name.starts_with("test") {
            return;
        }
        let Body {
            mut assertions,
            vacuous,
            skip,
        } = body_of(body, self.source, &self.helpers);
        assertions.extend(self.asserting_fixtures(node));
        self.found.push(TestDefinition {
            name: joined(&outer.class, "::", name),
            lines: Lines::of(whole),
            cases,
            assertions,
            vacuous,
            mode: mode.max(skip.unwrap_or(TestMode::Runs)),
            fingerprint: fingerprint(body, self.source),
        });
    }
}

impl Finder<'_> {
    /// Fixtures that the test asks for and that assert something, after it or when it calls them.
    fn asserting_fixtures(&self, test: Node<'_>) -> Vec<Assertion> {
        let parameters = field(test, "parameters").map_or_else(Vec::new, children);
        let asserts = |node: &Node<'_>| self.helpers.contains(text(*node, self.source));
        let found = parameters.into_iter().filter(asserts);
        found
            .map(|node| Assertion {
                line: line_of(node.start_position()),
                subject: text(node, self.source).to_owned(),
                strength: Strength::Partial,
                text: text(node, self.source).to_owned(),
            })
            .collect()
    }
}

/// Classes that derive from `TestCase`, themselves or through one another.
fn test_cases<'s>(root: Node<'_>, source: &'s str) -> BTreeSet<&'s str> {
    let mut classes = Vec::new();
    walk(root, |node| {
        if node.kind() == "class_definition"
            && let Some(name) = field(node, "name")
        {
            let bases = field(node, "superclasses").map_or_else(Vec::new, children);
            let bases: Vec<&str> = bases.iter().map(|base| text(*base, source)).collect();
            classes.push((text(name, source), bases));
        }
        true
    });
    let mut found = BTreeSet::new();
    loop {
        let before = found.len();
        for (name, bases) in &classes {
            let is_one = |base: &&str| base.ends_with("TestCase") || found.contains(base);
            if bases.iter().any(is_one) {
                found.insert(*name);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Functions of the file, except tests, that assert something, themselves or by calling one another, and fixtures that
/// give such a function to a test.
pub fn helpers<'s>(root: Node<'_>, source: &'s str, known: &BTreeSet<&'s str>) -> BTreeSet<&'s str> {
    let mut functions = Vec::new();
    walk(root, |node| {
        if node.kind() == "function_definition"
            && let Some((name, body)) = field(node, "name").zip(field(node, "body"))
        {
            functions.push((text(name, source), body));
        }
        true
    });
    functions.retain(|(name, _)| !name.starts_with("test"));
    asserting_functions(&functions, known, |body, known| {
        !body_of(body, source, known).assertions.is_empty() || returns_one_of(body, source, known)
    })
}

/// Whether a function returns or yields one of these functions.
fn returns_one_of(body: Node<'_>, source: &str, names: &BTreeSet<&str>) -> bool {
    let mut found = false;
    walk(body, |node| {
        if matches!(node.kind(), "return_statement" | "yield") {
            found |= children(node)
                .iter()
                .any(|value| names.contains(text(*value, source)));
        }
        true
    });
    found
}

fn decorators(whole: Node<'_>, source: &str) -> Marks {
    let mut marks = Marks {
        mode: TestMode::Runs,
        cases: Some(1),
    };
    for decorator in children(whole).into_iter().filter(|n| n.kind() == "decorator") {
        let Some(expression) = children(decorator).into_iter().next() else {
            continue;
        };
        marks.mode = marks.mode.max(mark(expression, source));
        let (name, arguments) = call_parts(expression, source);
        if name.ends_with("parametrize") {
            marks.cases = multiplied(
                marks.cases,
                arguments.get(1).and_then(|list| cases_in(*list, source)),
            );
        }
    }
    marks
}

/// The name of what is called, or of the expression itself, and its arguments.
fn call_parts<'t, 's>(expression: Node<'t>, source: &'s str) -> (&'s str, Vec<Node<'t>>) {
    match (field(expression, "function"), field(expression, "arguments")) {
        (Some(function), Some(arguments)) => (text(function, source), children(arguments)),
        _ => (text(expression, source), Vec::new()),
    }
}

/// The mode that a mark sets.
fn mark(expression: Node<'_>, source: &str) -> TestMode {
    let (name, arguments) = call_parts(expression, source);
    let condition = arguments.iter().find(|a| a.kind() != "keyword_argument");
    let condition = condition.map(|node| text(*node, source));
    match name.rsplit('.').next().unwrap_or_default() {
        "skip" => TestMode::Skipped,
        "skipif" | "skipIf" if matches!(condition, Some("True" | "1")) => TestMode::Skipped,
        "skipUnless" if matches!(condition, Some("False" | "0")) => TestMode::Skipped,
        "skipif" | "skipIf" | "skipUnless" => TestMode::SkippedIf,
        "xfail" | "expectedFailure" => TestMode::ExpectedToFail,
        _ => TestMode::Runs,
    }
}

/// The number of entries of a list, without skipped ones and expected failures.
fn cases_in(list: Node<'_>, source: &str) -> Option<usize> {
    let counts = |entry: &&Node<'_>| {
        let text = text(**entry, source);
        !text.contains("mark.skip") && !text.contains("mark.xfail")
    };
    match list.kind() {
        "list" | "tuple" | "set" => {
            let entries = children(list);
            let spread = entries.iter().any(|entry| entry.kind() == "list_splat");
            (!spread).then(|| entries.iter().filter(counts).count())
        }
        _ => None,
    }
}

/// `pytestmark` and skips of a whole module or class.
fn marks_of(block: Node<'_>, source: &str) -> TestMode {
    let mut mode = TestMode::Runs;
    for statement in children(block) {
        let Some(expression) = children(statement).into_iter().next() else {
            continue;
        };
        match (statement.kind(), expression.kind()) {
            ("expression_statement", "assignment") => {
                let is_mark = field(expression, "left").is_some_and(|n| text(n, source) == "pytestmark");
                if let Some(right) = field(expression, "right").filter(|_| is_mark) {
                    let marks = match right.kind() {
                        "list" | "tuple" => children(right),
                        _ => vec![right],
                    };
                    let all = marks.into_iter().map(|node| mark(node, source));
                    mode = all.fold(mode, TestMode::max);
                }
                if field(expression, "right").is_some_and(|n| text(n, source).contains("importorskip(")) {
                    mode = mode.max(TestMode::SkippedIf);
                }
            }
            ("expression_statement", "call") => {
                let (name, _) = call_parts(expression, source);
                mode = mode.max(match name {
                    "pytest.skip" => TestMode::Skipped,
                    "pytest.importorskip" => TestMode::SkippedIf,
                    _ => TestMode::Runs,
                });
            }
            _ => {}
        }
    }
    mode
}
