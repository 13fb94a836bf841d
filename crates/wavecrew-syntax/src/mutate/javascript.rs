//! Mutants of JavaScript and TypeScript. Excludes imports and what does not exist at run time, such as types.

use tree_sitter::Node;

use super::MutantKind::{self, Assignment, Boolean, Condition, Index, Jump, Removal, ReturnValue};
use super::collector::{Collector, Context, Priority, called_statement, is_logging};
use super::walk::MutationRules;
use crate::tree::{all_children, children, field, line_of};

pub struct JavaScript;

impl MutationRules for JavaScript {
    fn is_excluded(node: Node<'_>, c: &Collector<'_>) -> bool {
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

    fn enter(node: Node<'_>, c: &Collector<'_>, context: &mut Context) {
        let kind = node.kind();
        let is_statement = kind.ends_with("_statement") && kind != "export_statement";
        if is_statement
            || kind.ends_with("_declaration")
            || kind.ends_with("_definition")
            || kind == "switch_case"
        {
            context.statement = line_of(node.start_position());
        }
        match kind {
            "function_declaration"
            | "method_definition"
            | "arrow_function"
            | "function_expression"
            | "generator_function_declaration" => context.in_function = true,
            "throw_statement" | "jsx_attribute" => context.priority = Priority::Low,
            "call_expression" if field(node, "function").is_some_and(|f| is_logging(c.text(f))) => {
                context.priority = Priority::Low;
            }
            _ => {}
        }
    }

    fn enter_child(parent: Node<'_>, child: Node<'_>, mut context: Context) -> Option<Context> {
        if is_name_or_type(parent, child) {
            return None;
        }
        match parent.kind() {
            "assignment_pattern" if field(parent, "right") == Some(child) => {
                context.constant = MutantKind::Default;
            }
            "required_parameter" | "optional_parameter" if field(parent, "value") == Some(child) => {
                context.constant = MutantKind::Default;
            }
            "subscript_expression" if field(parent, "index") == Some(child) => context.constant = Index,
            "statement_block" => context.constant = MutantKind::Constant,
            _ => {}
        }
        Some(context)
    }

    fn mutate(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
        match node.kind() {
            "binary_expression" => binary(node, c, context),
            "augmented_assignment_expression" => {
                if let Some(operator) = field(node, "operator") {
                    c.swap_operator(operator, context);
                    c.replace(operator, "=", Removal, context);
                }
            }
            "update_expression" => {
                if let Some(operator) = field(node, "operator") {
                    c.swap_operator(operator, context);
                }
            }
            "unary_expression" => unary(node, c, context),
            "number" => c.mutate_number(node, context),
            "true" => c.replace(node, "false", context.constant, context),
            "false" => c.replace(node, "true", context.constant, context),
            "string" => string(node, c, context),
            "template_string" if children(node).iter().all(|n| n.kind() != "template_substitution") => {
                string(node, c, context);
            }
            "return_statement" => {
                if let [value] = children(node)[..] {
                    returned(value, c, context);
                }
            }
            "arrow_function" => {
                if let Some(body) = field(node, "body").filter(|body| body.kind() != "statement_block") {
                    returned(body, c, context);
                }
            }
            "if_statement" | "while_statement" | "do_statement" | "ternary_expression" | "for_statement" => {
                condition(node, c, context);
            }
            "break_statement" if is_in_loop(node) => jump(node, "continue", c, context),
            "continue_statement" => jump(node, "break", c, context),
            "expression_statement" => removal(node, c, context),
            "variable_declarator" => {
                if let Some(value) = field(node, "value") {
                    assigned(value, c, context);
                }
            }
            "assignment_expression" => {
                if let Some(value) = field(node, "right") {
                    assigned(value, c, context);
                }
            }
            "member_expression" => {
                let chain = all_children(node)
                    .into_iter()
                    .find(|n| n.kind() == "optional_chain");
                if let Some(chain) = chain {
                    c.replace(chain, ".", Boolean, context);
                }
            }
            "call_expression" => called(node, c, context),
            _ => {}
        }
    }
}

/// Children that are not expressions: property names, and the type in `x as T`.
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

fn binary(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let Some(operator) = field(node, "operator") else {
        return;
    };
    let text = |side| field(node, side).is_some_and(|n| matches!(n.kind(), "string" | "template_string"));
    match c.text(operator) {
        // Any test would detect a subtraction from a string.
        "+" if text("left") || text("right") => {}
        // The counterpart of the Python operator does not exist here.
        "in" | "instanceof" => c.replace(
            node,
            format!("!({})", c.text(node)),
            MutantKind::Comparison,
            context,
        ),
        _ => c.swap_operator(operator, context),
    }
}

fn unary(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let Some((operator, argument)) = field(node, "operator").zip(field(node, "argument")) else {
        return;
    };
    match c.text(operator) {
        "!" => c.replace(node, c.text(argument), Boolean, context),
        "-" => c.replace(
            node,
            format!("+{}", c.text(argument)),
            MutantKind::Arithmetic,
            context,
        ),
        "~" => c.replace(node, c.text(argument), MutantKind::Arithmetic, context),
        _ => {}
    }
}

fn string(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let whole = c.text(node);
    let Some(inner) = whole.get(1..whole.len().saturating_sub(1)) else {
        return;
    };
    let quote = &whole[..1];
    c.mutate_string(node, [quote, inner, quote], context);
}

fn returned(value: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let nothing = matches!(value.kind(), "null" | "undefined");
    // Any test would detect a missing function.
    let plain = !matches!(value.kind(), "arrow_function" | "function_expression");
    if !nothing && plain {
        c.replace(value, "null", ReturnValue, context);
    }
}

/// Comparisons and `!` have their own mutants.
fn condition(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
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
        c.replace(condition, format!("!({})", c.text(condition)), Condition, context);
    }
}

/// A `break` in a `switch` ends a case.
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

fn jump(node: Node<'_>, to: &str, c: &mut Collector<'_>, context: Context) {
    if let Some(word) = all_children(node).into_iter().next() {
        c.replace(word, to, Jump, context);
    }
}

fn removal(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let Some(call) = called_statement(node, "await_expression", "call_expression") else {
        return;
    };
    let function = field(call, "function").map_or("", |f| c.text(f));
    // A subclass that does not call `super` cannot be constructed at all.
    let context = if function == "super" || is_logging(function) {
        context.with_low_priority()
    } else {
        context
    };
    c.replace(node, ";", Removal, context);
}

fn assigned(value: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let is_computed = matches!(
        value.kind(),
        "call_expression" | "member_expression" | "subscript_expression" | "await_expression"
    );
    if is_computed && context.in_function {
        c.replace_with_low_priority(value, "null", Assignment, context);
    }
}

fn called(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let name = field(node, "function")
        .filter(|f| f.kind() == "member_expression")
        .and_then(|f| field(f, "property"));
    let Some(name) = name else { return };
    c.swap_name(name, METHODS, context);
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
