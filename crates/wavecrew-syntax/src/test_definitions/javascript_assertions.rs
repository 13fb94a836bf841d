//! Assertions in the body of a JavaScript or TypeScript test: `expect` with its matchers, chai's words, `assert`.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Body, BodyReader, Context, asserting_functions, is_literal};
use crate::assertion::Strength;
use crate::tree::{children, field, text, walk};

pub fn body_of(body: Node<'_>, source: &str, helpers: &BTreeSet<&str>) -> Body {
    let mut reader = JavaScriptReader(BodyReader::new(source, helpers));
    reader.node(body, Context::default());
    reader.0.body
}

/// Functions of the file that assert something, themselves or by calling one another.
pub fn helpers<'s>(root: Node<'_>, source: &'s str, known: &BTreeSet<&'s str>) -> BTreeSet<&'s str> {
    let mut functions = Vec::new();
    walk(root, |node| {
        let (name, function) = match node.kind() {
            "function_declaration" | "method_definition" => (field(node, "name"), Some(node)),
            "variable_declarator" => (field(node, "name"), field(node, "value")),
            "pair" => (field(node, "key"), field(node, "value")),
            // `exports.check = () => ...`
            "assignment_expression" => {
                let left = field(node, "left");
                let property = left.and_then(|left| field(left, "property"));
                (property.or(left), field(node, "right"))
            }
            _ => return true,
        };
        let body = function.and_then(|function| field(function, "body"));
        functions.extend(name.map(|name| text(name, source)).zip(body));
        true
    });
    asserting_functions(&functions, known, |body, known| {
        !body_of(body, source, known).assertions.is_empty()
    })
}

struct JavaScriptReader<'s>(BodyReader<'s>);

impl<'s> JavaScriptReader<'s> {
    fn text(&self, node: Node<'_>) -> &'s str {
        self.0.text(node)
    }

    fn node(&mut self, node: Node<'_>, context: Context) {
        let conditional = context.conditional();
        match node.kind() {
            "statement_block" => {
                for statement in children(node) {
                    self.node(statement, context);
                    let ends = matches!(statement.kind(), "return_statement" | "throw_statement");
                    if ends || self.0.is_skipped() {
                        break;
                    }
                }
            }
            "if_statement" => {
                let never =
                    field(node, "condition").is_some_and(|n| matches!(self.text(n), "(false)" | "(0)"));
                for child in children(node) {
                    if !(never && field(node, "consequence") == Some(child)) {
                        self.node(child, conditional);
                    }
                }
            }
            "try_statement" => {
                let swallows = field(node, "handler").is_some_and(|n| self.swallows(n));
                let guarded = context.swallowed_if(swallows);
                for child in children(node) {
                    match child.kind() {
                        "statement_block" => self.node(child, guarded),
                        _ => self.node(child, conditional),
                    }
                }
            }
            "call_expression" if self.call(node, context) => {}
            "expression_statement" => {
                let property = children(node)
                    .first()
                    .copied()
                    .filter(|n| n.kind() == "member_expression");
                // chai's `expect(x).to.be.true` is not a call.
                if property.is_none_or(|chain| !self.expectation(chain, None, context)) {
                    self.visit_children(node, context);
                }
            }
            _ => self.visit_children(node, context),
        }
    }

    fn visit_children(&mut self, node: Node<'_>, context: Context) {
        for child in children(node) {
            self.node(child, context);
        }
    }

    /// Whether a `catch` ignores what it caught.
    fn swallows(&self, handler: Node<'_>) -> bool {
        let mut reports = false;
        walk(handler, |node| {
            reports |= node.kind() == "throw_statement";
            reports |= node.kind() == "call_expression"
                && ["expect", "assert", "fail"]
                    .iter()
                    .any(|name| self.text(node).starts_with(name));
            true
        });
        !reports
    }

    /// Whether the call is an assertion or a skip.
    fn call(&mut self, call: Node<'_>, context: Context) -> bool {
        let Some((function, arguments)) = field(call, "function").zip(field(call, "arguments")) else {
            return false;
        };
        let name = self.text(function);
        let arguments = children(arguments);
        if function.kind() == "member_expression"
            && self.expectation(function, Some((call, &arguments)), context)
        {
            return true;
        }
        match name {
            _ if matches!(name.split_once('.'), Some((_, "skip"))) => {
                self.0.add_skip(context);
                true
            }
            "assert" => {
                self.assert_function(call, "ok", &arguments, context);
                true
            }
            _ if name.starts_with("assert.") => {
                self.assert_function(
                    call,
                    name.rsplit('.').next().unwrap_or_default(),
                    &arguments,
                    context,
                );
                true
            }
            _ if self
                .0
                .helpers
                .contains(name.rsplit('.').next().unwrap_or_default()) =>
            {
                self.0
                    .add_assertion(call, name.to_owned(), Strength::Exact, context);
                true
            }
            _ => false,
        }
    }

    /// `expect(subject).not.toBe(expected)`: a chain that begins with `expect`.
    fn expectation(
        &mut self,
        chain: Node<'_>,
        call: Option<(Node<'_>, &[Node<'_>])>,
        context: Context,
    ) -> bool {
        let mut words = Vec::new();
        let mut node = chain;
        let subject = loop {
            match node.kind() {
                "member_expression" => {
                    words.extend(field(node, "property").map(|n| self.text(n)));
                    let Some(object) = field(node, "object") else {
                        return false;
                    };
                    node = object;
                }
                "call_expression" => {
                    let Some((function, arguments)) = field(node, "function").zip(field(node, "arguments"))
                    else {
                        return false;
                    };
                    if matches!(self.text(function), "expect" | "expect.soft" | "expect.poll") {
                        break children(arguments).into_iter().next();
                    }
                    // A word of chai with an argument, followed by more.
                    node = function;
                }
                _ => return false,
            }
        };
        let (Some(subject), Some(matcher)) = (subject, words.first().copied()) else {
            return false;
        };
        let (whole, arguments) = call.unwrap_or((chain, &[]));
        let negated = words[1..].contains(&"not");
        let expected = arguments.first().copied();
        let subject_text = self.0.tokens(subject);
        let same = expected.is_some_and(|e| self.0.tokens(e) == subject_text);
        let literal = is_literal(subject) && expected.is_none_or(is_literal);
        if literal || (same && !negated) {
            self.0.add_vacuous();
            return true;
        }
        let strength = match (strength_of(matcher, expected.map(|e| self.text(e))), negated) {
            (Strength::Close { .. }, false) => Strength::Close {
                tolerance: Some(self.close_to_tolerance(arguments)),
            },
            (strength, false) => strength,
            // An assertion that a value differs from one other value is weak.
            (Strength::Partial, true) => Strength::Partial,
            (_, true) => Strength::Presence,
        };
        self.0.add_assertion(whole, subject_text, strength, context);
        true
    }

