//! Changes of a whole file with a known outcome: one without an effect, and two that disable all its
//! functions. They show whether a test depends on the code.

use tree_sitter::Node;

use super::{Mutant, MutantKind};
use crate::grammar::{Grammar, errors};
use crate::tree::{all_children, children, field, walk};

/// The control mutants of a file; none where they would not parse.
pub fn controls(language: Grammar, source: &str) -> Vec<Mutant> {
    [MutantKind::Unchanged, MutantKind::Raises, MutantKind::Emptied]
        .into_iter()
        .filter_map(|kind| control(language, source, kind))
        .collect()
}

fn control(language: Grammar, source: &str, kind: MutantKind) -> Option<Mutant> {
    let tree = language.parse(source);
    let mut insertions = if language.is_python() {
        python(tree.root_node(), source, kind)
    } else {
        javascript(tree.root_node(), kind)
    };
    if kind == MutantKind::Unchanged {
        insertions.extend(spaces(tree.root_node()));
        insertions.sort_by_key(|(at, _)| *at);
    }
    let mut changed = source.to_owned();
    for (at, text) in insertions.iter().rev() {
        changed.insert_str(*at, text);
    }
    if kind == MutantKind::Unchanged {
        let mark = if language.is_python() { "#" } else { "//" };
        changed.push_str(&format!("\n{mark} unchanged\n"));
    }
    let is_whole = errors(language, &changed).len() <= errors(language, source).len();
    let is_mutant = kind == MutantKind::Unchanged || !insertions.is_empty();
    (is_whole && is_mutant).then(|| Mutant {
        line: 1,
        column: 1,
        statement: 1,
        range: 0..source.len(),
        replacement: changed,
        kind,
        description: match kind {
            MutantKind::Unchanged => "a change without effect",
            MutantKind::Raises => "every function raises an error",
            _ => "every function does nothing",
        }
        .to_owned(),
    })
}

/// Where text goes in, in the order of the source.
type Insertions = Vec<(usize, String)>;

fn python(root: Node<'_>, source: &str, kind: MutantKind) -> Insertions {
    let mut found = Insertions::new();
    walk(root, |node| {
        if node.kind() != "function_definition" {
            return true;
        }
        let body = field(node, "body").map_or_else(Vec::new, children);
        let is_docstring = |statement: &&Node<'_>| {
            let first = children(**statement).first().map(Node::kind);
            matches!(first, Some("string" | "concatenated_string"))
        };
        // The documentation of a function belongs to it.
        let skipped = body.iter().take(1).filter(is_docstring).count();
        if let Some(first) = body.get(skipped) {
            let statement = match kind {
                MutantKind::Raises => "raise RuntimeError('control')",
                MutantKind::Emptied => "return",
                _ => "_unchanged = None",
            };
            let at = first.start_byte();
            let line = source[..at].rfind('\n').map_or(0, |end| end + 1);
            let indent = &source[line..at];
            let separator = if indent.trim().is_empty() {
                format!("\n{indent}")
            } else {
                "; ".to_owned()
            };
            found.push((at, format!("{statement}{separator}")));
        }
        kind == MutantKind::Unchanged
    });
    found
}

fn javascript(root: Node<'_>, kind: MutantKind) -> Insertions {
    let mut found = Insertions::new();
    walk(root, |node| {
        let is_function = matches!(
            node.kind(),
            "function_declaration"
                | "function_expression"
                | "generator_function_declaration"
                | "generator_function"
                | "method_definition"
                | "arrow_function"
        );
        let block = field(node, "body").filter(|body| is_function && body.kind() == "statement_block");
        let Some(block) = block else { return true };
        match kind {
            MutantKind::Raises => found.push((
                block.start_byte() + 1,
                " throw new TypeError('control');".to_owned(),
            )),
            MutantKind::Emptied => found.push((block.start_byte() + 1, " return;".to_owned())),
            // At the end, because a directive has to come first.
            _ => found.push((block.end_byte() - 1, ";void 0;".to_owned())),
        }
        kind == MutantKind::Unchanged
    });
    found.sort_by_key(|(at, _)| *at);
    found
}

/// More space after operators, opening parentheses of calls and `return`: a test that looks for a piece of the source does
/// not find it any more.
fn spaces(root: Node<'_>) -> Insertions {
    let mut found = Insertions::new();
    walk(root, |node| {
        let is_spaced = |token: &Node<'_>| match node.kind() {
            "argument_list" | "arguments" => token.kind() == "(",
            "return_statement" => token.kind() == "return",
            "binary_operator"
            | "comparison_operator"
            | "boolean_operator"
            | "assignment"
            | "augmented_assignment"
            | "binary_expression"
            | "assignment_expression"
            | "augmented_assignment_expression"
            | "variable_declarator" => true,
            _ => false,
        };
        let tokens = all_children(node).into_iter().filter(|child| !child.is_named());
        found.extend(
            tokens
                .filter(is_spaced)
                .map(|token| (token.end_byte(), " ".to_owned())),
        );
        // Text in a string stays as it is, and so does code in it: `f"{a + b=}"` shows its own spelling.
        !matches!(node.kind(), "string" | "template_string")
    });
    found
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    fn texts(language: Grammar, source: &str) -> Vec<String> {
        controls(language, source)
            .into_iter()
            .map(|mutant| mutant.replacement)
            .collect()
    }

    #[test]
    fn controls_of_python() {
        let source = "def f(x):\n    \"\"\"Doc.\"\"\"\n    if x:\n        return 1\n\n\ndef g(): return 2\n";
        assert_eq!(
            texts(Grammar::Python, source),
            [
                "def f(x):\n    \"\"\"Doc.\"\"\"\n    _unchanged = None\n    if x:\n        return  1\n\n\ndef g(): _unchanged = None; return  2\n\n# unchanged\n",
                "def f(x):\n    \"\"\"Doc.\"\"\"\n    raise RuntimeError('control')\n    if x:\n        return 1\n\n\ndef g(): raise RuntimeError('control'); return 2\n",
                "def f(x):\n    \"\"\"Doc.\"\"\"\n    return\n    if x:\n        return 1\n\n\ndef g(): return; return 2\n",
            ]
        );
        assert_eq!(texts(Grammar::Python, "x = 1\n"), ["x =  1\n\n# unchanged\n"]);
        let spaced = texts(Grammar::Python, "y = f\"{a + b=}\" if a in b and g(a) else a*b\n");
        assert_eq!(
            spaced,
            ["y =  f\"{a + b=}\" if a in  b and  g( a) else a* b\n\n# unchanged\n"]
        );
    }

    #[test]
    fn controls_of_javascript() {
        let source = "export function f(x) {\n  return [x].map((y) => { return y; });\n}\n";
        let texts = texts(Grammar::JavaScript, source);
        assert_eq!(
            texts[0],
            "export function f(x) {\n  return  [x].map( (y) => { return  y; ;void 0;});\n;void 0;}\n\n// unchanged\n"
        );
        assert_eq!(
            texts[1],
            "export function f(x) { throw new TypeError('control');\n  return [x].map((y) => { return y; });\n}\n"
        );
    }
}
