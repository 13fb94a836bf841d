//! Assertions in the body of a Python function: `assert`, pytest's and unittest's calls, mocks.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Body, Place, TestMode, Verdict};
use crate::assertion::{Assertion, Strength};
use crate::tree::{all_children, children, field, line_of, plain, text, walk};

/// `helpers`: functions of the same file that assert.
pub fn body_of(body: Node<'_>, source: &str, helpers: &BTreeSet<&str>) -> Body {
    let mut reader = Reader {
        source,
        helpers,
        body: Body::default(),
    };
    reader.block(body, Place::default());
    reader.body
}

struct Reader<'s> {
    source: &'s str,
    helpers: &'s BTreeSet<&'s str>,
    body: Body,
}

impl<'s> Reader<'s> {
    fn text(&self, node: Node<'_>) -> &'s str {
        text(node, self.source)
    }

    fn block(&mut self, block: Node<'_>, place: Place) {
        for statement in children(block) {
            self.statement(statement, place);
            let ends = matches!(statement.kind(), "return_statement" | "raise_statement");
            if ends || self.body.skip == Some(TestMode::Skipped) {
                break;
            }
        }
    }

    fn statement(&mut self, node: Node<'_>, place: Place) {
        let deeper = Place {
            conditional: true,
            ..place
        };
        match node.kind() {
            "block" => self.block(node, place),
            "assert_statement" => {
                if let Some(expression) = children(node).first() {
                    self.assert(*expression, place);
                }
            }
            "with_statement" => {
                if let Some(body) = field(node, "body") {
                    for clause in children(node).into_iter().filter(|n| n.kind() == "with_clause") {
                        self.calls(clause, place);
                    }
                    let suppressed = children(node)
                        .first()
                        .is_some_and(|clause| self.text(*clause).contains("suppress("));
                    let swallowed = place.swallowed || suppressed;
                    self.block(body, Place { swallowed, ..place });
                }
            }
            "if_statement" | "elif_clause" | "else_clause" | "for_statement" | "while_statement"
            | "match_statement" | "case_clause" => {
                let condition = field(node, "condition").map(|n| self.text(n));
                let never = matches!(condition, Some("False" | "0" | "None"));
                for child in children(node) {
                    if !(never && field(node, "consequence") == Some(child)) {
                        self.statement(child, deeper);
                    }
                }
            }
            "try_statement" => self.attempt(node, place),
            "except_clause" | "except_group_clause" | "finally_clause" => {
                for child in children(node) {
                    self.statement(child, deeper);
                }
            }
            "raise_statement" if self.text(node).contains("SkipTest") => self.skip(place),
            "raise_statement" if self.text(node).contains("AssertionError") && place.conditional => {
                self.found(node, node, Strength::Partial, place);
            }
            // What is defined inside runs only if it is called.
            "function_definition" | "class_definition" | "decorated_definition" => {}
            _ => self.calls(node, place),
        }
    }

    fn attempt(&mut self, node: Node<'_>, place: Place) {
        let catches = children(node).into_iter().filter(|n| n.kind() == "except_clause");
        let swallows = |clause: Node<'_>| {
            let broad = children(clause).first().is_none_or(|what| {
                what.kind() == "block"
                    || ["Exception", "AssertionError"]
                        .iter()
                        .any(|name| self.text(*what).contains(name))
            });
            let mut says = false;
            walk(clause, |n| {
                says |= matches!(n.kind(), "raise_statement" | "assert_statement");
                says |= n.kind() == "call" && self.text(n).contains("fail(");
                true
            });
            broad && !says
        };
        let swallowed = place.swallowed || catches.into_iter().any(swallows);
        for child in children(node) {
            match child.kind() {
                "block" => self.block(child, Place { swallowed, ..place }),
                _ => self.statement(child, place),
            }
        }
    }

    fn skip(&mut self, place: Place) {
        self.body.skips(if place.conditional {
            TestMode::SkippedIf
        } else {
            TestMode::Skipped
        });
    }

    /// Asserting and skipping calls anywhere in an expression.
    fn calls(&mut self, node: Node<'_>, place: Place) {
        walk(node, |node| {
            if matches!(node.kind(), "lambda" | "function_definition") {
                return false;
            }
            if node.kind() == "call" {
                self.call(node, place);
            }
            true
        });
    }

