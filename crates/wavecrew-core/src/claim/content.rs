//! The required content of owed files, for each format.

use super::json::{self, JsonRules};
use super::normal::usual_form;
use super::rules::{Problem, Rule, TruthKind};
use super::{DocumentContext, markdown, review, specification};
use crate::team::Content;

/// The headings of every review.
const REVIEW: [&str; 2] = ["Verdict", "Findings"];

/// What is wrong with the bytes of a file of this name; each problem goes on from the name.
pub fn content_problems(
    content: &Content,
    name: &str,
    bytes: &[u8],
    held_against: DocumentContext<'_>,
) -> Vec<Problem> {
    let read = |problems: &dyn Fn(&str) -> Vec<Problem>| match text(bytes) {
        Ok(text) => problems(text),
        Err(problem) => vec![Problem::new(Rule::Malformed, problem)],
    };
    let with_headings = |headings: &[String], more: &dyn Fn(&str) -> Vec<Problem>| {
        read(&|text| {
            let text = usual_form(text, headings);
            let mut problems = markdown::problems(&text, headings, held_against);
            let is_empty =
                |problem: &Problem| problem.text == "has no text" || problem.text.starts_with("says only");
            if !problems.iter().any(is_empty) {
                problems.extend(more(&text));
            }
            problems
        })
    };
    let mut problems = match content {
        Content::Markdown { headings } if headings.is_empty() => {
            with_headings(headings, &markdown::admissions)
        }
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
        } => {
            let rules = JsonRules {
                schema: &schema.0,
                files,
                own_name: own_name.as_deref(),
            };
            read(&|text| json::problems(text, name, rules, held_against))
        }
        Content::TestFile if bytes.iter().all(u8::is_ascii_whitespace) => {
            vec![Problem::new(Rule::Missing, "is empty")]
        }
        Content::Any | Content::TestFile => vec![],
    };
    TruthKind::of(content).keep(&mut problems);
    problems
}

/// Folders that tools create among tests: their files are not owed.
pub(super) fn is_support_folder(path: &str) -> bool {
    path.split('/')
        .any(|name| matches!(name, "__pycache__" | "node_modules"))
}

/// Files that make a folder a package: they are not owed, and may be empty.
pub(super) fn is_support_file(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    name == "__init__.py" || is_support_folder(folder)
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| format!("is not UTF-8 text (byte {} is not)", e.valid_up_to()))?;
    Ok(text.trim_start_matches('\u{feff}'))
}

#[cfg(test)]
mod tests {
    use super::*;

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
