//! The strategist without a model: a strategy from the scope, the syntax trees and the existing tests.

use super::{RoleResult, RoleTask};
use crate::scope::FrameworkInScope;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use wavecrew_core::view::{count, first_few};
use wavecrew_session::SessionPaths;
use wavecrew_syntax::{Symbol, SymbolKind};

/// How many items of a list are named.
const NAMED: usize = 12;

pub fn work(task: &RoleTask) -> Result<RoleResult, String> {
    let symbols = task.symbols();
    let before = coverage_before(task);
    let ranked = ranked(task, &symbols, &before);
    let mut text = String::from("# Test strategy\n\n");
    scope(&mut text, task, &symbols);
    framework(&mut text, task);
    layers(&mut text, task);
    priorities(&mut text, &ranked, &before);
    risks(&mut text, task, &symbols);
    task.write(SessionPaths::relative().test_strategy(), &text)?;
    for framework in &task.scope.frameworks {
        let fields = [
            ("framework", json!(framework.framework.name())),
            ("config_file", json!(framework.config_file)),
            ("test_pattern", json!(framework.test_pattern())),
        ];
        task.discover("framework_detected", fields);
    }
    let names: Vec<&str> = task.scope.frameworks.iter().map(|f| f.framework.name()).collect();
    let first = ranked
        .first()
        .map_or("nothing".to_owned(), |entry| entry.path.display().to_string());
    Ok(RoleResult::with(format!(
        "{} in scope ({}), {}; {} to test, {first} first. The strategy is in strategy/test-strategy.md.",
        count(task.scope.files.len(), "file"),
        task.scope.how,
        if names.is_empty() {
            "no test framework".to_owned()
        } else {
            names.join(", ")
        },
        count(ranked.iter().map(|entry| entry.functions.len()).sum(), "function"),
    )))
}

/// A file in scope, with the functions and classes to test.
struct Ranked<'a> {
    path: &'a Path,
    functions: Vec<&'a Symbol>,
    lines: u32,
    uncovered: Option<u64>,
}

/// Most untested code first.
fn ranked<'a>(
    task: &'a RoleTask,
    symbols: &'a BTreeMap<PathBuf, Vec<Symbol>>,
    before: &BTreeMap<String, (u64, u64)>,
) -> Vec<Ranked<'a>> {
    let mut ranked: Vec<Ranked<'_>> = task
        .scope
        .files
        .iter()
        .map(|file| {
            let known = symbols.get(&file.path).map(Vec::as_slice).unwrap_or_default();
            let functions: Vec<&Symbol> = known
                .iter()
                .filter(|symbol| symbol.public && symbol.kind != SymbolKind::Class)
                .collect();
            let uncovered = before.get(&*file.path.to_string_lossy());
            Ranked {
                path: &file.path,
                lines: functions.iter().map(|f| f.lines.last - f.lines.first + 1).sum(),
                uncovered: uncovered.map(|(covered, total)| total - covered),
                functions,
            }
        })
        .collect();
    ranked.sort_by_key(|entry| {
        let untested = entry.uncovered.unwrap_or(u64::from(entry.lines));
        (std::cmp::Reverse(untested), entry.path)
    });
    ranked
}

/// Lines that the existing tests cover, and all lines, by file.
fn coverage_before(task: &RoleTask) -> BTreeMap<String, (u64, u64)> {
    let files = task.baseline().coverage();
    files
        .into_iter()
        .map(|file| (file.path, (file.lines.covered, file.lines.total)))
        .collect()
}

fn scope(text: &mut String, task: &RoleTask, symbols: &BTreeMap<PathBuf, Vec<Symbol>>) {
    let _ = writeln!(
        text,
        "## Scope\n\n{}\n\n| file | lines | what is in it |\n| --- | --- | --- |",
        task.scope.how
    );
    for file in &task.scope.files {
        let known = symbols.get(&file.path).map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> = known.iter().map(|symbol| symbol.name.as_str()).collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            file.path.display(),
            file.lines,
            names_or_nothing(&names)
        );
    }
    text.push_str("\nTests, documents and generated code are not in scope.\n");
}

