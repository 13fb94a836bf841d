//! The lines on which two versions of a file differ in what runs, and the signatures of its functions. Comments,
//! documentation, layout and the types of parameters and results are no difference.

use std::collections::BTreeSet;

use similar::{Algorithm, DiffOp, capture_diff_slices};
use tree_sitter::Node;
use xxhash_rust::xxh3::xxh3_64;

use crate::change::each_token;
use crate::grammar::Grammar;
use crate::lines::Lines;
use crate::symbols::{SymbolKind, symbols};
use crate::tree::{children, field, is_deeper_than, line_of, walk};

/// Nobody writes deeper code, and reading it recurses.
const DEEPEST: usize = 400;

/// Lines of two versions of a file, as ranges in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedLines {
    pub old: Vec<Lines>,
    pub new: Vec<Lines>,
}

impl ChangedLines {
    pub fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

/// A function, method or class of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// With the classes around it: `Cart.add`.
    pub name: String,
    pub kind: SymbolKind,
    pub public: bool,
    pub lines: Lines,
    /// Without types, such as `(total, rate=0.2)`. Empty for classes.
    pub parameters: String,
    /// A hash of what runs in it.
    pub fingerprint: u64,
}

/// Where two versions of a file differ. A file that is too deep to read has changed everywhere.
pub fn changed_lines(language: Grammar, before: &str, after: &str) -> ChangedLines {
    let (Some(old), Some(new)) = (tokens(language, before), tokens(language, after)) else {
        let all = |source: &str| {
            let last = u32::try_from(source.lines().count().max(1)).unwrap_or(u32::MAX);
            vec![Lines { first: 1, last }]
        };
        return ChangedLines {
            old: all(before),
            new: all(after),
        };
    };
    let words = |tokens: &[(u32, &str)]| -> Vec<u64> {
        tokens
            .iter()
            .map(|(_, token)| xxh3_64(token.as_bytes()))
            .collect()
    };
    let mut changed = (BTreeSet::new(), BTreeSet::new());
    for part in capture_diff_slices(Algorithm::Patience, &words(&old), &words(&new)) {
        if !matches!(part, DiffOp::Equal { .. }) {
            changed
                .0
                .extend(old[part.old_range()].iter().map(|(line, _)| *line));
            changed
                .1
                .extend(new[part.new_range()].iter().map(|(line, _)| *line));
        }
    }
    ChangedLines {
        old: ranges(changed.0),
        new: ranges(changed.1),
    }
}

fn tokens(language: Grammar, source: &str) -> Option<Vec<(u32, &str)>> {
    let tree = language.parse(source);
    if is_deeper_than(tree.root_node(), DEEPEST) {
        return None;
    }
    let mut found = Vec::new();
    each_token(tree.root_node(), source, &is_type, &mut |line, token| {
        found.push((line, token));
    });
    Some(found)
}

/// Whether a node only declares types. Those of class attributes stay: dataclasses and models depend on them.
fn is_type(node: Node<'_>) -> bool {
    let below = |kinds: &[&str]| node.parent().is_some_and(|parent| kinds.contains(&parent.kind()));
    match node.kind() {
        // Python
        "type" => below(&[
            "typed_parameter",
            "typed_default_parameter",
            "function_definition",
        ]),
        "->" => below(&["function_definition"]),
        ":" => below(&["typed_parameter", "typed_default_parameter"]),
        // TypeScript
        "type_annotation"
        | "interface_declaration"
        | "type_alias_declaration"
        | "type_parameters"
        | "type_arguments"
        | "accessibility_modifier"
        | "override_modifier"
        | "readonly" => true,
        _ => false,
    }
}

fn ranges(lines: BTreeSet<u32>) -> Vec<Lines> {
    let mut found: Vec<Lines> = Vec::new();
    for line in lines {
        match found.last_mut() {
            Some(range) if range.last + 1 == line => range.last = line,
            _ => found.push(Lines {
                first: line,
                last: line,
            }),
        }
    }
    found
}

/// The functions, methods and classes of a file that are not inside functions, in its order.
pub fn signatures(language: Grammar, source: &str) -> Vec<Signature> {
    let tree = language.parse(source);
    if is_deeper_than(tree.root_node(), DEEPEST) {
        return Vec::new();
    }
    let all = symbols(language, source);
    let functions: Vec<&str> = all
        .iter()
        .filter(|symbol| symbol.kind != SymbolKind::Class)
        .map(|symbol| symbol.name.as_str())
        .collect();
    let inside = |name: &str| {
        functions.iter().any(|function| {
            name.strip_prefix(function)
                .is_some_and(|rest| rest.starts_with('.'))
        })
    };
    all.iter()
        .filter(|symbol| !inside(&symbol.name))
        .map(|symbol| {
            let definition = definition_at(tree.root_node(), symbol.lines, symbol.kind);
            let parameters = definition.map_or_else(String::new, |node| parameters(node, source));
            let mut body = String::new();
            if let Some(node) = definition.and_then(|node| field(node, "body")) {
                each_token(node, source, &is_type, &mut |_, token| {
                    body.push_str(token);
                    body.push('\n');
                });
            }
            Signature {
                name: symbol.name.clone(),
                kind: symbol.kind,
                public: symbol.public,
                lines: symbol.lines,
                parameters,
                fingerprint: xxh3_64(body.as_bytes()),
            }
        })
        .collect()
}

