//! One helper process: its request, what it says, and its end with everything that it started.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde::Deserialize;
use serde_json::json;
use wavecrew_process::{end, table};

use super::nothing;
use crate::{Module, OfflineError, Request};

/// A helper ends by itself long before this much of the clock is used; budgets are processor time.
const BUSY_FACTOR: u32 = 20;
/// For checks and the run with pytest, which come after the search.
const AFTERWARDS: Duration = Duration::from_mins(8);

pub struct Work<'a> {
    pub request: &'a Request,
    pub file: &'a Path,
    pub python: &'a Path,
    pub home: &'a Path,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Progress { progress: String },
    Outcome { outcome: Box<Module> },
}

/// Runs the helper on one module. What goes wrong with the module is in the answer; an error is about the interpreter.
pub fn run(work: &Work<'_>, mut step: impl FnMut(String) -> bool) -> Result<Module, OfflineError> {
    let mut order = tempfile::NamedTempFile::new()?;
    order.write_all(request(work).to_string().as_bytes())?;
    let mut command = Command::new(work.python);
    command
        .args(["-s", "-B"])
        .arg(work.home.join("wavecrew_testgen"))
        .arg(order.path())
        .current_dir(&work.request.root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    for name in ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTEST_ADDOPTS"] {
        command.env_remove(name);
    }
    let child = command.spawn().map_err(|why| OfflineError::Interpreter {
        program: work.python.to_owned(),
        why,
    })?;
    let mut child = Tree(child);
    let (tell, told) = mpsc::channel();
    let output = child.0.stdout.take();
    let complaints = child.0.stderr.take();
    let reader = thread::spawn(move || {
        for line in output.into_iter().flat_map(|out| BufReader::new(out).lines()) {
            if line.is_err() || tell.send(line.unwrap_or_default()).is_err() {
                break;
            }
        }
    });
    let listener = thread::spawn(move || last_line(complaints));
    let deadline = Instant::now() + work.request.budget_per_module * BUSY_FACTOR + AFTERWARDS;
    let mut module = None;
    loop {
        match told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(Line::Progress { progress }) if !step(progress.clone()) => break,
                Ok(Line::Outcome { outcome }) => module = Some(*outcome),
                Ok(Line::Progress { .. }) | Err(_) => {}
            },
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                drop(child);
                return Ok(nothing(work.file, "the search did not end in time".to_owned()));
            }
        }
    }
    drop(child);
    let complaint = listener.join().unwrap_or_default();
    if reader.join().is_err() || module.is_none() {
        return Ok(nothing(work.file, format!("the helper failed: {complaint}")));
    }
    Ok(module.unwrap_or_default())
}

fn request(work: &Work<'_>) -> serde_json::Value {
    let request = work.request;
    json!({
        "root": request.root,
        "file": work.file,
        "out": request.layer_folder,
        "laid_in": request.laid_in,
        "sys_path": request.imports.search_path,
        "seed": request.seed,
        "budget": request.budget_per_module.as_secs_f64(),
        "commit": request.commit,
        "feedback": request.round.as_ref().map(|round| json!({
            "uncovered": lines_of(&round.uncovered, work.file),
            "survivors": lines_of(&round.surviving_mutants, work.file),
            "failing": round.failing_tests,
        })),
    })
}

fn lines_of<T: Clone>(by_file: &std::collections::BTreeMap<PathBuf, Vec<T>>, file: &Path) -> Vec<T> {
    by_file.get(file).cloned().unwrap_or_default()
}

/// What the helper said last before it failed.
fn last_line(complaints: Option<std::process::ChildStderr>) -> String {
    let mut last = String::new();
    for line in complaints
        .into_iter()
        .flat_map(|from| BufReader::new(from).lines())
    {
        match line {
            Ok(line) if !line.trim().is_empty() => last = line,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    last
}

/// A child that ends, at the latest when this is dropped, with all that it started.
pub(crate) struct Tree(pub(crate) Child);

impl Drop for Tree {
    fn drop(&mut self) {
        let root = Pid::from_child(&self.0);
        end(
            || {
                table::descendants(root)
                    .into_iter()
                    .chain(table::entry(root))
                    .collect()
            },
            thread::sleep,
        );
        // Killed by now, so that this is about its place in the process table alone.
        let _status = self.0.wait();
    }
}
