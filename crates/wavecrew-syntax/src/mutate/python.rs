//! Mutants of Python. Excludes what tests cannot detect: annotations, imports, docstrings, `__all__`.

use tree_sitter::Node;

use super::MutantKind::{self, Assignment, Boolean, Condition, Index, Jump, Removal, ReturnValue};
use super::collector::{Collector, Context, Priority, called_statement, is_logging};
use super::walk::MutationRules;
use crate::tree::{all_children, children, field, line_of};

pub struct Python;

impl MutationRules for Python {
    fn is_excluded(node: Node<'_>, c: &Collector<'_>) -> bool {
        match node.kind() {
            "comment"
            | "type"
            | "decorator"
            | "import_statement"
            | "import_from_statement"
            | "future_import_statement"
            | "type_alias_statement"
            | "global_statement"
            | "nonlocal_statement" => true,
            // Docstrings.
            "expression_statement" => children(node)
                .first()
                .is_some_and(|only| matches!(only.kind(), "string" | "concatenated_string" | "ellipsis")),
            "assignment" => {
                let name = field(node, "left").map_or("", |left| c.text(left));
                name.starts_with("__") && name.ends_with("__")
            }
            "if_statement" => {
                let condition = field(node, "condition").map_or("", |n| c.text(n));
                condition.starts_with("__name__") || condition.ends_with("TYPE_CHECKING")
            }
            _ => false,
        }
    }

    fn enter(node: Node<'_>, c: &Collector<'_>, context: &mut Context) {
        let kind = node.kind();
        if kind.ends_with("_statement") || kind.ends_with("_clause") || kind.ends_with("_definition") {
            context.statement = line_of(node.start_position());
        }
        match kind {
            "function_definition" | "lambda" => context.in_function = true,
            "raise_statement" | "assert_statement" => context.priority = Priority::Low,
            "call" if field(node, "function").is_some_and(|f| is_logging(c.text(f))) => {
                context.priority = Priority::Low;
            }
            _ => {}
        }
    }

    fn enter_child(parent: Node<'_>, child: Node<'_>, mut context: Context) -> Option<Context> {
        match parent.kind() {
            "default_parameter" | "typed_default_parameter" => context.constant = MutantKind::Default,
            "subscript" if field(parent, "value") != Some(child) => context.constant = Index,
            "block" => context.constant = MutantKind::Constant,
            _ => {}
        }
        Some(context)
    }

    fn mutate(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
        match node.kind() {
            "comparison_operator" => {
                let operators = all_children(node).into_iter();
                for operator in operators.filter(|n| !n.is_named() || matches!(n.kind(), "not in" | "is not"))
                {
                    c.swap_operator(operator, context);
                }
            }
            "boolean_operator" => operator(node, c, context),
            "binary_operator" if !has_text_operand(node) => operator(node, c, context),
            "not_operator" => {
                if let Some(argument) = field(node, "argument") {
                    c.replace(node, c.text(argument), Boolean, context);
                }
            }
            "unary_operator" => {
                if let Some((operator, argument)) = field(node, "operator").zip(field(node, "argument")) {
                    if c.text(operator) == "-" {
                        c.replace(
                            node,
                            format!("+{}", c.text(argument)),
                            MutantKind::Arithmetic,
                            context,
                        );
                    } else {
                        c.replace(node, c.text(argument), MutantKind::Arithmetic, context);
                    }
                }
            }
            "augmented_assignment" => {
                operator(node, c, context);
                if let Some(operator) = field(node, "operator") {
                    c.replace(operator, "=", Removal, context);
                }
            }
            "integer" | "float" => c.mutate_number(node, context),
            "true" => c.replace(node, "False", context.constant, context),
            "false" => c.replace(node, "True", context.constant, context),
            "string" => string(node, c, context),
            "return_statement" | "yield" => returned(node, c, context),
            "if_statement" | "elif_clause" | "while_statement" | "if_clause" | "conditional_expression" => {
                condition(node, c, context);
            }
            "break_statement" => c.replace(node, "continue", Jump, context),
            "continue_statement" => c.replace(node, "break", Jump, context),
            "expression_statement" => {
                if let Some(call) = called_statement(node, "await", "call") {
                    let function = field(call, "function").map_or("", |f| c.text(f));
                    let context = if is_logging(function) {
                        context.with_low_priority()
                    } else {
                        context
                    };
                    c.replace(node, "pass", Removal, context);
                }
            }
            "assignment" => assigned(node, c, context),
            "slice" => slice(node, c, context),
            "call" => called(node, c, context),
            _ => {}
        }
    }
}

