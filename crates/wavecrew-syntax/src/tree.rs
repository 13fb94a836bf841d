//! Helpers for nodes of a syntax tree, the same for all languages.

use std::hash::Hasher;

use tree_sitter::{Node, Point};
use xxhash_rust::xxh3::Xxh3Default;

pub(crate) fn text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    &source[node.byte_range()]
}

pub(crate) fn line_of(point: Point) -> u32 {
    u32::try_from(point.row + 1).unwrap_or(u32::MAX)
}

pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk())
        .filter(|child| !child.is_extra())
        .collect()
}

/// Including punctuation, keywords and comments.
pub(crate) fn all_children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

pub(crate) fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// Visits `node` and all named nodes below it, in source order. Does not descend into nodes for which `visit` returns `false`.
pub(crate) fn walk<'t>(node: Node<'t>, mut visit: impl FnMut(Node<'t>) -> bool) {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if visit(node) {
            open.extend(children(node).into_iter().rev());
        }
    }
}

pub(crate) fn is_deeper_than(root: Node<'_>, limit: usize) -> bool {
    let mut open = vec![(root, 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > limit {
            return true;
        }
        open.extend(children(node).into_iter().map(|child| (child, depth + 1)));
    }
    false
}

/// The tokens with one space between them: the same for sources that differ only in layout and comments.
pub(crate) fn without_layout(node: Node<'_>, source: &str) -> String {
    let mut out = String::new();
    tokens(node, |part| {
        if let Part::Token(leaf) = part {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(text(leaf, source));
        }
    });
    out
}

/// A hash that is the same for trees that differ only in layout and comments.
pub(crate) fn fingerprint(node: Node<'_>, source: &str) -> u64 {
    let mut hasher = Xxh3Default::new();
    tokens(node, |part| match part {
        Part::Token(leaf) => {
            hasher.write(text(leaf, source).as_bytes());
            hasher.write_u8(0);
        }
        Part::Open(kind) => {
            hasher.write(kind.as_bytes());
            hasher.write_u8(1);
        }
        Part::Close => hasher.write_u8(2),
    });
    hasher.digest()
}

enum Part<'t> {
    Open(&'t str),
    Token(Node<'t>),
    Close,
}

fn tokens<'t>(node: Node<'t>, mut each: impl FnMut(Part<'t>)) {
    enum Open<'t> {
        Node(Node<'t>),
        End,
    }
    let mut open = vec![Open::Node(node)];
    while let Some(next) = open.pop() {
        let Open::Node(node) = next else {
            each(Part::Close);
            continue;
        };
        // A string is one token: its whitespace matters.
        if node.child_count() == 0 || node.kind() == "string" {
            each(Part::Token(node));
            continue;
        }
        each(Part::Open(node.kind()));
        open.push(Open::End);
        open.extend(
            all_children(node)
                .into_iter()
                .rev()
                .filter(|child| !child.is_extra())
                .map(Open::Node),
        );
    }
}
