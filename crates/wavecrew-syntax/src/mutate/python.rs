//! Changes of Python programs. Leaves alone what tests cannot see: annotations, imports, docstrings, `__all__`.

use tree_sitter::Node;

use super::MutantKind::{self, Assignment, Boolean, Condition, Index, Jump, Removal, ReturnValue};
use super::collect::{Collector, Place, Worth, is_logging, lone_call};
use super::walk::Grammar;
use crate::tree::{all_children, children, field, line_of};

/// Changes of Python.
pub struct Python;

impl Grammar for Python {
    fn is_passed_over(node: Node<'_>, c: &Collector<'_>) -> bool {
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
            // A text that stands alone: a docstring.
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

    fn surroundings(node: Node<'_>, c: &Collector<'_>, place: &mut Place) {
        let kind = node.kind();
        if kind.ends_with("_statement") || kind.ends_with("_clause") || kind.ends_with("_definition") {
            place.statement = line_of(node.start_position());
        }
        match kind {
            "function_definition" | "lambda" => place.in_function = true,
            "raise_statement" | "assert_statement" => place.worth = Worth::Little,
            "call" if field(node, "function").is_some_and(|f| is_logging(c.text(f))) => {
                place.worth = Worth::Little;
            }
            _ => {}
        }
    }

    fn inside(parent: Node<'_>, child: Node<'_>, mut place: Place) -> Option<Place> {
        match parent.kind() {
            "default_parameter" | "typed_default_parameter" => place.constant = MutantKind::Default,
            "subscript" if field(parent, "value") != Some(child) => place.constant = Index,
            "block" => place.constant = MutantKind::Constant,
            _ => {}
        }
        Some(place)
    }

    fn change(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
        match node.kind() {
            "comparison_operator" => {
                let operators = all_children(node).into_iter();
                for operator in operators.filter(|n| !n.is_named() || matches!(n.kind(), "not in" | "is not"))
                {
                    c.operator(operator, place);
                }
            }
            "boolean_operator" => operator(node, c, place),
            "binary_operator" if !has_text_operand(node) => operator(node, c, place),
            "not_operator" => {
                if let Some(argument) = field(node, "argument") {
                    c.change(node, c.text(argument), Boolean, place);
                }
            }
            "unary_operator" => {
                if let Some((operator, argument)) = field(node, "operator").zip(field(node, "argument")) {
                    if c.text(operator) == "-" {
                        c.change(
                            node,
                            format!("+{}", c.text(argument)),
                            MutantKind::Arithmetic,
                            place,
                        );
                    } else {
                        c.change(node, c.text(argument), MutantKind::Arithmetic, place);
                    }
                }
            }
            "augmented_assignment" => {
                operator(node, c, place);
                if let Some(operator) = field(node, "operator") {
                    c.change(operator, "=", Removal, place);
                }
            }
            "integer" | "float" => c.number(node, place),
            "true" => c.change(node, "False", place.constant, place),
            "false" => c.change(node, "True", place.constant, place),
            "string" => string(node, c, place),
            "return_statement" | "yield" => returned(node, c, place),
            "if_statement" | "elif_clause" | "while_statement" | "if_clause" | "conditional_expression" => {
                condition(node, c, place);
            }
            "break_statement" => c.change(node, "continue", Jump, place),
            "continue_statement" => c.change(node, "break", Jump, place),
            "expression_statement" => {
                if let Some(call) = lone_call(node, "await", "call") {
                    let function = field(call, "function").map_or("", |f| c.text(f));
                    let place = if is_logging(function) {
                        place.of_little_worth()
                    } else {
                        place
                    };
                    c.change(node, "pass", Removal, place);
                }
            }
            "assignment" => assigned(node, c, place),
            "slice" => slice(node, c, place),
            "call" => called(node, c, place),
            _ => {}
        }
    }
}

fn operator(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    if let Some(operator) = field(node, "operator") {
        c.operator(operator, place);
    }
}

/// Texts can be added and formatted, not subtracted: such a change is noticed by whatever runs it.
fn has_text_operand(node: Node<'_>) -> bool {
    let sides = [field(node, "left"), field(node, "right")];
    sides
        .into_iter()
        .flatten()
        .any(|side| matches!(side.kind(), "string" | "concatenated_string"))
}

fn string(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let parts = children(node);
    if parts.iter().any(|part| part.kind() == "interpolation") {
        return;
    }
    let (Some(start), Some(end)) = (parts.first(), parts.last()) else {
        return;
    };
    let (open, close) = (c.text(*start), c.text(*end));
    let inner = &c.source[start.end_byte()..end.start_byte()];
    c.quoted(node, [open, inner, close], place);
}

fn returned(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    if let [value] = children(node)[..] {
        // `yield from` has to have something to go through.
        let through = all_children(node).iter().any(|n| n.kind() == "from");
        if value.kind() != "none" && !through {
            c.change(value, "None", ReturnValue, place);
        }
    }
}

/// A comparison has counterparts of its own, and so has a `not`: turning it around would be the same change twice.
fn condition(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let condition = match node.kind() {
        "conditional_expression" => children(node).get(1).copied(),
        "if_clause" => children(node).first().copied(),
        _ => field(node, "condition"),
    };
    let Some(condition) = condition else { return };
    let single = condition.kind() == "comparison_operator" && children(condition).len() == 2;
    if !single && !matches!(condition.kind(), "not_operator" | "true" | "false" | "integer") {
        c.change(
            condition,
            format!("not ({})", c.text(condition)),
            Condition,
            place,
        );
    }
}

fn assigned(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    let Some(value) = field(node, "right").filter(|_| place.in_function) else {
        return;
    };
    if matches!(
        value.kind(),
        "call" | "attribute" | "subscript" | "list_comprehension" | "await"
    ) {
        c.change_crudely(value, "None", Assignment, place);
    }
}

fn slice(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
    // Numbers change as numbers.
    for part in children(node)
        .into_iter()
        .filter(|n| !matches!(n.kind(), "integer" | "unary_operator"))
    {
        c.change(part, format!("({}) + 1", c.text(part)), Index, place);
    }
    if let Some(colon) = all_children(node).into_iter().next().filter(|n| n.kind() == ":") {
        c.change(colon, "1:", Index, place);
    }
}

fn called(node: Node<'_>, c: &mut Collector<'_>, place: Place) {
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
    c.counterpart(name, table, place);
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
