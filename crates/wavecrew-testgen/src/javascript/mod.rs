//! JavaScript and TypeScript: the search runs as a test of the project's own framework, so that modules load as they do in
//! its tests. The helper is the JavaScript source in `helpers/javascript`.

mod exclusions;
mod existing_tests;
mod failure;
pub(crate) mod project;
pub(crate) mod report;
pub(crate) mod runner;
pub(crate) mod source;
pub(crate) mod supervised;
pub(crate) mod temporary_files;
pub(crate) mod test_file;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use wavecrew_measure::report::json;
use wavecrew_syntax::{Grammar, outline};

use crate::helper_files::{SourceFiles, source_files, unpack};
use crate::module_pool;
use crate::time_plan::Share;
use crate::{Dropped, GenerateError, Module, Mutants, Progress, Request, SuspectedDefect, WrittenFile};
use exclusions::Exclusions;
use existing_tests::ExistingTest;
use failure::{CrashCause, LastCall, SearchFailure};
use project::Project;
use runner::Runner;
use source::SourceModule;
use supervised::{Limits, RunEnd};
use temporary_files::TemporaryFiles;
use test_file::Test;

pub const HELPER: SourceFiles = source_files![
    "javascript":
    "async_errors.cjs",
    "cases.cjs",
    "classes.cjs",
    "compare.cjs",
    "compare_outcomes.cjs",
    "compare_recording.cjs",
    "compare_report.cjs",
    "compare_search.cjs",
    "compare_snippets.cjs",
    "compare_tracing.cjs",
    "compare_versions.cjs",
    "compare_worker.cjs",
    "comparisons.cjs",
    "defects.cjs",
    "examples.cjs",
    "existing_tests.cjs",
    "jest_globals.cjs",
    "literals.cjs",
    "live_edit.cjs",
    "mutants.cjs",
    "mutation_sites.cjs",
    "observe.cjs",
    "parameters.cjs",
    "patterns.cjs",
    "probes.cjs",
    "process_state.cjs",
    "quarantine.cjs",
    "random.cjs",
    "render.cjs",
    "run.cjs",
    "sandbox.cjs",
    "search.cjs",
    "selection.cjs",
    "session.cjs",
    "simplify.cjs",
    "snippet_parts.cjs",
    "stability.cjs",
    "suite_copies.cjs",
    "targets.cjs",
    "tokens.cjs",
    "tracing.cjs",
    "type_hints.cjs",
    "uncovered.cjs",
    "usage.cjs",
    "values.cjs",
];

/// Where the helper is unpacked. The path marks it as a third-party package, so that frameworks do not transform it.
pub(crate) const PACKAGE: &str = "node_modules/wavecrew-testgen";
/// Surviving mutants that are reported.
const MAX_SURVIVORS: usize = 40;
/// Wall time for a framework to start and stop on a busy machine.
const STARTUP: Duration = Duration::from_mins(3);
/// Budgets are processor time; on a busy machine they may take this much wall time.
const BUSY_FACTOR: u32 = 12;

/// The result of a search, as the helper writes it.
#[derive(Debug, Deserialize)]
struct SearchResult {
    /// The lines before the tests.
    header: Vec<String>,
    tests: Vec<Test>,
    covers: Vec<String>,
    calls: u64,
    defects: Vec<Defect>,
    /// The lines before the tests of suspected defects.
    quarantine_header: Vec<String>,
    dropped: Vec<Dropped>,
    /// Mutants that these tests or existing ones kill.
    killed: u32,
    survivors: Vec<(u32, String)>,
    /// How many existing tests ran.
    existing_tests: usize,
}

#[derive(Debug, Deserialize)]
struct Defect {
    kind: String,
    call: String,
    what: String,
    line: u32,
    /// A test that fails until the defect is fixed.
    test: String,
}

pub fn generate(request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Module>, GenerateError> {
    let runner = Runner::find(request)?;
    let helper = unpack(HELPER, PACKAGE)?;
    let project = Project::read(&request.root);
    let _run_folder = TemporaryFiles::in_folder(&request.root.join(&request.run_folder))?;
    module_pool::for_each_module(request, progress, |file, share, _| {
        let started = Instant::now();
        let mut module = match SourceModule::read(request, &project, file) {
            Ok(source) => {
                let search = Search {
                    request,
                    share,
                    runner: &runner,
                    helper: helper.path(),
                    existing_tests: existing_tests::find(request, &project, &source, helper.path()),
                    source,
                };
                search.generate()?
            }
            Err(why) => Module::untested(file, why),
        };
        module.seconds = started.elapsed().as_secs_f64();
        Ok(module)
    })
}

/// The folder with the helper's files.
pub(crate) fn helper_folder(helper: &Path) -> PathBuf {
    helper.join(PACKAGE)
}

/// The search of one module.
struct Search<'a> {
    request: &'a Request,
    share: Share,
    runner: &'a Runner,
    helper: &'a Path,
    source: SourceModule,
    existing_tests: Vec<ExistingTest>,
}

