//! Compares two versions of a module: searches for inputs on which they behave differently. Both versions are complete
//! folders; nothing outside of temporary folders changes.
//!
//! The helper program of a language gets one request, a JSON file:
//!
//! | field | meaning |
//! | --- | --- |
//! | `mode` | `diff`, which tells it from generating tests; `suite` runs the project's own tests on both versions |
//! | `old_root`, `new_root` | the two folders |
//! | `file` | the module to enter, relative to both |
//! | `changed` | all changed files of the language, see [`ChangedFile`] |
//! | `changed_tests` | test files of the new version that the change touches: their inputs come first |
//! | `test_data` | other files in folders of tests that the change touches |
//! | `search_path` | folders below a root in which modules are found first |
//! | `quick` | end early when all changed code is reached and nothing new is found |
//! | `seed`, `budget`, `seconds_left` | processor seconds for the search, wall seconds until everything is reported |
//! | `tests` | `{"change": bool, "guard": bool}`: which tests to write |
//! | `commit` | what the tests name as the recorded version, or null |
//! | `suite` | what the project's own tests do, see [`SuiteTest`] |
//!
//! It prints JSON lines: `{"progress": "..."}` for people, `{"searched": {"calls": 9, "differ": 2}}` after a search,
//! `{"difference": ...}` for each difference as soon as new processes confirm it, and last `{"outcome": ...}`, a
//! [`ComparedModule`].

mod javascript;
mod javascript_suite;
mod python;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wavecrew_measure::framework::Language;
use wavecrew_measure::report::json;

use crate::python::helper_process::Continuation;
use crate::{Dropped, GenerateError};

/// Both ends are included.
pub type LineRange = (u32, u32);

/// Two versions to compare.
#[derive(Debug, Clone)]
pub struct Versions {
    pub old_root: PathBuf,
    pub new_root: PathBuf,
    /// Where the environment of the project is found: its own folder.
    pub project: PathBuf,
    pub changed: Vec<ChangedFile>,
    pub changed_tests: Vec<PathBuf>,
    /// The same, and other files of the new version's tests that the change touches.
    pub test_files: Vec<PathBuf>,
    /// Relative to a root.
    pub search_path: Vec<PathBuf>,
    pub seed: u64,
    /// End early when all changed code is reached and nothing new is found.
    pub quick: bool,
    pub tests: WantedTests,
    /// Where tests will lie, if not in the project's usual folder.
    pub test_folders: Vec<TestFolder>,
    pub commit: Option<String>,
    /// What the project's own tests do in both versions; empty if they did not run.
    pub suite: Vec<SuiteTest>,
}

/// A test of the project that ran in both versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteTest {
    pub file: PathBuf,
    /// The class that it is in.
    pub owner: Option<String>,
    pub function: String,
    /// Whether it passes on the new version only.
    pub telling: bool,
    /// The changed files of which it reaches changed lines.
    pub files: BTreeSet<PathBuf>,
}

/// Where the tests of some modules will lie. Both are relative to a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestFolder {
    /// The modules in this folder.
    pub modules: PathBuf,
    pub tests: PathBuf,
}

/// Which tests to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct WantedTests {
    /// Tests that fail on the old version and pass on the new one.
    pub change: bool,
    /// Tests of what stayed the same around the change.
    pub guard: bool,
}

/// A changed source file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    pub file: PathBuf,
    pub old_lines: Vec<LineRange>,
    pub new_lines: Vec<LineRange>,
    /// Lines of the new version's functions with changed lines.
    pub spans: Vec<LineRange>,
    /// Whether lines outside of functions changed: these run at import, and any function may depend on them.
    pub at_import: bool,
    /// Names and lines of the new version's changed functions.
    pub functions: Vec<(String, u32, u32)>,
}

/// The time for one module.
#[derive(Debug, Clone, Copy)]
pub struct ModuleTime {
    /// Processor time for the search.
    pub budget: Duration,
    pub until: Instant,
}

