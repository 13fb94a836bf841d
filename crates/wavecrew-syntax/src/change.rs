//! What a change of code amounts to: nothing at all, or functions that only look as if they did something.

use tree_sitter::Node;
use xxhash_rust::xxh3::xxh3_64;

use crate::grammar::Grammar;
use crate::tree::{all_children, children, field, is_deeper_than, line_of, text, walk};

/// Nobody writes deeper code, and the functions below recurse.
const DEEPEST: usize = 400;

/// Whether two versions of a file do the same: they differ only in comments, documentation, layout and code that never runs.
pub fn same_code(language: Grammar, before: &str, after: &str) -> bool {
    match (
        effective_tokens(language, before),
        effective_tokens(language, after),
    ) {
        (Some(before), Some(after)) => before == after,
        _ => before == after,
    }
}

/// The tokens that run, one per line; `None` if the file is nested too deeply.
fn effective_tokens(language: Grammar, source: &str) -> Option<String> {
    let tree = language.parse(source);
    if is_deeper_than(tree.root_node(), DEEPEST) {
        return None;
    }
    let mut out = String::new();
    add_tokens(tree.root_node(), source, &mut out);
    Some(out)
}

fn add_tokens(node: Node<'_>, source: &str, out: &mut String) {
    each_token(node, source, &|_| false, &mut |_, token| {
        out.push_str(token);
        out.push('\n');
    });
}

/// Calls `add` with each token that has an effect, and the line that it is on. Leaves out the nodes that `skip` names.
pub(crate) fn each_token<'t, 's>(
    node: Node<'t>,
    source: &'s str,
    skip: &impl Fn(Node<'t>) -> bool,
    add: &mut impl FnMut(u32, &'s str),
) {
    if skip(node) {
        return;
    }
    let line = line_of(node.start_position());
    if node.is_extra() || is_idle(node, source) {
        return;
    }
    if node.kind() == "string" {
        add(line, text(node, source).trim_matches(['"', '\'']));
        return;
    }
    if node.child_count() == 0 {
        let token = text(node, source).trim();
        if !token.is_empty() && token != ";" {
            add(line, token);
        }
        return;
    }
    let all = all_children(node);
    for (at, child) in all.iter().enumerate() {
        let closes = all
            .get(at + 1)
            .is_some_and(|next| matches!(next.kind(), ")" | "]" | "}"));
        if child.kind() == "," && closes && node.kind() != "tuple" {
            continue;
        }
        // Blocks matter by their depth: a statement may move into or out of one.
        let is_block = matches!(child.kind(), "block" | "statement_block");
        if is_block {
            add(line_of(child.start_position()), "{");
        }
        each_token(*child, source, skip, add);
        if is_block {
            add(line_of(child.end_position()), "}");
        }
        if ends_block(*child) {
            // JavaScript functions exist in the whole block.
            for later in all.iter().skip(at + 1).filter(|later| is_hoisted(**later)) {
                each_token(*later, source, skip, add);
            }
            break;
        }
    }
}

fn is_hoisted(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "function_declaration" | "generator_function_declaration"
    )
}

/// Whether what follows in the same block never runs.
fn ends_block(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "return_statement" | "raise_statement" | "throw_statement" | "break_statement" | "continue_statement"
    )
}

/// Whether a statement does nothing: documentation, `pass`, a branch that never runs.
fn is_idle(node: Node<'_>, source: &str) -> bool {
    match node.kind() {
        "pass_statement" | "empty_statement" => true,
        "expression_statement" => {
            let inner = children(node);
            inner.len() == 1 && matches!(inner[0].kind(), "string" | "ellipsis")
        }
        "if_statement" => {
            let never = field(node, "condition").is_some_and(|condition| {
                let condition = text(condition, source);
                let condition = condition.trim_matches(['(', ')', ' ']);
                ["False", "false", "0", "None", "null"].contains(&condition)
            });
            never && field(node, "alternative").is_none()
        }
        _ => false,
    }
}

/// A function of a file, and what its body amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionShape {
    pub name: String,
    pub line: u32,
    /// A hash of what runs in it.
    pub fingerprint: u64,
    pub body: BodyShape,
    /// Names of parameters that its body does not use.
    pub unused: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyShape {
    /// Without statements, or without a result.
    Empty,
    /// The same, but it states that it is not implemented.
    Stub,
    /// Returns nothing but constants, which depend on its parameters at most by comparison with constants.
    Constants(Vec<String>),
    Real,
}

/// All functions and methods of a file, in its order, except those that others have to implement.
pub fn functions(language: Grammar, source: &str) -> Vec<FunctionShape> {
    let tree = language.parse(source);
    let mut found = Vec::new();
    if is_deeper_than(tree.root_node(), DEEPEST) {
        return found;
    }
    walk(tree.root_node(), |node| {
        found.extend(function(node, source));
        true
    });
    found
}

