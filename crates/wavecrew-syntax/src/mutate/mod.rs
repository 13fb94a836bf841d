//! Makes mutants: small faults in a program that its tests should detect. Runs nothing.

mod choose;
mod collector;
mod controls;
mod javascript;
mod python;
#[cfg(test)]
mod tests;
mod walk;

use std::ops::Range;

use serde::Serialize;
use tree_sitter::{InputEdit, Point};

use crate::grammar::{Grammar, column_of, errors_in};
use crate::lines::LineSet;
use collector::Candidate;
pub use controls::controls;
use javascript::JavaScript;
use python::Python;

/// One change at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mutant {
    /// Both count from 1, columns in characters.
    pub line: u32,
    pub column: u32,
    /// The first line of the statement around it: coverage tools report statements there.
    pub statement: u32,
    pub range: Range<usize>,
    pub replacement: String,
    pub kind: MutantKind,
    /// Describes the change for a person.
    pub description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MutantKind {
    /// `<` and `<=`: the edge of a range.
    Boundary,
    Comparison,
    Arithmetic,
    /// `and`, `or`, `not`.
    Boolean,
    /// A negated condition.
    Condition,
    /// A number or a truth value.
    Constant,
    Text,
    /// Nothing is returned instead of a value.
    ReturnValue,
    /// `break` and `continue`.
    Jump,
    /// A removed statement.
    Removal,
    /// An index into a sequence.
    Index,
    /// The default value of a parameter.
    Default,
    /// Nothing is assigned instead of a value.
    Assignment,
    /// A function or method in place of its counterpart.
    Call,
    /// Control: the code does the same.
    Unchanged,
    /// Control: every function raises an error.
    Raises,
    /// Control: every function does nothing.
    Emptied,
}

impl MutantKind {
    /// Whether it shows only that tests depend on the code, and does not count towards the effectiveness.
    pub fn is_control(self) -> bool {
        matches!(self, Self::Unchanged | Self::Raises | Self::Emptied)
    }
}

/// At most `limit` mutants on `lines`, spread over lines and kinds; the same for the same arguments. Each differs from the source
/// and has no more syntax errors. In the order of the source.
pub fn mutants(language: Grammar, source: &str, lines: &LineSet, limit: usize, seed: u64) -> Vec<Mutant> {
    let tree = language.parse(source);
    let root = tree.root_node();
    let mut candidates = if language.is_python() {
        walk::candidates::<Python>(root, source)
    } else {
        walk::candidates::<JavaScript>(root, source)
    };
    candidates.retain(|c| lines.contains(c.line) || lines.contains(c.statement));
    let broken = errors_in(&tree, source).len();
    let is_valid = |candidate: &Candidate| {
        let changed = replaced(source, &candidate.range, &candidate.replacement);
        let mut edited = tree.clone();
        edited.edit(&edit(source, &changed, candidate));
        let now = language.parse_again(&changed, Some(&edited));
        changed != source && errors_in(&now, &changed).len() <= broken
    };
    let mut chosen = choose::spread(candidates, limit, seed, is_valid);
    chosen.sort_by_key(|c| (c.range.start, c.range.end));
    chosen
        .into_iter()
        .map(|candidate| finished(candidate, source))
        .collect()
}

/// The source with the mutant in it.
///
/// # Panics
/// When the mutant was made from another source, and its range does not fit.
pub fn apply(source: &str, mutant: &Mutant) -> String {
    replaced(source, &mutant.range, &mutant.replacement)
}

fn replaced(source: &str, range: &Range<usize>, replacement: &str) -> String {
    [&source[..range.start], replacement, &source[range.end..]].concat()
}

fn edit(source: &str, changed: &str, candidate: &Candidate) -> InputEdit {
    let (start, old_end) = (candidate.range.start, candidate.range.end);
    let new_end = start + candidate.replacement.len();
    InputEdit {
        start_byte: start,
        old_end_byte: old_end,
        new_end_byte: new_end,
        start_position: point(source, start),
        old_end_position: point(source, old_end),
        new_end_position: point(changed, new_end),
    }
}

fn point(source: &str, byte: usize) -> Point {
    let before = &source[..byte];
    Point {
        row: before.matches('\n').count(),
        column: byte - before.rfind('\n').map_or(0, |at| at + 1),
    }
}

fn finished(candidate: Candidate, source: &str) -> Mutant {
    let was = excerpt(&source[candidate.range.clone()]);
    let description = match (was.is_empty(), candidate.replacement.as_str()) {
        (true, now) => format!("`{}` inserted", excerpt(now)),
        (false, "" | "pass" | ";") => format!("`{was}` removed"),
        (false, now) => format!("`{was}` became `{}`", excerpt(now)),
    };
    Mutant {
        line: candidate.line,
        column: column_of(source, candidate.range.start),
        statement: candidate.statement,
        range: candidate.range,
        replacement: candidate.replacement,
        kind: candidate.kind,
        description,
    }
}

/// On one line, and short.
fn excerpt(text: &str) -> String {
    const SHOWN: usize = 60;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN {
        return line;
    }
    let mut cut: String = line.chars().take(SHOWN).collect();
    cut.push('…');
    cut
}
