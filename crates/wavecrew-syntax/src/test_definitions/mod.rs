//! The tests in a source file: their names, what they assert, whether they run.

mod javascript;
mod javascript_assertions;
mod python;
mod python_assertions;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Serialize;
use tree_sitter::Node;

use crate::assertion::{Assertion, Strength};
use crate::grammar::Grammar;
use crate::lines::Lines;
use crate::tree::{children, is_deeper_than, line_of, text, walk, without_layout};

/// One test of a file, with all cases of a parametrised test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestDefinition {
    /// As the frameworks name it: `TestCart::test_total`, `cart > adds`.
    pub name: String,
    pub lines: Lines,
    /// The number of cases that run; `None` when the source does not show it.
    pub cases: Option<usize>,
    /// Assertions that can fail.
    pub assertions: Vec<Assertion>,
    /// The number of assertions that cannot fail: `assert True`, `expect(x).toBe(x)`, those whose failure is caught.
    pub vacuous: usize,
    pub mode: TestMode,
    /// A hash of the body, without layout and comments.
    pub fingerprint: u64,
}

/// Whether a test runs, and whether its failure counts. Of several modes the last one applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestMode {
    Runs,
    /// The other tests of its file do not run.
    Only,
    /// Depends on a condition at run time.
    SkippedIf,
    ExpectedToFail,
    Skipped,
    /// A name without a body.
    Todo,
}

/// All tests of a file, in its order.
pub fn tests(language: Grammar, source: &str) -> Vec<TestDefinition> {
    tests_with_helpers(language, source, &BTreeSet::new())
}

/// The functions and fixtures of a file that assert something, themselves or by calling one another or one of `known`.
pub fn asserting_names(language: Grammar, source: &str, known: &BTreeSet<String>) -> BTreeSet<String> {
    let tree = language.parse(source);
    if is_deeper_than(tree.root_node(), 400) {
        return BTreeSet::new();
    }
    let known = known.iter().map(String::as_str).collect();
    let found = if language.is_python() {
        python::helpers(tree.root_node(), source, &known)
    } else {
        javascript_assertions::helpers(tree.root_node(), source, &known)
    };
    found.into_iter().map(str::to_owned).collect()
}

/// The same with names of functions in other files that assert something.
pub fn tests_with_helpers(language: Grammar, source: &str, known: &BTreeSet<String>) -> Vec<TestDefinition> {
    let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
    let tree = language.parse(source);
    // Nobody writes such deeply nested tests, and the functions below recurse.
    if is_deeper_than(tree.root_node(), 400) {
        return Vec::new();
    }
    if language.is_python() {
        python::tests(tree.root_node(), source, &known)
    } else {
        javascript::tests(tree.root_node(), source, &known)
    }
}

/// The assertions and skips in the body of a function.
#[derive(Debug, Default)]
struct Body {
    assertions: Vec<Assertion>,
    vacuous: usize,
    skip: Option<TestMode>,
}

/// Reads the body of a function; the languages know their statements.
struct BodyReader<'s> {
    source: &'s str,
    /// Functions of the same file that assert something.
    helpers: &'s BTreeSet<&'s str>,
    body: Body,
}

impl<'s> BodyReader<'s> {
    fn new(source: &'s str, helpers: &'s BTreeSet<&'s str>) -> Self {
        Self {
            source,
            helpers,
            body: Body::default(),
        }
    }

    fn text(&self, node: Node<'_>) -> &'s str {
        text(node, self.source)
    }

    fn tokens(&self, node: Node<'_>) -> String {
        without_layout(node, self.source)
    }

    fn is_skipped(&self) -> bool {
        self.body.skip == Some(TestMode::Skipped)
    }

    fn add_skip(&mut self, context: Context) {
        let mode = if context.conditional {
            TestMode::SkippedIf
        } else {
            TestMode::Skipped
        };
        self.body.skip = self.body.skip.max(Some(mode));
    }

    fn add_assertion(&mut self, whole: Node<'_>, subject: String, strength: Strength, context: Context) {
        if context.swallowed {
            return self.add_vacuous();
        }
        let assertion = Assertion {
            line: line_of(whole.start_position()),
            subject,
            strength,
            text: self.tokens(whole),
        };
        let times = context.times.clamp(1, MAX_TIMES);
        self.body.assertions.extend(std::iter::repeat_n(assertion, times));
    }

    fn add_vacuous(&mut self) {
        self.body.vacuous += 1;
    }
}

/// What surrounds a statement.
#[derive(Debug, Clone, Copy, Default)]
struct Context {
    /// An `if`, a loop or a handler: the statement may not run.
    conditional: bool,
    /// A block whose failures are caught and ignored.
    swallowed: bool,
    /// How often a loop over a table runs it, if the source shows it; else 0.
    times: usize,
}

/// A longer table is not counted to its end.
const MAX_TIMES: usize = 50;

impl Context {
    fn conditional(self) -> Self {
        Self {
            conditional: true,
            ..self
        }
    }

    /// In a loop over so many entries.
    fn repeated(self, times: usize) -> Self {
        Self {
            times: self.times.max(1).saturating_mul(times),
            ..self
        }
    }

    fn swallowed_if(self, swallowed: bool) -> Self {
        Self {
            swallowed: self.swallowed || swallowed,
            ..self
        }
    }
}

/// A constant expression.
fn is_literal(node: Node<'_>) -> bool {
    match node.kind() {
        "true"
        | "false"
        | "none"
        | "null"
        | "undefined"
        | "ellipsis"
        | "integer"
        | "float"
        | "number"
        | "regex"
        | "property_identifier" => true,
        "string" | "concatenated_string" | "template_string" => {
            let mut constant = true;
            walk(node, |n| {
                constant &= !matches!(n.kind(), "interpolation" | "template_substitution");
                constant
            });
            constant
        }
        "list"
        | "tuple"
        | "set"
        | "dictionary"
        | "array"
        | "object"
        | "pair"
        | "unary_operator"
        | "unary_expression"
        | "parenthesized_expression" => children(node).into_iter().all(is_literal),
        _ => false,
    }
}

/// The number of cases of a test inside a parametrised class or suite.
fn multiplied(outer: Option<usize>, inner: Option<usize>) -> Option<usize> {
    Some(outer? * inner?)
}

/// A qualified name; the outer name may be empty.
fn joined(outer: &str, by: &str, name: &str) -> String {
    if outer.is_empty() {
        name.to_owned()
    } else {
        format!("{outer}{by}{name}")
    }
}

/// The names of functions that assert something, themselves or by calling one another or one of `given`. With `given`.
fn asserting_functions<'s, 't>(
    functions: &[(&'s str, Node<'t>)],
    given: &BTreeSet<&'s str>,
    asserts: impl Fn(Node<'t>, &BTreeSet<&'s str>) -> bool,
) -> BTreeSet<&'s str> {
    let mut known = given.clone();
    loop {
        let own = functions.iter().filter(|(_, body)| asserts(*body, &known));
        let found: BTreeSet<&str> = own.map(|(name, _)| *name).chain(given.iter().copied()).collect();
        if found.len() == known.len() {
            return found;
        }
        known = found;
    }
}
