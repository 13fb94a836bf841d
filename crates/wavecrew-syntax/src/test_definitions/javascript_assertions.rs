//! Assertions in the body of a JavaScript or TypeScript test: `expect` with its matchers, chai's words, `assert`.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Body, Place, TestMode, Verdict, asserting};
use crate::assertion::{Assertion, Strength};
use crate::tree::{children, field, line_of, plain, text, walk};

pub fn body_of(body: Node<'_>, source: &str, helpers: &BTreeSet<&str>) -> Body {
    let mut reader = Reader {
        source,
        helpers,
        body: Body::default(),
    };
    reader.node(body, Place::default());
    reader.body
}

/// Functions of the file that assert something, themselves or by calling one another: a call of one asserts as well.
pub fn helpers<'s>(root: Node<'_>, source: &'s str) -> BTreeSet<&'s str> {
    let mut functions = Vec::new();
    walk(root, |node| {
        let (name, function) = match node.kind() {
            "function_declaration" => (field(node, "name"), Some(node)),
            "variable_declarator" => (field(node, "name"), field(node, "value")),
            _ => return true,
        };
        let body = function.and_then(|function| field(function, "body"));
        functions.extend(name.map(|name| text(name, source)).zip(body));
        true
    });
    asserting(&functions, |body, known| body_of(body, source, known))
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

    fn node(&mut self, node: Node<'_>, place: Place) {
        let conditional = Place {
            conditional: true,
            ..place
        };
        match node.kind() {
            "statement_block" => {
                for statement in children(node) {
                    self.node(statement, place);
                    let ends = matches!(statement.kind(), "return_statement" | "throw_statement");
                    if ends || self.body.skip == Some(TestMode::Skipped) {
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
                let swallowed = place.swallowed || field(node, "handler").is_some_and(|n| self.swallows(n));
                for child in children(node) {
                    match child.kind() {
                        "statement_block" => self.node(child, Place { swallowed, ..place }),
                        _ => self.node(child, conditional),
                    }
                }
            }
            "call_expression" if self.call(node, place) => {}
            "expression_statement" => {
                let property = children(node)
                    .first()
                    .copied()
                    .filter(|n| n.kind() == "member_expression");
                // chai's `expect(x).to.be.true` is no call.
                if property.is_none_or(|chain| !self.expectation(chain, None, place)) {
                    self.below(node, place);
                }
            }
            _ => self.below(node, place),
        }
    }

    fn below(&mut self, node: Node<'_>, place: Place) {
        for child in children(node) {
            self.node(child, place);
        }
    }

    /// Whether a `catch` forgets what it caught.
    fn swallows(&self, handler: Node<'_>) -> bool {
        let mut says = false;
        walk(handler, |node| {
            says |= node.kind() == "throw_statement";
            says |= node.kind() == "call_expression"
                && ["expect", "assert", "fail"]
                    .iter()
                    .any(|name| self.text(node).starts_with(name));
            true
        });
        !says
    }

    /// Whether the call was an assertion or a skip, with all that is inside.
    fn call(&mut self, call: Node<'_>, place: Place) -> bool {
        let Some((function, arguments)) = field(call, "function").zip(field(call, "arguments")) else {
            return false;
        };
        let name = self.text(function);
        let arguments = children(arguments);
        if function.kind() == "member_expression"
            && self.expectation(function, Some((call, &arguments)), place)
        {
            return true;
        }
        match name {
            _ if matches!(name.split_once('.'), Some((_, "skip"))) => {
                self.body.skips(if place.conditional {
                    TestMode::SkippedIf
                } else {
                    TestMode::Skipped
                });
                true
            }
            "assert" => {
                self.plain_assert(call, "ok", &arguments, place);
                true
            }
            _ if name.starts_with("assert.") => {
                self.plain_assert(
                    call,
                    name.rsplit('.').next().unwrap_or_default(),
                    &arguments,
                    place,
                );
                true
            }
            _ if self.helpers.contains(name) => {
                self.found(call, name.to_owned(), Strength::Exact, place);
                true
            }
            _ => false,
        }
    }

    /// `expect(subject).not.toBe(expected)`: a chain that begins with `expect`.
    fn expectation(&mut self, chain: Node<'_>, call: Option<(Node<'_>, &[Node<'_>])>, place: Place) -> bool {
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
        let subject_text = plain(subject, self.source);
        let same = expected.is_some_and(|e| plain(e, self.source) == subject_text);
        let literal = is_literal(subject) && expected.is_none_or(is_literal);
        if literal || (same && !negated) {
            self.body.add(Verdict::Vacuous);
            return true;
        }
        let strength = match (strength_of(matcher, expected.map(|e| self.text(e))), negated) {
            (Strength::Close { .. }, false) => Strength::Close {
                tolerance: Some(self.digits(arguments)),
            },
            (strength, false) => strength,
            // That a value is not a certain one says little; that it is not in a list, a bit.
            (Strength::Partial, true) => Strength::Partial,
            (_, true) => Strength::Presence,
        };
        self.found(whole, subject_text, strength, place);
        true
    }

    /// jest and vitest take the number of digits and allow half a unit of the last.
    fn digits(&self, arguments: &[Node<'_>]) -> f64 {
        let digits = arguments.get(1).and_then(|n| self.text(*n).parse::<f64>().ok());
        10f64.powf(-digits.unwrap_or(2.0)) / 2.0
    }

    fn plain_assert(&mut self, call: Node<'_>, name: &str, arguments: &[Node<'_>], place: Place) {
        let Some((first, rest)) = arguments.split_first() else {
            return self.body.add(Verdict::Vacuous);
        };
        let compares = name.to_lowercase().contains("equal");
        let second = rest.first().filter(|_| compares);
        let same = second.is_some_and(|n| plain(*n, self.source) == plain(*first, self.source));
        if same || (is_literal(*first) && second.is_none_or(|n| is_literal(*n))) {
            return self.body.add(Verdict::Vacuous);
        }
        let strength = match name {
            "throws" | "rejects" if rest.is_empty() => Strength::RaisesAnything,
            "throws" | "rejects" => Strength::Raises,
            "ok" | "isOk" | "isDefined" | "exists" | "isNotNull" => Strength::Presence,
            _ if name.starts_with("not") => Strength::Presence,
            _ if compares => Strength::Exact,
            _ => Strength::Partial,
        };
        self.found(call, plain(*first, self.source), strength, place);
    }

    fn found(&mut self, whole: Node<'_>, subject: String, strength: Strength, place: Place) {
        self.body.add(if place.swallowed {
            Verdict::Vacuous
        } else {
            Verdict::Real(Assertion {
                line: line_of(whole.start_position()),
                subject,
                strength,
                text: plain(whole, self.source),
            })
        });
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
            // What accepts anything demands nothing of it.
            Some(text) if text.starts_with("expect.any") => Strength::Partial,
            _ => Strength::Exact,
        },
    }
}

/// A value that is written down and holds no variable.
fn is_literal(node: Node<'_>) -> bool {
    match node.kind() {
        "true" | "false" | "null" | "undefined" | "number" | "string" | "regex" => true,
        "template_string" => children(node).iter().all(|n| n.kind() != "template_substitution"),
        "array" | "object" | "pair" | "unary_expression" | "parenthesized_expression" => children(node)
            .into_iter()
            .all(|n| n.kind() == "property_identifier" || is_literal(n)),
        _ => false,
    }
}