fn framework(text: &mut String, task: &RoleTask) {
    text.push_str("\n## Framework\n\n");
    if task.scope.frameworks.is_empty() {
        text.push_str("No test framework was found; Jest is assumed.\n");
    }
    for known in &task.scope.frameworks {
        let version = known
            .version
            .as_deref()
            .map_or(String::new(), |version| format!(" {version}"));
        let _ = writeln!(
            text,
            "- {}{version} in `{}`, seen in `{}`. Names of test files: `{}`. {}",
            known.framework.name(),
            known.root.display(),
            known.config_file,
            known.test_pattern(),
            existing(known)
        );
    }
}

fn existing(framework: &FrameworkInScope) -> String {
    let known = &framework.conventions;
    match known.test_files {
        0 => "There are no tests yet, so the framework's conventions apply.".to_owned(),
        many => {
            let folders: Vec<&str> = known.folders.iter().map(String::as_str).collect();
            let shared: Vec<&str> = known.fixtures.iter().map(String::as_str).collect();
            let shared = if shared.is_empty() {
                String::new()
            } else {
                format!(" Shared by tests: {}.", names_or_nothing(&shared))
            };
            format!(
                "{} in {}.{shared}",
                count(many, "test file"),
                names_or_nothing(&folders)
            )
        }
    }
}

fn layers(text: &mut String, task: &RoleTask) {
    text.push_str("\n## Layers and targets\n\n| layer | folder | percent of the lines in scope |\n| --- | --- | --- |\n");
    for layer in &task.scope.layers {
        let target = task.scope.target(&layer.name).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | `{}` | {target} |",
            layer.name,
            layer.folder.display()
        );
    }
    text.push_str(
        "\nUnit tests call one function or class at a time. The other layers call the same code through those that use \
         it, where the scope has such callers.\n",
    );
}

fn priorities(text: &mut String, ranked: &[Ranked<'_>], before: &BTreeMap<String, (u64, u64)>) {
    text.push_str("\n## Priorities\n\nThe code that no test reaches comes first, by its size.\n\n");
    for (at, entry) in ranked.iter().enumerate() {
        let names: Vec<&str> = entry.functions.iter().map(|f| f.name.as_str()).collect();
        let figures = match before.get(&*entry.path.to_string_lossy()) {
            Some((covered, total)) => format!("{covered} of {total} lines are covered"),
            None => "no existing test reaches it".to_owned(),
        };
        let what = if names.is_empty() {
            "it has no public function; what importing it does is recorded".to_owned()
        } else {
            format!(
                "{}: each path, the boundaries of its comparisons, and the errors it raises",
                names_or_nothing(&names)
            )
        };
        let _ = writeln!(
            text,
            "{}. `{}` ({figures}): {what}.",
            at + 1,
            entry.path.display()
        );
    }
}

fn risks(text: &mut String, task: &RoleTask, symbols: &BTreeMap<PathBuf, Vec<Symbol>>) {
    text.push_str("\n## Risks\n\n");
    text.push_str(
        "- Expected values are what the code does now: a test that passes says that behaviour has not changed, not that \
         it is right. Behaviour that looks wrong is reported as a suspected defect and set aside.\n",
    );
    for (words, why) in [
        (
            &["datetime.now", "time.time", "Date.now", "new Date()"][..],
            "reads the clock",
        ),
        (&["random.", "Math.random", "uuid"][..], "uses random numbers"),
        (
            &["socket", "requests.", "urllib", "fetch(", "http"][..],
            "uses the network",
        ),
        (
            &["subprocess", "os.system", "child_process"][..],
            "starts programs",
        ),
        (
            &["open(", "readFile", "writeFile", "shutil."][..],
            "reads or writes files",
        ),
    ] {
        let found: Vec<String> = symbols
            .keys()
            .filter(|path| {
                let source = task.source(path);
                words.iter().any(|word| source.contains(word))
            })
            .map(|path| path.display().to_string())
            .collect();
        if !found.is_empty() {
            let names: Vec<&str> = found.iter().map(String::as_str).collect();
            let _ = writeln!(
                text,
                "- {why}: {}. Only reproducible results are asserted.",
                names_or_nothing(&names)
            );
        }
    }
}

/// `a, b, c and 3 more`, or a text for an empty list.
fn names_or_nothing(names: &[&str]) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    first_few(names.iter().map(|name| format!("`{name}`")), NAMED)
}
