//! The generator without a model: one call of `wavecrew-testgen` per framework in scope, aimed at the gaps of
//! the last round.

pub(super) mod findings;

use super::finished_modules::FinishedModules;
use super::{RoleResult, RoleTask};
use crate::coverage_figures::lines;
use crate::layer::{NOTHING_NEW, folder_of};
use crate::rounds;
use crate::scope::FrameworkInScope;
use crate::what_changed;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wavecrew_core::time::human;
use wavecrew_diff::is_acceptable;
use wavecrew_measure::FileCoverage;
use wavecrew_testgen::{
    Dropped, Feedback, Imports, Module, NOT_REACHED, Outcome, Priorities, Progress, Request, SuspectedDefect,
    WrittenFile, generate,
};

/// Seconds per module, unless the person says otherwise.
const BUDGET: u64 = 10;
/// The time for comparing two versions, in search times of a module, and its limits in seconds.
const COMPARISON_SEARCHES: u64 = 4;
const LEAST_COMPARISON: u64 = 15;
const MOST_COMPARISON: u64 = 60;
pub fn work(task: &RoleTask) -> Result<RoleResult, String> {
    let folder = task
        .scope
        .folder(&task.layer)
        .ok_or_else(|| format!("the scope has no layer `{}`", task.layer))?;
    let folder = task.session.join(folder);
    let mut modules = change_tests(task, &folder);
    let mut skipped = Vec::new();
    for framework in &task.scope.frameworks {
        let name = framework.framework.name();
        if !framework.framework.facts().generates_tests {
            skipped.push(format!("{name}: the offline agent cannot write its tests"));
            continue;
        }
        // A framework that cannot run does not affect the others.
        match write(task, framework, &folder) {
            Ok(outcome) => modules.extend(outcome.modules),
            Err(error) => skipped.push(format!("{name} in {}: {error}", framework.root.display())),
        }
    }
    let written: Vec<PathBuf> = modules
        .iter()
        .flat_map(|m| &m.written)
        .map(|w| w.path.clone())
        .collect();
    // Defects are reported even if no test was written.
    share_discoveries(task, &modules);
    let untested = findings::untested(task, &modules);
    let list = findings::list(task, &untested)?;
    let earlier = if written.is_empty() {
        earlier_files(task)
    } else {
        Vec::new()
    };
    if !earlier.is_empty() {
        return Ok(RoleResult {
            findings: findings::nothing_new(
                "tests of earlier rounds cover all that was found",
                &untested,
                &list,
                &skipped,
            ),
            columns: json!({ "test_files": earlier.join(";") }),
        });
    }
    if written.is_empty() && !is_tested_already(task, &modules) {
        return Err(findings::no_tests_error(untested, skipped));
    }
    let (findings, files) = if written.is_empty() {
        let file = folder.join(NOTHING_NEW);
        task.write(
            &file,
            "The project's own tests cover all that the offline agent found.\n",
        )?;
        let because = "the project's own tests cover all that new ones would";
        (
            findings::nothing_new(because, &untested, &list, &skipped),
            Vec::new(),
        )
    } else {
        let findings = findings::summary(&modules, &untested, &list, &skipped);
        (
            findings,
            written.iter().map(|path| in_session(task, path)).collect(),
        )
    };
    Ok(RoleResult {
        findings,
        columns: json!({ "test_files": files.join(";") }),
    })
}

/// The first goal for changed code: tests that tell its two versions apart. Written in the first round only.
fn change_tests(task: &RoleTask, folder: &Path) -> Vec<Module> {
    if task.result().is_some() {
        return Vec::new();
    }
    eprintln!("comparing changed code with its old version");
    let searches = task.scope.offline_seconds.unwrap_or(BUDGET) * COMPARISON_SEARCHES;
    let mut budget = Duration::from_secs(searches.clamp(LEAST_COMPARISON, MOST_COMPARISON));
    if let Some(deadline) = task.deadline {
        budget = budget.min(deadline.saturating_duration_since(Instant::now()) / 4);
    }
    let layer = task
        .scope
        .folder(&task.layer)
        .and_then(Path::file_name)
        .map(Path::new);
    let files = what_changed::compare_with_base(&task.session, &task.scope, budget, layer);
    let mut modules = Vec::new();
    for file in files {
        let name = Path::new(&file.name);
        if is_acceptable(name, &file.text) && task.write(folder.join(name), &file.text).is_ok() {
            modules.push(Module {
                written: vec![WrittenFile {
                    path: folder.join(name),
                    tests: file.tests,
                    covers: Vec::new(),
                }],
                ..Module::default()
            });
        }
    }
    modules
}

/// Whether no test could be written because the project has them: its own tests cover code in scope, and every module
/// could be searched.
fn is_tested_already(task: &RoleTask, modules: &[Module]) -> bool {
    let whole =
        |module: &Module, left: &Dropped| left.what == module.module || Path::new(&left.what) == module.file;
    let searched =
        |module: &Module| module.calls > 0 || !module.dropped.iter().any(|left| whole(module, left));
    let covered = lines(&task.baseline().coverage()).covered > 0;
    covered && !modules.is_empty() && modules.iter().all(searched)
}

/// The test files of earlier rounds, relative to the session.
fn earlier_files(task: &RoleTask) -> Vec<String> {
    let folder = task.scope.folder(&task.layer).unwrap_or(Path::new(""));
    let tests = task.result().map(|result| result.tests).unwrap_or_default();
    let files: BTreeSet<String> = tests.into_iter().map(|test| test.id.file).collect();
    let in_layer = files.iter().map(|file| folder.join(file));
    let kept = in_layer.filter(|file| task.session.join(file).is_file());
    kept.map(|file| file.to_string_lossy().into_owned()).collect()
}

