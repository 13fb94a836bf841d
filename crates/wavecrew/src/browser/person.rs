//! Actions of a person in the browser, performed by the code of the command line and recorded in the journal
//! as done in the browser.

use super::VIA;
use crate::exit::Failure;
use crate::session_state::{StateFailure, cancel_idle, record_act, set_state};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wavecrew_core::event::AnsweredBy;
use wavecrew_core::plan::seal;
use wavecrew_core::sheet::{ChangedCell, Origin, Patch, Sheet};
use wavecrew_process::LockAnyway;
use wavecrew_run::questions::{self, WrittenAnswer};
use wavecrew_session::{PersonRequest, SessionDir, SessionState, atomic, table_mark};
use wavecrew_web::{Act, Person, Refusal};

/// How long a command that was started may take to begin its run.
const START: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(30);

#[derive(Default)]
pub struct CommandLine {
    /// Two tabs may answer at the same time: the first one counts.
    answering: Mutex<()>,
}

impl Person for CommandLine {
    fn act(&self, dir: &SessionDir, act: Act) -> Result<String, Refusal> {
        let runs = dir.holder().map_err(|error| refusal(&error.into()))?.is_some();
        let id = dir.id();
        match act {
            Act::Pause if runs => request(dir, "pause", None, None),
            Act::Pause => Err(refused("the session is not running", "continue it first")),
            Act::Resume if runs => request(dir, "resume", None, None),
            Act::Resume => start(dir, &["resume", id]),
            Act::Cancel if runs => request(dir, "cancel", None, None),
            Act::Cancel => cancel_idle(dir, Some(VIA))
                .map(str::to_owned)
                .map_err(|failure| refusal(&failure)),
            Act::CancelTask(task) if runs => request(dir, "cancel task", Some(task), None),
            Act::CancelTask(_) | Act::SendMessage { .. } if !runs => Err(refused(
                "the session is not running",
                "a task runs only while its session does",
            )),
            Act::CancelTask(_) => unreachable!("both cases are above"),
            Act::SendMessage { text, .. } if text.trim().is_empty() => {
                Err(refused("the message is empty", "write something"))
            }
            Act::SendMessage { task, text } => request(dir, "message", Some(task), Some(text)),
            Act::Retry(Some(task)) if runs => request(dir, "retry task", Some(task), None),
            Act::Retry(None) if runs => Err(refused(
                "the session is running",
                "retry its tasks one by one, or wait for its end",
            )),
            Act::Retry(Some(task)) => start(dir, &["retry", id, &task]),
            Act::Retry(None) => start(dir, &["retry", id]),
            Act::EditRow { task, cells } => edit_row(dir, &task, cells, runs),
            Act::Answer {
                question,
                answer,
                remark,
            } => self.answer(dir, question, answer, remark),
            Act::Apply => apply(dir),
            Act::Archive => archive(dir),
        }
    }
}

impl CommandLine {
    fn answer(
        &self,
        dir: &SessionDir,
        question: u32,
        answer: String,
        remark: Option<String>,
    ) -> Result<String, Refusal> {
        let _answering = self.answering.lock_anyway();
        let asked = questions::open(dir).filter(|asked| asked.id == question);
        let Some(asked) = asked else {
            return Err(refused(
                "the question already has an answer, or is no longer open",
                "look at the run to see what was decided",
            ));
        };
        if !asked.accepts(&answer) {
            return Err(refused(
                "this is not an answer to the question",
                "choose one of the answers",
            ));
        }
        let written = WrittenAnswer {
            answer,
            by: AnsweredBy::Browser,
            remark,
        };
        questions::answer(dir, &asked, written).map_err(|error| refusal(&error.into()))?;
        Ok("answered".to_owned())
    }
}

fn request(
    dir: &SessionDir,
    action: &str,
    task: Option<String>,
    text: Option<String>,
) -> Result<String, Refusal> {
    let request = PersonRequest {
        action: action.to_owned(),
        task,
        text,
        via: VIA.to_owned(),
    };
    dir.person_requests()
        .put(&request)
        .map_err(|error| refusal(&error.into()))?;
    Ok(format!("asked for: {action}"))
}