/// The definition that a symbol stands for: the outermost one of its kind on its lines.
fn definition_at(root: Node<'_>, lines: Lines, kind: SymbolKind) -> Option<Node<'_>> {
    let mut found = None;
    walk(root, |node| {
        let (first, last) = (line_of(node.start_position()), line_of(node.end_position()));
        if found.is_some() || last < lines.first || first > lines.last {
            return false;
        }
        let fits = match kind {
            SymbolKind::Class => node.kind().contains("class"),
            SymbolKind::Function | SymbolKind::Method => {
                field(node, "parameters").is_some() || field(node, "parameter").is_some()
            }
        };
        if fits && first >= lines.first && last <= lines.last && field(node, "body").is_some() {
            found = Some(node);
            return false;
        }
        true
    });
    found
}

fn parameters(function: Node<'_>, source: &str) -> String {
    let Some(list) = field(function, "parameters").or_else(|| field(function, "parameter")) else {
        return String::new();
    };
    let listed = if list.kind() == "identifier" {
        vec![list]
    } else {
        children(list)
    };
    let shown: Vec<String> = listed
        .into_iter()
        .map(|parameter| {
            let mut text = String::new();
            each_token(parameter, source, &is_type, &mut |_, token| {
                if token == "," || token == ":" {
                    text.push_str(token);
                    text.push(' ');
                } else {
                    text.push_str(token);
                }
            });
            if text.is_empty() {
                source[parameter.byte_range()].to_owned()
            } else {
                text
            }
        })
        .collect();
    format!("({})", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs = Vec<(u32, u32)>;

    fn lines(before: &str, after: &str) -> (Pairs, Pairs) {
        let changed = changed_lines(Grammar::Python, before, after);
        let pairs = |lines: Vec<Lines>| lines.iter().map(|range| (range.first, range.last)).collect();
        (pairs(changed.old), pairs(changed.new))
    }

    #[test]
    fn comments_layout_and_types_of_functions_change_no_line() {
        let before = "def f(x, y=1):\n    return x + y\n";
        for after in [
            "# why\ndef f(x, y=1):\n    \"\"\"Adds.\"\"\"\n    return x + y\n",
            "def f(x: int, y: int = 1) -> int:\n    return x + y\n",
            "def f(\n    x,\n    y=1,\n):\n    return x + y\n",
        ] {
            assert!(
                changed_lines(Grammar::Python, before, after).is_empty(),
                "{after}"
            );
        }
        let typed = "class A:\n    x: int = 1\n";
        assert_eq!(lines(typed, "class A:\n    x: str = 1\n").1, [(2, 2)]);
        let before = "export function f(x) { return x + 1; }";
        let after = "interface P { a: string }\nexport function f(x: number): number {\n  return x + 1;\n}";
        assert!(changed_lines(Grammar::TypeScript, before, after).is_empty());
    }

    #[test]
    fn functions_after_a_return_run_in_javascript() {
        let before = "function f(o) {\n  return g(o);\n  function g(o) {\n    return o;\n  }\n  o = 1;\n}\n";
        let dead = before.replace("o = 1", "o = 2");
        assert!(changed_lines(Grammar::JavaScript, before, &dead).is_empty());
        let after = before.replace("return o;", "return o + 1;");
        let changed = changed_lines(Grammar::JavaScript, before, &after);
        assert_eq!(changed.new, [Lines { first: 4, last: 4 }]);
    }

    #[test]
    fn a_change_is_on_its_lines_in_both_versions() {
        let before = "def f(x):\n    if x > 1:\n        return 1\n    return 2\n";
        let after = "# more\ndef f(x):\n    if x >= 1:\n        return 1\n    return 2\n";
        assert_eq!(lines(before, after), (vec![(2, 2)], vec![(3, 3)]));
        let gone = "def f(x):\n    return 2\n";
        assert_eq!(lines(before, gone), (vec![(2, 3)], vec![]));
    }

    #[test]
    fn signatures_leave_out_types() {
        let source = "class A:\n    def f(self, x: int = 1, *, key: str) -> None:\n        pass\n\n\ndef _g(a, *b, **c):\n    def inner(): pass\n";
        let found: Vec<(String, String, bool)> = signatures(Grammar::Python, source)
            .into_iter()
            .map(|one| (one.name, one.parameters, one.public))
            .collect();
        assert_eq!(
            found,
            [
                ("A".to_owned(), String::new(), true),
                ("A.f".to_owned(), "(self, x=1, *, key)".to_owned(), true),
                ("_g".to_owned(), "(a, *b, **c)".to_owned(), false),
            ]
        );
        let source = "export const add = (a: number, b = 2) => a + b;\nexport function f({ a, b }: P, ...rest) { return a; }\n";
        let found: Vec<(String, String)> = signatures(Grammar::TypeScript, source)
            .into_iter()
            .map(|one| (one.name, one.parameters))
            .collect();
        assert_eq!(
            found,
            [
                ("add".to_owned(), "(a, b=2)".to_owned()),
                ("f".to_owned(), "({a, b}, ...rest)".to_owned()),
            ]
        );
    }
}
