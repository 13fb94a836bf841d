//! JSON files as data: a text, and what is proven to be wrong with it.

use super::MAX_SCHEMA_PROBLEMS;
use crate::claim::DocumentContext;
use crate::team::{Content, JsonSchemaText};
use serde_json::json;

/// What is proven to be wrong.
fn content_problems(content: &Content, name: &str, bytes: &[u8]) -> Vec<String> {
    let mut found = crate::claim::content_problems(content, name, bytes, DocumentContext::default());
    found.retain(|problem| problem.rule.refutes());
    found.into_iter().map(|problem| problem.text).collect()
}

fn json(schema: JsonSchemaText) -> Content {
    Content::Json {
        schema,
        files: vec![],
        own_name: None,
    }
}

#[test]
fn names_and_files_in_json() {
    let content = Content::Json {
        schema: JsonSchemaText(json!({})),
        files: vec!["/tasks/*/files".to_owned(), "/main".to_owned()],
        own_name: Some("/id".to_owned()),
    };
    for (text, expected) in [
        (
            r#"{"id":"ISS-1","tasks":[{"files":["src/a.rs","./b"]}],"main":"c"}"#,
            &[][..],
        ),
        (
            r#"{"id":"ISS-2"}"#,
            &["has `ISS-2` at /id, but the file name requires `ISS-1`"],
        ),
        (
            r#"{"id":"ISS-1","tasks":[{"files":["/etc/passwd"]},{"files":["a/../../b","src/"]}],"main":""}"#,
            &[
                "names `/etc/passwd` at /tasks/*/files, which is not a path of a project file, relative to the project's root",
                "names `a/../../b` at /tasks/*/files, which is not a path of a project file, relative to the project's root",
                "names `src/` at /tasks/*/files, which is not a path of a project file, relative to the project's root",
                "names `` at /main, which is not a path of a project file, relative to the project's root",
            ],
        ),
    ] {
        let problems = content_problems(&content, "artifacts/solutions/ISS-1.json", text.as_bytes());
        assert_eq!(problems, expected, "{text}");
    }
}

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
    let content = json(schema);
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
        assert_eq!(
            content_problems(&content, "a.json", text.as_bytes()),
            expected,
            "{text}"
        );
    }
}

#[test]
fn only_the_first_few_schema_problems_and_never_the_value() {
    let schema = JsonSchemaText(json!({ "items": { "type": "string" } }));
    let long: Vec<_> = (0..50).map(|_| json!({ "x": "y".repeat(100_000) })).collect();
    let problems = content_problems(&json(schema), "a.json", json!(long).to_string().as_bytes());
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
    let problems = content_problems(&json(schema), "a.json", "[".repeat(1_000_000).as_bytes());
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
            content_problems(content, "a", bytes),
            expected,
            "{content:?} {bytes:?}"
        );
    }
}
