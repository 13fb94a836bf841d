//! The functions, classes and methods of a file, with their lines and visibility.

use serde::Serialize;
use tree_sitter::Node;

use crate::grammar::Grammar;
use crate::lines::Lines;
use crate::tree::{children, field, text};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Symbol {
    /// With the classes and functions around it: `Cart.add`.
    pub name: String,
    pub kind: SymbolKind,
    /// Including decorators.
    pub lines: Lines,
    /// Exported, or not private by its name.
    pub public: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolKind {
    Function,
    Class,
    Method,
}

/// In source order, outer symbols before inner ones.
pub fn symbols(language: Grammar, source: &str) -> Vec<Symbol> {
    let tree = language.parse(source);
    let finder = Finder {
        python: language.is_python(),
        source,
        exported: exported_by_name(tree.root_node(), source),
    };
    let mut found = Vec::new();
    let mut open = vec![(tree.root_node(), Outer::Module)];
    while let Some((node, outer)) = open.pop() {
        let mut below = outer.clone();
        if let Some((name, kind)) = finder.definition(node, &outer) {
            let (full, public) = match &outer {
                Outer::Module => (name.clone(), finder.is_public(node, &name)),
                Outer::Class { name: class, public } => {
                    (format!("{class}.{name}"), *public && !is_private(&name))
                }
                Outer::Function { name: function } => (format!("{function}.{name}"), false),
            };
            found.push(Symbol {
                name: full.clone(),
                kind,
                lines: Lines::of(whole(node)),
                public,
            });
            below = match kind {
                SymbolKind::Class => Outer::Class { name: full, public },
                SymbolKind::Function | SymbolKind::Method => Outer::Function { name: full },
            };
        }
        open.extend(
            children(node)
                .into_iter()
                .rev()
                .map(|child| (child, below.clone())),
        );
    }
    found
}

#[derive(Debug, Clone)]
enum Outer {
    Module,
    Class { name: String, public: bool },
    Function { name: String },
}

struct Finder<'s> {
    python: bool,
    source: &'s str,
    exported: Vec<&'s str>,
}

impl Finder<'_> {
    fn definition(&self, node: Node<'_>, outer: &Outer) -> Option<(String, SymbolKind)> {
        let in_class = matches!(outer, Outer::Class { .. });
        let callable = if in_class {
            SymbolKind::Method
        } else {
            SymbolKind::Function
        };
        let kind = match node.kind() {
            "function_definition" => callable,
            "class_definition" | "class_declaration" | "abstract_class_declaration" => SymbolKind::Class,
            "function_declaration" | "generator_function_declaration" => SymbolKind::Function,
            "method_definition" if in_class => SymbolKind::Method,
            "variable_declarator" | "field_definition" | "public_field_definition" => {
                match field(node, "value")?.kind() {
                    "arrow_function" | "function_expression" | "generator_function" => callable,
                    "class" => SymbolKind::Class,
                    _ => return None,
                }
            }
            _ => return None,
        };
        let name = field(node, "name").or_else(|| field(node, "property"))?;
        Some((text(name, self.source).to_owned(), kind))
    }

    fn is_public(&self, node: Node<'_>, name: &str) -> bool {
        if self.python {
            return !is_private(name);
        }
        let around = whole(node);
        around.kind() == "export_statement" || self.exported.contains(&name)
    }
}

fn is_private(name: &str) -> bool {
    name.starts_with('#') || (name.starts_with('_') && !(name.starts_with("__") && name.ends_with("__")))
}

/// Including decorators, `export` and `const`.
fn whole(mut node: Node<'_>) -> Node<'_> {
    while let Some(parent) = node.parent().filter(|parent| {
        matches!(
            parent.kind(),
            "decorated_definition" | "export_statement" | "lexical_declaration" | "variable_declaration"
        )
    }) {
        node = parent;
    }
    node
}

/// `export { a, b }`, `module.exports = { a }`, `exports.a = ...`.
fn exported_by_name<'s>(root: Node<'_>, source: &'s str) -> Vec<&'s str> {
    let mut names = Vec::new();
    for statement in children(root) {
        match statement.kind() {
            "export_statement" => {
                for clause in children(statement) {
                    match clause.kind() {
                        "export_clause" => {
                            let specifiers = children(clause).into_iter();
                            names.extend(specifiers.filter_map(|s| Some(text(field(s, "name")?, source))));
                        }
                        "identifier" => names.push(text(clause, source)),
                        _ => {}
                    }
                }
            }
            "expression_statement" => {
                let Some(assignment) = children(statement).into_iter().next() else {
                    continue;
                };
                let (Some(left), Some(right)) = (field(assignment, "left"), field(assignment, "right"))
                else {
                    continue;
                };
                match text(left, source) {
                    "module.exports" => {
                        let entries = match right.kind() {
                            "object" => children(right),
                            _ => vec![right],
                        };
                        for entry in entries {
                            names.push(text(field(entry, "value").unwrap_or(entry), source));
                        }
                    }
                    name if name.starts_with("exports.") || name.starts_with("module.exports.") => {
                        names.push(text(right, source));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(language: Grammar, source: &str) -> Vec<String> {
        let line = |s: &Symbol| {
            let public = if s.public { "" } else { " private" };
            format!(
                "{} {:?} {}-{}{public}",
                s.name, s.kind, s.lines.first, s.lines.last
            )
        };
        symbols(language, source).iter().map(line).collect()
    }

    #[test]
    fn python_symbols() {
        let source = "@cache\ndef f():\n    def inner(): pass\n\ndef _g(): pass\n\nclass Cart(Base):\n    \
                      def __init__(self): pass\n    def _hidden(self): pass\n    @property\n    def total(self):\n        \
                      return 1\n";
        assert_eq!(
            described(Grammar::Python, source),
            [
                "f Function 1-3",
                "f.inner Function 3-3 private",
                "_g Function 5-5 private",
                "Cart Class 7-12",
                "Cart.__init__ Method 8-8",
                "Cart._hidden Method 9-9 private",
                "Cart.total Method 10-12",
            ]
        );
    }

    #[test]
    fn javascript_symbols() {
        let source = "export function f() {}\nfunction g() {}\nexport const h = () => 1;\nconst k = function () {};\n\
                      export default class Cart {\n  add() {}\n  #own() {}\n  later = () => 1;\n}\nexport { k as kk };\n";
        assert_eq!(
            described(Grammar::TypeScript, source),
            [
                "f Function 1-1",
                "g Function 2-2 private",
                "h Function 3-3",
                "k Function 4-4",
                "Cart Class 5-9",
                "Cart.add Method 6-6",
                "Cart.#own Method 7-7 private",
                "Cart.later Method 8-8",
            ]
        );
        let common = "function a() {}\nfunction b() {}\nconst c = () => 1;\nmodule.exports = { a, d: c };\n";
        assert_eq!(
            described(Grammar::JavaScript, common),
            ["a Function 1-1", "b Function 2-2 private", "c Function 3-3"]
        );
    }
}