/// A path relative to the session.
fn in_session(task: &RoleTask, path: &Path) -> String {
    let path = path.strip_prefix(&task.session).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

fn write(task: &RoleTask, framework: &FrameworkInScope, folder: &Path) -> Result<Outcome, String> {
    let files = task
        .scope
        .files_of(framework)
        .map(|file| task.copy.join(&file.path));
    let round = task.result().map_or(0, |result| result.attempt);
    let finished = FinishedModules::open(&task.session, &task.layer, round);
    let (known, files): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(|file| finished.get(file).is_some());
    let mut count = ModuleCount::new(known.len(), files.len());
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
        files,
        framework: framework.framework.clone(),
        // With several roots, the tests of each are below its path.
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
        deadline: task.deadline,
        priorities: priorities(task),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut show = |progress: Progress| match progress {
        Progress::Started { module } => eprintln!("{}", count.line(&module, "looking for inputs")),
        Progress::Step { module, what } => eprintln!("{}", count.line(&module, &what)),
        Progress::Finished(mut module) => {
            findings::use_own_tool(&mut module, &task.copy);
            count.done += 1;
            eprintln!("{}", count.line(&module.file, &findings::line(&module)));
            // Without the entry a continued worker searches the module again, which costs time only.
            if !module.dropped.iter().any(|left| left.why == NOT_REACHED) {
                let _ = finished.add(&module);
            }
        }
    };
    let mut outcome = generate(&request, &mut show).map_err(|error| error.to_string())?;
    for module in &mut outcome.modules {
        findings::use_own_tool(module, &task.copy);
    }
    outcome
        .modules
        .extend(known.iter().filter_map(|file| finished.get(file).cloned()));
    Ok(outcome)
}

/// The order of modules: changed files come first, then those that existing tests do not cover.
fn priorities(task: &RoleTask) -> Priorities {
    let files = task.scope.files.iter().map(|file| task.copy.join(&file.path));
    let uncovered = |file: FileCoverage| {
        let lines = usize::try_from(file.lines.total - file.lines.covered).ok()?;
        Some((task.copy.join(file.path), lines))
    };
    Priorities {
        changed: if task.scope.base.is_some() {
            files.collect()
        } else {
            BTreeSet::new()
        },
        uncovered_lines: task
            .baseline()
            .coverage()
            .into_iter()
            .filter_map(uncovered)
            .collect(),
    }
}

/// How many modules are finished, for the lines that show progress.
struct ModuleCount {
    done: usize,
    total: usize,
    /// How many were finished before this worker started, and when that was.
    before: usize,
    started: Instant,
}

impl ModuleCount {
    fn new(done: usize, open: usize) -> Self {
        Self {
            done,
            total: done + open,
            before: done,
            started: Instant::now(),
        }
    }

    /// `module 13/30 strutils.py 40 %: looking for inputs, about 2m 10s left`
    fn line(&self, module: &Path, what: &str) -> String {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        let number = (self.done + 1).min(self.total);
        let percent = self.done * 100 / self.total.max(1);
        let left = self.left(self.started.elapsed());
        let left = left.map_or_else(String::new, |left| format!(", about {} left", human(left)));
        format!("module {number}/{} {name} {percent} %: {what}{left}", self.total)
    }

    /// Estimates the time for the other modules from that of the finished ones.
    fn left(&self, elapsed: Duration) -> Option<Duration> {
        let done = u32::try_from(self.done - self.before).ok()?;
        let open = u32::try_from(self.total - self.done).ok()?;
        (done > 0 && open > 0).then(|| elapsed * open / done)
    }
}

/// The gaps that the previous measured run left.
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
    let dropped = rounds::dropped(&task.session, &task.layer);
    feedback.refused_tests = dropped.into_iter().map(|test| test.id.name).collect();
    Some(feedback)
}

fn share_discoveries(task: &RoleTask, modules: &[Module]) {
    for module in modules {
        let source = module.file.strip_prefix(&task.copy).unwrap_or(&module.file);
        let source = source.to_string_lossy();
        for written in &module.written {
            let fields = [
                ("file", json!(in_session(task, &written.path))),
                ("source_file", json!(source)),
                ("test_count", json!(written.tests.len())),
            ];
            task.discover("test_generated", fields);
        }
        share_defects(task, &source, &module.defects);
    }
}

fn share_defects(task: &RoleTask, source: &str, defects: &[SuspectedDefect]) {
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

/// Line, pattern and description, once for each line: the board treats a second entry for a line as a
/// repetition.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_the_modules_are() {
        let mut count = ModuleCount::new(2, 8);
        let line = count.line(Path::new("src/strutils.py"), "looking for inputs");
        assert_eq!(line, "module 3/10 strutils.py 20 %: looking for inputs");
        count.done = 4;
        assert_eq!(count.left(Duration::from_secs(20)), Some(Duration::from_mins(1)));
        count.done = 10;
        assert_eq!(count.left(Duration::from_secs(20)), None);
    }

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
        let entries = by_place(&found, Path::new("/session"));
        let both = "f(1): odd; f(2): odd; tests show them in tests/quarantine_a.py";
        let one = "g(0): odd; a test shows it in tests/quarantine_a.py";
        assert_eq!(
            entries,
            [
                (4, "does not end".to_owned(), one.to_owned()),
                (9, "round trip, example disagrees".to_owned(), both.to_owned()),
            ]
        );
    }
}