/// An input on which the versions differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Difference {
    /// The module that is entered.
    pub file: PathBuf,
    pub function: String,
    pub line: u32,
    /// `value`, `exception`, `output`, `arguments`, `state`, `files`, `hang`, `crash`, `slow` or `test`: a test of the project
    /// that passes on the new version only.
    pub kind: String,
    /// Statements before the input.
    pub setup: Vec<String>,
    pub input: String,
    pub before: String,
    pub after: String,
    /// The changed lines that the input reaches, in `cause_file`.
    pub old_lines: Vec<LineRange>,
    pub new_lines: Vec<LineRange>,
    pub cause_file: PathBuf,
    /// How many inputs with this cause were confirmed.
    pub inputs: u32,
    /// A test that fails on the old version and passes on the new one.
    pub test: Option<String>,
}

/// A test file, to be written by the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestFile {
    pub name: String,
    pub text: String,
    pub tests: Vec<String>,
    /// `change` or `guard`.
    pub kind: String,
}

/// The result for one module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComparedModule {
    pub file: PathBuf,
    pub differences: Vec<Difference>,
    /// Inputs that ran in both versions.
    pub calls: u64,
    pub reached: ReachedLines,
    /// The changed lines of the new version that can run, by file.
    pub executable: BTreeMap<PathBuf, Vec<u32>>,
    /// Inputs that differed in the search, and that there was no time to confirm.
    pub unconfirmed: u64,
    /// Inputs that reach changed lines and behave the same.
    pub same: u64,
    pub tests: Vec<TestFile>,
    #[serde(rename = "left_out")]
    pub dropped: Vec<Dropped>,
    /// The project's own tests, if they ran.
    pub suite: Vec<SuiteTest>,
    pub seconds: f64,
    /// Whether the search came to its own end.
    #[serde(skip_deserializing)]
    pub complete: bool,
}

/// The changed lines that inputs reached, by file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReachedLines {
    pub old: BTreeMap<PathBuf, Vec<u32>>,
    pub new: BTreeMap<PathBuf, Vec<u32>>,
}

impl ComparedModule {
    fn dropped(file: &Path, why: String) -> Self {
        Self {
            file: file.to_owned(),
            dropped: vec![Dropped {
                what: file.display().to_string(),
                why,
            }],
            complete: true,
            ..Self::default()
        }
    }
}

/// Reported while a module is compared.
#[derive(Debug, Clone, PartialEq)]
pub enum CompareProgress<'a> {
    Step(&'a str),
    Confirmed(Box<Difference>),
    /// Nothing happened for a moment.
    Silent,
}

