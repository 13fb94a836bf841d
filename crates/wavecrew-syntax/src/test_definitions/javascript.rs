//! Finds tests of vitest and jest: `test`, `it` and `describe` with their modifiers.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::javascript_assertions::{body_of, helpers};
use super::{TestDefinition, TestMode, joined, multiplied};
use crate::lines::Lines;
use crate::tree::{children, field, fingerprint, text};

pub fn tests<'s>(root: Node<'_>, source: &'s str, known: &BTreeSet<&'s str>) -> Vec<TestDefinition> {
    let helpers = helpers(root, source, known);
    let mut found = Vec::new();
    let mut open = vec![(root, Suite::default())];
    while let Some((node, suite)) = open.pop() {
        let Some(call) = TestCall::of(node, source) else {
            open.extend(
                children(node)
                    .into_iter()
                    .rev()
                    .map(|child| (child, suite.clone())),
            );
            continue;
        };
        let inner = Suite {
            name: joined(&suite.name, " > ", &call.name),
            mode: suite.mode.max(call.mode),
            cases: multiplied(suite.cases, call.cases),
        };
        if call.is_suite {
            open.extend(call.body.map(|body| (body, inner)));
            continue;
        }
        let body = call
            .body
            .map(|body| body_of(body, source, &helpers))
            .unwrap_or_default();
        let fallback = match call.body {
            Some(_) => TestMode::Runs,
            None => TestMode::Todo,
        };
        found.push(TestDefinition {
            name: inner.name,
            lines: Lines::of(node),
            cases: inner.cases,
            mode: inner.mode.max(body.skip.unwrap_or(fallback)),
            assertions: body.assertions,
            vacuous: body.vacuous,
            fingerprint: call.body.map_or(0, |body| fingerprint(body, source)),
        });
    }
    number_namesakes(&mut found);
    found
}

/// Tests with the same name all run, and are numbered.
fn number_namesakes(tests: &mut [TestDefinition]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for test in tests {
        let count = seen.entry(test.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            test.name.push_str(&format!(" #{count}"));
        }
    }
}

/// What surrounds a test.
#[derive(Debug, Clone)]
struct Suite {
    name: String,
    mode: TestMode,
    cases: Option<usize>,
}

impl Default for Suite {
    fn default() -> Self {
        Self {
            name: String::new(),
            mode: TestMode::Runs,
            cases: Some(1),
        }
    }
}

/// A call that defines a test or a suite.
struct TestCall<'t> {
    name: String,
    is_suite: bool,
    mode: TestMode,
    cases: Option<usize>,
    body: Option<Node<'t>>,
}

impl<'t> TestCall<'t> {
    fn of(node: Node<'t>, source: &str) -> Option<Self> {
        if node.kind() != "call_expression" {
            return None;
        }
        let arguments = field(node, "arguments").filter(|n| n.kind() == "arguments")?;
        let arguments = children(arguments);
        let callee = Callee::of(field(node, "function")?, source)?;
        let title = arguments.first()?;
        if !matches!(
            title.kind(),
            "string" | "template_string" | "identifier" | "member_expression" | "binary_expression"
        ) {
            return None;
        }
        let body = arguments
            .iter()
            .skip(1)
            .find(|a| matches!(a.kind(), "arrow_function" | "function_expression"))
            .and_then(|function| field(*function, "body"));
        let options = arguments.iter().skip(1).find(|a| a.kind() == "object");
        let options = options.map_or(TestMode::Runs, |o| from_options(text(*o, source)));
        Some(Self {
            name: title_text(*title, source),
            is_suite: callee.is_suite,
            mode: callee.mode.max(options),
            cases: callee.cases,
            body,
        })
    }
}

/// `test`, `it.only`, `describe.each(table)`.
struct Callee {
    is_suite: bool,
    mode: TestMode,
    cases: Option<usize>,
}

impl Callee {
    fn of(mut node: Node<'_>, source: &str) -> Option<Self> {
        let mut mode = TestMode::Runs;
        let mut cases = Some(1);
        let mut given: Option<Node<'_>> = None;
        loop {
            match node.kind() {
                "identifier" => {
                    let (is_suite, own) = match text(node, source) {
                        "test" | "it" => (false, TestMode::Runs),
                        "xit" | "xtest" => (false, TestMode::Skipped),
                        "fit" => (false, TestMode::Only),
                        "describe" | "suite" => (true, TestMode::Runs),
                        "xdescribe" => (true, TestMode::Skipped),
                        "fdescribe" => (true, TestMode::Only),
                        _ => return None,
                    };
                    return Some(Self {
                        is_suite,
                        mode: mode.max(own),
                        cases,
                    });
                }
                "member_expression" => {
                    let property = text(field(node, "property")?, source);
                    mode = mode.max(match property {
                        "skip" => TestMode::Skipped,
                        "todo" => TestMode::Todo,
                        "only" => TestMode::Only,
                        "failing" | "fails" => TestMode::ExpectedToFail,
                        "skipIf" | "runIf" => conditional(property, given.take(), source),
                        "each" | "for" => {
                            cases = multiplied(cases, given.take().and_then(|table| rows(table, source)));
                            TestMode::Runs
                        }
                        "concurrent" | "sequential" | "shuffle" | "extend" => TestMode::Runs,
                        _ => return None,
                    });
                    node = field(node, "object")?;
                }
                "call_expression" => {
                    given = field(node, "arguments");
                    node = field(node, "function")?;
                }
                _ => return None,
            }
        }
    }
}

fn conditional(property: &str, arguments: Option<Node<'_>>, source: &str) -> TestMode {
    let condition = arguments.map_or("", |a| text(a, source));
    match (property, condition) {
        ("skipIf", "(true)" | "(1)") | ("runIf", "(false)" | "(0)") => TestMode::Skipped,
        ("skipIf", "(false)") | ("runIf", "(true)") => TestMode::Runs,
        _ => TestMode::SkippedIf,
    }
}

/// The number of rows in a table: an array, or a template with one row per line after its header.
fn rows(table: Node<'_>, source: &str) -> Option<usize> {
    if table.kind() == "template_string" {
        let lines = text(table, source).trim_matches('`').lines();
        return Some(
            lines
                .filter(|line| !line.trim().is_empty())
                .count()
                .saturating_sub(1),
        );
    }
    let array = children(table)
        .into_iter()
        .next()
        .filter(|n| n.kind() == "array")?;
    let entries = children(array);
    let spread = entries.iter().any(|entry| entry.kind() == "spread_element");
    (!spread).then_some(entries.len())
}

fn from_options(options: &str) -> TestMode {
    let plain: String = options.split_whitespace().collect();
    let modes = [
        ("todo:true", TestMode::Todo),
        ("skip:true", TestMode::Skipped),
        ("fails:true", TestMode::ExpectedToFail),
        ("only:true", TestMode::Only),
    ];
    let mode = modes.into_iter().find(|(option, _)| plain.contains(option));
    mode.map_or(TestMode::Runs, |(_, mode)| mode)
}

fn title_text(title: Node<'_>, source: &str) -> String {
    let whole = text(title, source);
    match title.kind() {
        "string" | "template_string" if whole.len() >= 2 => unescaped(&whole[1..whole.len() - 1]),
        // The name of a function or class.
        _ => whole.strip_suffix(".name").unwrap_or(whole).to_owned(),
    }
}

/// Removes the backslash before quotes and backslashes; titles have no other escapes that matter.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\'' | '"' | '`' | '\\')) => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out
}
