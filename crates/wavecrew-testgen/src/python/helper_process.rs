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

use serde::Deserialize;
use serde_json::json;
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
/// What a helper that stops in time may still need to end.
const GRACE: Duration = Duration::from_secs(2);

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

/// Runs the helper on one module. Problems with the module are part of its result; an error is about the interpreter.
pub fn run(job: &Job<'_>, mut on_step: impl FnMut(String) -> bool) -> Result<Module, GenerateError> {
    let mut request = tempfile::NamedTempFile::new()?;
    request.write_all(helper_request(job).to_string().as_bytes())?;
    let temp = tempfile::Builder::new().prefix("wavecrew-testgen-").tempdir()?;
    fs::create_dir_all(&job.request.layer_folder)?;
    let mut command = Command::new(job.python);
    command
        .args(["-s", "-B"])
        .arg(job.helper.join(PACKAGE))
        .arg(request.path())
        .current_dir(&job.request.root)
        .env("TMPDIR", temp.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    for name in ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTEST_ADDOPTS"] {
        command.env_remove(name);
    }
    let places = [temp.path(), &job.request.layer_folder];
    let child = spawn_confined(&mut command, &places).map_err(|why| GenerateError::Interpreter {
        program: job.python.to_owned(),
        why,
    })?;
    let mut child = ProcessTree(child);
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
    let longest = job.share.budget * BUSY_FACTOR + AFTER_SEARCH;
    let deadline = Instant::now() + job.share.wall_time(longest) + GRACE;
    let mut module = None;
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(Line::Progress { progress }) if !on_step(progress.clone()) => break,
                Ok(Line::Outcome { outcome }) => module = Some(*outcome),
                Ok(Line::Progress { .. }) | Err(_) => {}
            },
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                drop(child);
                return Ok(Module::untested(job.file, "the search timed out".to_owned()));
            }
        }
    }
    drop(child);
    let last_error = stderr_reader.join().unwrap_or_default();
    let read = stdout_reader.join();
    Ok(match (read, module) {
        (Ok(()), Some(module)) => module,
        (Err(_), _) | (Ok(()), None) => {
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

/// The last line with text, which says why the helper failed.
fn last_line(stderr: Option<impl Read>) -> String {
    lines_of(stderr)
        .filter(|line| !line.trim().is_empty())
        .last()
        .unwrap_or_default()
}
