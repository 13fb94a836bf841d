//! The files that builds and tests run: whether the change touches them, or makes the tests ineffective.

use super::announced::AnnouncedChanges;
use super::effect::{listed, stripped};
use super::file_kind::FileKind;
use super::git_changes::{Changes, FileChange, git};
use super::steered::{ACTS, acting_lines};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use wavecrew_core::claim::{Problem, Rule, quoted_path};

/// Makefile targets that a check may run.
const TARGETS: [&str; 4] = ["test", "check", "build", "all"];
/// Parts of a manifest that affect tests, besides its scripts.
const MANIFEST_PARTS: [&str; 7] = ["jest", "mocha", "vitest", "ava", "c8", "nyc", "imports"];
/// Changed settings that affect builds and tests and that the plan does not name.
pub fn unplanned<'a>(
    changes: &'a Changes,
    announced: &AnnouncedChanges,
    folder: &Path,
    base: &str,
) -> Vec<&'a FileChange> {
    let scripts = named_by_commands(folder, base);
    changes
        .files
        .iter()
        .filter(|change| match change.kind {
            FileKind::Settings => settings_differ(change),
            FileKind::Source | FileKind::Test | FileKind::Document | FileKind::Data => {
                !change.is_new() && scripts.contains(&change.path)
            }
        })
        .filter(|change| !announced.names(&change.path))
        .collect()
}

pub fn problems(changes: &Changes, announced: &AnnouncedChanges, folder: &Path, base: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for change in &changes.files {
        if let Some(why) = disarmed(change) {
            problems.push(Problem::new(
                Rule::Disarmed,
                format!("{} {why}", quoted_path(&change.path)),
            ));
        }
    }
    let unplanned: Vec<&str> = unplanned(changes, announced, folder, base)
        .into_iter()
        .map(|change| change.path.as_str())
        .collect();
    if !unplanned.is_empty() {
        problems.push(Problem::new(
            Rule::Commands,
            format!(
                "files that the build or the tests run were changed, and the plan does not name them: {}",
                listed(&unplanned)
            ),
        ));
    }
    problems.extend(super::steered::shadows(changes, folder, base));
    problems.extend(super::steered::steered(changes));
    problems
}

/// Files that the commands of the base commit name, such as `scripts/test.sh`.
fn named_by_commands(folder: &Path, base: &str) -> Vec<String> {
    let mut words = Vec::new();
    for name in [
        "Makefile",
        "makefile",
        "GNUmakefile",
        "package.json",
        "tox.ini",
        "justfile",
    ] {
        let text = git(folder, &["cat-file", "blob", &format!("{base}:./{name}")]).unwrap_or_default();
        let split = |c: char| c.is_whitespace() || "\"';&|()=,".contains(c);
        words.extend(
            text.split(split)
                .filter(|word| word.contains('.'))
                .map(|word| word.strip_prefix("./").unwrap_or(word).to_owned()),
        );
    }
    words
}

/// Whether the change of a settings file can change what builds and tests run.
fn settings_differ(change: &FileChange) -> bool {
    let (before, after) = change.texts();
    let name = change
        .path
        .rsplit('/')
        .next()
        .unwrap_or(&change.path)
        .to_lowercase();
    match name.as_str() {
        "package.json" => manifest_part(before) != manifest_part(after),
        "pyproject.toml" | "setup.cfg" | "tox.ini" => test_sections(before) != test_sections(after),
        "makefile" | "gnumakefile" if !change.is_new() => {
            let (old, new) = (rules(before), rules(after));
            old.iter().any(|(target, rule)| new.get(target) != Some(rule))
                || new.keys().any(|target| {
                    !old.contains_key(target) && (TARGETS.contains(target) || target.is_empty())
                })
        }
        "conftest.py" => acting_lines(before, after, &ACTS).next().is_some() || removed_lines(before, after),
        _ => stripped(before) != stripped(after),
    }
}

fn removed_lines(before: &str, after: &str) -> bool {
    let kept: Vec<&str> = after.lines().map(str::trim).collect();
    let mut lines = before.lines().map(str::trim);
    lines.any(|line| !line.is_empty() && !line.starts_with('#') && !kept.contains(&line))
}

/// The parts of a manifest that affect builds and tests.
fn manifest_part(text: &str) -> Value {
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    let scripts = manifest["scripts"].as_object().cloned().unwrap_or_default();
    let scripts = scripts
        .into_iter()
        .filter(|(name, _)| TARGETS.iter().any(|target| name.contains(target)));
    let parts = MANIFEST_PARTS
        .iter()
        .map(|part| ((*part).to_owned(), manifest[*part].clone()));
    Value::Object(scripts.chain(parts).collect())
}

/// The sections of a settings file that are about tests.
fn test_sections(text: &str) -> Vec<String> {
    let mut wanted = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            let name = line.to_lowercase();
            wanted = ["pytest", "test", "tox", "coverage", "unittest", "nose"]
                .iter()
                .any(|word| name.contains(word));
        }
        if wanted && !line.is_empty() && !line.starts_with('#') {
            found.push(line.to_owned());
        }
    }
    found
}

/// The rules of a makefile by target; text outside of rules has an empty target.
fn rules(text: &str) -> BTreeMap<&str, String> {
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    let mut targets: Vec<&str> = vec![""];
    for line in text.lines() {
        let is_recipe = line.starts_with(['\t', ' ']);
        let plain = line.trim();
        if plain.is_empty() || plain.starts_with('#') || plain.starts_with(".PHONY") {
            continue;
        }
        if !is_recipe {
            let head = plain
                .split_once(':')
                .filter(|(head, rest)| !head.contains('=') && !rest.starts_with('='));
            targets = head.map_or_else(|| vec![""], |(head, _)| head.split_whitespace().collect());
        }
        for target in &targets {
            let rule = found.entry(target).or_default();
            rule.push_str(plain);
            rule.push('\n');
        }
    }
    found
}

