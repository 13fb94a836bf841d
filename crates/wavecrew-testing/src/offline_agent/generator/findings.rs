//! The generator's report about its work: findings, the list of untested code, a line per module.

use std::fmt::Write as _;

use wavecrew_core::view::count;
use wavecrew_measure::framework::python_environment::install_command;
use wavecrew_session::SessionPaths;
use wavecrew_testgen::{Dropped, Module};

use crate::offline_agent::RoleTask;

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
            let fix = missing_package(&left.why).map_or(String::new(), |package| {
                format!("; fix: {}", install_command(&task.copy, &[package]))
            });
            if left.what == whole || left.what == module.module {
                (false, format!("{file}: {}{fix}", left.why))
            } else {
                (true, format!("{} of {file}: {}{fix}", left.what, left.why))
            }
        };
        module.dropped.iter().map(line).collect::<Vec<_>>()
    };
    let mut lines: Vec<(bool, String)> = modules.iter().flat_map(of).collect();
    lines.sort_by_key(|(part, _)| *part);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The package that an import error names.
fn missing_package(why: &str) -> Option<&str> {
    let (_, rest) = why.split_once("No module named ")?;
    let name = rest.trim_start_matches(['\'', '"']);
    let end = name
        .find(|c: char| !c.is_alphanumeric() && !"_-".contains(c))
        .unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
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
    if !untested.is_empty() {
        let shown = &untested[..untested.len().min(MOST_UNTESTED)];
        let _ = write!(text, "; untested: {}", shown.join(", "));
        if untested.len() > shown.len() {
            let _ = write!(text, " and {} more in {list}", untested.len() - shown.len());
        }
    }
    if !skipped.is_empty() {
        let _ = write!(text, "; skipped {}", skipped.join(", "));
    }
    text.push('.');
    text
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
    fn an_import_error_names_its_package() {
        let why = "cannot be imported: ModuleNotFoundError: No module named 'yaml.loader'";
        assert_eq!(missing_package(why), Some("yaml"));
        assert_eq!(missing_package("it raises ValueError"), None);
    }
}
