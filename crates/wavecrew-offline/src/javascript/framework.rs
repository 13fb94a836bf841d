//! Runs test files of ours with the project's vitest or jest, in processes that end with us.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::python::child::Tree;
use crate::{Framework, OfflineError, Request};

/// How long is slept between two looks at a child.
const LOOK: Duration = Duration::from_millis(50);
/// Kept of what a framework prints.
const KEPT: usize = 4000;

pub enum Runner {
    Vitest { root: PathBuf, program: PathBuf },
    Jest { root: PathBuf, program: PathBuf },
}

/// Why a search found nothing.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("the search did not end in time; the last call was {0}")]
    Hung(String),
    #[error("the process dies of {0}")]
    Died(String),
    #[error("the module does not load in a test: {0}")]
    Failed(String),
}

pub struct Ran {
    pub timed_out: bool,
    /// The line that says most of what went wrong.
    pub complaint: String,
}

impl Runner {
    pub fn find(request: &Request) -> Result<Self, OfflineError> {
        let root = request.root.clone();
        let program = |name: &str| {
            let mut above = root
                .ancestors()
                .map(|folder| folder.join("node_modules/.bin").join(name));
            above
                .find(|program| program.exists())
                .ok_or_else(|| OfflineError::Interpreter {
                    program: PathBuf::from(name),
                    why: io::Error::other(
                        "it is not installed in the project; run its package manager first",
                    ),
                })
        };
        Ok(match request.framework {
            Framework::Jest => Self::Jest {
                program: program("jest")?,
                root,
            },
            Framework::Vitest | Framework::Pytest => Self::Vitest {
                program: program("vitest")?,
                root,
            },
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Vitest { .. } => "vitest",
            Self::Jest { .. } => "jest",
        }
    }

    /// Lays the files into a folder, runs them, and takes them away again.
    pub fn run(
        &self,
        folder: &Path,
        files: &[(&str, &str)],
        zone: &str,
        limit: Duration,
        report: Option<&Path>,
    ) -> Result<Ran, OfflineError> {
        let mut laid = Laid::default();
        laid.folder(folder)?;
        let mut paths = Vec::new();
        for (name, text) in files {
            let path = folder.join(name);
            laid.file(&path, text)?;
            paths.push(path);
        }
        let mut command = self.command(&paths, report);
        command
            .env("TZ", zone)
            .env("CI", "1")
            .env("NO_COLOR", "1")
            .env("NODE_OPTIONS", "--max-old-space-size=1024")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        watch(command, limit)
    }

    fn command(&self, paths: &[PathBuf], report: Option<&Path>) -> Command {
        match self {
            Self::Vitest { root, program } => {
                let mut command = Command::new(program);
                command.arg("run").args(paths).current_dir(root);
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
            Self::Jest { root, program } => {
                let mut command = Command::new(program);
                command.args([
                    "--ci",
                    "--coverage=false",
                    "--runInBand",
                    "--forceExit",
                    "--runTestsByPath",
                ]);
                command.args(paths).current_dir(root);
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

/// Runs a command to its end, or until its time is up; nothing of it is left either way.
fn watch(mut command: Command, limit: Duration) -> Result<Ran, OfflineError> {
    let program = PathBuf::from(command.get_program());
    let child = command
        .spawn()
        .map_err(|why| OfflineError::Interpreter { program, why })?;
    let mut tree = Tree(child);
    let streams = [
        tree.0
            .stdout
            .take()
            .map(|out| Box::new(out) as Box<dyn Read + Send>),
        tree.0
            .stderr
            .take()
            .map(|out| Box::new(out) as Box<dyn Read + Send>),
    ];
    let readers: Vec<_> = streams
        .into_iter()
        .flatten()
        .map(|stream| thread::spawn(move || last_of(stream)))
        .collect();
    let until = Instant::now() + limit;
    let mut timed_out = false;
    while tree.0.try_wait()?.is_none() {
        if Instant::now() >= until {
            timed_out = true;
            break;
        }
        thread::sleep(LOOK);
    }
    drop(tree);
    let printed: Vec<String> = readers
        .into_iter()
        .map(|reader| reader.join().unwrap_or_default())
        .collect();
    Ok(Ran {
        timed_out,
        complaint: complaint(&printed.join("\n")),
    })
}

/// The last part of what a stream says; all of it is read, so that its writer never waits.
fn last_of(mut stream: Box<dyn Read + Send>) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut chunk = [0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        let surplus = kept.len().saturating_sub(2 * KEPT);
        if surplus > KEPT {
            kept.drain(..surplus);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn complaint(printed: &str) -> String {
    let lines = || printed.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines()
        .find(|line| line.contains("Error:") || line.contains("Cannot find") || line.contains("SyntaxError"));
    let line = error.or_else(|| lines().next_back()).unwrap_or("it said nothing");
    line.chars().take(300).collect()
}

/// Titles of the tests that passed, with their groups, as both frameworks report them.
pub fn passed(report: &Path) -> BTreeSet<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Report {
        test_results: Vec<File>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct File {
        assertion_results: Vec<Case>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Case {
        full_name: String,
        status: String,
    }
    let report: Option<Report> = fs::read(report)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let files = report.map(|report| report.test_results).unwrap_or_default();
    let cases = files.into_iter().flat_map(|file| file.assertion_results);
    cases
        .filter(|case| case.status == "passed")
        .map(|case| case.full_name.trim().to_owned())
        .collect()
}

/// Files of ours in the project's copy: gone when this is.
#[derive(Default)]
struct Laid {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Laid {
    fn folder(&mut self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::create_dir_all(folder)?;
        self.folders.extend(missing.into_iter().map(Path::to_owned));
        Ok(())
    }

    /// Never over a file that is there.
    fn file(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let mut file = fs::File::create_new(path)?;
        self.files.push(path.to_owned());
        io::Write::write_all(&mut file, text.as_bytes())
    }
}

impl Drop for Laid {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}
