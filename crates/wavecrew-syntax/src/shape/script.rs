//! Tests of vitest and jest: `test`, `it` and `describe` with their modifiers, nested as they are reported.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::script_assert::{body_of, helpers};
use super::{Standing, TestShape, joined, times};
use crate::lines::Lines;
use crate::tree::{children, field, fingerprint, text};

pub fn tests(root: Node<'_>, source: &str) -> Vec<TestShape> {
    let helpers = helpers(root, source);
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
            standing: suite.standing.max(call.standing),
            cases: times(suite.cases, call.cases),
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
            Some(_) => Standing::Runs,
            None => Standing::Todo,
        };
        found.push(TestShape {
            name: inner.name,
            lines: Lines::of(node),
            cases: inner.cases,
            standing: inner.standing.max(body.skip.unwrap_or(fallback)),
            assertions: body.assertions,
            hollow: body.hollow,
            fingerprint: call.body.map_or(0, |body| fingerprint(body, source)),
        });
    }
    number_namesakes(&mut found);
    found
}

/// Tests of one name all run, and are told apart by their number.
fn number_namesakes(tests: &mut [TestShape]) {
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
    standing: Standing,
    cases: Option<usize>,
}

impl Default for Suite {
    fn default() -> Self {
        Self {
            name: String::new(),
            standing: Standing::Runs,
            cases: Some(1),
        }
    }
}

/// A call that defines a test or a suite.
struct TestCall<'t> {
    name: String,
    is_suite: bool,
    standing: Standing,
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
        let options = options.map_or(Standing::Runs, |o| from_options(text(*o, source)));
        Some(Self {
            name: title_text(*title, source),
            is_suite: callee.is_suite,
            standing: callee.standing.max(options),
            cases: callee.cases,
            body,
        })
    }
}

/// `test`, `it.only`, `describe.each(table)`.
struct Callee {
    is_suite: bool,
    standing: Standing,
    cases: Option<usize>,
}

impl Callee {
    fn of(mut node: Node<'_>, source: &str) -> Option<Self> {
        let mut standing = Standing::Runs;
        let mut cases = Some(1);
        let mut given: Option<Node<'_>> = None;
        loop {
            match node.kind() {
                "identifier" => {
                    let (is_suite, own) = match text(node, source) {
                        "test" | "it" => (false, Standing::Runs),
                        "xit" | "xtest" => (false, Standing::Skipped),
                        "fit" => (false, Standing::Only),
                        "describe" | "suite" => (true, Standing::Runs),
                        "xdescribe" => (true, Standing::Skipped),
                        "fdescribe" => (true, Standing::Only),
                        _ => return None,
                    };
                    return Some(Self {
                        is_suite,
                        standing: standing.max(own),
                        cases,
                    });
                }
                "member_expression" => {
                    let property = text(field(node, "property")?, source);
                    standing = standing.max(match property {
                        "skip" => Standing::Skipped,
                        "todo" => Standing::Todo,
                        "only" => Standing::Only,
                        "failing" | "fails" => Standing::ExpectedToFail,
                        "skipIf" | "runIf" => conditional(property, given.take(), source),
                        "each" | "for" => {
                            cases = times(cases, given.take().and_then(|table| rows(table, source)));
                            Standing::Runs
                        }
                        "concurrent" | "sequential" | "shuffle" | "extend" => Standing::Runs,
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

fn conditional(property: &str, arguments: Option<Node<'_>>, source: &str) -> Standing {
    let condition = arguments.map_or("", |a| text(a, source));
    match (property, condition) {
        ("skipIf", "(true)" | "(1)") | ("runIf", "(false)" | "(0)") => Standing::Skipped,
        ("skipIf", "(false)") | ("runIf", "(true)") => Standing::Runs,
        _ => Standing::SkippedIf,
    }
}

/// Cases of a table: a written array, or a template with one row per line after its head.
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

fn from_options(options: &str) -> Standing {
    let plain: String = options.split_whitespace().collect();
    let says = |word: &str| plain.contains(&format!("{word}:true"));
    if says("todo") {
        Standing::Todo
    } else if says("skip") {
        Standing::Skipped
    } else if says("fails") {
        Standing::ExpectedToFail
    } else if says("only") {
        Standing::Only
    } else {
        Standing::Runs
    }
}

fn title_text(title: Node<'_>, source: &str) -> String {
    let whole = text(title, source);
    match title.kind() {
        "string" | "template_string" if whole.len() >= 2 => unescaped(&whole[1..whole.len() - 1]),
        // A function or class is named after itself.
        _ => whole.strip_suffix(".name").unwrap_or(whole).to_owned(),
    }
}

/// Quotes and backslashes that were written with a backslash; names hold no other escapes that matter.
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