fn function(node: Node<'_>, source: &str) -> Option<FunctionShape> {
    let (name, function) = match node.kind() {
        "function_definition"
        | "function_declaration"
        | "generator_function_declaration"
        | "method_definition" => (field(node, "name")?, node),
        "variable_declarator" | "field_definition" | "public_field_definition" => {
            let value = field(node, "value")?;
            let name = field(node, "name").or_else(|| field(node, "property"))?;
            if !matches!(value.kind(), "arrow_function" | "function_expression") {
                return None;
            }
            (name, value)
        }
        _ => return None,
    };
    let body = field(function, "body")?;
    if is_abstract(node, source) {
        return None;
    }
    let mut tokens = String::new();
    add_tokens(body, source, &mut tokens);
    Some(FunctionShape {
        name: text(name, source).to_owned(),
        line: line_of(node.start_position()),
        fingerprint: xxh3_64(tokens.as_bytes()),
        unused: unused(function, body, source),
        body: match shape(function, body, source) {
            BodyShape::Empty if is_unfinished(text(function, source)) => BodyShape::Stub,
            other => other,
        },
    })
}

/// Whether a function is a declaration that others implement: abstract, overloaded, or of a protocol.
fn is_abstract(node: Node<'_>, source: &str) -> bool {
    let marks = |text: &str| {
        ["abstract", "overload", "Protocol", "ABC", "Interface"]
            .iter()
            .any(|mark| text.contains(mark))
    };
    let mut around = Some(node);
    while let Some(outer) = around {
        let head = text(outer, source).lines().next().unwrap_or_default();
        if matches!(
            outer.kind(),
            "decorated_definition" | "class_definition" | "class_declaration" | "abstract_class_declaration"
        ) && marks(head)
        {
            return true;
        }
        around = outer.parent();
    }
    false
}

fn shape(function: Node<'_>, body: Node<'_>, source: &str) -> BodyShape {
    if !matches!(body.kind(), "block" | "statement_block") {
        // An arrow function with an expression.
        return if is_constant(body) && has_parameters(function, source) {
            BodyShape::Constants(vec![constant(body, source)])
        } else {
            BodyShape::Real
        };
    }
    let statements: Vec<Node<'_>> = children(body)
        .into_iter()
        .filter(|statement| !is_idle(*statement, source))
        .collect();
    match statements.as_slice() {
        [] => return BodyShape::Empty,
        [only] if is_stub(*only, source) => return BodyShape::Empty,
        _ => {}
    }
    let mut returned = Vec::new();
    let mut plain = has_parameters(function, source);
    walk(body, |node| {
        match node.kind() {
            "return_statement" => {
                match children(node).as_slice() {
                    [] => {}
                    [value] if is_constant(*value) => returned.push(constant(*value, source)),
                    _ => plain = false,
                }
                false
            }
            // Whatever else it does makes it more than a table of answers.
            "call"
            | "call_expression"
            | "assignment"
            | "assignment_expression"
            | "augmented_assignment"
            | "for_statement"
            | "while_statement"
            | "yield"
            | "await"
            | "raise_statement"
            | "throw_statement"
            | "with_statement"
            | "lexical_declaration"
            | "binary_operator"
            | "new_expression"
            | "function_definition"
            | "for_in_statement" => {
                plain = false;
                false
            }
            _ => true,
        }
    });
    if plain && !returned.is_empty() {
        BodyShape::Constants(returned)
    } else {
        BodyShape::Real
    }
}

fn has_parameters(function: Node<'_>, source: &str) -> bool {
    if field(function, "parameter").is_some() {
        return true;
    }
    field(function, "parameters").is_some_and(|parameters| {
        children(parameters)
            .iter()
            .any(|parameter| !["self", "cls"].contains(&text(*parameter, source)))
    })
}

/// Parameters that the body does not name.
fn unused(function: Node<'_>, body: Node<'_>, source: &str) -> Vec<String> {
    let identifiers = |node: Node<'_>| {
        let mut found = Vec::new();
        walk(node, |node| {
            if node.kind().contains("identifier") {
                found.push(text(node, source).to_owned());
            }
            true
        });
        found
    };
    let used = identifiers(body);
    let parameters = field(function, "parameters").map_or_else(Vec::new, children);
    let names = parameters.into_iter().filter_map(|parameter| {
        let mut names = identifiers(parameter).into_iter();
        names
            .next()
            .filter(|name| !["self", "cls"].contains(&name.as_str()))
    });
    names
        .filter(|name| !name.starts_with('_') && !used.contains(name))
        .collect()
}

/// A statement that marks code as not implemented.
fn is_stub(statement: Node<'_>, source: &str) -> bool {
    match statement.kind() {
        "return_statement" => children(statement)
            .first()
            .is_none_or(|value| ["None", "null", "undefined"].contains(&text(*value, source))),
        "raise_statement" | "throw_statement" => is_unfinished(text(statement, source)),
        _ => false,
    }
}

