//! One helper process: its request, its progress, its outcome.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::json;
use wavecrew_measure::report::json;
use wavecrew_process::sandbox::spawn_confined;

use crate::process_tree::ProcessTree;
use crate::time_plan::Share;
use crate::{GenerateError, Module, Request};

/// The folder of the helper's package.
pub const PACKAGE: &str = "wavecrew_testgen";
/// Budgets are processor time. A helper ends by itself long before it has used this much wall time.
const BUSY_FACTOR: u32 = 20;
/// Wall time for the checks and the pytest run after the search.
const AFTER_SEARCH: Duration = Duration::from_mins(8);
/// How often a silent helper's listener is asked whether it still listens.
const SILENCE: Duration = Duration::from_millis(200);
/// The extra wall time for a helper that stops in time.
const GRACE: Duration = Duration::from_secs(2);
/// The time in which an interrupted helper reports its results so far.
const STOP_TIME: Duration = Duration::from_secs(12);

pub struct Job<'a> {
    pub request: &'a Request,
    pub file: &'a Path,
    pub share: Share,
    pub python: &'a Path,
    /// The folder that holds the helper's package.
    pub helper: &'a Path,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Progress { progress: String },
    Outcome { outcome: Box<Module> },
}

/// A helper process and where it may work.
pub struct Helper<'a> {
    pub python: &'a Path,
    /// The folder that holds the helper's package.
    pub package: &'a Path,
    /// Where it starts.
    pub root: &'a Path,
    /// What it may write besides its own temporary folder.
    pub writable: Option<&'a Path>,
    pub deadline: Instant,
}

/// What happens to a helper next, as its listener decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuation {
    Continue,
    /// The results so far: the helper gets an interrupt and some seconds.
    Interrupt,
    /// Nothing more: the helper is ended.
    Kill,
}

/// How a helper process ended.
pub enum Ended {
    /// By itself, or because nobody listened any more; with the last line of its error output.
    Done(String),
    TimedOut,
}

impl Helper<'_> {
    /// Runs the helper on a request. `on_line` gets each line that it prints, and nothing while it is silent.
    pub fn run(
        &self,
        request: &serde_json::Value,
        on_line: impl FnMut(Option<&str>) -> Continuation,
    ) -> Result<Ended, GenerateError> {
        let mut request_file = tempfile::NamedTempFile::new()?;
        request_file.write_all(request.to_string().as_bytes())?;
        let temp = tempfile::Builder::new().prefix("wavecrew-testgen-").tempdir()?;
        let child = self.start(request_file.path(), temp.path())?;
        Ok(listen(child, self.deadline, on_line))
    }

    fn start(&self, request: &Path, temp: &Path) -> Result<ProcessTree, GenerateError> {
        let mut command = Command::new(self.python);
        command
            .args(["-s", "-B"])
            .arg(self.package.join(PACKAGE))
            .arg(request)
            .current_dir(self.root)
            .env("TMPDIR", temp)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        for name in ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTEST_ADDOPTS"] {
            command.env_remove(name);
        }
        let places: Vec<&Path> = [Some(temp), self.writable].into_iter().flatten().collect();
        let child = spawn_confined(&mut command, &places).map_err(|why| GenerateError::Interpreter {
            program: self.python.to_owned(),
            why,
        })?;
        Ok(ProcessTree(child))
    }
}

