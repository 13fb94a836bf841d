use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// `line kind: before -> after` of every change.
fn all(language: Grammar, source: &str) -> Vec<String> {
    let line = |m: &Mutant| {
        let was = &source[m.range.clone()];
        format!("{} {:?}: {was} -> {}", m.line, m.kind, m.replacement)
    };
    mutants(language, source, &LineSet::All, usize::MAX, 0)
        .iter()
        .map(line)
        .collect()
}

#[test]
fn python_mutants() {
    let cases: &[(&str, &[&str])] = &[
        ("a < b", &["1 Boundary: < -> <=", "1 Comparison: < -> >="]),
        ("a == b", &["1 Comparison: == -> !="]),
        ("a not in b", &["1 Comparison: not in -> in"]),
        ("a is not b", &["1 Comparison: is not -> is"]),
        ("a + b", &["1 Arithmetic: + -> -"]),
        ("a + 'x'", &["1 Text: 'x' -> 'XXx'", "1 Text: 'x' -> ''"]),
        ("a // b", &["1 Arithmetic: // -> *"]),
        ("a and b", &["1 Boolean: and -> or"]),
        ("not a", &["1 Boolean: not a -> a"]),
        ("-a", &["1 Arithmetic: -a -> +a"]),
        (
            "x += 1",
            &[
                "1 Arithmetic: += -> -=",
                "1 Removal: += -> =",
                "1 Constant: 1 -> 2",
                "1 Constant: 1 -> 0",
            ],
        ),
        ("x = 0", &["1 Constant: 0 -> 1"]),
        ("x = 1.5", &["1 Constant: 1.5 -> (1.5 + 1)"]),
        ("x = True", &["1 Constant: True -> False"]),
        ("x = ''", &["1 Text: '' -> 'XX'"]),
        ("x = f'a{b}'", &[]),
        ("x = a[0]", &["1 Index: 0 -> 1"]),
        ("x = a[:n]", &["1 Index: : -> 1:", "1 Index: n -> (n) + 1"]),
        ("f(a)", &["1 Removal: f(a) -> pass"]),
        ("x = a.lower()", &["1 Call: lower -> upper"]),
        ("x = min(a)", &["1 Call: min -> max"]),
        (
            "def f(a=None, b=2): return a",
            &[
                "1 Default: 2 -> 3",
                "1 Default: 2 -> 1",
                "1 ReturnValue: a -> None",
            ],
        ),
        ("def f():\n    return None", &[]),
        (
            "def f():\n    x = g()\n    return",
            &["2 Assignment: g() -> None"],
        ),
        ("if a: pass", &["1 Condition: a -> not (a)"]),
        ("x = a if b else c", &["1 Condition: b -> not (b)"]),
        ("x = [a for a in b if a]", &["1 Condition: a -> not (a)"]),
        ("for a in b:\n    break", &["2 Jump: break -> continue"]),
        // What tests cannot see.
        ("\"\"\"doc 1\"\"\"", &[]),
        ("def f(a: Literal['x', 1]) -> Tuple[int, 3]:\n    'doc'", &[]),
        ("import a.b", &[]),
        ("__all__ = ['a', 'b']", &[]),
        ("__version__ = '1'", &[]),
        ("if TYPE_CHECKING:\n    x = 1", &[]),
        ("if __name__ == '__main__':\n    x = 1", &[]),
        ("@cache(1)\ndef f(): pass", &[]),
        ("x: Literal[1]", &[]),
    ];
    for (source, expected) in cases {
        assert_eq!(
            all(Grammar::Python, &format!("{source}\n")),
            *expected,
            "{source}"
        );
    }
}

