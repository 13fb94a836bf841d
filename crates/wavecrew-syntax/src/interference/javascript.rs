//! JavaScript and TypeScript: replaced functions of the framework, replaced matchers, coverage counters.

use tree_sitter::Node;

use super::{Interference, about_measuring};
use crate::tree::{children, field, text, walk};

/// What the framework gives to tests.
const GIVEN: &[&str] = &["expect", "test", "it", "describe", "assert"];
const GLOBALS: &[&str] = &["global", "globalThis", "window"];
const MATCHERS: &[&str] = &[
    "toBe",
    "toEqual",
    "toStrictEqual",
    "toBeTruthy",
    "toBeFalsy",
    "toBeDefined",
    "toBeUndefined",
    "toBeNull",
    "toBeCloseTo",
    "toContain",
    "toMatch",
    "toMatchObject",
    "toHaveLength",
    "toHaveBeenCalled",
    "toHaveBeenCalledWith",
    "toHaveBeenCalledTimes",
    "toThrow",
    "toThrowError",
    "toBeGreaterThan",
    "toBeLessThan",
    "toMatchSnapshot",
    "toMatchInlineSnapshot",
];

pub fn interferences(root: Node<'_>, source: &str) -> Vec<Interference> {
    let mut found = Vec::new();
    walk(root, |node| {
        let what = match node.kind() {
            "assignment_expression" => field(node, "left").and_then(|left| replaced(left, source)),
            "variable_declarator" => field(node, "value")
                .filter(|value| is_function(*value))
                .and_then(|_| given(field(node, "name")?, source)),
            "function_declaration" => field(node, "name").and_then(|name| given(name, source)),
            "call_expression" => matcher(node, source),
            "string_fragment" | "property_identifier" | "identifier" => about_measuring(text(node, source)),
            _ => None,
        };
        found.extend(what.map(|what| Interference::at(node, what)));
        true
    });
    found
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "function")
}

fn given(name: Node<'_>, source: &str) -> Option<String> {
    let name = text(name, source);
    GIVEN.contains(&name).then(|| format!("replaces `{name}`"))
}

/// `global.expect`, or `expect.something`.
fn replaced(left: Node<'_>, source: &str) -> Option<String> {
    let (object, property) = (field(left, "object")?, field(left, "property")?);
    let object = text(object, source);
    if GLOBALS.contains(&object) {
        return given(property, source);
    }
    let root = object.split(['.', '(']).next().unwrap_or_default();
    GIVEN
        .contains(&root)
        .then(|| format!("replaces `{}`", text(left, source)))
}

/// A built-in matcher in `expect.extend`.
fn matcher(call: Node<'_>, source: &str) -> Option<String> {
    if text(field(call, "function")?, source) != "expect.extend" {
        return None;
    }
    let matchers = children(field(call, "arguments")?).into_iter().next()?;
    let names = children(matchers).into_iter().filter_map(|entry| {
        let name = field(entry, "key")
            .or_else(|| field(entry, "name"))
            .unwrap_or(entry);
        let name = text(name, source);
        MATCHERS.contains(&name).then_some(name)
    });
    let name = names.into_iter().next()?;
    Some(format!("replaces the matcher `{name}`"))
}
