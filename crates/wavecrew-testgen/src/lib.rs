//! Generates tests without a model. A search looks for inputs that reach the code and kill mutants of it, and records what
//! the code does as tests. The code under test runs only in sandboxed processes. No file of the project changes.

pub mod diff;
mod helper_files;
mod javascript;
mod module_pool;
mod process_tree;
mod python;
mod time_plan;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use wavecrew_measure::framework::Framework;
use wavecrew_measure::framework::Language;

/// The input of [`generate`].
#[derive(Debug, Clone)]
pub struct Request {
    /// The root of the project, where its tests run.
    pub root: PathBuf,
    /// Source files to generate tests for.
    pub files: Vec<PathBuf>,
    pub framework: Framework,
    /// Where the test files are written.
    pub layer_folder: PathBuf,
    /// The folder, relative to the root, that the test files run in. Relative imports start here.
    pub run_folder: PathBuf,
    pub imports: Imports,
    /// What the previous round left open; `None` in the first round.
    pub feedback: Option<Feedback>,
    /// The commit whose behaviour is recorded, named at the top of each file.
    pub commit: Option<String>,
    pub seed: u64,
    /// Processor time for the search of one module. Less if the deadline leaves less.
    pub budget_per_module: Duration,
    /// When everything must be written. Modules without time left are reported as [`NOT_REACHED`].
    pub deadline: Option<Instant>,
    pub priorities: Priorities,
    /// Modules searched at the same time.
    pub jobs: usize,
}

/// Which modules come first: changed ones, then those with uncovered lines, then public ones. Others keep their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Priorities {
    pub changed: BTreeSet<PathBuf>,
    /// How many lines existing tests leave uncovered, for measured files.
    pub uncovered_lines: BTreeMap<PathBuf, usize>,
}

/// Why a module has no tests when the deadline came before its turn.
pub const NOT_REACHED: &str = "not reached before the time limit";

/// How the code under test is started and found.
#[derive(Debug, Clone, Default)]
pub struct Imports {
    /// The interpreter; `None` means that of the project's virtual environment.
    pub interpreter: Option<PathBuf>,
    /// Folders in which the project's tests find its modules, in order.
    pub search_path: Vec<PathBuf>,
}

/// What a measured round left open, as goals for the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// Inclusive line ranges without coverage, by file.
    pub uncovered: BTreeMap<PathBuf, Vec<(u32, u32)>>,
    /// Ids of tests from earlier rounds that fail.
    pub failing_tests: Vec<String>,
    /// Names or ids of tests from earlier rounds that a check refused or dropped.
    #[serde(default)]
    pub refused_tests: Vec<String>,
    /// Lines with surviving mutants, by file.
    pub surviving_mutants: BTreeMap<PathBuf, Vec<u32>>,
}

/// The result of [`generate`]. Modules are in the order of the request's files.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outcome {
    pub seed: u64,
    pub modules: Vec<Module>,
}

impl Outcome {
    pub fn tests(&self) -> usize {
        self.modules
            .iter()
            .flat_map(|module| &module.written)
            .map(|file| file.tests.len())
            .sum()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Module {
    pub file: PathBuf,
    /// Its name as tests import it.
    pub module: String,
    pub written: Vec<WrittenFile>,
    /// Lines in functions: how many the written tests reach, and how many there are. Counted by the search's own tracing.
    pub lines: Option<(u32, u32)>,
    /// Lines that no call reached.
    pub unreached: Vec<u32>,
    pub mutants: Option<Mutants>,
    /// Surviving mutants: line, and what was changed.
    pub survivors: Vec<(u32, String)>,
    pub defects: Vec<SuspectedDefect>,
    #[serde(rename = "left_out")]
    pub dropped: Vec<Dropped>,
    pub calls: u64,
    pub seconds: f64,
}

impl Module {
    /// A module without tests, for one reason.
    fn untested(file: &Path, why: String) -> Self {
        Self {
            file: file.to_owned(),
            dropped: vec![Dropped {
                what: file.display().to_string(),
                why,
            }],
            ..Self::default()
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WrittenFile {
    pub path: PathBuf,
    /// Names of tests, with the ids of parametrised ones.
    pub tests: Vec<String>,
    /// Functions, classes and methods that they call.
    pub covers: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutants {
    pub killed: u32,
    pub survived: u32,
}

/// Behaviour that looks wrong, with the input that shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuspectedDefect {
    /// `internal error`, `example disagrees`, `round trip`, `does not end` or `runs out of memory`.
    pub kind: String,
    pub call: String,
    pub what: String,
    pub line: u32,
    /// The file with a test that fails until the defect is fixed. Its name keeps frameworks from collecting it.
    pub quarantine: Option<PathBuf>,
}

/// A module, function, call or fixture without tests, and the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub what: String,
    pub why: String,
}

/// Reported while [`generate`] runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    Started { module: PathBuf },
    Step { module: PathBuf, what: String },
    Finished(Box<Module>),
}

#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    #[error("cannot start `{program}`: {why}")]
    Interpreter { program: PathBuf, why: io::Error },
    #[error("cannot use the folder {}: {why}", path.display())]
    Folder { path: PathBuf, why: io::Error },
    #[error("cannot generate tests for {0}")]
    Unsupported(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Generates tests for all files of a request. A module that cannot be tested is reported in the outcome and does not stop
/// the others.
pub fn generate(request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Outcome, GenerateError> {
    let facts = request.framework.facts();
    let modules = match facts.language.filter(|_| facts.generates_tests) {
        Some(Language::Python) => python::generate(request, progress)?,
        Some(Language::JavaScript) => javascript::generate(request, progress)?,
        Some(Language::Rust | Language::Go) | None => {
            return Err(GenerateError::Unsupported(facts.name));
        }
    };
    Ok(Outcome {
        seed: request.seed,
        modules,
    })
}
