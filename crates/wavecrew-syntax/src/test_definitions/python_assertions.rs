//! Assertions in the body of a Python function: `assert`, pytest's and unittest's calls, mocks.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Body, BodyReader, Context, is_literal};
use crate::assertion::Strength;
use crate::tree::{all_children, children, field, walk};

/// `helpers`: functions of the same file that assert something.
pub fn body_of(body: Node<'_>, source: &str, helpers: &BTreeSet<&str>) -> Body {
    let mut reader = PythonReader(BodyReader::new(source, helpers));
    reader.block(body, Context::default());
    reader.0.body
}

struct PythonReader<'s>(BodyReader<'s>);

impl<'s> PythonReader<'s> {
    fn text(&self, node: Node<'_>) -> &'s str {
        self.0.text(node)
    }

    fn block(&mut self, block: Node<'_>, context: Context) {
        for statement in children(block) {
            self.statement(statement, context);
            let ends = matches!(statement.kind(), "return_statement" | "raise_statement");
            if ends || self.0.is_skipped() {
                break;
            }
        }
    }

    fn statement(&mut self, node: Node<'_>, context: Context) {
        let deeper = context.conditional();
        match node.kind() {
            "for_statement" if self.entries(node).is_some_and(|entries| entries > 0) => {
                let times = self.entries(node).unwrap_or(1);
                if let Some(body) = field(node, "body") {
                    self.block(body, deeper.repeated(times));
                }
            }
            "block" => self.block(node, context),
            "assert_statement" => {
                if let Some(expression) = children(node).first() {
                    self.assert(*expression, context);
                }
            }
            "with_statement" => {
                if let Some(body) = field(node, "body") {
                    for clause in children(node).into_iter().filter(|n| n.kind() == "with_clause") {
                        self.calls(clause, context);
                    }
                    let suppressed = children(node)
                        .first()
                        .is_some_and(|clause| self.text(*clause).contains("suppress("));
                    self.block(body, context.swallowed_if(suppressed));
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
            "try_statement" => self.try_statement(node, context),
            "except_clause" | "except_group_clause" | "finally_clause" => {
                for child in children(node) {
                    self.statement(child, deeper);
                }
            }
            "raise_statement" if self.text(node).contains("SkipTest") => self.0.add_skip(context),
            "raise_statement" if self.text(node).contains("AssertionError") && context.conditional => {
                self.found(node, node, Strength::Partial, context);
            }
            // An inner function runs only if it is called.
            "function_definition" | "class_definition" | "decorated_definition" => {}
            _ => self.calls(node, context),
        }
    }

    /// The number of entries of the table that a loop goes through, where the source shows it.
    fn entries(&self, looping: Node<'_>) -> Option<usize> {
        let mut table = field(looping, "right")?;
        // `table.items()` and `enumerate(table)` go through all of it.
        if table.kind() == "call" {
            let function = field(table, "function")?;
            table = match (function.kind(), self.text(function)) {
                ("attribute", _) => {
                    let name = field(function, "attribute").map(|name| self.text(name));
                    field(function, "object").filter(|_| name == Some("items"))?
                }
                (_, "enumerate") => *children(field(table, "arguments")?).first()?,
                _ => return None,
            };
        }
        if table.kind() == "identifier" {
            table = self.assigned(looping, self.text(table))?;
        }
        match table.kind() {
            "list" | "tuple" | "dictionary" | "set" => {
                let entries = children(table);
                let spread = |entry: &Node<'_>| entry.kind().ends_with("splat");
                (!entries.iter().any(spread)).then_some(entries.len())
            }
            _ => None,
        }
    }

    /// What a name was given, if it was given once in the blocks around.
    fn assigned<'t>(&self, from: Node<'t>, name: &str) -> Option<Node<'t>> {
        let mut around = from.parent();
        while let Some(block) = around {
            let given: Vec<Node<'t>> = children(block)
                .into_iter()
                .filter(|statement| statement.kind() == "expression_statement")
                .filter_map(|statement| children(statement).into_iter().next())
                .filter(|inner| {
                    inner.kind() == "assignment"
                        && field(*inner, "left").is_some_and(|left| self.text(left) == name)
                })
                .filter_map(|assignment| field(assignment, "right"))
                .collect();
            match given.as_slice() {
                [] => around = block.parent(),
                [only] => return Some(*only),
                _ => return None,
            }
        }
        None
    }

    fn try_statement(&mut self, node: Node<'_>, context: Context) {
        let catches = children(node).into_iter().filter(|n| n.kind() == "except_clause");
        let swallows = |clause: Node<'_>| {
            let broad = children(clause).first().is_none_or(|what| {
                what.kind() == "block"
                    || ["Exception", "AssertionError"]
                        .iter()
                        .any(|name| self.text(*what).contains(name))
            });
            let mut reports = false;
            walk(clause, |n| {
                reports |= matches!(n.kind(), "raise_statement" | "assert_statement");
                reports |= n.kind() == "call" && self.text(n).contains("fail(");
                true
            });
            broad && !reports
        };
        let guarded = context.swallowed_if(catches.into_iter().any(swallows));
        for child in children(node) {
            match child.kind() {
                "block" => self.block(child, guarded),
                _ => self.statement(child, context),
            }
        }
    }

