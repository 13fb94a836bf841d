//! Code that only seems to do its task: it contains the expected results, works only with mocks, or hides
//! every error.

use std::path::Path;

use super::announced::AnnouncedChanges;
use super::effect::listed;
use super::file_kind::{FileKind, kind_of};
use super::git_changes::{Changes, FileChange, git};
use wavecrew_core::claim::{Problem, Rule};

/// New code that looks results up by its whole argument in a table that it never fills. Keys that are put together count
/// only if the table is in a new file of data that the plan does not name.
pub fn answered(changes: &Changes, announced: &AnnouncedChanges) -> Option<Problem> {
    const TEMPLATES: [&str; 3] = ["f\"", "f'", "`"];
    const TEXT_OF: [&str; 6] = [
        "json.stringify(",
        "repr(",
        "str(",
        "tuple(",
        "json.dumps(",
        "string(",
    ];
    let data: Vec<&str> = of_kind(changes, FileKind::Data)
        .filter(|change| change.is_new() && !announced.names(&change.path))
        .filter_map(|change| change.path.rsplit('/').next())
        .collect();
    let mut places = Vec::new();
    for change in of_kind(changes, FileKind::Source) {
        let (before, after) = change.texts();
        let lower = after.to_lowercase();
        // A cache is filled by the code itself.
        let fills = lower.contains(".set(")
            || lower.lines().any(|line| {
                line.split_once("] =")
                    .is_some_and(|(_, rest)| !rest.starts_with('='))
            });
        let templates: &[&str] = if data.iter().any(|name| after.contains(name)) {
            &TEMPLATES
        } else {
            &[]
        };
        let looks_up = |line: &str| {
            TEXT_OF
                .iter()
                .chain(templates)
                .any(|text| line.contains(&format!(".get({text}")) || line.contains(&format!("[{text}")))
        };
        for (number, line) in (1..).zip(after.lines()) {
            if !fills && looks_up(&line.to_lowercase()) && !before.contains(line.trim()) {
                places.push(format!("{}:{number}", change.path));
            }
        }
    }
    problem("answers are looked up by the whole argument at", &places)
}

/// Attributes that new code uses on the project's objects, but that only mocks in the new tests have.
pub fn only_mocked(changes: &Changes, folder: &Path) -> Option<Problem> {
    let mocking: Vec<&str> = of_kind(changes, FileKind::Test)
        .filter_map(|change| change.after.as_deref())
        .filter(|text| MOCKS.iter().any(|mock| text.contains(mock)))
        .collect();
    let mut found = Vec::new();
    for change in of_kind(changes, FileKind::Source).filter(|_| !mocking.is_empty()) {
        let (before, after) = change.texts();
        for (object, name) in asked(after) {
            let is_mocked = mocking.iter().any(|text| {
                [
                    format!("{name}="),
                    format!(".{name} ="),
                    format!(".{name}.return_value"),
                    format!("{name}:"),
                ]
                .iter()
                .any(|given| text.contains(given.as_str()))
            });
            if is_mocked && !before.contains(name) && is_only_here(folder, &change.path, object, name) {
                found.push(format!("{object}.{name} ({})", change.path));
            }
        }
    }
    problem("the code uses what only mocks of the tests have:", &found)
}

const MOCKS: [&str; 5] = [
    "Mock(",
    "SimpleNamespace(",
    "create_autospec(",
    "jest.fn(",
    "vi.fn(",
];

/// `object.name` in a text.
fn asked(text: &str) -> Vec<(&str, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found: Vec<(&str, &str)> = text
        .match_indices('.')
        .filter_map(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + 1..]);
            let object = &before[before.rfind(|c: char| !is_name(c)).map_or(0, |end| end + 1)..];
            let name = &after[..after.find(|c: char| !is_name(c)).unwrap_or(after.len())];
            let is_plain =
                object.starts_with(|c: char| c.is_ascii_lowercase()) && !["self", "this"].contains(&object);
            (is_plain && name.len() > 3).then_some((object, name))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Attributes that nothing defines, in new code that hides every error: the code always takes the way of the error.
