//! `wavecrew logs`: what workers printed, made safe to show.

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::layout::fit;
use crate::session_view::find;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_core::plan::did_you_mean;
use wavecrew_store::{SessionDir, lock, sanitise};

const LOOK: Duration = Duration::from_millis(200);
/// A line this long is shown in parts rather than kept back.
const LONG_LINE: usize = 64 << 10;

/// Show what a task's worker printed, or which logs there are
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew logs run-tasks-20260308             which logs there are\n  \
    wavecrew logs run-tasks BUILD-1              the latest attempt\n  wavecrew logs run-tasks BUILD-1 -f           follow it"
)]
pub struct Args {
    /// Its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,
    /// The task; without one, the logs are listed
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// Go on until the run ends
    #[arg(short, long, requires = "task")]
    follow: bool,
    /// Another attempt than the latest
    #[arg(long, value_name = "N", requires = "task")]
    attempt: Option<u32>,
    /// As it was printed, escape sequences and all
    #[arg(long, requires = "task")]
    raw: bool,
}

/// One log in the folder.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Log {
    task: String,
    attempt: u32,
    bytes: u64,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let dir = find(Path::new("."), &self.session)?;
        let logs = logs(&dir)?;
        match &self.task {
            None => list(&dir, &logs, global)?,
            Some(task) => self.show(&dir, &logs, task)?,
        }
        Ok(Exit::Done)
    }

    fn show(&self, dir: &SessionDir, logs: &[Log], task: &str) -> Result<(), Failure> {
        let of_task = || logs.iter().filter(|log| log.task == task);
        let attempt = match self.attempt {
            Some(attempt) => of_task().any(|log| log.attempt == attempt).then_some(attempt),
            None => of_task().map(|log| log.attempt).max(),
        };
        let attempt = match attempt {
            Some(attempt) => attempt,
            None if self.follow && is_task(dir, task) => self.attempt.unwrap_or(1),
            None => return Err(no_log(dir, logs, task, self.attempt)),
        };
        let mut printer = Printer::new(self.raw);
        if self.follow {
            self.follow(dir, task, attempt, &mut printer)?;
        } else {
            printer.catch_up(&dir.log_file(task, attempt))?;
        }
        printer.finish()?;
        Ok(())
    }

    /// Prints what is added until nobody runs the session; goes over to the next attempt when it begins.
    fn follow(
        &self,
        dir: &SessionDir,
        task: &str,
        mut attempt: u32,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        loop {
            // Looked at before the log: what was printed until the end is in it.
            let runs = lock::holder(&dir.lock_file())?.is_some();
            printer.catch_up(&dir.log_file(task, attempt))?;
            if self.attempt.is_none() && dir.log_file(task, attempt + 1).exists() {
                printer.catch_up(&dir.log_file(task, attempt))?;
                printer.next_file()?;
                attempt += 1;
                continue;
            }
            if !runs {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// The logs of a session by task and attempt.
fn logs(dir: &SessionDir) -> Result<Vec<Log>, Failure> {
    let folder = dir.path().join("logs");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(Failure::input(format!(
                "cannot list {}: {error}",
                folder.display()
            )));
        }
    };
    let log = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let (task, attempt) = name.strip_suffix(".log")?.rsplit_once('.')?;
        Some(Log {
            task: task.to_owned(),
            attempt: attempt.parse().ok()?,
            bytes: entry.metadata().ok()?.len(),
        })
    };
    let mut logs: Vec<Log> = entries.flatten().filter_map(log).collect();
    logs.sort();
    Ok(logs)
}