    /// Asserting and skipping calls anywhere in an expression.
    fn calls(&mut self, node: Node<'_>, context: Context) {
        walk(node, |node| {
            if matches!(node.kind(), "lambda" | "function_definition") {
                return false;
            }
            if node.kind() == "call" {
                self.call(node, context);
            }
            true
        });
    }

    fn call(&mut self, call: Node<'_>, context: Context) {
        let Some((function, arguments)) = field(call, "function").zip(field(call, "arguments")) else {
            return;
        };
        let name = self.text(function);
        let last = name.rsplit('.').next().unwrap_or_default();
        let arguments: Vec<Node<'_>> = children(arguments);
        let first = arguments.first().copied();
        match last {
            "skip" if name == "pytest.skip" => self.0.add_skip(context),
            "skipTest" => self.0.add_skip(context),
            "fail" if context.conditional && (name == "pytest.fail" || name == "self.fail") => {
                self.found(call, call, Strength::Partial, context);
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
                self.found(call, call, strength, context);
            }
            "deprecated_call" => self.found(call, call, Strength::Raises, context),
            _ if last.starts_with("assert") => self.assert_function(call, last, &arguments, context),
            _ if self.0.helpers.contains(last) => self.found(call, call, Strength::Exact, context),
            _ => {}
        }
    }

    /// `self.assertX`, `assert_called_with` of mocks, and similar functions of libraries.
    fn assert_function(&mut self, call: Node<'_>, name: &str, arguments: &[Node<'_>], context: Context) {
        let [first, rest @ ..] = arguments else {
            let strength = match name {
                "assert_called" | "assert_awaited" => Strength::Presence,
                _ => Strength::Exact,
            };
            return self.found(call, call, strength, context);
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
                    return self.0.add_vacuous();
                }
                Strength::Exact
            }
            "assertIsNone" | "assertFalse" | "assertTrue" => {
                if constant {
                    return self.0.add_vacuous();
                }
                match name {
                    "assertIsNone" => Strength::Exact,
                    _ => return self.assert(*first, context),
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
        self.found(call, subject, strength, context);
    }

    fn found(&mut self, whole: Node<'_>, subject: Node<'_>, strength: Strength, context: Context) {
        let subject = self.0.tokens(subject);
        self.0.add_assertion(whole, subject, strength, context);
    }

    /// The expression of an `assert`.
    fn assert(&mut self, expression: Node<'_>, context: Context) {
        let parts = |name| field(expression, name);
        match expression.kind() {
            "parenthesized_expression" => {
                if let Some(inner) = children(expression).first() {
                    self.assert(*inner, context);
                }
            }
            "boolean_operator" => {
                let both = [parts("left"), parts("right")];
                if parts("operator").is_some_and(|op| self.text(op) == "and") {
                    for side in both.into_iter().flatten() {
                        self.assert(side, context);
                    }
                } else if both.into_iter().flatten().any(is_literal) {
                    self.0.add_vacuous();
                } else {
                    self.found(expression, expression, Strength::Partial, context);
                }
            }
            "comparison_operator" => self.comparison(expression, context),
            "not_operator" => {
                let inner = parts("argument").unwrap_or(expression);
                if is_literal(inner) {
                    self.0.add_vacuous();
                } else {
                    self.found(expression, inner, Strength::Presence, context);
                }
            }
            "call" => {
                let arguments = parts("arguments").map_or_else(Vec::new, children);
                let name = parts("function").map_or("", |n| self.text(n));
                match (name, &arguments[..]) {
                    ("isinstance", [_, kind]) if self.text(*kind) == "object" => {
                        self.0.add_vacuous();
                    }
                    ("isinstance" | "hasattr" | "callable" | "any" | "all" | "issubclass", [first, ..]) => {
                        self.found(expression, *first, Strength::Partial, context);
                    }
                    _ => self.found(expression, expression, Strength::Presence, context),
                }
            }
            // A tuple that is not empty is true.
            "tuple" => self.0.add_vacuous(),
            _ if is_literal(expression) => self.0.add_vacuous(),
            _ => self.found(expression, expression, Strength::Presence, context),
        }
    }

    fn comparison(&mut self, expression: Node<'_>, context: Context) {
        let operands = children(expression);
        let (Some(&left), Some(&right)) = (operands.first(), operands.last()) else {
            return;
        };
        let operator = all_children(expression)
            .into_iter()
            .find(|child| !child.is_named() || matches!(child.kind(), "is not" | "not in"))
            .map_or("", |node| self.text(node));
        let same = self.0.tokens(left) == self.0.tokens(right);
        let reflexive = matches!(operator, "==" | "is" | "<=" | ">=" | "in");
        if (same && reflexive) || (is_literal(left) && is_literal(right)) {
            return self.0.add_vacuous();
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
            ["==" | "is"] => match self.measured_value(subject) {
                Some(inner) => return self.found(expression, inner, Strength::Partial, context),
                None => Strength::Exact,
            },
            _ => Strength::Partial,
        };
        self.found(expression, subject, strength, context);
    }

    /// `x` of `len(x)` and `type(x)`: comparing these demands less than comparing `x`.
    fn measured_value<'t>(&self, subject: Node<'t>) -> Option<Node<'t>> {
        let name = self.text(field(subject, "function")?);
        let [only] = children(field(subject, "arguments")?)[..] else {
            return None;
        };
        matches!(name, "len" | "type").then_some(only)
    }

    /// The largest tolerance in arguments of these names. `places` is a number of digits.
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
