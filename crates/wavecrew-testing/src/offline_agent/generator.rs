//! Tests from what the code does: one call of the generator per framework in scope, aimed at what the last round left.

use super::{RoleResult, RoleTask};
use crate::layer::folder_of;
use crate::scope::FrameworkInScope;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_core::view::count;
use wavecrew_session::SessionPaths;
use wavecrew_testgen::{
    Dropped, Feedback, Imports, Module, Outcome, Priorities, Progress, Request, SuspectedDefect, generate,
};

/// Seconds per module, unless the person says otherwise.
const BUDGET: u64 = 10;
/// Named in findings, of what was left out.
const MOST_LEFT_OUT: usize = 8;

pub fn work(task: &RoleTask) -> Result<RoleResult, String> {
    let folder = task
        .scope
        .folder(&task.layer)
        .ok_or_else(|| format!("the scope has no layer `{}`", task.layer))?;
    let folder = task.session.join(folder);
    let mut modules = Vec::new();
    let mut passed_over = Vec::new();
    for framework in &task.scope.frameworks {
        if !framework.framework.facts().generates_tests {
            passed_over.push(framework.framework.name());
            continue;
        }
        modules.extend(write(task, framework, &folder)?.modules);
    }
    let written: Vec<PathBuf> = modules
        .iter()
        .flat_map(|m| &m.written)
        .map(|w| w.path.clone())
        .collect();
    // Also where nothing else came of it: a defect is worth knowing.
    tell(task, &modules);
    let left_out = left_out(task, &modules);
    let list = list(task, &left_out)?;
    if written.is_empty() {
        return Err(nothing(left_out, &passed_over));
    }
    let files: Vec<String> = written.iter().map(|path| inside(task, path)).collect();
    Ok(RoleResult {
        findings: summary(&modules, &left_out, &list, &passed_over),
        columns: json!({ "test_files": files.join(";") }),
    })
}

