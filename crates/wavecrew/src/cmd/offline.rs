//! `wavecrew __offline`: writes tests for some files without any agent. For benchmarks and debugging; people
//! use the agent `offline`.

use crate::clock::LONGEST_SECONDS;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::show;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_measure::framework::node_program;
use wavecrew_testgen::{Framework, GenerateError, Imports, Priorities, Progress, Request, generate};

/// Write tests for some files without any agent
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Source files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Root of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Folder for the tests
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The same seed makes the same search
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Seconds for each module
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    budget: f64,
    /// Modules at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Interpreter of the project [default: that of its virtual environment]
    #[arg(long, value_name = "PROGRAM")]
    interpreter: Option<PathBuf>,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let budget = Duration::try_from_secs_f64(self.budget)
            .map_err(|e| Failure::input(format!("--budget {}: {e}", self.budget)))?
            .min(Duration::from_secs(LONGEST_SECONDS));
        let root = absolute(&self.root)?;
        let request = Request {
            files: self
                .files
                .iter()
                .map(|file| absolute(file))
                .collect::<Result<_, _>>()?,
            framework: self.framework(&root),
            run_folder: run_folder(&root, &std::path::absolute(&self.out)?),
            layer_folder: std::path::absolute(&self.out)?,
            imports: Imports {
                interpreter: self.interpreter.clone(),
                search_path: Vec::new(),
            },
            feedback: None,
            commit: commit(&root),
            seed: self.seed,
            budget_per_module: budget,
            deadline: None,
            priorities: Priorities::default(),
            jobs: self.jobs,
            root,
        };
        let outcome = generate(&request, &mut |progress| {
            if let Progress::Step { module, what } = progress
                && !global.quiet
            {
                tell!("{}: {}", module.display(), show::safe(&what));
            }
        })
        .map_err(|error| failure(&error))?;
        let mut text = serde_json::to_vec(&outcome).expect("an outcome is plain data");
        text.push(b'\n');
        stdout().lock().write_all(&text).map_err(Failure::Output)?;
        Ok(if outcome.tests() > 0 {
            Exit::Done
        } else {
            Exit::TasksFailed
        })
    }
}

impl Args {
    fn framework(&self, root: &Path) -> Framework {
        let python = self
            .files
            .iter()
            .all(|file| file.extension().is_some_and(|ending| ending == "py"));
        let here = |name: &str| node_program(root, name).is_some();
        match () {
            () if python => Framework::Pytest,
            () if here("jest") && !here("vitest") => Framework::Jest,
            () => Framework::Vitest,
        }
    }
}

/// The folder that the tests run in, for relative imports.
fn run_folder(root: &Path, out: &Path) -> PathBuf {
    out.strip_prefix(root)
        .map_or_else(|_| PathBuf::from("tests"), Path::to_owned)
}

fn failure(error: &GenerateError) -> Failure {
    match error {
        GenerateError::Interpreter { .. } => Failure::with_help(
            error.to_string(),
            "install Python 3.8 or newer, or name one with --interpreter",
        ),
        GenerateError::Unsupported(_) | GenerateError::Folder { .. } | GenerateError::Io(_) => {
            Failure::input(error.to_string())
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize()
        .map_err(|e| Failure::input(format!("cannot read {}: {e}", path.display())))
}

/// The commit that the tests record, where there is one.
fn commit(root: &Path) -> Option<String> {
    wavecrew_process::git_text(root, &["rev-parse", "--short", "HEAD"]).ok()?
}