fn operator(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    if let Some(operator) = field(node, "operator") {
        c.swap_operator(operator, context);
    }
}

/// Texts can be added and formatted, but not subtracted: any test that runs such a change fails.
fn has_text_operand(node: Node<'_>) -> bool {
    let sides = [field(node, "left"), field(node, "right")];
    sides
        .into_iter()
        .flatten()
        .any(|side| matches!(side.kind(), "string" | "concatenated_string"))
}

fn string(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let parts = children(node);
    if parts.iter().any(|part| part.kind() == "interpolation") {
        return;
    }
    let (Some(start), Some(end)) = (parts.first(), parts.last()) else {
        return;
    };
    let (open, close) = (c.text(*start), c.text(*end));
    let inner = &c.source[start.end_byte()..end.start_byte()];
    c.mutate_string(node, [open, inner, close], context);
}

fn returned(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    if let [value] = children(node)[..] {
        // `yield from` has to have something to go through.
        let through = all_children(node).iter().any(|n| n.kind() == "from");
        if value.kind() != "none" && !through {
            c.replace(value, "None", ReturnValue, context);
        }
    }
}

/// Comparisons and `not` have their own mutants: negating them would make the same mutant twice.
fn condition(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let condition = match node.kind() {
        "conditional_expression" => children(node).get(1).copied(),
        "if_clause" => children(node).first().copied(),
        _ => field(node, "condition"),
    };
    let Some(condition) = condition else { return };
    let single = condition.kind() == "comparison_operator" && children(condition).len() == 2;
    if !single && !matches!(condition.kind(), "not_operator" | "true" | "false" | "integer") {
        c.replace(
            condition,
            format!("not ({})", c.text(condition)),
            Condition,
            context,
        );
    }
}

fn assigned(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let Some(value) = field(node, "right").filter(|_| context.in_function) else {
        return;
    };
    if matches!(
        value.kind(),
        "call" | "attribute" | "subscript" | "list_comprehension" | "await"
    ) {
        c.replace_with_low_priority(value, "None", Assignment, context);
    }
}

fn slice(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    // Numbers change as numbers.
    for part in children(node)
        .into_iter()
        .filter(|n| !matches!(n.kind(), "integer" | "unary_operator"))
    {
        c.replace(part, format!("({}) + 1", c.text(part)), Index, context);
    }
    if let Some(colon) = all_children(node).into_iter().next().filter(|n| n.kind() == ":") {
        c.replace(colon, "1:", Index, context);
    }
}

fn called(node: Node<'_>, c: &mut Collector<'_>, context: Context) {
    let Some(function) = field(node, "function") else {
        return;
    };
    let (name, is_method) = match function.kind() {
        "attribute" => (field(function, "attribute"), true),
        "identifier" => (Some(function), false),
        _ => (None, false),
    };
    let Some(name) = name else { return };
    let table = if is_method { METHODS } else { FUNCTIONS };
    c.swap_name(name, table, context);
}

const FUNCTIONS: &[(&str, &str)] = &[("min", "max"), ("max", "min"), ("any", "all"), ("all", "any")];
const METHODS: &[(&str, &str)] = &[
    ("lower", "upper"),
    ("upper", "lower"),
    ("startswith", "endswith"),
    ("endswith", "startswith"),
    ("strip", "lstrip"),
    ("lstrip", "rstrip"),
    ("rstrip", "lstrip"),
    ("find", "rfind"),
    ("rfind", "find"),
    ("split", "rsplit"),
    ("rsplit", "split"),
    ("partition", "rpartition"),
    ("rpartition", "partition"),
    ("floor", "ceil"),
    ("ceil", "floor"),
];
