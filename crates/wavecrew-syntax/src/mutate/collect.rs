//! Gathers possible changes while a tree is walked, and holds what the languages have in common.

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
    pub worth: Worth,
}

/// How much it says when the change goes unnoticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    Usual,
    /// Texts for people, values that are replaced anyway, changes that any test notices.
    Little,
}

/// Where in the program a node stands.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The first line of the statement.
    pub statement: u32,
    pub worth: Worth,
    /// What a changed constant is called here.
    pub constant: MutantKind,
    pub in_function: bool,
}

impl Place {
    #[must_use]
    pub fn of_little_worth(self) -> Self {
        Self {
            worth: Worth::Little,
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
    pub fn change(&mut self, node: Node<'_>, replacement: impl Into<String>, kind: MutantKind, place: Place) {
        let candidate = Candidate {
            line: line_of(node.start_position()),
            statement: place.statement,
            range: node.byte_range(),
            replacement: replacement.into(),
            kind,
            worth: place.worth,
        };
        let known = |c: &Candidate| c.range == candidate.range && c.replacement == candidate.replacement;
        if self.text(node) != candidate.replacement && !self.found.iter().rev().take(8).any(known) {
            self.found.push(candidate);
        }
    }

    /// The same, for a change that any test would notice.
    pub fn change_crudely(
        &mut self,
        node: Node<'_>,
        with: impl Into<String>,
        kind: MutantKind,
        place: Place,
    ) {
        self.change(node, with, kind, place.of_little_worth());
    }

    /// An operator by the table of operators that both languages share.
    pub fn operator(&mut self, operator: Node<'_>, place: Place) {
        for (replacement, kind) in counterparts(self.text(operator)) {
            self.change(operator, *replacement, *kind, place);
        }
    }

    /// A text between its quotes becomes a longer one; none at all is crude.
    pub fn quoted(&mut self, node: Node<'_>, [open, inner, close]: [&str; 3], place: Place) {
        self.change(node, format!("{open}XX{inner}{close}"), MutantKind::Text, place);
        if !inner.is_empty() {
            self.change_crudely(node, format!("{open}{close}"), MutantKind::Text, place);
        }
    }

    /// The name of a function becomes that of another, by a table of pairs.
    pub fn counterpart(&mut self, name: Node<'_>, table: &[(&str, &str)], place: Place) {
        if let Some((_, other)) = table.iter().find(|(one, _)| *one == self.text(name)) {
            self.change(name, *other, MutantKind::Call, place);
        }
    }

    /// A whole number becomes its neighbours, another number a larger one.
    pub fn number(&mut self, node: Node<'_>, place: Place) {
        let written = self.text(node);
        if let Ok(value) = written.replace('_', "").parse::<i64>() {
            self.change(node, value.saturating_add(1).to_string(), place.constant, place);
            // A negative number needs brackets after an operator, and 0 has 1 for a neighbour.
            if value > 0 {
                self.change(node, (value - 1).to_string(), place.constant, place);
            }
        } else if written.parse::<f64>().is_ok_and(f64::is_finite) {
            self.change(node, format!("({written} + 1)"), place.constant, place);
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

/// The call that is all of a statement, waited for or not.
pub fn lone_call<'t>(statement: Node<'t>, waiting: &str, call: &str) -> Option<Node<'t>> {
    let only = children(statement).into_iter().next()?;
    let only = if only.kind() == waiting {
        children(only).into_iter().next()?
    } else {
        only
    };
    (only.kind() == call).then_some(only)
}

/// Names of functions that write for people who watch: what they are given is seldom tested, and seldom worth it.
pub fn is_logging(function: &str) -> bool {
    let first = function.split('.').next().unwrap_or_default();
    let last = function.rsplit('.').next().unwrap_or_default();
    matches!(
        first,
        "logging" | "logger" | "log" | "_logger" | "LOG" | "warnings" | "console" | "print"
    ) || (matches!(last, "debug" | "info" | "warning" | "warn" | "exception") && function.contains("log"))
}
