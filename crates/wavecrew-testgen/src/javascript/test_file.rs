//! The text of a test file: imports, then tests in groups.

use serde::Deserialize;
use wavecrew_syntax::{Grammar, tests};

#[derive(Debug, Clone, Deserialize)]
pub struct Test {
    pub group: String,
    pub title: String,
    pub text: String,
}

impl Test {
    /// Whether it asserts something that can fail, by the rules of the check of written tests.
    pub fn asserts(&self, grammar: Grammar) -> bool {
        tests(grammar, &self.text)
            .iter()
            .any(|test| !test.assertions.is_empty())
    }
}

/// One group per function or class under test.
pub fn text(header: &[String], tests: &[Test]) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for test in tests {
        match groups.iter_mut().find(|(name, _)| *name == test.group) {
            Some((_, bodies)) => bodies.push(&test.text),
            None => groups.push((&test.group, vec![&test.text])),
        }
    }
    let blocks: Vec<String> = groups
        .iter()
        .map(|(name, bodies)| format!("describe('{name}', () => {{\n{}\n}});", bodies.join("\n\n")))
        .collect();
    let blocks = blocks.join("\n\n");
    let definitions = header.iter().filter(|line| !line.contains("{ "));
    let code = definitions.fold(blocks.clone(), |code, line| code + "\n" + line);
    let header: Vec<String> = header
        .iter()
        .filter_map(|line| without_unused_imports(line, &code))
        .collect();
    format!("{}\n\n{blocks}\n", header.join("\n"))
}

/// An import line without the names that no test mentions; `None` when no name remains.
fn without_unused_imports(line: &str, body: &str) -> Option<String> {
    let whole = || Some(line.to_owned());
    let framework = ["'vitest';", "'@jest/globals';"];
    let (Some(open), Some(close)) = (line.find("{ "), line.find(" }")) else {
        return whole();
    };
    if line.starts_with("//") || framework.iter().any(|name| line.ends_with(name)) {
        return whole();
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mentioned = |name: &str| {
        body.match_indices(name)
            .any(|(at, _)| !body[..at].ends_with(is_part) && !body[at + name.len()..].starts_with(is_part))
    };
    let kept: Vec<&str> = line[open + 2..close]
        .split(", ")
        .filter(|name| mentioned(name))
        .collect();
    match (kept.is_empty(), line[..open].strip_suffix(", ")) {
        (false, _) => Some(format!(
            "{}{{ {} }}{}",
            &line[..open],
            kept.join(", "),
            &line[close + 2..]
        )),
        (true, Some(default)) => Some(format!("{default}{}", &line[close + 2..])),
        (true, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_only_calls_asserts_nothing() {
        let grammar = Grammar::of("a.test.ts".as_ref()).unwrap();
        for (body, asserts) in [
            ("made.limit = 3;", false),
            ("made.push(1);", false),
            ("expect(1).toBe(1);", false),
            ("made.limit = 3;\n    expect(made.limit).toBe(3);", true),
            ("expect(() => parse('')).toThrow(/^empty$/);", true),
            ("await expect(load('')).rejects.toThrow(TypeError);", true),
        ] {
            let test = Test {
                group: "Cart".to_owned(),
                title: "a".to_owned(),
                text: format!("  it('a', async () => {{\n    {body}\n  }});"),
            };
            assert_eq!(test.asserts(grammar), asserts, "{body}");
        }
    }

    #[test]
    fn an_import_that_only_the_header_uses_stays() {
        let lines = [
            "import { createRequire } from 'node:module';",
            "import { trim } from '../src/a';",
            "const require = createRequire(import.meta.url);",
        ];
        let made = text(&lines.map(str::to_owned), &[]);
        assert!(made.starts_with("import { createRequire } from 'node:module';\nconst require"));
    }

    #[test]
    fn unused_imports_are_removed() {
        let body = "expect(pad('x')).toBe(padded);";
        for (line, left) in [
            (
                "import { describe, expect, it } from 'vitest';",
                Some("import { describe, expect, it } from 'vitest';"),
            ),
            (
                "import { pad, trim } from '../src/a';",
                Some("import { pad } from '../src/a';"),
            ),
            (
                "import a, { trim } from '../src/a';",
                Some("import a from '../src/a';"),
            ),
            ("const { trim } = require('../src/a');", None),
            ("// Records { what } it does", Some("// Records { what } it does")),
        ] {
            assert_eq!(without_unused_imports(line, body).as_deref(), left);
        }
    }
}