/// Why the test command of a settings file no longer proves anything.
fn disarmed(change: &FileChange) -> Option<String> {
    let (before, after) = change.texts();
    let name = change.path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let commands = |text: &str| -> Vec<(String, Vec<String>)> {
        match name.as_str() {
            "makefile" | "gnumakefile" => rules(text)
                .into_iter()
                .filter(|(target, _)| ["test", "check"].contains(target))
                .map(|(target, rule)| {
                    (
                        target.to_owned(),
                        rule.lines().skip(1).map(str::to_owned).collect(),
                    )
                })
                .collect(),
            "package.json" => {
                let manifest: Value = serde_json::from_str(text).unwrap_or_default();
                let line = manifest["scripts"]["test"].as_str();
                line.map(|line| ("test".to_owned(), vec![line.to_owned()]))
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    };
    let old = commands(before);
    commands(after)
        .into_iter()
        .filter(|now| !old.contains(now))
        .find_map(|(target, lines)| {
            let had_some = old
                .iter()
                .any(|(name, lines)| *name == target && lines.iter().any(|line| runs_something(line)));
            let shown = lines.join("; ");
            if !lines.iter().any(|line| runs_something(line))
                && (had_some || change.is_new())
                && !lines.is_empty()
            {
                return Some(format!("makes `{target}` run nothing: `{shown}`"));
            }
            let hides = lines.iter().find(|line| hides_failure(line))?;
            Some(format!("makes `{target}` ignore failures: `{hides}`"))
        })
}

fn runs_something(line: &str) -> bool {
    let line = line.trim_start_matches(['@', '-', ' ']);
    let first = line.split_whitespace().next().unwrap_or_default();
    !line.is_empty() && !["true", ":", "echo", "printf", "exit", "/bin/true"].contains(&first)
}

fn hides_failure(line: &str) -> bool {
    let line = line.trim();
    let ending = line.trim_end_matches([';', ' ']);
    line.trim_start_matches('@').starts_with('-')
        || [
            "|| true",
            "|| :",
            "||true",
            "|| exit 0",
            "; true",
            "; exit 0",
            "|| echo",
            "--passWithNoTests",
        ]
        .iter()
        .any(|end| ending.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: &str, after: &str) -> FileChange {
        FileChange {
            path: path.to_owned(),
            kind: super::super::file_kind::kind_of(path),
            before: (!before.is_empty()).then(|| before.to_owned()),
            after: Some(after.to_owned()),
        }
    }

    #[test]
    fn a_test_command_keeps_its_teeth() {
        let make = "test:\n\tpytest\n";
        for (after, why) in [
            ("test:\n\ttrue\n", Some("makes `test` run nothing: `true`")),
            (
                "test:\n\t@echo ok\n",
                Some("makes `test` run nothing: `@echo ok`"),
            ),
            (
                "test:\n\t-pytest\n",
                Some("makes `test` ignore failures: `-pytest`"),
            ),
            (
                "test:\n\tpytest || true\n",
                Some("makes `test` ignore failures: `pytest || true`"),
            ),
            ("test:\n\tpytest -v\nlint:\n\ttrue\n", None),
            ("test: lint\n\tpytest\n", None),
        ] {
            assert_eq!(
                disarmed(&change("Makefile", make, after)).as_deref(),
                why,
                "{after}"
            );
        }
        let package = |line: &str| format!(r#"{{"scripts":{{"test":"{line}"}}}}"#);
        let silent = change("package.json", &package("vitest run"), &package("exit 0"));
        assert!(disarmed(&silent).is_some());
    }

    #[test]
    fn only_what_builds_and_tests_run_counts() {
        for (path, before, after, differ) in [
            ("Makefile", "test:\n\tx\n", "test:\n\tx\n\nlint:\n\ty\n", false),
            ("Makefile", "test:\n\tx\n", "# how\ntest:\n\tx\n", false),
            (
                "Makefile",
                "test:\n\tx\n",
                "SHELL = /bin/true\ntest:\n\tx\n",
                true,
            ),
            ("Makefile", "test:\n\tx\n", "test:\n\tx y\n", true),
            (
                "package.json",
                r#"{"scripts":{"test":"a"}}"#,
                r#"{"scripts":{"test":"a","start":"b"},"dependencies":{}}"#,
                false,
            ),
            (
                "package.json",
                r#"{"scripts":{"test":"a"}}"#,
                r#"{"scripts":{"test":"a","pretest":"b"}}"#,
                true,
            ),
            (
                "pyproject.toml",
                "[project]\nname = 'a'\n",
                "[project]\nname = 'b'\n",
                false,
            ),
            (
                "pyproject.toml",
                "",
                "[tool.pytest.ini_options]\naddopts = '-k x'\n",
                true,
            ),
            (
                "conftest.py",
                "",
                "import pytest\n\n\n@pytest.fixture\ndef a():\n    return 1\n",
                false,
            ),
            (
                "conftest.py",
                "",
                "def pytest_runtest_makereport():\n    pass\n",
                true,
            ),
            ("pytest.ini", "[pytest]\n", "[pytest]\naddopts = -k x\n", true),
        ] {
            assert_eq!(
                settings_differ(&change(path, before, after)),
                differ,
                "{path}: {after}"
            );
        }
    }
}
