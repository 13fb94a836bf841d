//! The supported grammars, and syntax errors.

use std::path::Path;

use serde::Serialize;
use tree_sitter::{Node, Parser, Tree};

use crate::tree::{all_children, line_of, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grammar {
    Python,
    JavaScript,
    TypeScript,
    /// TypeScript with JSX, which has its own grammar.
    Tsx,
}

impl Grammar {
    /// By the file extension. `None` for other languages.
    pub fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "py" | "pyi" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            _ => return None,
        })
    }

    pub(crate) fn is_python(self) -> bool {
        match self {
            Self::Python => true,
            Self::JavaScript | Self::TypeScript | Self::Tsx => false,
        }
    }

    pub(crate) fn parse(self, source: &str) -> Tree {
        self.parse_again(source, None)
    }

    /// Faster with the tree of an earlier version to which the edit was applied.
    pub(crate) fn parse_again(self, source: &str, before: Option<&Tree>) -> Tree {
        let grammar = match self {
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        };
        let mut parser = Parser::new();
        parser
            .set_language(&grammar.into())
            .expect("the grammars are built for this version of the library");
        parser
            .parse(source, before)
            .expect("parsing without a time limit always gives a tree")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SyntaxError {
    /// Both count from 1, columns in characters.
    pub line: u32,
    pub column: u32,
    /// What is there, shortened, or what is missing.
    pub near: String,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "line {}, column {}: near {}",
            self.line, self.column, self.near
        )
    }
}

/// All syntax errors, in source order, without nested ones.
pub fn errors(language: Grammar, source: &str) -> Vec<SyntaxError> {
    errors_in(&language.parse(source), source)
}

pub(crate) fn errors_in(tree: &Tree, source: &str) -> Vec<SyntaxError> {
    let mut found = Vec::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        if node.is_error() || node.is_missing() {
            found.push(error_at(node, source));
        } else if node.has_error() {
            open.extend(all_children(node).into_iter().rev());
        }
    }
    found
}

fn error_at(node: Node<'_>, source: &str) -> SyntaxError {
    const SHOWN: usize = 40;
    let near = if node.is_missing() {
        format!("a missing {}", node.kind())
    } else {
        let line = text(node, source).trim_start().lines().next().unwrap_or_default();
        let mut near: String = line.chars().take(SHOWN).collect();
        if near.len() < line.len() {
            near.push('…');
        }
        format!("`{near}`")
    };
    SyntaxError {
        line: line_of(node.start_position()),
        column: column_of(source, node.start_byte()),
        near,
    }
}

/// In characters, from 1.
pub(crate) fn column_of(source: &str, byte: usize) -> u32 {
    let start = source[..byte].rfind('\n').map_or(0, |at| at + 1);
    u32::try_from(source[start..byte].chars().count() + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammars_are_chosen_by_extension() {
        let cases = [
            ("a/b.py", Some(Grammar::Python)),
            ("b.test.mjs", Some(Grammar::JavaScript)),
            ("größe map.ts", Some(Grammar::TypeScript)),
            ("x.tsx", Some(Grammar::Tsx)),
            ("x.rs", None),
            ("py", None),
        ];
        for (path, language) in cases {
            assert_eq!(Grammar::of(Path::new(path)), language, "{path}");
        }
    }

    #[test]
    fn errors_have_a_position() {
        let at = |language, source| -> Vec<String> {
            errors(language, source).iter().map(ToString::to_string).collect()
        };
        assert_eq!(at(Grammar::Python, "x = 1\ndef f():\n    return x\n"), [""; 0]);
        assert_eq!(
            at(Grammar::Tsx, "const a = <b c={1}>é</b>;\nlet n: number = 1;\n"),
            [""; 0]
        );
        let [first, ..] = &errors(Grammar::Python, "x = 1\né = ) 2\n")[..] else {
            panic!("the bracket is never opened");
        };
        assert_eq!((first.line, first.column), (2, 5));
        assert!(!errors(Grammar::TypeScript, "function f( { return 1; }\n").is_empty());
        assert!(!errors(Grammar::JavaScript, "const = 5;\n").is_empty());
        assert!(!errors(Grammar::Python, "def f(:\n    pass\n").is_empty());
    }

    #[test]
    fn deep_nesting_is_parsed() {
        let deep = format!("x = {}1{}\n", "(".repeat(20_000), ")".repeat(20_000));
        assert_eq!(errors(Grammar::Python, &deep), []);
    }
}
