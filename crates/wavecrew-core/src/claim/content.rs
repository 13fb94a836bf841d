//! Checks the content of owed files.

use super::{markdown, review, specification};
use crate::team::Content;
use serde_json::Value;
use std::path::{Component, Path};

/// A worker fixes the first few and sees the rest next time.
const MAX_SCHEMA_PROBLEMS: usize = 5;

/// The headings of every review.
const REVIEW: [&str; 2] = ["Verdict", "Findings"];

/// The problems of a file's content; each continues a sentence that starts with the file's name.
pub fn content_problems(content: &Content, name: &str, bytes: &[u8]) -> Vec<String> {
    let read = |problems: &dyn Fn(&str) -> Vec<String>| match text(bytes) {
        Ok(text) => problems(text),
        Err(problem) => vec![problem],
    };
    let with_headings = |headings: &[String], more: &dyn Fn(&str) -> Vec<String>| {
        read(&|text| {
            let mut problems = markdown::problems(text, headings);
            if problems != [markdown::NO_TEXT] {
                problems.extend(more(text));
            }
            problems
        })
    };
    match content {
        Content::Markdown { headings } => with_headings(headings, &|_| vec![]),
        Content::Requirements { headings } => with_headings(headings, &specification::requirements_problems),
        Content::Epics {
            headings,
            epics,
            stories,
        } => with_headings(headings, &|text| {
            specification::epics_problems(text, *epics, *stories)
        }),
        Content::Review(rules) => {
            with_headings(&REVIEW.map(str::to_owned), &|text| review::problems(text, rules))
        }
        Content::Json {
            schema,
            files,
            own_name,
        } => read(&|text| {
            let value = match serde_json::from_str(text) {
                Ok(value) => value,
                Err(error) => return vec![format!("is not JSON: {error}")],
            };
            let problems = schema_problems(&value, &schema.0);
            if !problems.is_empty() {
                return problems;
            }
            let named = own_name
                .iter()
                .filter_map(|place| name_problem(&value, place, name));
            let paths = files.iter().flat_map(|place| file_problems(&value, place));
            named.chain(paths).collect()
        }),
        Content::TestFile if bytes.iter().all(u8::is_ascii_whitespace) => vec!["is empty".to_owned()],
        Content::Any | Content::TestFile => vec![],
    }
}

/// Folders that tools create among tests; their files are not owed.
pub(super) fn is_support_folder(path: &str) -> bool {
    path.split('/')
        .any(|name| matches!(name, "__pycache__" | "node_modules"))
}

/// Files that make a folder a package; they are not owed and may be empty.
pub(super) fn is_support_file(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    name == "__init__.py" || is_support_folder(folder)
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| format!("is not UTF-8 text (byte {} is not)", e.valid_up_to()))?;
    Ok(text.trim_start_matches('\u{feff}'))
}

/// The text at this JSON pointer has to be the file's name.
fn name_problem(value: &Value, place: &str, name: &str) -> Option<String> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let wanted = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let found = value.pointer(place)?.as_str().unwrap_or_default();
    (found != wanted).then(|| {
        let found = super::quoted_path(found);
        format!("says {found} at {place}, and the file is of `{wanted}`")
    })
}

/// Files have to be named relative to the project's root, and lie in it.
fn file_problems(value: &Value, place: &str) -> Vec<String> {
    let mut names = vec![];
    texts_at(value, place.trim_start_matches('/').split('/'), &mut names);
    let outside = names.into_iter().filter(|name| !lies_inside(name));
    outside
        .take(MAX_SCHEMA_PROBLEMS)
        .map(|name| {
            let name = super::quoted_path(name);
            format!("names {name} at {place}, which is no path from the project's root to a file in it")
        })
        .collect()
}

fn lies_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components().peekable();
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !name.trim().is_empty() && parts.peek().is_some() && parts.all(plain) && !name.ends_with('/')
}

/// All texts at a JSON pointer, in which `*` stands for every entry of a list.
fn texts_at<'v, 'p>(
    value: &'v Value,
    mut place: impl Iterator<Item = &'p str> + Clone,
    found: &mut Vec<&'v str>,
) {
    match (place.next(), value) {
        (Some("*"), Value::Array(entries)) => {
            for entry in entries {
                texts_at(entry, place.clone(), found);
            }
        }
        (Some(key), value) => {
            if let Some(inner) = value.get(key) {
                texts_at(inner, place, found);
            }
        }
        (None, Value::Array(entries)) => found.extend(entries.iter().filter_map(Value::as_str)),
        (None, value) => found.extend(value.as_str()),
    }
}

fn schema_problems(value: &Value, schema: &Value) -> Vec<String> {
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
    let mut errors = validator.iter_errors(value);
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
                &["says `ISS-2` at /id, and the file is of `ISS-1`"],
            ),
            (
                r#"{"id":"ISS-1","tasks":[{"files":["/etc/passwd"]},{"files":["a/../../b","src/"]}],"main":""}"#,
                &[
                    "names `/etc/passwd` at /tasks/*/files, which is no path from the project's root to a file in it",
                    "names `a/../../b` at /tasks/*/files, which is no path from the project's root to a file in it",
                    "names `src/` at /tasks/*/files, which is no path from the project's root to a file in it",
                    "names `` at /main, which is no path from the project's root to a file in it",
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