fn is_unfinished(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "notimplemented",
        "not implemented",
        "not yet",
        "todo",
        "fixme",
        "unimplemented",
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

fn is_constant(node: Node<'_>) -> bool {
    match node.kind() {
        "integer" | "float" | "number" | "true" | "false" | "none" | "null" => true,
        "string" => !children(node)
            .iter()
            .any(|part| matches!(part.kind(), "interpolation" | "template_substitution")),
        "list" | "array" | "tuple" | "parenthesized_expression" => {
            children(node).into_iter().all(is_constant)
        }
        "unary_operator" | "unary_expression" => children(node).into_iter().all(is_constant),
        _ => false,
    }
}

fn constant(node: Node<'_>, source: &str) -> String {
    text(node, source).trim_matches(['"', '\'', '(', ')']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_are_not_used() {
        let of = |language, source| functions(language, source)[0].unused.join(" ");
        let python = "def count(self, store, word=None, limit: int = 3, _x=1):\n    return len(store.all(key=limit))\n";
        assert_eq!(of(Grammar::Python, python), "word");
        let script = "export function split(amount, parts = 2) {\n  return amount;\n}\n";
        assert_eq!(of(Grammar::JavaScript, script), "parts");
    }

    #[test]
    fn comments_layout_and_dead_code_change_nothing() {
        let before = "def f(x):\n    return [x, 'a']\n";
        for (after, same) in [
            (
                "# why\ndef f(x):\n    \"\"\"Says it.\"\"\"\n    return [\n        x,\n        \"a\",\n    ]\n",
                true,
            ),
            ("def f(x):\n    return [x, 'a']\n    return 3\n", true),
            (
                "if False:\n    x = 1\n\n\ndef f(x):\n    pass\n    return [x, 'a']\n",
                true,
            ),
            ("def f(x):\r\n    return [x, 'a']\r\n", true),
            ("def f(x):\n    return [x, 'b']\n", false),
            ("def f(x):\n    return [x, 'a']\n\n\ny = 1\n", false),
            ("def f(x):\n    if x:\n        pass\n    return [x, 'a']\n", false),
        ] {
            assert_eq!(same_code(Grammar::Python, before, after), same, "{after}");
        }
        let before = "function f() { return 'a' }";
        assert!(same_code(
            Grammar::JavaScript,
            before,
            "/** f */\nfunction f() {\n  return \"a\"; // a\n}\n"
        ));
        assert!(!same_code(
            Grammar::JavaScript,
            before,
            "function f() { return 'b' }"
        ));
    }

    #[test]
    fn bodies_are_told_apart() {
        let shapes = |language, source: &str| -> Vec<String> {
            functions(language, source)
                .into_iter()
                .map(|function| match function.body {
                    BodyShape::Empty => format!("{} empty", function.name),
                    BodyShape::Stub => format!("{} stub", function.name),
                    BodyShape::Constants(all) => format!("{} {}", function.name, all.join(",")),
                    BodyShape::Real => format!("{} real", function.name),
                })
                .collect()
        };
        for (source, expected) in [
            ("def f(x):\n    \"\"\"F.\"\"\"\n    pass\n", "f empty"),
            ("def f(x):\n    ...\n", "f empty"),
            ("def f(x):\n    raise NotImplementedError('later')\n", "f stub"),
            ("def f(x):\n    return None\n", "f empty"),
            ("def f(x):\n    return 1\n", "f 1"),
            (
                "def f(x):\n    if x == 'a':\n        return 'A'\n    return ''\n",
                "f A,",
            ),
            ("def f():\n    return 1\n", "f real"),
            ("def f(self):\n    return 1\n", "f real"),
            ("def f(x):\n    return len(x)\n", "f real"),
            (
                "def f(x):\n    if len(x) == 1:\n        return 'one'\n    return 'more'\n",
                "f real",
            ),
            ("def f(x):\n    raise ValueError(x)\n", "f real"),
        ] {
            assert_eq!(shapes(Grammar::Python, source), [expected], "{source}");
        }
        let abstracts = "class A(ABC):\n    def f(self):\n        pass\n\n\nclass B:\n    @abstractmethod\n    def g(self):\n        ...\n";
        assert_eq!(shapes(Grammar::Python, abstracts), [""; 0]);
        for (source, expected) in [
            ("export function f(x) {\n  // TODO\n}", "f stub"),
            ("function f(x) { throw new Error('not implemented'); }", "f stub"),
            ("const f = (x) => 1;", "f 1"),
            ("const f = (x) => x.size;", "f real"),
            ("class A { get size() { return this.n; } }", "size real"),
        ] {
            assert_eq!(shapes(Grammar::JavaScript, source), [expected], "{source}");
        }
    }
}
