//! Tests as they stand in a file: names, what they assert, whether they run. Runs none, and reads no report.

mod javascript;
mod javascript_assertions;
mod python;
mod python_assertions;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Serialize;
use tree_sitter::Node;

use crate::assertion::Assertion;
use crate::grammar::Grammar;
use crate::lines::Lines;
use crate::tree::is_deeper_than;

/// One test of a file. Cases of a parametrised test are one shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestDefinition {
    /// As the frameworks name it: `TestCart::test_total`, `cart > adds`.
    pub name: String,
    pub lines: Lines,
    /// How many cases it has that run; `None` when the text alone does not tell.
    pub cases: Option<usize>,
    /// Those that can fail.
    pub assertions: Vec<Assertion>,
    /// How many hold whatever the code does: `assert True`, `expect(x).toBe(x)`, those whose failure is caught.
    pub vacuous: usize,
    pub mode: TestMode,
    /// Of the body, without layout and comments.
    pub fingerprint: u64,
}

/// Whether a test runs, and whether its failure counts. Of several the one that says most comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestMode {
    Runs,
    /// It runs, and others of its file do not.
    Only,
    /// It depends on something that is looked at when it runs.
    SkippedIf,
    ExpectedToFail,
    Skipped,
    /// A name without a body.
    Todo,
}

/// All tests of a file, in its order.
pub fn tests(language: Grammar, source: &str) -> Vec<TestDefinition> {
    let tree = language.parse(source);
    // Nobody writes tests that are nested like this, and what follows nests its calls as the text does.
    if is_deeper_than(tree.root_node(), 400) {
        return Vec::new();
    }
    if language.is_python() {
        python::tests(tree.root_node(), source)
    } else {
        javascript::tests(tree.root_node(), source)
    }
}

/// What a body asserts and what it does about running at all.
#[derive(Debug, Default)]
struct Body {
    assertions: Vec<Assertion>,
    vacuous: usize,
    skip: Option<TestMode>,
}

impl Body {
    fn add(&mut self, found: Verdict) {
        match found {
            Verdict::Real(assertion) => self.assertions.push(assertion),
            Verdict::Vacuous => self.vacuous += 1,
        }
    }

    fn skips(&mut self, mode: TestMode) {
        self.skip = self.skip.max(Some(mode));
    }
}

enum Verdict {
    Real(Assertion),
    Vacuous,
}

/// Where in a body a statement stands.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Below an `if`, a loop or a handler: it may not be reached.
    conditional: bool,
    /// Inside a block whose failures are caught and forgotten.
    swallowed: bool,
}

/// How many cases a test has inside of something that is repeated.
fn times(outer: Option<usize>, inner: Option<usize>) -> Option<usize> {
    Some(outer? * inner?)
}

/// A name below another one; the outer may be empty.
fn joined(outer: &str, by: &str, name: &str) -> String {
    if outer.is_empty() {
        name.to_owned()
    } else {
        format!("{outer}{by}{name}")
    }
}

/// The names of those functions whose body asserts, where a call of one that is known to does as well.
fn asserting<'s, 't>(
    functions: &[(&'s str, Node<'t>)],
    read: impl Fn(Node<'t>, &BTreeSet<&'s str>) -> Body,
) -> BTreeSet<&'s str> {
    let mut known = BTreeSet::new();
    loop {
        let asserts = |(_, body): &&(&str, Node<'t>)| !read(*body, &known).assertions.is_empty();
        let found: BTreeSet<&str> = functions.iter().filter(asserts).map(|(name, _)| *name).collect();
        if found.len() == known.len() {
            return found;
        }
        known = found;
    }
}
