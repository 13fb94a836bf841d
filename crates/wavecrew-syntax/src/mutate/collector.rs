//! Collects possible mutants, and makes those that the languages have in common.

use std::ops::Range;

use tree_sitter::Node;

use super::MutantKind;
use crate::tree::{children, line_of, text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub line: u32,
    pub statement: u32,
    pub range: Range<usize>,
    pub replacement: String,
    pub kind: MutantKind,
    pub priority: Priority,
}

/// How much it matters when a mutant survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Normal,
    /// Texts for people, values that are replaced anyway, mutants that any test kills.
    Low,
}

/// What surrounds a node.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// The first line of the statement.
    pub statement: u32,
    pub priority: Priority,
    /// The kind of a mutated constant here.
    pub constant: MutantKind,
    pub in_function: bool,
}

impl Context {
    #[must_use]
    pub fn with_low_priority(self) -> Self {
        Self {
            priority: Priority::Low,
            ..self
        }
    }
}

pub struct Collector<'s> {
    pub source: &'s str,
    pub found: Vec<Candidate>,
}

impl<'s> Collector<'s> {
    pub fn text(&self, node: Node<'_>) -> &'s str {
        text(node, self.source)
    }

    /// `node` becomes `replacement`.
    pub fn replace(
        &mut self,
        node: Node<'_>,
        replacement: impl Into<String>,
        kind: MutantKind,
        context: Context,
    ) {
        let candidate = Candidate {
            line: line_of(node.start_position()),
            statement: context.statement,
            range: node.byte_range(),
            replacement: replacement.into(),
            kind,
            priority: context.priority,
        };
        let known = |c: &Candidate| c.range == candidate.range && c.replacement == candidate.replacement;
        if self.text(node) != candidate.replacement && !self.found.iter().rev().take(8).any(known) {
            self.found.push(candidate);
        }
    }

    /// The same, for a mutant that any test would kill.
    pub fn replace_with_low_priority(
        &mut self,
        node: Node<'_>,
        with: impl Into<String>,
        kind: MutantKind,
        context: Context,
    ) {
        self.replace(node, with, kind, context.with_low_priority());
    }

    /// Replaces an operator, by the table that both languages share.
    pub fn swap_operator(&mut self, operator: Node<'_>, context: Context) {
        for (replacement, kind) in counterparts(self.text(operator)) {
            self.replace(operator, *replacement, *kind, context);
        }
    }

    /// Makes a string longer, or empty.
    pub fn mutate_string(&mut self, node: Node<'_>, [open, inner, close]: [&str; 3], context: Context) {
        self.replace(node, format!("{open}XX{inner}{close}"), MutantKind::Text, context);
        if !inner.is_empty() {
            self.replace_with_low_priority(node, format!("{open}{close}"), MutantKind::Text, context);
        }
    }

    /// Replaces the name of a function, by a table of pairs.
    pub fn swap_name(&mut self, name: Node<'_>, table: &[(&str, &str)], context: Context) {
        if let Some((_, other)) = table.iter().find(|(one, _)| *one == self.text(name)) {
            self.replace(name, *other, MutantKind::Call, context);
        }
    }

    /// Replaces an integer by its neighbours, another number by a larger one.
    pub fn mutate_number(&mut self, node: Node<'_>, context: Context) {
        let written = self.text(node);
        if let Ok(value) = written.replace('_', "").parse::<i64>() {
            self.replace(
                node,
                value.saturating_add(1).to_string(),
                context.constant,
                context,
            );
            // A negative number would need brackets after an operator.
            if value > 0 {
                self.replace(node, (value - 1).to_string(), context.constant, context);
            }
        } else if written.parse::<f64>().is_ok_and(f64::is_finite) {
            self.replace(node, format!("({written} + 1)"), context.constant, context);
        }
    }
}

/// What an operator is replaced with.
fn counterparts(operator: &str) -> &'static [(&'static str, MutantKind)] {
    use MutantKind::{Arithmetic, Boolean, Boundary, Comparison};
    match operator {
        "<" => &[("<=", Boundary), (">=", Comparison)],
        "<=" => &[("<", Boundary), (">", Comparison)],
        ">" => &[(">=", Boundary), ("<=", Comparison)],
        ">=" => &[(">", Boundary), ("<", Comparison)],
        "==" => &[("!=", Comparison)],
        "!=" | "<>" => &[("==", Comparison)],
        "===" => &[("!==", Comparison)],
        "!==" => &[("===", Comparison)],
        "in" => &[("not in", Comparison)],
        "not in" => &[("in", Comparison)],
        "is" => &[("is not", Comparison)],
        "is not" => &[("is", Comparison)],
        "and" => &[("or", Boolean)],
        "or" => &[("and", Boolean)],
        "&&" => &[("||", Boolean)],
        "||" | "??" => &[("&&", Boolean)],
        "+" => &[("-", Arithmetic)],
        "-" => &[("+", Arithmetic)],
        "*" => &[("/", Arithmetic)],
        "/" | "//" | "%" | "**" => &[("*", Arithmetic)],
        "&" => &[("|", Arithmetic)],
        "|" | "^" => &[("&", Arithmetic)],
        "<<" => &[(">>", Arithmetic)],
        ">>" | ">>>" => &[("<<", Arithmetic)],
        "+=" => &[("-=", Arithmetic)],
        "-=" => &[("+=", Arithmetic)],
        "*=" => &[("/=", Arithmetic)],
        "/=" | "//=" | "%=" | "**=" => &[("*=", Arithmetic)],
        "&=" => &[("|=", Arithmetic)],
        "|=" | "^=" => &[("&=", Arithmetic)],
        "<<=" => &[(">>=", Arithmetic)],
        ">>=" | ">>>=" => &[("<<=", Arithmetic)],
        "&&=" => &[("||=", Boolean)],
        "||=" | "??=" => &[("&&=", Boolean)],
        "++" => &[("--", Arithmetic)],
        "--" => &[("++", Arithmetic)],
        _ => &[],
    }
}

/// The call that a statement consists of, awaited or not.
pub fn called_statement<'t>(statement: Node<'t>, waiting: &str, call: &str) -> Option<Node<'t>> {
    let only = children(statement).into_iter().next()?;
    let only = if only.kind() == waiting {
        children(only).into_iter().next()?
    } else {
        only
    };
    (only.kind() == call).then_some(only)
}

/// Names of logging and printing functions: their arguments are seldom tested, and seldom need to be.
pub fn is_logging(function: &str) -> bool {
    let first = function.split('.').next().unwrap_or_default();
    let last = function.rsplit('.').next().unwrap_or_default();
    matches!(
        first,
        "logging" | "logger" | "log" | "_logger" | "LOG" | "warnings" | "console" | "print"
    ) || (matches!(last, "debug" | "info" | "warning" | "warn" | "exception") && function.contains("log"))
}
