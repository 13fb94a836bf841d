//! Runs test files of ours with the project's vitest or jest, in processes that end with us.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use wavecrew_process::table;

use crate::python::child::Tree;
use crate::{Framework, OfflineError, Request};

/// How long is slept between two looks at a child.
const LOOK: Duration = Duration::from_millis(50);
/// Kept of what a framework prints.
const KEPT: usize = 4000;
/// What the engine may keep, in megabytes.
const HEAP: u32 = 1024;
/// What a framework with all its processes may take: the heap, and what is kept outside of it.
const MOST_MEMORY: u64 = 2 << 30;
/// Processor time of one call, and of loading a module, after which nobody waits for it any more.
const STUCK: Duration = Duration::from_secs(15);
const STUCK_LOADING: Duration = Duration::from_secs(30);
const TEST_REGEX: &str = "--testRegex";
/// What vitest says when its own processes did not come up in time.
const NOT_STARTED: &str = "Failed to start forks worker";

pub enum Runner {
    Vitest {
        root: PathBuf,
        program: PathBuf,
    },
    Jest {
        root: PathBuf,
        program: PathBuf,
        /// The option that says which files are tests; two of them at once would be refused.
        chosen_by: &'static str,
    },
}

/// Why a search found nothing.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("loading it does not end")]
    HungLoading,
    #[error("{} does not end", .0.text)]
    Hung(Last),
    #[error("{} {why}", .last.text)]
    Died { last: Last, why: Death },
    #[error("the module does not load in a test: {0}")]
    Failed(String),
}

/// How a call ends the process.
#[derive(Debug, thiserror::Error)]
pub enum Death {
    #[error("takes all memory: {0}")]
    Memory(String),
    #[error("ends the process")]
    Other,
}

/// The call that was tried last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Last {
    /// What was called.
    pub target: String,
    /// The call itself, as the search tells it.
    pub text: String,
    /// Whether it was tried with a planted fault, or was a test of the project.
    #[serde(default)]
    pub fault: bool,
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    ByItself,
    /// It used up its time, or went on without doing anything new.
    Hung,
    /// It took more memory than there is for it.
    TooBig,
}

pub struct Ran {
    pub ended: Ended,
    /// The line that says most of what went wrong.
    pub complaint: String,
}

/// How long a run may take.
pub struct Limit<'a> {
    pub clock: Duration,
    /// A file that is written on and on while it gets somewhere; processor time without that is a hang.
    pub trail: Option<&'a Path>,
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
                chosen_by: chosen_by(&root),
                root,
            },
            Framework::Vitest => Self::Vitest {
                program: program("vitest")?,
                root,
            },
            Framework::Pytest | Framework::Cargo | Framework::Go | Framework::Command { .. } => {
                return Err(OfflineError::Unsupported(request.framework.name()));
            }
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Vitest { .. } => "vitest",
            Self::Jest { .. } => "jest",
        }
    }

    /// Lays a test into a folder, with files that it imports, runs it, and takes them away again.
    pub fn run(
        &self,
        folder: &Path,
        (name, text): (&str, &str),
        beside: &[(&str, &str)],
        zone: &str,
        limit: &Limit<'_>,
        report: Option<&Path>,
    ) -> Result<Ran, OfflineError> {
        let mut laid = Laid::in_folder(folder)?;
        let path = folder.join(name);
        laid.file(&path, text)?;
        for (name, text) in beside {
            laid.file(&folder.join(name), text)?;
        }
        let mut command = self.command(&path, report);
        command
            .env("TZ", zone)
            .env("CI", "1")
            .env("NO_COLOR", "1")
            .env("NODE_OPTIONS", format!("--max-old-space-size={HEAP}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        watch(&mut command, limit).and_then(|ran| {
            // A machine that is too busy is no fault of the module.
            if ran.complaint.contains(NOT_STARTED) {
                watch(&mut command, limit)
            } else {
                Ok(ran)
            }
        })
    }

    fn command(&self, test: &Path, report: Option<&Path>) -> Command {
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
                chosen_by,
            } => {
                let mut command = Command::new(program);
                // The project's own patterns may be about other folders or endings.
                let name = test.file_name().unwrap_or_default().to_string_lossy();
                let pattern = match *chosen_by {
                    TEST_REGEX => name.replace('.', "\\."),
                    _ => format!("**/{name}"),
                };
                command.arg(format!("{chosen_by}={pattern}"));
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

/// The option that stands for the one that the project's settings use.
fn chosen_by(root: &Path) -> &'static str {
    let endings = ["ts", "mts", "cts", "js", "mjs", "cjs", "json"];
    let settings = endings.iter().map(|ending| format!("jest.config.{ending}"));
    let texts = settings
        .chain(["package.json".to_owned()])
        .filter_map(|name| fs::read_to_string(root.join(name)).ok());
    if texts.into_iter().any(|text| text.contains("testRegex")) {
        TEST_REGEX
    } else {
        "--testMatch"
    }
}

/// Runs a command to its end, or until its time is up; nothing of it is left either way.
fn watch(command: &mut Command, limit: &Limit<'_>) -> Result<Ran, OfflineError> {
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
    let until = Instant::now() + limit.clock;
    let root = Pid::from_child(&tree.0);
    let mut progress = Progress::default();
    let mut ended = Ended::ByItself;
    while tree.0.try_wait()?.is_none() {
        let usage = table::usage_of_tree(root);
        if usage.resident > MOST_MEMORY {
            ended = Ended::TooBig;
            break;
        }
        let stuck = limit
            .trail
            .is_some_and(|trail| progress.is_stuck(trail, usage.processor));
        if stuck || Instant::now() >= until {
            ended = Ended::Hung;
            break;
        }
        thread::sleep(LOOK);
    }
    drop(tree);
    let printed: Vec<String> = readers
        .into_iter()
        .map(|reader| reader.join().unwrap_or_default())
        .collect();
    let printed = printed.join("\n");
    if printed.contains("heap out of memory") {
        ended = Ended::TooBig;
    }
    Ok(Ran {
        ended,
        complaint: match ended {
            Ended::TooBig => format!("it takes more than {HEAP} MB of memory"),
            Ended::ByItself | Ended::Hung => complaint(&printed),
        },
    })
}

/// What was seen of a trail when it last changed.
#[derive(Default)]
struct Progress {
    changed: Option<SystemTime>,
    processor: Duration,
}

impl Progress {
    /// Whether much was computed since the trail was written on. The clock would not do: others may have the processor.
    fn is_stuck(&mut self, trail: &Path, processor: Duration) -> bool {
        let changed = fs::metadata(trail).and_then(|found| found.modified()).ok();
        if changed != self.changed {
            *self = Self { changed, processor };
        }
        let most = if changed.is_some() { STUCK } else { STUCK_LOADING };
        processor.saturating_sub(self.processor) > most
    }
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
    let error = lines().find(|line| {
        line.contains("No tests found")
            || line.contains("Error:")
            || line.contains("Cannot find")
            || line.contains("SyntaxError")
    });
    let line = error.or_else(|| lines().next_back()).unwrap_or("it said nothing");
    line.chars().take(300).collect()
}

/// Files of ours in the project's copy: gone when this is.
#[derive(Default)]
pub struct Laid {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Laid {
    /// A folder that stays as long as this does, whoever lays files into it meanwhile.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        let mut laid = Self::default();
        laid.folder(folder)?;
        Ok(laid)
    }

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