impl Search<'_> {
    fn generate(&self) -> Result<Module, GenerateError> {
        let mut exclusions = Exclusions::default();
        exclusions.no_existing_tests = self.existing_tests.is_empty();
        let found = loop {
            match self.run(&exclusions)? {
                Ok(found) => break found,
                Err(failure) => {
                    if let Err(failure) = exclusions.exclude(failure) {
                        return Ok(Module::untested(&self.source.file, failure.to_string()));
                    }
                }
            }
        };
        let mut module = Module {
            file: self.source.file.clone(),
            module: self.source.import_path.clone(),
            calls: found.calls,
            dropped: exclusions
                .dropped
                .into_iter()
                .chain(found.dropped.iter().cloned())
                .collect(),
            defects: self.write_quarantine(&found)?,
            mutants: (found.killed > 0 || !found.survivors.is_empty()).then(|| Mutants {
                killed: found.killed,
                survived: u32::try_from(found.survivors.len()).unwrap_or(u32::MAX),
            }),
            survivors: found.survivors.iter().take(MAX_SURVIVORS).cloned().collect(),
            ..Module::default()
        };
        if found.tests.is_empty() {
            if found.existing_tests > 0 {
                let why = format!(
                    "nothing new: {} already reach all lines that were found and kill the same mutants",
                    existing(found.existing_tests)
                );
                module.dropped.push(self.whole_module(why));
            }
            return Ok(module);
        }
        let path = self.source.new_test_file(&self.request.layer_folder);
        let kept = self.confirmed(&path, &found)?;
        if kept.is_empty() {
            let why = "no test had the same result in a new process".to_owned();
            module.dropped.push(self.whole_module(why));
            return Ok(module);
        }
        write_at_once(&path, &test_file::text(&found.header, &kept))?;
        module.written.push(WrittenFile {
            path,
            tests: kept
                .iter()
                .map(|test| format!("{} > {}", test.group, test.title))
                .collect(),
            covers: found.covers,
        });
        Ok(module)
    }

    fn whole_module(&self, why: String) -> Dropped {
        let what = self.source.file.display().to_string();
        Dropped { what, why }
    }

    /// Writes a failing test for each suspected defect into a file that frameworks do not collect.
    fn write_quarantine(&self, found: &SearchResult) -> Result<Vec<SuspectedDefect>, GenerateError> {
        if found.defects.is_empty() {
            return Ok(Vec::new());
        }
        let path = self.source.new_quarantine_file(&self.request.layer_folder);
        let tests: Vec<&str> = found.defects.iter().map(|defect| defect.test.as_str()).collect();
        let text = format!(
            "{}\n\n{}\n",
            found.quarantine_header.join("\n"),
            tests.join("\n\n")
        );
        fs::write(&path, text)?;
        let suspected = |defect: &Defect| SuspectedDefect {
            kind: defect.kind.clone(),
            call: defect.call.clone(),
            what: defect.what.clone(),
            line: defect.line,
            quarantine: Some(path.clone()),
        };
        Ok(found.defects.iter().map(suspected).collect())
    }

    /// Runs one search in its own process.
    fn run(&self, exclusions: &Exclusions) -> Result<Result<SearchResult, SearchFailure>, GenerateError> {
        let existing_tests: &[ExistingTest] = if exclusions.no_existing_tests {
            &[]
        } else {
            &self.existing_tests
        };
        let folder = tempfile::tempdir()?;
        let (out, trace) = (folder.path().join("result.json"), folder.path().join("trace"));
        let plan_file = folder.path().join("plan.json");
        fs::write(&plan_file, self.plan(exclusions, &out, &trace)?.to_string())?;
        let test = self
            .source
            .search_test(self.runner, self.helper, &plan_file, existing_tests);
        let name = self.source.search_test_name(self.runner);
        let copies = existing_tests.iter().filter_map(|test| test.copy.as_ref());
        let copies: Vec<(&str, &str)> = copies
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let ran = self.runner.run(
            &self.source.run_folder,
            (&name, &test),
            &copies,
            "UTC",
            &self.limits(Some(&trace)),
            None,
        )?;
        let result = fs::read(&out)
            .ok()
            .and_then(|bytes| json::from_slice(&bytes).ok());
        if let Some(result) = result {
            return Ok(Ok(result));
        }
        let trace = fs::read_to_string(&trace).unwrap_or_default();
        let last_call: Option<LastCall> = trace
            .lines()
            .next()
            .and_then(|line| json::from_slice(line.as_bytes()).ok());
        Ok(Err(match (ran.end, last_call) {
            (RunEnd::Hung, Some(call)) => SearchFailure::CallHung(call),
            (RunEnd::Hung, None) => SearchFailure::LoadHung,
            (RunEnd::OutOfMemory, Some(call)) => SearchFailure::Crashed {
                call,
                cause: CrashCause::OutOfMemory(ran.message),
            },
            (RunEnd::Exited, Some(call)) => SearchFailure::Crashed {
                call,
                cause: CrashCause::Other,
            },
            (RunEnd::Exited | RunEnd::OutOfMemory, None) => {
                SearchFailure::NotLoaded(self.explained(&ran.message))
            }
        }))
    }

    /// An error of loading with paths below the root, and with the command that would fix it.
    fn explained(&self, error: &str) -> String {
        let Request { root, framework, .. } = self.request;
        let shown = error.replace(&format!("{}/", root.display()), "");
        match framework.fix_for(error, root) {
            Some(fix) => format!("{shown} (fix: {fix})"),
            None => shown,
        }
    }

    /// The request to the helper: the outline of the module, and what to do with it.
    fn plan(
        &self,
        exclusions: &Exclusions,
        out: &Path,
        trace: &Path,
    ) -> Result<serde_json::Value, GenerateError> {
        let Self { request, source, .. } = self;
        let outline = Grammar::of(&source.file).map(|grammar| outline(grammar, &source.text));
        let mut plan = serde_json::to_value(outline.unwrap_or_default()).map_err(std::io::Error::other)?;
        // Each round searches with another seed.
        let seed = request.seed.wrapping_add(u64::from(source.round) * 7919) % u64::from(u32::MAX);
        let more = serde_json::json!({
            "file": source.file, "identifier": source.identifier, "importPath": source.import_path,
            "shownPath": source.shown_path, "style": source.style(), "typescript": source.is_typescript(),
            "framework": self.runner.name(), "seed": seed,
            "budget": u64::try_from(self.share.budget.as_millis()).unwrap_or(u64::MAX),
            "commit": request.commit, "exclusions": exclusions, "out": out, "traceFile": trace,
            "texts": source.texts, "suspected": source.suspected_before(&request.layer_folder),
            "feedback": request.feedback.as_ref().map(|feedback| serde_json::json!({
                "uncovered": feedback.uncovered.get(&source.file),
                "survivors": feedback.surviving_mutants.get(&source.file),
            })),
        });
        if let (Some(plan), serde_json::Value::Object(more)) = (plan.as_object_mut(), more) {
            plan.extend(more);
        }
        Ok(plan)
    }

    /// The tests that pass in new processes, in other time zones.
    fn confirmed(&self, path: &Path, found: &SearchResult) -> Result<Vec<Test>, GenerateError> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut kept = found.tests.clone();
        if let Some(grammar) = Grammar::of(path) {
            kept.retain(|test| test.asserts(grammar));
        }
        // A test that failed or was refused in an earlier round would fail again.
        let failing: Vec<String> = self
            .request
            .feedback
            .iter()
            .flat_map(|feedback| feedback.failing_tests.iter().chain(&feedback.refused_tests))
            .map(|name| name.replace(" > ", " "))
            .collect();
        kept.retain(|test| !failing.contains(&format!("{} {}", test.group, test.title)));
        for time_zone in ["America/New_York", "Asia/Kolkata"] {
            if kept.is_empty() {
                break;
            }
            let report = tempfile::NamedTempFile::new()?;
            self.runner.run(
                &self.source.run_folder,
                (&name, &test_file::text(&found.header, &kept)),
                &[],
                time_zone,
                &self.limits(None),
                Some(report.path()),
            )?;
            let passed = report::passed(report.path());
            kept.retain(|test| passed.contains(&format!("{} {}", test.group, test.title)));
        }
        Ok(kept)
    }

    fn limits<'a>(&self, trace: Option<&'a Path>) -> Limits<'a> {
        Limits {
            wall_time: self.share.wall_time(self.share.budget * BUSY_FACTOR + STARTUP),
            trace,
        }
    }
}

/// Writes a file that is complete from the moment it appears.
fn write_at_once(path: &Path, text: &str) -> Result<(), GenerateError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".")
        .suffix(".partial")
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn existing(tests: usize) -> String {
    format!("{tests} existing test{}", if tests == 1 { "" } else { "s" })
}