#[test]
fn javascript_mutants() {
    let cases: &[(&str, &[&str])] = &[
        ("a <= b;", &["1 Boundary: <= -> <", "1 Comparison: <= -> >"]),
        ("a === b;", &["1 Comparison: === -> !=="]),
        ("a && b;", &["1 Boolean: && -> ||"]),
        ("a ?? b;", &["1 Boolean: ?? -> &&"]),
        ("!a;", &["1 Boolean: !a -> a"]),
        ("a?.b;", &["1 Boolean: ?. -> ."]),
        ("a * b;", &["1 Arithmetic: * -> /"]),
        ("a + 'x';", &["1 Text: 'x' -> 'XXx'", "1 Text: 'x' -> ''"]),
        ("i++;", &["1 Arithmetic: ++ -> --"]),
        ("x -= y;", &["1 Arithmetic: -= -> +=", "1 Removal: -= -> ="]),
        ("x = a[1];", &["1 Index: 1 -> 2", "1 Index: 1 -> 0"]),
        ("x = true;", &["1 Constant: true -> false"]),
        ("x = `a`;", &["1 Text: `a` -> `XXa`", "1 Text: `a` -> ``"]),
        ("x = `a${b}`;", &[]),
        ("f(a);", &["1 Removal: f(a); -> ;"]),
        ("await f(a);", &["1 Removal: await f(a); -> ;"]),
        (
            "function f(a = 1) { return a; }",
            &[
                "1 Default: 1 -> 2",
                "1 Default: 1 -> 0",
                "1 ReturnValue: a -> null",
            ],
        ),
        ("const f = (a) => a.b;", &["1 ReturnValue: a.b -> null"]),
        ("if (a) { }", &["1 Condition: a -> !(a)"]),
        ("x = a ? b : c;", &["1 Condition: a -> !(a)"]),
        ("for (;;) { break; }", &["1 Jump: break -> continue"]),
        ("switch (a) { case b: break; }", &[]),
        ("x = a.toLowerCase();", &["1 Call: toLowerCase -> toUpperCase"]),
        ("x = { 'a b': c };", &[]),
        // What is gone at run time, or no program at all.
        ("'use strict';", &[]),
        ("import a from 'b';", &[]),
        ("export { a } from 'b';", &[]),
        ("const a = require('b');", &[]),
    ];
    for (source, expected) in cases {
        assert_eq!(
            all(Grammar::TypeScript, &format!("{source}\n")),
            *expected,
            "{source}"
        );
        assert_eq!(
            all(Grammar::JavaScript, &format!("{source}\n")),
            *expected,
            "{source}"
        );
    }
    let types = [
        "type A = 'x' | 1;",
        "interface A { b: 'x'; c?: 2 }",
        "let a: 'x' | 1;",
        "const a = b as 'x';",
        "const a = b satisfies 1;",
        "declare const a: 1;",
        "function f(a: 1): a is 1;",
        "import type { A } from 'b';",
        "export type { A } from 'b';",
        "let a: Record<'x', [1, 2]>;",
    ];
    for source in types {
        assert_eq!(
            all(Grammar::TypeScript, &format!("{source}\n")),
            [""; 0],
            "{source}"
        );
    }
    let parameter = "function f(a: number = 1) {}\n";
    assert_eq!(
        all(Grammar::TypeScript, parameter),
        ["1 Default: 1 -> 2", "1 Default: 1 -> 0"]
    );
}

const CART: &str = r#"
import math

class Cart:
    """Things and what they cost."""

    def __init__(self, limit=10):
        self.items = []
        self.limit = limit

    def add(self, name: str, price: float, count=1):
        if price < 0 or count <= 0:
            raise ValueError("a price and a count are positive")
        if len(self.items) + count > self.limit:
            return False
        log.info("added %s", name)
        for _ in range(count):
            self.items.append((name, price))
        return True

    def total(self, rebate=0.0):
        total = sum(price for _, price in self.items)
        if total > 100 and not rebate:
            total -= total * 0.1
        elif (
            rebate
            and total > 5
        ):
            total = total * (1 - rebate)
        return round(total, 2)
"#;

const SLUG: &str = r"
import { fold } from './fold';
export type Options = { separator?: '-' | '_'; max: number };
export function slug(text: string, { separator = '-', max = 80 }: Partial<Options> = {}): string {
  if (!text || max <= 0) {
    return '';
  }
  const words = fold(text).toLowerCase().split(/[^a-z0-9]+/).filter((word) => word.length > 0);
  let out = '';
  for (const word of words) {
    if (out.length + word.length + 1 > max) break;
    out += out ? separator + word : word;
  }
  console.log('slug', out);
  return out as string;
}
";