/// Reads what a helper of any language prints, line by line, until it ends. `on_line` gets nothing while it is silent.
pub fn listen(
    mut child: ProcessTree,
    mut deadline: Instant,
    mut on_line: impl FnMut(Option<&str>) -> Continuation,
) -> Ended {
    let (sender, lines) = mpsc::channel();
    let stdout = child.0.stdout.take();
    let stderr = child.0.stderr.take();
    let stdout_reader = thread::spawn(move || {
        for line in lines_of(stdout) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let stderr_reader = thread::spawn(move || last_line(stderr));
    let mut timed_out = false;
    let mut is_stopping = false;
    while !timed_out {
        let left = deadline.saturating_duration_since(Instant::now());
        let continuation = match lines.recv_timeout(left.min(SILENCE)) {
            Ok(line) => on_line(Some(&line)),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => on_line(None),
        };
        match continuation {
            Continuation::Kill => break,
            Continuation::Interrupt if !is_stopping => {
                is_stopping = true;
                deadline = deadline.min(Instant::now() + STOP_TIME);
                // A helper that has ended needs no signal.
                let _sent = kill_process(Pid::from_child(&child.0), Signal::INT);
            }
            Continuation::Interrupt | Continuation::Continue => {}
        }
        timed_out = Instant::now() >= deadline;
    }
    drop(child);
    let last_error = stderr_reader.join().unwrap_or_default();
    let read = stdout_reader.join();
    match (timed_out, read) {
        (true, _) => Ended::TimedOut,
        (false, Ok(()) | Err(_)) => Ended::Done(last_error),
    }
}

/// Runs the helper on one module. Problems with the module are part of its result; an error is about the interpreter.
pub fn run(job: &Job<'_>, mut on_step: impl FnMut(String) -> bool) -> Result<Module, GenerateError> {
    fs::create_dir_all(&job.request.layer_folder)?;
    let longest = job.share.budget * BUSY_FACTOR + AFTER_SEARCH;
    let helper = Helper {
        python: job.python,
        package: job.helper,
        root: &job.request.root,
        writable: Some(&job.request.layer_folder),
        deadline: Instant::now() + job.share.wall_time(longest) + GRACE,
    };
    let mut module = None;
    let ended = helper.run(&helper_request(job), |line| {
        match line.map(|line| json::from_slice(line.as_bytes())) {
            Some(Ok(Line::Progress { progress })) => {
                if !on_step(progress) {
                    return Continuation::Kill;
                }
            }
            Some(Ok(Line::Outcome { outcome })) => module = Some(*outcome),
            Some(Err(_)) | None => {}
        }
        Continuation::Continue
    })?;
    Ok(match (ended, module) {
        (Ended::TimedOut, _) => Module::untested(job.file, "the search timed out".to_owned()),
        (Ended::Done(_), Some(module)) => module,
        (Ended::Done(last_error), None) => {
            Module::untested(job.file, format!("the Python helper failed: {last_error}"))
        }
    })
}

fn helper_request(job: &Job<'_>) -> serde_json::Value {
    let request = job.request;
    json!({
        "root": request.root,
        "file": job.file,
        "out": request.layer_folder,
        "run_folder": request.run_folder,
        "sys_path": request.imports.search_path,
        "seed": request.seed,
        "budget": job.share.budget.as_secs_f64(),
        "seconds_left": job.share.until.map(|until| until.saturating_duration_since(Instant::now()).as_secs_f64()),
        "commit": request.commit,
        "feedback": request.feedback.as_ref().map(|feedback| json!({
            "uncovered": entries_for(&feedback.uncovered, job.file),
            "survivors": entries_for(&feedback.surviving_mutants, job.file),
            "failing": feedback.failing_tests,
            "refused": feedback.refused_tests,
        })),
    })
}

fn entries_for<T: Clone>(by_file: &BTreeMap<PathBuf, Vec<T>>, file: &Path) -> Vec<T> {
    by_file.get(file).cloned().unwrap_or_default()
}

fn lines_of(stream: Option<impl Read>) -> impl Iterator<Item = String> {
    stream
        .into_iter()
        .flat_map(|stream| BufReader::new(stream).lines())
        .map_while(Result::ok)
}

/// The last line with text, which states why the helper failed.
fn last_line(stderr: Option<impl Read>) -> String {
    lines_of(stderr)
        .filter(|line| !line.trim().is_empty())
        .last()
        .unwrap_or_default()
}
