//! Runs our test files with the project's own vitest or jest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::supervised::{self, Limits, Places, RunResult, node_environment};
use super::temporary_files::TemporaryFiles;
use crate::{Framework, GenerateError, Request};
use wavecrew_measure::framework::node_program;

const TEST_REGEX: &str = "--testRegex";
/// Printed by vitest when its worker processes did not start in time.
const NOT_STARTED: &str = "Failed to start forks worker";

pub enum Runner {
    Vitest {
        root: PathBuf,
        program: PathBuf,
    },
    Jest {
        root: PathBuf,
        program: PathBuf,
        /// The option that selects test files. Jest rejects two of these at once.
        select_option: &'static str,
    },
}

impl Runner {
    pub fn find(request: &Request) -> Result<Self, GenerateError> {
        let root = request.root.clone();
        let program = |name: &str| {
            node_program(&root, name).ok_or_else(|| GenerateError::Interpreter {
                program: PathBuf::from(name),
                why: io::Error::other("it is not installed in the project; run its package manager first"),
            })
        };
        Ok(if request.framework == Framework::Jest {
            Self::Jest {
                program: program("jest")?,
                select_option: select_option(&root),
                root,
            }
        } else {
            Self::Vitest {
                program: program("vitest")?,
                root,
            }
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Vitest { .. } => "vitest",
            Self::Jest { .. } => "jest",
        }
    }

    /// Writes a test into a folder, with files that it imports, runs it, and removes all of them.
    pub fn run(
        &self,
        folder: &Path,
        (name, text): (&str, &str),
        imported: &[(&str, &str)],
        time_zone: &str,
        limits: &Limits<'_>,
        report: Option<&Path>,
    ) -> Result<RunResult, GenerateError> {
        let mut files = TemporaryFiles::in_folder(folder)?;
        let path = folder.join(name);
        files.create(&path, text)?;
        for (name, text) in imported {
            files.create(&folder.join(name), text)?;
        }
        let temp = tempfile::Builder::new().prefix("wavecrew-testgen-").tempdir()?;
        let packages = self.package_folder();
        let places = Places {
            temp: temp.path(),
            report,
            packages: packages.as_deref(),
        };
        let mut command = self.command(&path, report);
        node_environment(&mut command, temp.path());
        command.env("TZ", time_zone);
        let result = supervised::run(&mut command, limits, &places)?;
        // A busy machine is not the module's fault: try once more.
        if result.message.contains(NOT_STARTED) {
            return supervised::run(&mut command, limits, &places);
        }
        Ok(result)
    }

    /// Beside the packages, where the framework writes.
    pub fn package_folder(&self) -> Option<PathBuf> {
        match self {
            Self::Vitest { root, .. } => Framework::Vitest.facts().writable_package_folder(root),
            Self::Jest { .. } => None,
        }
    }

    /// The command that runs a test.
    pub fn command(&self, test: &Path, report: Option<&Path>) -> Command {
        match self {
            Self::Vitest { root, program } => {
                let mut command = Command::new(program);
                command.arg("run").arg(test).current_dir(root);
                command.args([
                    "--coverage.enabled=false",
                    "--pool=forks",
                    "--watch=false",
                    "--passWithNoTests=false",
                ]);
                if let Some(report) = report {
                    command
                        .arg("--reporter=json")
                        .arg(format!("--outputFile={}", report.display()));
                }
                command
            }
            Self::Jest {
                root,
                program,
                select_option,
            } => {
                let mut command = Command::new(program);
                // The project's own patterns may select other folders or extensions.
                let name = test.file_name().unwrap_or_default().to_string_lossy();
                let pattern = match *select_option {
                    TEST_REGEX => name.replace('.', "\\."),
                    _ => format!("**/{name}"),
                };
                command.arg(format!("{select_option}={pattern}"));
                command.args([
                    "--ci",
                    "--coverage=false",
                    "--runInBand",
                    "--forceExit",
                    "--runTestsByPath",
                ]);
                command.arg(test).current_dir(root);
                if let Some(report) = report {
                    command
                        .arg("--json")
                        .arg(format!("--outputFile={}", report.display()));
                }
                command
            }
        }
    }
}

/// The option that overrides the one in the project's settings.
fn select_option(root: &Path) -> &'static str {
    let extensions = ["ts", "mts", "cts", "js", "mjs", "cjs", "json"];
    let settings = extensions
        .iter()
        .map(|extension| format!("jest.config.{extension}"));
    let mut texts = settings
        .chain(["package.json".to_owned()])
        .filter_map(|name| fs::read_to_string(root.join(name)).ok());
    if texts.any(|text| text.contains("testRegex")) {
        TEST_REGEX
    } else {
        "--testMatch"
    }
}