    fn call(&mut self, call: Node<'_>, place: Place) {
        let Some((function, arguments)) = field(call, "function").zip(field(call, "arguments")) else {
            return;
        };
        let name = self.text(function);
        let last = name.rsplit('.').next().unwrap_or_default();
        let arguments: Vec<Node<'_>> = children(arguments);
        let first = arguments.first().copied();
        match last {
            "skip" if name == "pytest.skip" => self.skip(place),
            "skipTest" => self.skip(place),
            "fail" if place.conditional && (name == "pytest.fail" || name == "self.fail") => {
                self.found(call, call, Strength::Partial, place);
            }
            "raises" | "warns" | "assertRaises" | "assertWarns" | "assertRaisesRegex"
            | "assertWarnsRegex" => {
                let matched = last.ends_with("Regex")
                    || arguments.iter().any(|a| {
                        a.kind() == "keyword_argument"
                            && field(*a, "name").is_some_and(|n| matches!(self.text(n), "match" | "check"))
                    });
                let broad = first
                    .is_none_or(|kind| matches!(self.text(kind), "Exception" | "BaseException" | "Warning"));
                let strength = match (matched, broad) {
                    (true, _) => Strength::RaisesMatching,
                    (false, false) => Strength::Raises,
                    (false, true) => Strength::RaisesAnything,
                };
                self.found(call, call, strength, place);
            }
            "deprecated_call" => self.found(call, call, Strength::Raises, place),
            _ if last.starts_with("assert") => self.method(call, last, &arguments, place),
            _ if self.helpers.contains(last) => self.found(call, call, Strength::Exact, place),
            _ => {}
        }
    }

