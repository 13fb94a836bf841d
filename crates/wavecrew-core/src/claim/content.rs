//! What has to be in an owed file, whatever its format.

use super::markdown;
use crate::team::Content;
use serde_json::Value;

/// A worker repairs the first few and sees the rest next time.
const MAX_SCHEMA_PROBLEMS: usize = 5;

/// What is wrong with a file's bytes; each problem goes on from the file's name.
pub fn content_problems(content: &Content, bytes: &[u8]) -> Vec<String> {
    match content {
        Content::Markdown { headings } => match text(bytes) {
            Ok(text) => markdown::problems(text, headings),
            Err(problem) => vec![problem],
        },
        Content::Json { schema } => match text(bytes) {
            Ok(text) => json_problems(text, &schema.0),
            Err(problem) => vec![problem],
        },
        Content::TestFile if bytes.iter().all(u8::is_ascii_whitespace) => vec!["is empty".to_owned()],
        Content::Any | Content::TestFile => vec![],
    }
}

/// Folders that tools leave among tests: nobody owes what is in them.
pub(super) fn is_support_folder(path: &str) -> bool {
    path.split('/')
        .any(|name| matches!(name, "__pycache__" | "node_modules"))
}

/// Files that make folders a package: nobody owes them, and they may be empty.
pub(super) fn is_support_file(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    name == "__init__.py" || is_support_folder(folder)
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| format!("is not UTF-8 text (byte {} is not)", e.valid_up_to()))?;
    Ok(text.trim_start_matches('\u{feff}'))
}

fn json_problems(text: &str, schema: &Value) -> Vec<String> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return vec![format!("is not JSON: {error}")],
    };
    let validator = match jsonschema::validator_for(schema) {
        Ok(validator) => validator,
        Err(error) => {
            return vec![format!(
                "cannot be checked, the team's schema for it is broken: {error}"
            )];
        }
    };
    let describe = |error: jsonschema::ValidationError<'_>| {
        let place = error.instance_path().to_string();
        // Masked: the value itself may be megabytes long.
        let what = error.masked().to_string();
        if place.is_empty() {
            format!("does not fit its schema: {what}")
        } else {
            format!("does not fit its schema at {place}: {what}")
        }
    };
    let mut errors = validator.iter_errors(&value);
    let mut problems: Vec<String> = errors.by_ref().take(MAX_SCHEMA_PROBLEMS).map(describe).collect();
    if errors.next().is_some() {
        problems.push("does not fit its schema in more places".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::JsonSchemaText;
    use serde_json::json;

    #[test]
    fn json_files() {
        let schema = JsonSchemaText(json!({
            "type": "object",
            "required": ["id", "tasks"],
            "properties": {
                "id": { "type": "string", "minLength": 1 },
                "tasks": { "type": "array", "minItems": 1, "items": { "type": "object", "required": ["order"] } },
            },
        }));
        let content = Content::Json { schema };
        for (text, expected) in [
            (r#"{"id":"A","tasks":[{"order":1}]}"#, &[][..]),
            ("\u{feff}{\"id\":\"A\",\"tasks\":[{\"order\":1}]}\r\n", &[]),
            ("", &["is not JSON: EOF while parsing a value at line 1 column 0"]),
            (
                "{\"id\":",
                &["is not JSON: EOF while parsing a value at line 1 column 6"],
            ),
            ("{} {}", &["is not JSON: trailing characters at line 1 column 4"]),
            (
                "[]",
                &["does not fit its schema: value is not of type \"object\""],
            ),
            (
                "{}",
                &[
                    "does not fit its schema: \"id\" is a required property",
                    "does not fit its schema: \"tasks\" is a required property",
                ],
            ),
            (
                r#"{"id":"A","tasks":[{}]}"#,
                &["does not fit its schema at /tasks/0: \"order\" is a required property"],
            ),
        ] {
            assert_eq!(content_problems(&content, text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn only_the_first_few_schema_problems_and_never_the_value() {
        let schema = JsonSchemaText(json!({ "items": { "type": "string" } }));
        let long: Vec<_> = (0..50).map(|_| json!({ "x": "y".repeat(100_000) })).collect();
        let problems = content_problems(&Content::Json { schema }, json!(long).to_string().as_bytes());
        assert_eq!(problems.len(), MAX_SCHEMA_PROBLEMS + 1);
        assert_eq!(
            problems[1],
            "does not fit its schema at /1: value is not of type \"string\""
        );
        assert_eq!(problems[5], "does not fit its schema in more places");
    }

    #[test]
    fn a_deep_document_is_refused_and_does_not_overflow() {
        let schema = JsonSchemaText(json!({}));
        let problems = content_problems(&Content::Json { schema }, "[".repeat(1_000_000).as_bytes());
        assert!(problems[0].contains("recursion limit"), "{problems:?}");
    }

    #[test]
    fn text_and_bytes() {
        let markdown = Content::Markdown { headings: vec![] };
        let scope = Content::Markdown {
            headings: vec!["Scope".to_owned()],
        };
        for (content, bytes, expected) in [
            (&Content::Any, &b""[..], &[][..]),
            (&Content::Any, b"\xff", &[]),
            (&markdown, b"ab\xff", &["is not UTF-8 text (byte 2 is not)"]),
            (&markdown, b"\n", &["has no text"]),
            (&markdown, b"text", &[]),
            (&scope, "\u{feff}# Scope\nx".as_bytes(), &[]),
            (&Content::TestFile, b" \r\n\t", &["is empty"]),
            (&Content::TestFile, b"def test(): pass", &[]),
        ] {
            assert_eq!(
                content_problems(content, bytes),
                expected,
                "{content:?} {bytes:?}"
            );
        }
    }

    #[test]
    fn support_files() {
        for (path, expected) in [
            ("tests/L1-unit/__init__.py", true),
            ("tests/L1-unit/__pycache__/a.pyc", true),
            ("node_modules/x/a.test.js", true),
            ("tests/L1-unit/test_a.py", false),
            ("tests/node_modules", false),
        ] {
            assert_eq!(is_support_file(path), expected, "{path}");
        }
    }
}
