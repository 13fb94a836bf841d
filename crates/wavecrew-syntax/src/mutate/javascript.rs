//! Changes of JavaScript and TypeScript programs. Leaves alone what is gone at run time: types, and imports.

use tree_sitter::Node;

use super::MutantKind::{self, Assignment, Boolean, Condition, Index, Jump, Removal, ReturnValue};
use super::collect::{Collector, Place, Worth, is_logging, lone_call};
use super::walk::Grammar;
use crate::tree::{all_children, children, field, line_of};

/// Changes of JavaScript and TypeScript.
pub struct JavaScript;

impl Grammar for JavaScript {
    fn is_passed_over(node: Node<'_>, c: &Collector<'_>) -> bool {
        let kind = node.kind();
        match kind {
            "comment"
            | "import_statement"
            | "decorator"
            | "type_annotation"
            | "type_arguments"
            | "type_parameters"
            | "interface_declaration"
            | "type_alias_declaration"
            | "ambient_declaration"
            | "function_signature"
            | "method_signature"
            | "abstract_method_signature"
            | "jsx_text"
            | "asserts"
            | "implements_clause"
            | "regex" => true,
            // `export * from "x"`, and types that are exported.
            "export_statement" => field(node, "source").is_some(),
            "call_expression" => {
                let name = field(node, "function").map_or("", |f| c.text(f));
                matches!(name, "require" | "import" | "require.resolve")
            }
            // `"use strict"` and its like.
            "expression_statement" => children(node).first().is_some_and(|only| only.kind() == "string"),
            _ => kind.ends_with("_type") || kind.starts_with("type_predicate"),
        }
    }

    fn surroundings(node: Node<'_>, c: &Collector<'_>, place: &mut Place) {
        let kind = node.kind();
        let is_statement = kind.ends_with("_statement") && kind != "export_statement";
        if is_statement
            || kind.ends_with("_declaration")
            || kind.ends_with("_definition")
            || kind == "switch_case"
        {
            place.statement = line_of(node.start_position());
        }
        match kind {
            "function_declaration"
            | "method_definition"
            | "arrow_function"
            | "function_expression"
            | "generator_function_declaration" => place.in_function = true,
            "throw_statement" | "jsx_attribute" => place.worth = Worth::Little,
            "call_expression" if field(node, "function").is_some_and(|f| is_logging(c.text(f))) => {
                place.worth = Worth::Little;
            }
            _ => {}
        }
    }

    fn inside(parent: Node<'_>, child: Node<'_>, mut place: Place) -> Option<Place> {
        if is_name_or_type(parent, child) {
            return None;
        }
        match parent.kind() {
            "assignment_pattern" if field(parent, "right") == Some(child) => {
                place.constant = MutantKind::Default;
            }
            "required_parameter" | "optional_parameter" if field(parent, "value") == Some(child) => {
                place.constant = MutantKind::Default;
            }
            "subscript_expression" if field(parent, "index") == Some(child) => place.constant = Index,
            "statement_block" => place.constant = MutantKind::Constant,
            _ => {}
        }
        Some(place)
    }

    fn change(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
        match node.kind() {
            "binary_expression" => binary(node, c, place),
            "augmented_assignment_expression" => {
                if let Some(operator) = field(node, "operator") {
                    c.operator(operator, place);
                    c.change(operator, "=", Removal, place);
                }
            }
            "update_expression" => {
                if let Some(operator) = field(node, "operator") {
                    c.operator(operator, place);
                }
            }
            "unary_expression" => unary(node, c, place),
            "number" => c.number(node, place),
            "true" => c.change(node, "false", place.constant, place),
            "false" => c.change(node, "true", place.constant, place),
            "string" => string(node, c, place),
            "template_string" if children(node).iter().all(|n| n.kind() != "template_substitution") => {
                string(node, c, place);
            }
            "return_statement" => {
                if let [value] = children(node)[..] {
                    returned(value, c, place);
                }
            }
            "arrow_function" => {
                if let Some(body) = field(node, "body").filter(|body| body.kind() != "statement_block") {
                    returned(body, c, place);
                }
            }
            "if_statement" | "while_statement" | "do_statement" | "ternary_expression" | "for_statement" => {
                condition(node, c, place);
            }
            "break_statement" if is_in_loop(node) => jump(node, "continue", c, place),
            "continue_statement" => jump(node, "break", c, place),
            "expression_statement" => removal(node, c, place),
            "variable_declarator" => {
                if let Some(value) = field(node, "value") {
                    assigned(value, c, place);
                }
            }
            "assignment_expression" => {
                if let Some(value) = field(node, "right") {
                    assigned(value, c, place);
                }
            }
            "member_expression" => {
                let chain = all_children(node)
                    .into_iter()
                    .find(|n| n.kind() == "optional_chain");
                if let Some(chain) = chain {
                    c.change(chain, ".", Boolean, place);
                }
            }
            "call_expression" => called(node, c, place),
            _ => {}
        }
    }
}

