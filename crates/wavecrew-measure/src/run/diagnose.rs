//! Distinguishes a broken environment from failing tests, by the messages of interpreters and package
//! resolvers. Its findings are advice for people, never figures.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::MeasureError;
use super::process::{Ended, Ran};
use crate::detect::{Framework, Project};
use crate::measurement::{Note, TestCase, TestOutcome};

/// Why there is no report at all.
pub fn no_report(project: &Project, ran: Ran) -> MeasureError {
    let code = match ran.ended {
        Ended::Signal(signal) => {
            return MeasureError::Killed {
                signal,
                output: ran.output,
            };
        }
        Ended::Code(code) => code,
        Ended::TimedOut | Ended::Stopped => -1,
    };
    let (why, fix) = match advice(project, &ran.output).into_iter().next() {
        Some(note) => (note.what, note.fix.unwrap_or_default()),
        None if code == 0 => (
            "something ended its process early".to_owned(),
            "look for a test or a module that calls exit".to_owned(),
        ),
        None => (
            error_line(&ran.output).unwrap_or_else(|| last_line(&ran.output)),
            "run the framework manually in the project's folder".to_owned(),
        ),
    };
    MeasureError::NoReport {
        code,
        why,
        fix,
        output: ran.output,
    }
}

/// Advice besides the outcomes.
pub fn notes(project: &Project, tests: &[TestCase], ran: &Ran) -> Vec<Note> {
    let mut notes = Vec::new();
    for test in tests {
        if let TestOutcome::Unloaded { message }
        | TestOutcome::Error { message }
        | TestOutcome::Failed { message } = &test.outcome
        {
            for note in advice(project, message) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    if tests.is_empty() {
        notes.push(Note {
            what: "the framework found no tests".to_owned(),
            fix: Some("write one, or check the settings that say where tests are".to_owned()),
        });
    }
    if let Ended::Signal(signal) = ran.ended {
        notes.push(Note {
            what: format!("the test run was killed by signal {signal} after it had written its report"),
            fix: None,
        });
    }
    notes
}

fn advice(project: &Project, text: &str) -> Vec<Note> {
    let mut notes = Vec::new();
    for name in missing_packages(&project.framework, text) {
        notes.push(missing_package(project, &name));
    }
    let marks = project.framework.facts().syntax_error_marks;
    let is_syntax_error = |line: &&str| marks.iter().any(|mark| line.contains(mark));
    if let Some(line) = text.lines().find(is_syntax_error) {
        notes.push(Note {
            what: format!("syntax error: {}", line.trim().trim_start_matches("E ").trim()),
            fix: Some("fix the syntax; until then the tests that load it cannot run".to_owned()),
        });
    }
    notes
}

/// The packages that an error reports as missing.
pub fn missing_packages(framework: &Framework, text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for prefix in framework.facts().missing_package_prefixes {
        for rest in text.split(prefix).skip(1) {
            let name: String = rest.chars().take_while(|c| !"'\"`; \n".contains(*c)).collect();
            if !name.is_empty() && !name.starts_with(['.', '/']) {
                names.insert(name);
            }
        }
    }
    names
}

/// The last error that an interpreter reported: `package.SomeError: what is wrong`. pytest puts an `E` before it.
fn error_line(output: &str) -> Option<String> {
    let is_error = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default();
        let known = ["Error", "Exception"].iter().any(|end| name.ends_with(end));
        known && line.len() > name.len() && !name.contains(char::is_whitespace)
    };
    let lines = output.lines().rev();
    let mut lines = lines.map(|line| line.strip_prefix("E ").map_or(line, str::trim_start));
    lines.find(is_error).map(|line| line.trim().to_owned())
}

fn missing_package(project: &Project, name: &str) -> Note {
    Note {
        what: format!("the package `{name}` is missing"),
        fix: Some(project.framework.adapter().install_hint(&project.root, name)),
    }
}

/// Files that the coverage tool failed to read.
pub fn unparsable(files: &[PathBuf], root: &Path, ran: &Ran) -> Vec<PathBuf> {
    let complaint = |line: &str| line.contains("Failed to");
    files
        .iter()
        .filter(|file| {
            let below = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
            ran.output
                .lines()
                .any(|line| complaint(line) && line.contains(&*below))
        })
        .cloned()
        .collect()
}

fn last_line(output: &str) -> String {
    let is_blank = |line: &&str| line.trim().is_empty();
    output
        .lines()
        .rev()
        .find(|line| !is_blank(line))
        .unwrap_or("it printed nothing")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(framework: Framework) -> Project {
        Project {
            root: PathBuf::from("/nowhere"),
            framework,
            evidence: String::new(),
            certainty: crate::detect::Certainty::Found,
        }
    }

    #[test]
    fn the_error_of_a_broken_set_up_is_named() {
        let output = "Traceback (most recent call last):\n  File \"x\"\n    raise\npluggy._manager.PluginValidationError: Plugin 'conftest.py' for hook 'x'\nhookimpl definition: x(path)\nCoverageWarning: No data was collected.\n  self._warn(\"No data\")\n";
        assert_eq!(
            error_line(output).unwrap(),
            "pluggy._manager.PluginValidationError: Plugin 'conftest.py' for hook 'x'"
        );
        assert_eq!(
            error_line("conftest.py:1: in <module>\nE   RuntimeError: not here\n").unwrap(),
            "RuntimeError: not here"
        );
        assert_eq!(error_line("it says: Error\nno error here"), None);
    }

    #[test]
    fn a_missing_package_gets_an_install_hint() {
        let cases = [
            (
                Framework::Pytest,
                "E   ModuleNotFoundError: No module named 'yaml.nodes'",
                "-m pip install yaml",
            ),
            (
                Framework::Jest,
                "Cannot find module '@acme/kit/deep' from 'a.test.js'",
                "npm install --save-dev @acme/kit",
            ),
            (
                Framework::Vitest,
                "Error: Failed to resolve import \"left-pad\" from",
                "npm install --save-dev left-pad",
            ),
        ];
        for (framework, text, fix) in cases {
            let notes = advice(&project(framework), text);
            assert_eq!(notes.len(), 1, "{text}");
            // The interpreter depends on the machine.
            assert!(notes[0].fix.as_deref().unwrap().ends_with(fix), "{notes:?}");
        }
    }

    #[test]
    fn a_missing_file_of_the_project_is_not_a_package() {
        assert_eq!(
            advice(
                &project(Framework::Jest),
                "Cannot find module '../not-there' from 'a.js'"
            ),
            []
        );
    }
}