#[test]
fn a_few_mutants_are_spread_over_lines_and_kinds() {
    for (language, source) in [(Grammar::Python, CART), (Grammar::TypeScript, SLUG)] {
        let few = mutants(language, source, &LineSet::All, 8, 1);
        assert_eq!(few.len(), 8);
        let lines: BTreeSet<u32> = few.iter().map(|m| m.line).collect();
        let kinds: BTreeSet<MutantKind> = few.iter().map(|m| m.kind).collect();
        assert!(lines.len() >= 7, "{few:#?}");
        assert!(kinds.len() >= 5, "{few:#?}");
        assert_eq!(few, mutants(language, source, &LineSet::All, 8, 1));
        assert_ne!(few, mutants(language, source, &LineSet::All, 8, 2));
    }
}

#[test]
fn the_statement_of_a_mutant_is_its_first_line() {
    let elif = 1 + u32::try_from(CART.lines().position(|l| l.contains("elif (")).unwrap()).unwrap();
    let found = mutants(
        Grammar::Python,
        CART,
        &[elif].into_iter().collect(),
        usize::MAX,
        0,
    );
    assert!(
        found.iter().any(|m| m.line == elif + 2 && m.statement == elif),
        "{found:#?}"
    );
}

#[test]
fn mutants_are_described() {
    let of = |source| {
        mutants(Grammar::Python, source, &LineSet::All, 1, 0)[0]
            .description
            .clone()
    };
    assert_eq!(of("a = b == c\n"), "`==` became `!=`");
    assert_eq!(of("f(\n  x,\n  z)\n"), "`f( x, z)` removed");
    let columns = mutants(Grammar::Python, "é = a == b\n", &LineSet::All, 1, 0);
    assert_eq!((columns[0].line, columns[0].column), (1, 7));
}

#[test]
fn mutants_add_no_syntax_errors() {
    let broken = "x = (1 +\ndef f():\n    return 2\n";
    let errors = crate::errors(Grammar::Python, broken).len();
    for mutant in mutants(Grammar::Python, broken, &LineSet::All, usize::MAX, 0) {
        assert!(crate::errors(Grammar::Python, &apply(broken, &mutant)).len() <= errors);
    }
}

proptest! {
    #[test]
    fn every_mutant_parses_and_differs_and_is_on_the_lines(
        python in any::<bool>(),
        wanted in prop::collection::btree_set(1u32..40, 0..20),
        limit in 0usize..30,
        seed in any::<u64>(),
    ) {
        let (language, source) = if python { (Grammar::Python, CART) } else { (Grammar::TypeScript, SLUG) };
        let found = mutants(language, source, &LineSet::Only(wanted.clone()), limit, seed);
        prop_assert!(found.len() <= limit);
        for mutant in &found {
            let changed = apply(source, mutant);
            prop_assert!(changed != source);
            prop_assert_eq!(crate::errors(language, &changed), vec![]);
            prop_assert!(wanted.contains(&mutant.line) || wanted.contains(&mutant.statement));
        }
    }

    #[test]
    fn no_source_makes_it_panic(text in "[a-z0-9 =<>+\\-*/%'\"`{}()\\[\\]:;,.\\n!?&|#é]{0,80}", limit in 0usize..10) {
        for language in [Grammar::Python, Grammar::JavaScript, Grammar::TypeScript, Grammar::Tsx] {
            let errors = crate::errors(language, &text).len();
            for mutant in mutants(language, &text, &LineSet::All, limit, 3) {
                prop_assert!(crate::errors(language, &apply(&text, &mutant)).len() <= errors);
            }
            let tests = crate::tests(language, &text);
            prop_assert_eq!(crate::weakened(&tests, &tests), vec![]);
            let _ = crate::symbols(language, &text);
        }
    }
}