    /// jest and vitest take a number of digits, and allow half a unit of the last.
    fn close_to_tolerance(&self, arguments: &[Node<'_>]) -> f64 {
        let digits = arguments.get(1).and_then(|n| self.text(*n).parse::<f64>().ok());
        10f64.powf(-digits.unwrap_or(2.0)) / 2.0
    }

    fn assert_function(&mut self, call: Node<'_>, name: &str, arguments: &[Node<'_>], context: Context) {
        let Some((first, rest)) = arguments.split_first() else {
            return self.0.add_vacuous();
        };
        let compares = name.to_lowercase().contains("equal");
        let second = rest.first().filter(|_| compares);
        let same = second.is_some_and(|n| self.0.tokens(*n) == self.0.tokens(*first));
        if same || (is_literal(*first) && second.is_none_or(|n| is_literal(*n))) {
            return self.0.add_vacuous();
        }
        let strength = match name {
            "throws" | "rejects" if rest.is_empty() => Strength::RaisesAnything,
            "throws" | "rejects" => Strength::Raises,
            "ok" | "isOk" | "isDefined" | "exists" | "isNotNull" => Strength::Presence,
            _ if name.starts_with("not") => Strength::Presence,
            _ if compares => Strength::Exact,
            _ => Strength::Partial,
        };
        self.0
            .add_assertion(call, self.0.tokens(*first), strength, context);
    }
}

fn strength_of(matcher: &str, expected: Option<&str>) -> Strength {
    match matcher {
        "toBeTruthy" | "toBeFalsy" | "toBeDefined" | "ok" | "exist" | "toHaveBeenCalled" | "called" => {
            Strength::Presence
        }
        "toBeCloseTo" | "closeTo" | "approximately" => Strength::Close { tolerance: None },
        "toThrow" | "toThrowError" | "throw" | "throws" => match expected {
            None | Some("Error") => Strength::RaisesAnything,
            Some(text) if text.starts_with(['\'', '"', '`', '/']) => Strength::RaisesMatching,
            Some(text) if text.starts_with("new ") => Strength::RaisesMatching,
            Some(_) => Strength::Raises,
        },
        "toThrowErrorMatchingInlineSnapshot" => Strength::RaisesMatching,
        "toContain"
        | "toContainEqual"
        | "toMatch"
        | "toMatchObject"
        | "toHaveLength"
        | "toBeGreaterThan"
        | "toBeGreaterThanOrEqual"
        | "toBeLessThan"
        | "toBeLessThanOrEqual"
        | "toBeInstanceOf"
        | "toHaveProperty"
        | "toBeTypeOf"
        | "toSatisfy"
        | "toMatchSnapshot"
        | "include"
        | "contain"
        | "match"
        | "length"
        | "lengthOf"
        | "instanceOf"
        | "instanceof"
        | "a"
        | "an"
        | "above"
        | "below"
        | "least"
        | "most"
        | "property" => Strength::Partial,
        _ => match expected {
            // `expect.any` accepts every value of a type.
            Some(text) if text.starts_with("expect.any") => Strength::Partial,
            _ => Strength::Exact,
        },
    }
}
