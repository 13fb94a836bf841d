//! The generator's report about its work: findings, the list of untested code, a line per module.

use std::fmt::Write as _;
use std::path::Path;

use wavecrew_core::view::{count, first_few};
use wavecrew_measure::framework::python_environment::install_command;
use wavecrew_session::SessionPaths;
use wavecrew_testgen::{Dropped, Module};

use crate::offline_agent::RoleTask;

/// Before the command that makes a module load, in the reason why it does not.
pub const FIX: &str = " (fix: ";
/// How many untested items the findings name.
const MOST_UNTESTED: usize = 8;

/// Writes the list of untested code where findings have no room for it. Returns its path, or nothing.
pub fn list(task: &RoleTask, untested: &[String]) -> Result<String, String> {
    if untested.len() <= MOST_UNTESTED {
        return Ok(String::new());
    }
    let file = SessionPaths::relative().untested_report(&task.layer);
    let mut text = String::from("# Untested\n\n");
    for line in untested {
        let _ = writeln!(text, "- {line}");
    }
    task.write(&file, &text)?;
    Ok(file.to_string_lossy().into_owned())
}

/// Untested code with the reason; whole modules come first.
pub fn untested(task: &RoleTask, modules: &[Module]) -> Vec<String> {
    let of = |module: &Module| {
        let file = module
            .file
            .strip_prefix(&task.copy)
            .unwrap_or(&module.file)
            .display()
            .to_string();
        let whole = module.file.display().to_string();
        let line = move |left: &Dropped| {
            if left.what == whole || left.what == module.module {
                (false, format!("{file}: {}", left.why))
            } else {
                (true, format!("{} of {file}: {}", left.what, left.why))
            }
        };
        module.dropped.iter().map(line).collect::<Vec<_>>()
    };
    let mut lines: Vec<(bool, String)> = modules.iter().flat_map(of).collect();
    lines.sort_by_key(|(part, _)| *part);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Lets the project's own tool install what the helper of Python would install with pip.
pub fn use_own_tool(module: &mut Module, root: &Path) {
    for left in &mut module.dropped {
        let Some((reason, fix)) = left.why.split_once(FIX) else {
            continue;
        };
        if let Some((_, package)) = fix
            .split_once(" -m pip install ")
            .filter(|(_, package)| !package.starts_with('-'))
        {
            let command = install_command(root, &[package.trim_end_matches(')')]);
            left.why = format!("{reason}{FIX}{command})");
        }
    }
}

pub fn summary(modules: &[Module], untested: &[String], list: &str, skipped: &[String]) -> String {
    let tests: usize = modules
        .iter()
        .flat_map(|m| &m.written)
        .map(|w| w.tests.len())
        .sum();
    let files: usize = modules.iter().map(|m| m.written.len()).sum();
    let (killed, planted) = modules
        .iter()
        .filter_map(|m| m.mutants)
        .fold((0, 0), |(killed, all), mutants| {
            (killed + mutants.killed, all + mutants.killed + mutants.survived)
        });
    let mut text = format!(
        "{} in {}, which record what the code does now",
        count(tests, "test"),
        count(files, "file")
    );
    if planted > 0 {
        let _ = write!(text, "; they kill {killed} of {planted} mutants");
    }
    let defects: usize = modules.iter().map(|m| m.defects.len()).sum();
    if defects > 0 {
        let _ = write!(text, "; {} on the board", count(defects, "suspected defect"));
    }
    add_rest(&mut text, untested, list, skipped);
    text
}

/// The findings of a search that wrote no test because there are enough.
pub fn nothing_new(because: &str, untested: &[String], list: &str, skipped: &[String]) -> String {
    let mut text = format!("Nothing new: {because}");
    add_rest(&mut text, untested, list, skipped);
    text
}

fn add_rest(text: &mut String, untested: &[String], list: &str, skipped: &[String]) {
    if !untested.is_empty() {
        let _ = write!(text, "; untested: {}", first_few(untested, MOST_UNTESTED));
        if untested.len() > MOST_UNTESTED {
            let _ = write!(text, " in {list}");
        }
    }
    if !skipped.is_empty() {
        let _ = write!(text, "; skipped {}", skipped.join(", "));
    }
    text.push('.');
}

pub fn no_tests_error(mut reasons: Vec<String>, skipped: Vec<String>) -> String {
    reasons.extend(skipped);
    if reasons.is_empty() {
        reasons.push("no public function in scope could be called".to_owned());
    }
    reasons.truncate(MOST_UNTESTED);
    format!("no test could be written: {}", reasons.join("; "))
}

pub fn line(module: &Module) -> String {
    let tests: usize = module.written.iter().map(|written| written.tests.len()).sum();
    let mut text = count(tests, "test");
    if let Some((reached, all)) = module.lines {
        let _ = write!(text, ", {reached} of {all} lines");
    }
    if let Some(mutants) = module.mutants {
        let _ = write!(
            text,
            ", {} of {} mutants killed",
            mutants.killed,
            mutants.killed + mutants.survived
        );
    }
    let _ = write!(text, ", {} calls in {:.1} s", module.calls, module.seconds);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_installed_with_the_tool_of_the_project() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("uv.lock"), "").unwrap();
        let fix_of = |why: &str| {
            let left = Dropped {
                what: "a".to_owned(),
                why: why.to_owned(),
            };
            let mut module = Module {
                dropped: vec![left],
                ..Module::default()
            };
            use_own_tool(&mut module, root.path());
            module.dropped.remove(0).why
        };
        let why = "the import fails: No module named 'yaml' (fix: .venv/bin/python -m pip install PyYAML)";
        assert_eq!(
            fix_of(why),
            "the import fails: No module named 'yaml' (fix: uv add --dev PyYAML)"
        );
        for same in [
            "the import fails: No module named 'own' (fix: python3 -m pip install -e .)",
            "the module does not load (fix: npm install --save-dev left-out)",
            "the import fails: ValueError: 3",
        ] {
            assert_eq!(fix_of(same), same);
        }
    }

    #[test]
    fn a_search_without_new_tests_still_names_what_is_untested() {
        let because = "tests of earlier rounds cover all that was found";
        let untested = ["src/eager.ts: the module does not load".to_owned()];
        assert_eq!(
            nothing_new(because, &untested, "", &["go: no tests".to_owned()]),
            format!(
                "Nothing new: {because}; untested: src/eager.ts: the module does not load; skipped go: no tests."
            )
        );
        assert_eq!(
            nothing_new(because, &[], "", &[]),
            format!("Nothing new: {because}.")
        );
    }
}
