//! Ranges and sets of lines, counted from 1.

use std::collections::BTreeSet;

use serde::Serialize;
use tree_sitter::Node;

use crate::tree::line_of;

/// Both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Lines {
    pub first: u32,
    pub last: u32,
}

impl Lines {
    pub(crate) fn of(node: Node<'_>) -> Self {
        Self {
            first: line_of(node.start_position()),
            last: line_of(node.end_position()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineSet {
    All,
    Only(BTreeSet<u32>),
}

impl LineSet {
    pub fn contains(&self, line: u32) -> bool {
        match self {
            Self::All => true,
            Self::Only(lines) => lines.contains(&line),
        }
    }
}

impl FromIterator<u32> for LineSet {
    fn from_iter<I: IntoIterator<Item = u32>>(lines: I) -> Self {
        Self::Only(lines.into_iter().collect())
    }
}

impl FromIterator<Lines> for LineSet {
    fn from_iter<I: IntoIterator<Item = Lines>>(ranges: I) -> Self {
        ranges
            .into_iter()
            .flat_map(|range| range.first..=range.last)
            .collect()
    }
}