/// A path as the session tells it.
fn inside(task: &RoleTask, path: &Path) -> String {
    let path = path.strip_prefix(&task.session).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

fn write(task: &RoleTask, framework: &FrameworkInScope, folder: &Path) -> Result<Outcome, String> {
    let files = task.scope.files_of(framework);
    let root = framework.in_tree(&task.copy).root;
    let below = task
        .scope
        .folder(&task.layer)
        .and_then(Path::file_name)
        .map(Path::new);
    let laid = task
        .copy
        .join(folder_of(framework, below.unwrap_or(Path::new(""))));
    let request = Request {
        run_folder: laid.strip_prefix(&root).unwrap_or(&laid).to_owned(),
        root,
        files: files.map(|file| task.copy.join(&file.path)).collect(),
        framework: framework.framework.clone(),
        // Of several roots, the tests of each lie below its path.
        layer_folder: if framework.root == Path::new(".") {
            folder.to_owned()
        } else {
            folder.join(&framework.root)
        },
        imports: Imports::default(),
        feedback: feedback(task),
        commit: task.scope.commit.clone(),
        seed: task.scope.seed,
        budget_per_module: Duration::from_secs(task.scope.offline_seconds.unwrap_or(BUDGET)),
        deadline: None,
        priorities: Priorities::default(),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut show = |progress: Progress| match progress {
        Progress::Started { module } => eprintln!("{}: looking for inputs", module.display()),
        Progress::Step { module, what } => eprintln!("{}: {what}", module.display()),
        Progress::Finished(module) => eprintln!("{}", line(&module)),
    };
    generate(&request, &mut show).map_err(|error| error.to_string())
}

/// What the measured run before this one left open.
fn feedback(task: &RoleTask) -> Option<Feedback> {
    let result = task.result()?;
    let mut feedback = Feedback::default();
    for file in result.coverage.iter().flat_map(|covered| &covered.files) {
        let ranges = file
            .uncovered
            .iter()
            .map(|range| (range.first, range.last))
            .collect();
        feedback.uncovered.insert(task.copy.join(&file.path), ranges);
    }
    for survivor in result.mutation.iter().flat_map(|killed| &killed.survivors) {
        let lines = feedback.surviving_mutants.entry(task.copy.join(&survivor.file));
        lines.or_default().push(survivor.line);
    }
    feedback.failing_tests = result.faulty().map(|test| test.id.name.clone()).collect();
    Some(feedback)
}

fn tell(task: &RoleTask, modules: &[Module]) {
    for module in modules {
        let source = module.file.strip_prefix(&task.copy).unwrap_or(&module.file);
        let source = source.to_string_lossy();
        for written in &module.written {
            let fields = [
                ("file", json!(inside(task, &written.path))),
                ("source_file", json!(source)),
                ("test_count", json!(written.tests.len())),
            ];
            task.discover("test_generated", fields);
        }
        tell_defects(task, &source, &module.defects);
    }
}

fn tell_defects(task: &RoleTask, source: &str, defects: &[SuspectedDefect]) {
    for (line, pattern, description) in by_place(defects, &task.session) {
        let fields = [
            ("file", json!(source)),
            ("line", json!(line)),
            ("pattern", json!(pattern)),
            ("description", json!(description)),
        ];
        task.discover("defect_found", fields);
    }
}

/// Line, pattern and description, once for each line: the board takes a second entry for a line as a repetition.
fn by_place(defects: &[SuspectedDefect], session: &Path) -> Vec<(u32, String, String)> {
    let mut places: BTreeMap<u32, Vec<&SuspectedDefect>> = BTreeMap::new();
    for defect in defects {
        places.entry(defect.line).or_default().push(defect);
    }
    let entry = |(line, defects): (u32, Vec<&SuspectedDefect>)| {
        let mut shown: Vec<String> = defects
            .iter()
            .map(|d| format!("{}: {}", d.call, d.what))
            .collect();
        if let Some(test) = defects.iter().find_map(|defect| defect.quarantine.as_ref()) {
            let test = test.strip_prefix(session).unwrap_or(test);
            let tests = if shown.len() > 1 {
                "tests show them"
            } else {
                "a test shows it"
            };
            shown.push(format!("{tests} in {}", test.display()));
        }
        let mut kinds: Vec<&str> = defects.iter().map(|defect| defect.kind.as_str()).collect();
        kinds.dedup();
        (line, kinds.join(", "), shown.join("; "))
    };
    places.into_iter().map(entry).collect()
}

/// Writes down everything that was left out where findings have no room for it; answers the file, then.
fn list(task: &RoleTask, left_out: &[String]) -> Result<String, String> {
    if left_out.len() <= MOST_LEFT_OUT {
        return Ok(String::new());
    }
    let file = SessionPaths::relative().untested_report(&task.layer);
    let mut text = String::from("# Left out\n\n");
    for line in left_out {
        let _ = writeln!(text, "- {line}");
    }
    task.write(&file, &text)?;
    Ok(file.to_string_lossy().into_owned())
}

/// What could not be tried, with its reason; modules as a whole come first.
fn left_out(task: &RoleTask, modules: &[Module]) -> Vec<String> {
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

fn summary(modules: &[Module], left_out: &[String], list: &str, passed_over: &[&str]) -> String {
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
    if !left_out.is_empty() {
        let shown = &left_out[..left_out.len().min(MOST_LEFT_OUT)];
        let _ = write!(text, "; left out: {}", shown.join(", "));
        if left_out.len() > shown.len() {
            let _ = write!(text, " and {} more in {list}", left_out.len() - shown.len());
        }
    }
    if !passed_over.is_empty() {
        let _ = write!(
            text,
            "; not for {}: the offline agent cannot write its tests",
            passed_over.join(", ")
        );
    }
    text.push('.');
    text
}

fn nothing(mut reasons: Vec<String>, passed_over: &[&str]) -> String {
    let foreign = passed_over
        .iter()
        .map(|name| format!("the offline agent cannot write tests for {name}"));
    reasons.extend(foreign);
    if reasons.is_empty() {
        reasons.push("no public function in scope could be called".to_owned());
    }
    reasons.truncate(MOST_LEFT_OUT);
    format!("no test could be written: {}", reasons.join("; "))
}

fn line(module: &Module) -> String {
    let tests: usize = module.written.iter().map(|written| written.tests.len()).sum();
    let mut text = format!("{}: {}", module.file.display(), count(tests, "test"));
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
    fn defects_of_one_line_share_an_entry() {
        let defect = |kind: &str, call: &str, line| SuspectedDefect {
            kind: kind.to_owned(),
            call: call.to_owned(),
            what: "odd".to_owned(),
            line,
            quarantine: Some(PathBuf::from("/session/tests/quarantine_a.py")),
        };
        let found = [
            defect("round trip", "f(1)", 9),
            defect("does not end", "g(0)", 4),
            defect("example disagrees", "f(2)", 9),
        ];
        let told = by_place(&found, Path::new("/session"));
        let both = "f(1): odd; f(2): odd; tests show them in tests/quarantine_a.py";
        let one = "g(0): odd; a test shows it in tests/quarantine_a.py";
        assert_eq!(
            told,
            [
                (4, "does not end".to_owned(), one.to_owned()),
                (9, "round trip, example disagrees".to_owned(), both.to_owned()),
            ]
        );
    }
}