/// Children that are no expression: names of properties, and the type in `x as T`.
fn is_name_or_type(parent: Node<'_>, child: Node<'_>) -> bool {
    match parent.kind() {
        "as_expression" | "satisfies_expression" => children(parent).first() != Some(&child),
        "pair" | "method_definition" | "public_field_definition" | "field_definition" => {
            let name = field(parent, "key")
                .or_else(|| field(parent, "name"))
                .or_else(|| field(parent, "property"));
            name == Some(child)
        }
        _ => false,
    }
}

fn binary(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let Some(operator) = field(node, "operator") else {
        return;
    };
    let text = |side| field(node, side).is_some_and(|n| matches!(n.kind(), "string" | "template_string"));
    match c.text(operator) {
        // Adding to a text makes a text; subtracting from one is noticed by whatever runs it.
        "+" if text("left") || text("right") => {}
        // Not the counterpart of a comparison that Python has.
        "in" | "instanceof" => c.change(
            node,
            format!("!({})", c.text(node)),
            MutantKind::Comparison,
            place,
        ),
        _ => c.operator(operator, place),
    }
}

fn unary(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let Some((operator, argument)) = field(node, "operator").zip(field(node, "argument")) else {
        return;
    };
    match c.text(operator) {
        "!" => c.change(node, c.text(argument), Boolean, place),
        "-" => c.change(
            node,
            format!("+{}", c.text(argument)),
            MutantKind::Arithmetic,
            place,
        ),
        "~" => c.change(node, c.text(argument), MutantKind::Arithmetic, place),
        _ => {}
    }
}

fn string(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let whole = c.text(node);
    let Some(inner) = whole.get(1..whole.len().saturating_sub(1)) else {
        return;
    };
    let quote = &whole[..1];
    c.quoted(node, [quote, inner, quote], place);
}

fn returned(value: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let nothing = matches!(value.kind(), "null" | "undefined");
    // What a component shows, and functions that are made on the way, are noticed by whatever runs them.
    let plain = !matches!(value.kind(), "arrow_function" | "function_expression");
    if !nothing && plain {
        c.change(value, "null", ReturnValue, place);
    }
}

/// A comparison has counterparts of its own, and so has a `!`.
fn condition(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let Some(mut condition) = field(node, "condition") else {
        return;
    };
    if let ("parenthesized_expression", [inner]) = (condition.kind(), &children(condition)[..]) {
        condition = *inner;
    }
    let has_own = match condition.kind() {
        "binary_expression" => {
            let operator = field(condition, "operator").map_or("", |n| c.text(n));
            !matches!(
                operator,
                "&&" | "||" | "??" | "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^"
            )
        }
        "unary_expression" => c.text(condition).starts_with('!'),
        "true" | "false" | "number" | "empty_statement" => true,
        _ => false,
    };
    if !has_own {
        c.change(condition, format!("!({})", c.text(condition)), Condition, place);
    }
}

/// Not in a `switch`, where it ends a case.
fn is_in_loop(node: Node<'_>) -> bool {
    let mut next = node.parent();
    while let Some(parent) = next {
        match parent.kind() {
            "for_statement" | "for_in_statement" | "while_statement" | "do_statement" => return true,
            "switch_statement"
            | "arrow_function"
            | "function_declaration"
            | "method_definition"
            | "function_expression" => return false,
            _ => next = parent.parent(),
        }
    }
    false
}

fn jump(node: Node<'_>, to: &str, c: &mut Collector<'_>, place: Place) {
    if let Some(word) = all_children(node).into_iter().next() {
        c.change(word, to, Jump, place);
    }
}

fn removal(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let Some(call) = lone_call(node, "await_expression", "call_expression") else {
        return;
    };
    let function = field(call, "function").map_or("", |f| c.text(f));
    // A class that does not call what it extends cannot be made at all.
    let place = if function == "super" || is_logging(function) {
        place.of_little_worth()
    } else {
        place
    };
    c.change(node, ";", Removal, place);
}

fn assigned(value: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let worth_it = matches!(
        value.kind(),
        "call_expression" | "member_expression" | "subscript_expression" | "await_expression"
    );
    if worth_it && place.in_function {
        c.change_crudely(value, "null", Assignment, place);
    }
}

fn called(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let name = field(node, "function")
        .filter(|f| f.kind() == "member_expression")
        .and_then(|f| field(f, "property"));
    let Some(name) = name else { return };
    c.counterpart(name, METHODS, place);
}

const METHODS: &[(&str, &str)] = &[
    ("min", "max"),
    ("max", "min"),
    ("floor", "ceil"),
    ("ceil", "floor"),
    ("some", "every"),
    ("every", "some"),
    ("startsWith", "endsWith"),
    ("endsWith", "startsWith"),
    ("toLowerCase", "toUpperCase"),
    ("toUpperCase", "toLowerCase"),
    ("trim", "trimStart"),
    ("trimStart", "trimEnd"),
    ("trimEnd", "trimStart"),
    ("indexOf", "lastIndexOf"),
    ("lastIndexOf", "indexOf"),
    ("push", "unshift"),
    ("unshift", "push"),
    ("shift", "pop"),
    ("pop", "shift"),
];