/// Starts a command of this program that runs the session, on its own, and waits until the run has begun.
fn start(dir: &SessionDir, words: &[&str]) -> Result<String, Refusal> {
    record(dir, words[0], words.get(2).copied())?;
    let mut child = own_command(dir, words)?
        .arg("--ask-in-folder")
        // Ctrl-C at the server's terminal is not meant for the run.
        .process_group(0)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            refused(
                &format!("the command could not be started: {error}"),
                "try it on the command line",
            )
        })?;
    let stderr = child.stderr.take();
    let output = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(stderr) = stderr {
            // Only its first output matters; the rest must not fill the pipe.
            let mut stderr = stderr;
            let _ = stderr.by_ref().take(64 << 10).read_to_end(&mut text);
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let until = Instant::now() + START;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            let output = output.join().unwrap_or_default();
            let failed = status.code() == Some(2) || status.code() == Some(5);
            return if failed {
                Err(from_output(&output))
            } else {
                Ok("done".to_owned())
            };
        }
        if dir.holder().is_ok_and(|holder| holder.is_some()) || Instant::now() >= until {
            std::thread::spawn(move || child.wait());
            return Ok("started".to_owned());
        }
        std::thread::sleep(POLL);
    }
}

fn own_command(dir: &SessionDir, words: &[&str]) -> Result<Command, Refusal> {
    let program =
        std::env::current_exe().map_err(|error| refused(&error.to_string(), "try it on the command line"))?;
    let mut command = Command::new(program);
    command
        .arg("-C")
        .arg(project_of(dir))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Ok(command)
}

fn project_of(dir: &SessionDir) -> &Path {
    dir.path().ancestors().nth(3).unwrap_or(dir.path())
}

/// Copies kept tests into the project; shows the output of the command.
fn apply(dir: &SessionDir) -> Result<String, Refusal> {
    record(dir, "apply tests", None)?;
    let mut command = own_command(dir, &["testing", "--continue", dir.id(), "--apply", "-y"])?;
    let output = command
        .output()
        .map_err(|error| refused(&error.to_string(), "try it on the command line"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(from_output(&text));
    }
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Apply")).collect();
    Ok(lines.join("\n"))
}

fn archive(dir: &SessionDir) -> Result<String, Refusal> {
    match set_state(dir, SessionState::Archived, Some(VIA)) {
        Ok(()) => Ok("archived".to_owned()),
        Err(StateFailure::Running(_)) => Err(refused(
            "the session is running",
            "wait for its end, or cancel it",
        )),
        Err(StateFailure::Other(failure)) => Err(refusal(&failure)),
    }
}

/// A table edit, treated like one in an editor. An edit that makes the plan invalid is refused before it is
/// saved.
fn edit_row(
    dir: &SessionDir,
    task: &str,
    cells: Vec<(String, String)>,
    runs: bool,
) -> Result<String, Refusal> {
    let failed = |text: String| refused(&text, "correct the row and save it again");
    let problems = |problems: Vec<wavecrew_core::plan::Problem>| {
        let texts: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
        failed(texts.join("; "))
    };
    let table = dir.tasks_csv();
    let bytes =
        std::fs::read(&table).map_err(|error| failed(format!("cannot read {}: {error}", table.display())))?;
    let sheet = Sheet::read(&bytes[..], Origin::Session).map_err(problems)?;
    let cell = |(column, value): (String, String)| ChangedCell {
        id: task.to_owned(),
        column,
        // Browsers send other line ends.
        value: value.replace("\r\n", "\n"),
    };
    let patch = Patch {
        changed: cells.into_iter().map(cell).collect(),
        ..Patch::default()
    };
    let team = dir.read_team().map_err(|error| refusal(&error.into()))?;
    let (plan, _) = seal(sheet.apply(&patch), &team).map_err(problems)?;
    let mut edited = Vec::new();
    plan.render(&mut edited, |_, _| None).expect("writing to memory");
    if runs {
        // Recorded before the table is written, so that the run knows who made the edit.
        request(dir, "edit row", Some(task.to_owned()), Some(table_mark(&edited)))?;
    }
    atomic::write(&table, &edited).map_err(|error| refusal(&error.into()))?;
    if !runs {
        record(dir, "edit row", Some(task))?;
    }
    Ok("saved".to_owned())
}

/// Journals an act on a session that no process runs.
fn record(dir: &SessionDir, action: &str, task: Option<&str>) -> Result<(), Refusal> {
    record_act(dir, action, task, VIA).map_err(|failure| refusal(&failure))
}

fn refused(message: &str, help: &str) -> Refusal {
    Refusal {
        message: message.to_owned(),
        help: help.to_owned(),
    }
}

fn refusal(failure: &Failure) -> Refusal {
    refused(&failure.to_string(), failure.help().unwrap_or_default())
}

/// The error and the help of a failed command.
fn from_output(output: &str) -> Refusal {
    let of = |kind: &str| {
        output
            .lines()
            .find_map(|line| line.strip_prefix(kind))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let message = of("error:");
    Refusal {
        message: if message.is_empty() {
            output.trim().to_owned()
        } else {
            message
        },
        help: of("help:"),
    }
}