pub fn hidden_absent(changes: &Changes, folder: &Path) -> Option<Problem> {
    const BROAD: [&str; 5] = [
        "except:",
        "except Exception",
        "except BaseException",
        "catch (",
        "catch {",
    ];
    let mut found = Vec::new();
    for change in of_kind(changes, FileKind::Source) {
        let (before, after) = change.texts();
        let hides = after
            .lines()
            .any(|line| BROAD.iter().any(|broad| line.contains(broad)) && !before.contains(line.trim()));
        for (object, name) in asked(after).into_iter().filter(|_| hides) {
            let is_defined = [format!("def {name}"), format!(".{name} =")];
            let is_new = !before.contains(name) && !is_defined.iter().any(|text| after.contains(text));
            if is_new && is_plain_class(folder, object) && is_only_here(folder, &change.path, object, name) {
                found.push(format!("{object}.{name} ({})", change.path));
            }
        }
    }
    problem("errors are hidden, and nothing defines", &found)
}

/// Whether the project has a class for the object that inherits from no other.
fn is_plain_class(folder: &Path, object: &str) -> bool {
    let pattern = format!("class {} *(:|\\(\\)|\\{{)", object.replace('_', ""));
    let found = git(folder, &["grep", "--untracked", "-l", "-i", "-E", "-e", &pattern]);
    found.is_some_and(|found| !found.is_empty())
}

/// Whether the project has a class for the object, and no other source has the name.
fn is_only_here(folder: &Path, path: &str, object: &str, name: &str) -> bool {
    let grep = |words: &[&str]| {
        let words: Vec<&str> = ["grep", "--untracked", "-l", "-w"]
            .iter()
            .chain(words)
            .copied()
            .collect();
        git(folder, &words).unwrap_or_default()
    };
    let class = object.replace('_', "");
    !grep(&["-i", "-e", &format!("class {class}")]).is_empty()
        && grep(&["-e", name])
            .lines()
            .all(|file| file == path || kind_of(file) == FileKind::Test)
}

/// New code that hides every error.
pub fn swallowed(changes: &Changes) -> Option<Problem> {
    let mut places = Vec::new();
    for change in of_kind(changes, FileKind::Source) {
        let (before, after) = change.texts();
        let lines: Vec<&str> = after.lines().map(str::trim).collect();
        for (number, pair) in (1..).zip(lines.windows(2)) {
            let catches = ["except:", "except Exception:", "except BaseException:"].contains(&pair[0]);
            let hides = pair[1] == "pass"
                || pair[1].strip_prefix("return ").is_some_and(|value| {
                    value.parse::<f64>().is_ok()
                        || ["None", "True", "False", "\"\"", "[]", "{}"].contains(&value)
                });
            let empty = pair[0].replace(' ', "").ends_with("catch{}")
                || pair[0].replace(' ', "").ends_with("catch(e){}");
            if ((catches && hides) || empty) && !before.contains(pair[0]) {
                places.push(format!("{}:{number}", change.path));
            }
        }
    }
    problem("every error is hidden at", &places)
}

fn of_kind(changes: &Changes, kind: FileKind) -> impl Iterator<Item = &FileChange> {
    changes.files.iter().filter(move |change| change.kind == kind)
}

fn problem(what: &str, places: &[String]) -> Option<Problem> {
    (!places.is_empty()).then(|| Problem::new(Rule::HardCoded, format!("{what} {}", listed(places))))
}

#[cfg(test)]
mod tests {
    use super::super::git_changes::changes;
    use super::*;

    #[test]
    fn answers_that_are_looked_up_by_the_whole_argument() {
        for (text, expected) in [
            ("def f(x):\n    return KNOWN[repr(x)]\n", true),
            ("export const f = (x) => known.get(JSON.stringify(x));\n", true),
            ("def f(x):\n    return TEXTS[f\"{x.language}.title\"]\n", false),
            ("def f(x):\n    return PRICES[x.name]\n", false),
            (
                "def f(x):\n    if repr(x) not in cache:\n        cache[repr(x)] = g(x)\n    return cache[repr(x)]\n",
                false,
            ),
        ] {
            let path = if text.contains("const") { "a.js" } else { "a.py" };
            let found = answered(&changes(&[(path, text)]), &AnnouncedChanges::default());
            assert_eq!(found.is_some(), expected, "{text}");
        }
        let code =
            "ANSWERS = load(\"answers.json\")\ndef f(x, y):\n    return ANSWERS.get(f\"{len(x)}/{y}\", 0)\n";
        let mut announced = AnnouncedChanges::default();
        let both = changes(&[("a.py", code), ("answers.json", "{}")]);
        assert!(answered(&both, &announced).is_some());
        announced.files.push("answers.json".to_owned());
        assert!(answered(&both, &announced).is_none());
    }

    #[test]
    fn what_code_asks_of_objects() {
        assert_eq!(
            asked("def f(store):\n    return store.total_of(self.limit) + Store.other + 1.5"),
            [("store", "total_of")]
        );
    }
}