/// Compares the two versions of one module. When `on_progress` returns false, the search ends, and what it found is confirmed
/// in some seconds.
pub fn compare(
    versions: &Versions,
    file: &Path,
    time: ModuleTime,
    on_progress: &mut dyn FnMut(CompareProgress<'_>) -> bool,
) -> Result<ComparedModule, GenerateError> {
    match Language::of(file) {
        Some(Language::Python) => python::compare(versions, file, time, on_progress),
        Some(Language::JavaScript) => javascript::compare(versions, file, time, on_progress),
        Some(Language::Rust | Language::Go) | None => Err(GenerateError::Unsupported("this language")),
    }
}

/// Runs the tests that a change touches on both versions. Those that tell the versions apart are differences of the kind
/// `test`.
pub fn run_suite(
    versions: &Versions,
    language: Language,
    time: ModuleTime,
    on_progress: &mut dyn FnMut(CompareProgress<'_>) -> bool,
) -> Result<ComparedModule, GenerateError> {
    let of_language = |file: &&ChangedFile| Language::of(&file.file) == Some(language);
    match versions.changed.iter().find(of_language) {
        Some(first) if language == Language::Python => {
            python::run(versions, &first.file, "suite", time, on_progress)
        }
        Some(first) => javascript_suite::run(versions, &first.file, time, on_progress),
        None => Ok(ComparedModule {
            complete: true,
            ..ComparedModule::default()
        }),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HelperLine {
    Progress { progress: String },
    Difference { difference: Box<Difference> },
    Searched { searched: Searched },
    Outcome { outcome: Box<ComparedModule> },
}

/// What a search saw, before new processes confirm it.
#[derive(Debug, Default, Deserialize)]
struct Searched {
    calls: u64,
    /// Inputs that differed.
    differ: u64,
}

/// How a helper begins to say that its time was too short.
const LATE: &str = "the time limit came";

/// Reads the lines of a helper.
#[derive(Default)]
struct HelperOutput {
    confirmed: Vec<Difference>,
    searched: Searched,
    outcome: Option<ComparedModule>,
    /// Whether somebody stopped it.
    is_stopped: bool,
}

impl HelperOutput {
    /// Takes a line, or nothing while the helper is silent.
    fn take(
        &mut self,
        line: Option<&str>,
        on_progress: &mut dyn FnMut(CompareProgress<'_>) -> bool,
    ) -> Continuation {
        let continues = match line.map(|line| json::from_slice(line.as_bytes())) {
            Some(Ok(HelperLine::Progress { progress })) => on_progress(CompareProgress::Step(&progress)),
            Some(Ok(HelperLine::Difference { difference })) => {
                self.confirmed.push((*difference).clone());
                on_progress(CompareProgress::Confirmed(difference))
            }
            Some(Ok(HelperLine::Searched { searched })) => {
                self.searched.calls += searched.calls;
                self.searched.differ += searched.differ;
                on_progress(CompareProgress::Silent)
            }
            Some(Ok(HelperLine::Outcome { outcome })) => {
                self.outcome = Some(*outcome);
                true
            }
            Some(Err(_)) | None => on_progress(CompareProgress::Silent),
        };
        self.is_stopped |= !continues;
        if continues {
            Continuation::Continue
        } else {
            Continuation::Interrupt
        }
    }

    /// The result: the helper's own, or what it confirmed before it ended without one, for a reason.
    fn result(self, file: &Path, why: impl FnOnce() -> String) -> ComparedModule {
        match self.outcome {
            Some(outcome) => ComparedModule {
                complete: !self.is_stopped && !outcome.dropped.iter().any(|one| one.why.starts_with(LATE)),
                ..outcome
            },
            None => ComparedModule {
                calls: self.searched.calls,
                unconfirmed: self
                    .searched
                    .differ
                    .saturating_sub(self.confirmed.iter().map(|one| u64::from(one.inputs)).sum()),
                differences: self.confirmed,
                complete: false,
                ..ComparedModule::dropped(file, why())
            },
        }
    }
}

fn helper_request(versions: &Versions, file: &Path, mode: &str, time: ModuleTime) -> Value {
    let is_data = |path: &&PathBuf| !versions.changed_tests.contains(path);
    let test_data: Vec<&PathBuf> = versions.test_files.iter().filter(is_data).collect();
    json!({
        "mode": mode,
        "old_root": versions.old_root,
        "new_root": versions.new_root,
        "file": file,
        "changed": versions.changed,
        "changed_tests": versions.changed_tests,
        "test_data": test_data,
        "search_path": versions.search_path,
        "seed": versions.seed,
        "quick": versions.quick,
        "budget": time.budget.as_secs_f64(),
        "seconds_left": time.until.saturating_duration_since(Instant::now()).as_secs_f64(),
        "tests": versions.tests,
        "commit": versions.commit,
        "suite": versions.suite,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_that_ends_while_it_confirms_leaves_possible_differences() {
        let mut output = HelperOutput::default();
        for line in [
            r#"{"searched": {"calls": 40, "differ": 3}}"#,
            r#"{"difference": {"function": "f", "inputs": 1}}"#,
        ] {
            output.take(Some(line), &mut |_| true);
        }
        let module = output.result(Path::new("a.py"), || LATE.to_owned());
        assert_eq!((module.calls, module.unconfirmed), (40, 2));
        assert_eq!(module.differences.len(), 1);
        assert!(!module.complete);
    }
}