fn list(dir: &SessionDir, logs: &[Log], global: &Global) -> Result<(), Failure> {
    let mut out = stdout().lock();
    if global.json {
        let logs: Vec<_> = logs
            .iter()
            .map(|log| {
                let path = dir.log_file(&log.task, log.attempt);
                json!({"task": log.task, "attempt": log.attempt, "bytes": log.bytes, "path": path})
            })
            .collect();
        writeln!(out, "{}", json!(logs))?;
        return Ok(());
    }
    if logs.is_empty() {
        writeln!(out, "No worker of {} has printed anything", dir.id())?;
    }
    let width = logs.iter().map(|log| log.task.len()).max().unwrap_or(0);
    for log in logs {
        let size = size(log.bytes);
        writeln!(
            out,
            "{}  attempt {:<2}  {size:>8}",
            fit(&log.task, width),
            log.attempt
        )?;
    }
    Ok(())
}

/// `812 B`, `3.4 kB`, `12.0 MB`
fn size(bytes: u64) -> String {
    let tenths = |unit: u64, name: &str| {
        let tenths = bytes * 10 / unit;
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => tenths(1_000, "kB"),
        _ => tenths(1_000_000, "MB"),
    }
}

fn is_task(dir: &SessionDir, task: &str) -> bool {
    task_ids(dir).iter().any(|id| id == task)
}

fn task_ids(dir: &SessionDir) -> Vec<String> {
    let Ok(view) = crate::session_view::SessionView::load(dir.clone()) else {
        return Vec::new();
    };
    let plan = view.ledger.plan();
    plan.tasks().map(|task| plan.id(task).to_owned()).collect()
}

fn no_log(dir: &SessionDir, logs: &[Log], task: &str, attempt: Option<u32>) -> Failure {
    let ids = task_ids(dir);
    if let Some(attempt) = attempt.filter(|_| logs.iter().any(|log| log.task == task)) {
        let attempts = logs.iter().filter(|log| log.task == task);
        let attempts: Vec<String> = attempts.map(|log| log.attempt.to_string()).collect();
        return Failure::with_help(
            format!("attempt {attempt} of `{task}` has no log"),
            format!("there are logs of attempt {}", attempts.join(", ")),
        );
    }
    if ids.iter().any(|id| id == task) {
        return Failure::with_help(
            format!("`{task}` has printed nothing yet"),
            "follow it with -f, or see `wavecrew status`",
        );
    }
    let help = did_you_mean(task, ids.iter().map(String::as_str))
        .unwrap_or_else(|| format!("`wavecrew logs {}` lists the logs there are", dir.id()));
    Failure::with_help(format!("there is no task `{task}` in `{}`", dir.id()), help)
}

/// Prints a file as it grows, line by line, so that no escape sequence is taken apart before it is taken out.
struct Printer {
    raw: bool,
    offset: u64,
    /// A line that has no end yet.
    rest: Vec<u8>,
    out: io::Stdout,
}

impl Printer {
    fn new(raw: bool) -> Self {
        Self {
            raw,
            offset: 0,
            rest: Vec::new(),
            out: stdout(),
        }
    }

    fn catch_up(&mut self, path: &PathBuf) -> Result<(), Failure> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Failure::input(format!("cannot read {}: {error}", path.display()))),
        };
        file.seek(SeekFrom::Start(self.offset))?;
        let mut chunk = vec![0; LONG_LINE];
        loop {
            let read = file.read(&mut chunk)?;
            if read == 0 {
                self.out.flush()?;
                return Ok(());
            }
            self.offset += read as u64;
            self.rest.extend_from_slice(&chunk[..read]);
            let whole = match self.rest.iter().rposition(|b| *b == b'\n') {
                Some(at) => at + 1,
                None if self.rest.len() >= LONG_LINE => self.rest.len(),
                None => 0,
            };
            let rest = self.rest.split_off(whole);
            let lines = std::mem::replace(&mut self.rest, rest);
            self.print(&lines)?;
        }
    }

    /// The next file starts on a line of its own.
    fn next_file(&mut self) -> io::Result<()> {
        self.finish()?;
        self.offset = 0;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.print(&rest)?;
            if !self.raw {
                writeln!(self.out)?;
            }
        }
        self.out.flush()
    }

    fn print(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.raw {
            self.out.write_all(bytes)
        } else {
            self.out.write_all(sanitise(bytes).as_bytes())
        }
    }
}
