//! `wavecrew logs`: what workers printed, without control sequences.

mod print;

use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::layout::{fit, widest};
use crate::session_view::{SessionArg, latest};
use crate::{hint, json};
use print::{JsonLog, Manner, Printer};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal, Write, stdout};
use std::time::Duration;
use wavecrew_agents::transcript::{Folding, Transcript};
use wavecrew_core::plan::did_you_mean;
use wavecrew_run::log_maker::LogMaker;
use wavecrew_session::{PackReader, SessionDir};

const LOOK: Duration = Duration::from_millis(200);

/// Show the conversation of a task, or list the logs
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  wavecrew logs                                      list the logs of the latest session\n  \
    wavecrew logs BUILD-1                              a task of the latest session\n  wavecrew logs run-tasks-20260308 BUILD-1           its latest attempt\n  wavecrew logs run-tasks-20260308 BUILD-1 -f        follow it\n  wavecrew logs run-tasks-20260308 BUILD-1 --full    with the full output of its tools\n  \
    wavecrew logs run-tasks-20260308 BUILD-1 --raw     what the agent printed"
)]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Task id [default: list all logs]
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// Follow the log until the run ends
    #[arg(short, long)]
    follow: bool,
    /// Show this attempt [default: the latest]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Show long texts in full
    #[arg(long)]
    full: bool,
    /// Show the output as the agent printed it; on a terminal, without control sequences
    #[arg(long, conflicts_with = "full")]
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
        let (dir, task) = self.find_session_and_task(global)?;
        let logs = logs(&dir)?;
        if task.is_none() && (self.follow || self.full || self.raw || self.attempt.is_some()) {
            return Err(Failure::with_help(
                "no task is named",
                format!("name one: `{}`", logs_of(&dir, " TASK")),
            ));
        }
        match &task {
            None => list(&dir, &logs, global)?,
            Some(task) => self.show(&dir, &logs, task, global)?,
        }
        Ok(Exit::Done)
    }

    /// A single name means a session, or else a task of the latest session.
    fn find_session_and_task(&self, global: &Global) -> Result<(SessionDir, Option<String>), Failure> {
        if let (Some(name), None) = (&self.session.session, &self.task)
            && !self.session.names_session()
            && let Ok(latest) = latest()
            && is_task(&latest, name)
        {
            return Ok((latest, Some(name.clone())));
        }
        Ok((self.session.find_to_read(global)?, self.task.clone()))
    }

    fn show(&self, dir: &SessionDir, logs: &[Log], task: &str, global: &Global) -> Result<(), Failure> {
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
        if self.follow {
            return self.follow(dir, task, attempt, global);
        }
        let mut printer = self.printer(dir, task, attempt, global)?;
        printer.catch_up()?;
        Ok(printer.finish()?)
    }

    /// The printer for the log of an attempt, by its agent.
    fn printer(
        &self,
        dir: &SessionDir,
        task: &str,
        attempt: u32,
        global: &Global,
    ) -> Result<Printer, Failure> {
        let log = dir.log_file(task, attempt);
        if self.raw && !global.json {
            let manner = if stdout().is_terminal() {
                Manner::Plain
            } else {
                Manner::Raw
            };
            return Ok(Printer::new(log, manner));
        }
        // A journal that cannot be read leaves the log as plain text.
        let made = LogMaker::find(&dir.read_events().unwrap_or_default(), task, attempt);
        let folding = if self.full { Folding::Full } else { Folding::Folded };
        let cli = made.cli(task).filter(|_| !self.raw);
        let transcript = cli.map(|cli| Transcript::new(cli, folding, made.reasons));
        let manner = if global.json {
            Manner::Json(Box::new(JsonLog {
                task: task.to_owned(),
                attempt,
                transcript,
            }))
        } else if let Some(transcript) = transcript {
            print::heading(&format!("{task} · attempt {attempt} · {}", made.agent))?;
            Manner::Conversation(Box::new(transcript))
        } else {
            Manner::Plain
        };
        Ok(Printer::new(log, manner))
    }

    /// Prints new output until no process runs the session. Switches to the next attempt when it begins.
    fn follow(&self, dir: &SessionDir, task: &str, mut attempt: u32, global: &Global) -> Result<(), Failure> {
        // Before the first byte, the format of the log is unknown.
        let mut printer = None;
        let mut logs = Attempts::new(dir, task);
        loop {
            // Checked before the log is read, so that all output until the end is in it.
            let runs = dir.holder()?.is_some();
            logs.look()?;
            let next = self.attempt.is_none() && logs.has(attempt + 1);
            if printer.is_none() && logs.has(attempt) {
                printer = Some(self.printer(dir, task, attempt, global)?);
            }
            if let Some(printer) = &mut printer {
                printer.catch_up()?;
            }
            if next || !runs {
                if let Some(printer) = printer.take() {
                    printer.finish()?;
                }
                if !next {
                    return Ok(());
                }
                attempt += 1;
                continue;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// The attempts of one task that have a log; their number grows.
struct Attempts<'a> {
    dir: &'a SessionDir,
    task: &'a str,
    packs: PackReader,
    packed: BTreeSet<u32>,
}

impl<'a> Attempts<'a> {
    fn new(dir: &'a SessionDir, task: &'a str) -> Self {
        Self {
            dir,
            task,
            packs: PackReader::new(dir.logs_folder()),
            packed: BTreeSet::new(),
        }
    }

    fn look(&mut self) -> io::Result<()> {
        while let Some(entry) = self.packs.next_entry()? {
            if let Some((task, attempt)) = of_attempt(&entry.name)
                && task == self.task
            {
                self.packed.insert(attempt);
            }
        }
        Ok(())
    }

    fn has(&self, attempt: u32) -> bool {
        self.packed.contains(&attempt) || self.dir.log_file(self.task, attempt).exists()
    }
}

/// The logs of a session by task and attempt.
fn logs(dir: &SessionDir) -> Result<Vec<Log>, Failure> {
    let folder = dir.logs_folder();
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
        let (task, attempt) = of_attempt(&name)?;
        Some(Log {
            task: task.to_owned(),
            attempt,
            bytes: entry.metadata().ok()?.len(),
        })
    };
    let mut logs: Vec<Log> = entries.flatten().filter_map(log).collect();
    let mut packs = PackReader::new(folder);
    while let Some(entry) = packs.next_entry()? {
        if let Some((task, attempt)) = of_attempt(&entry.name) {
            logs.push(Log {
                task: task.to_owned(),
                attempt,
                bytes: entry.text.len() as u64,
            });
        }
    }
    logs.sort();
    Ok(logs)
}

/// The task and the attempt in the name of a log.
fn of_attempt(name: &str) -> Option<(&str, u32)> {
    let (task, attempt) = name.strip_suffix(".log")?.rsplit_once('.')?;
    Some((task, attempt.parse().ok()?))
}

fn list(dir: &SessionDir, logs: &[Log], global: &Global) -> Result<(), Failure> {
    let mut out = stdout().lock();
    if global.json {
        let logs: Vec<_> = logs
            .iter()
            .map(|log| {
                let path = Some(dir.log_file(&log.task, log.attempt)).filter(|path| path.exists());
                json!({"task": log.task, "attempt": log.attempt, "bytes": log.bytes, "path": path})
            })
            .collect();
        json::print(logs)?;
        return Ok(());
    }
    if logs.is_empty() {
        writeln!(out, "No worker of {} has printed anything", dir.id())?;
    }
    let width = widest(logs.iter().map(|log| log.task.as_str()));
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
    let Ok(view) = wavecrew_session::SessionView::load(dir.clone()) else {
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
            format!("attempts with a log: {}", attempts.join(", ")),
        );
    }
    if ids.iter().any(|id| id == task) {
        return match dir.holder() {
            Ok(Some(_)) => {
                Failure::with_help(format!("`{task}` has printed nothing yet"), "follow it with -f")
            }
            Ok(None) | Err(_) => Failure::with_help(
                format!("`{task}` printed nothing"),
                format!("see `{}`", hint::command(&format!("status {}", dir.id()))),
            ),
        };
    }
    let help = did_you_mean(task, ids.iter().map(String::as_str))
        .unwrap_or_else(|| format!("`{}` lists the logs", logs_of(dir, "")));
    Failure::with_help(format!("there is no task `{task}` in `{}`", dir.id()), help)
}

fn logs_of(dir: &SessionDir, task: &str) -> String {
    hint::command(&format!("logs {}{task}", dir.id()))
}