    /// `self.assertX`, mocks' `assert_called_with`, and what libraries name alike.
    fn method(&mut self, call: Node<'_>, name: &str, arguments: &[Node<'_>], place: Place) {
        let [first, rest @ ..] = arguments else {
            let strength = match name {
                "assert_called" | "assert_awaited" => Strength::Presence,
                _ => Strength::Exact,
            };
            return self.found(call, call, strength, place);
        };
        let same = rest
            .first()
            .is_some_and(|second| self.text(*second) == self.text(*first));
        let constant = is_literal(*first) && rest.iter().take(1).all(|second| is_literal(*second));
        let strength = match name {
            "assertEqual"
            | "assertEquals"
            | "assertIs"
            | "assertListEqual"
            | "assertDictEqual"
            | "assertTupleEqual"
            | "assertSetEqual"
            | "assertMultiLineEqual"
            | "assertSequenceEqual"
            | "assertCountEqual" => {
                if same || constant {
                    return self.body.add(Verdict::Vacuous);
                }
                Strength::Exact
            }
            "assertIsNone" | "assertFalse" | "assertTrue" => {
                if constant {
                    return self.body.add(Verdict::Vacuous);
                }
                match name {
                    "assertIsNone" => Strength::Exact,
                    _ => return self.assert(*first, place),
                }
            }
            "assertAlmostEqual" => Strength::Close {
                tolerance: self.tolerance(call, "places", "delta"),
            },
            "assertIsNotNone" | "assertNotEqual" | "assertIsNot" => Strength::Presence,
            _ if name.starts_with("assert_") => Strength::Exact,
            _ => Strength::Partial,
        };
        let subject = if is_literal(*first) {
            rest.first().copied().unwrap_or(*first)
        } else {
            *first
        };
        self.found(call, subject, strength, place);
    }

    fn found(&mut self, whole: Node<'_>, subject: Node<'_>, strength: Strength, place: Place) {
        self.body.add(if place.swallowed {
            Verdict::Vacuous
        } else {
            Verdict::Real(Assertion {
                line: line_of(whole.start_position()),
                subject: plain(subject, self.source),
                strength,
                text: plain(whole, self.source),
            })
        });
    }

    /// The expression of an `assert`.
    fn assert(&mut self, expression: Node<'_>, place: Place) {
        let parts = |name| field(expression, name);
        match expression.kind() {
            "parenthesized_expression" => {
                if let Some(inner) = children(expression).first() {
                    self.assert(*inner, place);
                }
            }
            "boolean_operator" => {
                let both = [parts("left"), parts("right")];
                if parts("operator").is_some_and(|op| self.text(op) == "and") {
                    for side in both.into_iter().flatten() {
                        self.assert(side, place);
                    }
                } else if both.into_iter().flatten().any(is_literal) {
                    self.body.add(Verdict::Vacuous);
                } else {
                    self.found(expression, expression, Strength::Partial, place);
                }
            }
            "comparison_operator" => self.comparison(expression, place),
            "not_operator" => {
                let inner = parts("argument").unwrap_or(expression);
                if is_literal(inner) {
                    self.body.add(Verdict::Vacuous);
                } else {
                    self.found(expression, inner, Strength::Presence, place);
                }
            }
            "call" => {
                let arguments = parts("arguments").map_or_else(Vec::new, children);
                let name = parts("function").map_or("", |n| self.text(n));
                match (name, &arguments[..]) {
                    ("isinstance", [_, kind]) if self.text(*kind) == "object" => {
                        self.body.add(Verdict::Vacuous);
                    }
                    ("isinstance" | "hasattr" | "callable" | "any" | "all" | "issubclass", [first, ..]) => {
                        self.found(expression, *first, Strength::Partial, place);
                    }
                    _ => self.found(expression, expression, Strength::Presence, place),
                }
            }
            // A tuple that is not empty is true.
            "tuple" => self.body.add(Verdict::Vacuous),
            _ if is_literal(expression) => self.body.add(Verdict::Vacuous),
            _ => self.found(expression, expression, Strength::Presence, place),
        }
    }

    fn comparison(&mut self, expression: Node<'_>, place: Place) {
        let operands = children(expression);
        let (Some(&left), Some(&right)) = (operands.first(), operands.last()) else {
            return;
        };
        let operator = all_children(expression)
            .into_iter()
            .find(|child| !child.is_named() || matches!(child.kind(), "is not" | "not in"))
            .map_or("", |node| self.text(node));
        let same = plain(left, self.source) == plain(right, self.source);
        let reflexive = matches!(operator, "==" | "is" | "<=" | ">=" | "in");
        if (same && reflexive) || (is_literal(left) && is_literal(right)) {
            return self.body.add(Verdict::Vacuous);
        }
        let (subject, expected) = if is_literal(left) || operator == "in" {
            (right, left)
        } else {
            (left, right)
        };
        let strength = match operator.split_whitespace().collect::<Vec<_>>()[..] {
            ["is", "not"] | ["!="] => Strength::Presence,
            ["=="] if self.text(expected).contains("approx(") => Strength::Close {
                tolerance: self.tolerance(expected, "rel", "abs"),
            },
            ["==" | "is"] => match self.measured(subject) {
                Some(inner) => return self.found(expression, inner, Strength::Partial, place),
                None => Strength::Exact,
            },
            _ => Strength::Partial,
        };
        self.found(expression, subject, strength, place);
    }

    /// `x` of `len(x)` and `type(x)`: comparing these says less than comparing `x`.
    fn measured<'t>(&self, subject: Node<'t>) -> Option<Node<'t>> {
        let name = self.text(field(subject, "function")?);
        let [only] = children(field(subject, "arguments")?)[..] else {
            return None;
        };
        matches!(name, "len" | "type").then_some(only)
    }

    /// What is written as an argument of one of these names: the larger demands less. `places` is turned around.
    fn tolerance(&self, call: Node<'_>, one: &str, other: &str) -> Option<f64> {
        let mut widest: Option<f64> = None;
        walk(call, |node| {
            if node.kind() == "keyword_argument"
                && let Some((name, value)) = field(node, "name").zip(field(node, "value"))
                && let name = self.text(name)
                && (name == one || name == other)
                && let Ok(value) = self.text(value).parse::<f64>()
            {
                let value = if name == "places" {
                    10f64.powf(-value)
                } else {
                    value
                };
                widest = Some(widest.map_or(value, |w| w.max(value)));
            }
            true
        });
        widest
    }
}

/// A value that is written down and holds no variable.
fn is_literal(node: Node<'_>) -> bool {
    match node.kind() {
        "true" | "false" | "none" | "integer" | "float" | "ellipsis" => true,
        "string" | "concatenated_string" => {
            let mut plain = true;
            walk(node, |n| {
                plain &= n.kind() != "interpolation";
                plain
            });
            plain
        }
        "list" | "tuple" | "set" | "dictionary" | "pair" | "unary_operator" | "parenthesized_expression" => {
            children(node).into_iter().all(is_literal)
        }
        _ => false,
    }
}
