//! Writes tests without any model: inputs are searched for until they reach the code and notice planted faults, and what
//! the code did is recorded as tests. Runs the code under test in sandboxed processes only; changes no file of the project
//! and judges no coverage that others measure.

mod javascript;
mod modules;
mod python;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use wavecrew_measure::framework::Framework;

/// What one call of [`generate`] is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The root of the project, where its tests are run.
    pub root: PathBuf,
    /// Source files to write tests for.
    pub files: Vec<PathBuf>,
    pub framework: Framework,
    /// Where the test files go.
    pub layer_folder: PathBuf,
    /// The folder below the root that they are laid into to be run, for imports that go by place.
    pub laid_in: PathBuf,
    /// How the code is started and found.
    pub imports: Imports,
    /// What the round before this one left open; nothing in the first round.
    pub round: Option<Feedback>,
    /// The commit whose behaviour is recorded, for the top of each file.
    pub commit: Option<String>,
    pub seed: u64,
    pub budget_per_module: Duration,
    /// Modules at a time.
    pub jobs: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Imports {
    /// The interpreter, or the one of the project's virtual environment.
    pub interpreter: Option<PathBuf>,
    /// Folders that the project's tests find its modules in, in order.
    pub search_path: Vec<PathBuf>,
}

/// What a round is to aim at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// Line ranges without coverage, both ends included, by file.
    pub uncovered: BTreeMap<PathBuf, Vec<(u32, u32)>>,
    /// Ids of tests of earlier rounds that fail.
    pub failing_tests: Vec<String>,
    /// Lines with faults that no test noticed, by file.
    pub surviving_mutants: BTreeMap<PathBuf, Vec<u32>>,
}

/// What came of a request. Modules are in the order of its files.
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
    pub written: Vec<Written>,
    /// Lines of functions that the written tests reach, of all there are; by the search's own tracing.
    pub lines: Option<(u32, u32)>,
    /// Those that no call reached.
    pub unreached: Vec<u32>,
    pub mutants: Option<Mutants>,
    /// Faults that no test notices: line and what was changed.
    pub survivors: Vec<(u32, String)>,
    pub defects: Vec<Defect>,
    pub left_out: Vec<LeftOut>,
    pub calls: u64,
    pub seconds: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Written {
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
pub struct Defect {
    /// `internal error`, `example disagrees`, `round trip` or `does not end`.
    pub kind: String,
    pub call: String,
    pub what: String,
    pub line: u32,
    /// The file with a test that fails until it is mended; frameworks do not collect it by itself.
    pub quarantine: Option<PathBuf>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub what: String,
    pub why: String,
}

/// Something that happened on the way.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    Started { module: PathBuf },
    Step { module: PathBuf, what: String },
    Finished(Box<Module>),
}

#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    #[error("the interpreter `{program}` does not start: {why}")]
    Interpreter { program: PathBuf, why: io::Error },
    #[error("the folder {} cannot be used: {why}", path.display())]
    Folder { path: PathBuf, why: io::Error },
    #[error("no tests can be generated for {0}")]
    Unsupported(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes tests for all files of a request. A module that cannot be tested is told in the outcome; the others go on.
pub fn generate(request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Outcome, OfflineError> {
    let modules = match request.framework {
        Framework::Pytest => python::generate(request, progress)?,
        Framework::Vitest | Framework::Jest => javascript::generate(request, progress)?,
        Framework::Cargo | Framework::Go | Framework::Command { .. } => {
            return Err(OfflineError::Unsupported(request.framework.name()));
        }
    };
    Ok(Outcome {
        seed: request.seed,
        modules,
    })
}
