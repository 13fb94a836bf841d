//! The worker of a replay: repeats a recorded turn. Files first, then shared entries, output and report, then the same
//! exit. Never writes outside the project and the session.

use super::cassette::{is_below, read_turn};
use super::placeholders::Placeholders;
use super::{Content, End, FileChange, OutputLine, Root, SharedEntry, Turn};
use crate::worker_commands::{Identity, Refused, WorkerCommands};
use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};
use std::env;
use std::fs::{self, Permissions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wavecrew_agents::map_text;
use wavecrew_core::event::StopReason;
use wavecrew_core::worker_variables;
use wavecrew_session::{Discovery, atomic};

/// The exit code if a turn cannot be replayed.
const FAILED: u8 = 70;

/// The last argument for a turn of an interactive agent.
pub(super) const INTERACTIVE: &str = "spoken";

/// The main function of a process that replays a turn: `FILE OFFSET ATTEMPT [spoken]` and a worker's environment.
pub fn replay_main(args: &[String]) -> ExitCode {
    match replay(args) {
        Ok(end) => exit_like(&end),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(FAILED)
        }
    }
}

fn replay(args: &[String]) -> Result<End, String> {
    let usage = || "this command is for the workers of a replay".to_owned();
    let (path, offset, attempt, mode) = match args {
        [path, offset, attempt] => (path, offset, attempt, ReplayMode::Print),
        [path, offset, attempt, last] if last == INTERACTIVE => (path, offset, attempt, ReplayMode::Answer),
        _ => return Err(usage()),
    };
    let offset: u64 = offset.parse().map_err(|_| usage())?;
    let attempt: u32 = attempt.parse().map_err(|_| usage())?;
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let number: u32 = variable(worker_variables::TURN).parse().map_err(|_| usage())?;
    let who = Identity::from_env().map_err(|error| error.to_string())?;
    let project = env::current_dir().map_err(|error| format!("there is no project folder: {error}"))?;
    let placeholders = Placeholders::new(
        who.session.path(),
        &project,
        who.session.id(),
        &variable(worker_variables::TOKEN),
    );
    let commands = WorkerCommands::open(who).map_err(|error| error.to_string())?;
    let worker = ReplayWorker {
        project,
        placeholders,
        commands,
        result_file: variable(worker_variables::RESULT_FILE).into(),
        usage_file: env::var_os(worker_variables::USAGE_FILE).map(PathBuf::from),
    };
    for number in number.. {
        let task = &worker.commands.who.task;
        let turn = read_turn(Path::new(path), offset, attempt, (task, number))?;
        worker.replay_turn(&turn, mode)?;
        // The message that continued the turn is not sent again.
        if turn.end != End::Continued {
            return Ok(turn.end);
        }
    }
    Ok(End::Exit(0))
}

/// The worker that replays turns.
struct ReplayWorker {
    project: PathBuf,
    placeholders: Placeholders,
    commands: WorkerCommands,
    result_file: PathBuf,
    /// Set for programs whose output does not contain their usage.
    usage_file: Option<PathBuf>,
}

/// How the output of a turn is printed.
#[derive(Clone, Copy)]
enum ReplayMode {
    Print,
    /// As answers: each waits for its message.
    Answer,
}

impl ReplayWorker {
    fn replay_turn(&self, turn: &Turn, mode: ReplayMode) -> Result<(), String> {
        let placeholders = &self.placeholders;
        for change in &turn.files {
            let folder = match change.root {
                Root::Project => self.project.as_path(),
                Root::Session => self.commands.who.session.path(),
            };
            apply(folder, change, placeholders)?;
        }
        for entry in &turn.shared {
            add_entry(&self.commands, entry, placeholders).map_err(|error| error.to_string())?;
        }
        let output_error = |error| format!("the output cannot be written: {error}");
        match mode {
            ReplayMode::Print => {
                print(&turn.output, placeholders).map_err(output_error)?;
                if turn.end == End::Continued {
                    // It was interrupted, perhaps in the middle of a line.
                    print(&[OutputLine::Out("\n".to_owned())], placeholders).map_err(output_error)?;
                }
                self.submit(turn)
            }
            ReplayMode::Answer => {
                let mut lines = io::stdin().lock().lines().map_while(Result::ok);
                let answers: Vec<_> = turn.output.split_inclusive(ends_answer).collect();
                let whole = answers
                    .iter()
                    .filter(|answer| answer.last().is_some_and(ends_answer))
                    .count();
                let mut prompts = 0;
                for (n, answer) in answers.iter().enumerate() {
                    // Some agents get an initial message first; the first prompt then waits for the response
                    // to it.
                    for line in lines.by_ref() {
                        prompts += usize::from(is_prompt(&line));
                        if n == 0 || prompts > n {
                            break;
                        }
                    }
                    // Reports are submitted before their turn ends.
                    if n + 1 == whole.max(1) {
                        self.submit(turn)?;
                    }
                    print(answer, placeholders).map_err(output_error)?;
                }
                Ok(())
            }
        }
    }

    fn submit(&self, turn: &Turn) -> Result<(), String> {
        if let (Some(file), Some(usage)) = (&self.usage_file, usage_file(turn)) {
            let written = fs::write(file, usage.to_string());
            written.map_err(|error| format!("the usage file cannot be written: {error}"))?;
        }
        if let Some(body) = &turn.result_file {
            let written = fs::write(&self.result_file, self.placeholders.fill(body));
            written.map_err(|error| format!("the result file cannot be written: {error}"))?;
        }
        if let Some(body) = &turn.report {
            // If the report was accepted in the recording and is refused now, the run shows why.
            self.commands
                .report(&self.placeholders.fill(body))
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// The content of the usage file.
fn usage_file(turn: &Turn) -> Option<Value> {
    let mut content = json!(turn.usage);
    match turn.stop {
        Some(stop @ (StopReason::RateLimited | StopReason::Quota)) => content["stop"] = stop.as_str().into(),
        Some(_) | None if turn.usage.is_nothing() => return None,
        Some(_) | None => {}
    }
    Some(content)
}

/// Whether a line of input starts a turn, in ACP or for claude.
fn is_prompt(line: &str) -> bool {
    serde_json::from_str::<Value>(line)
        .is_ok_and(|line| line["method"] == "session/prompt" || line["type"] == "user")
}

/// Whether this line ends an agent's turn, in ACP or for claude.
fn ends_answer(line: &OutputLine) -> bool {
    let OutputLine::Out(text) = line else { return false };
    serde_json::from_str::<Value>(text)
        .is_ok_and(|line| line["result"]["stopReason"].is_string() || line["type"] == "result")
}

fn print(output: &[OutputLine], placeholders: &Placeholders) -> io::Result<()> {
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    for line in output {
        match line {
            OutputLine::Out(text) => out.write_all(placeholders.fill(text).as_bytes())?,
            OutputLine::Err(text) => err.write_all(placeholders.fill(text).as_bytes())?,
        }
    }
    out.flush()
}

fn add_entry(
    commands: &WorkerCommands,
    entry: &SharedEntry,
    placeholders: &Placeholders,
) -> Result<(), Refused> {
    let fill = |text: &str| placeholders.fill(text);
    match entry {
        SharedEntry::Discovery { r#type, data } => {
            let who = &commands.who;
            // Directly to the board: workers can write types there that the team does not know.
            who.session.board().append(&Discovery {
                ts: crate::worker_commands::now(),
                worker: who.task.clone(),
                kind: r#type.clone(),
                data: map_text(data.clone(), &fill),
                attempt: Some(who.attempt),
                extra: serde_json::Map::new(),
            })?;
        }
        SharedEntry::Message {
            r#type,
            summary,
            data,
        } => commands.message(r#type, &fill(summary), map_text(data.clone(), &fill), None)?,
        SharedEntry::Wisdom { file, text } => commands.wisdom(file, &fill(text))?,
    }
    Ok(())
}

/// Applies the change of a file.
fn apply(folder: &Path, change: &FileChange, placeholders: &Placeholders) -> Result<(), String> {
    let refused = |why: &str| format!("the recorded file `{}` is not written: {why}", change.path);
    if !is_below(&change.path) {
        return Err(refused("it is outside the project folder"));
    }
    let file = folder.join(&change.path);
    let parent = file.parent().unwrap_or(folder);
    if leads_out(folder, parent) {
        return Err(refused("a link in its path leads out of the folder"));
    }
    let failed = |error: &dyn std::fmt::Display| refused(&error.to_string());
    let (text, mode) = match &change.content {
        Content::Text(text) => (text, 0o644),
        Content::Script(text) => (text, 0o755),
        Content::Gone(_) => {
            return match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&error)),
                Ok(()) | Err(_) => Ok(()),
            };
        }
        Content::LeftOut(why) => {
            eprintln!("the file `{}` is not in the cassette: {why}", change.path);
            return Ok(());
        }
    };
    fs::create_dir_all(parent).map_err(|error| failed(&error))?;
    // Renamed into place: an existing link is replaced, not followed.
    atomic::write_volatile(&file, placeholders.fill(text).as_bytes()).map_err(|error| failed(&error))?;
    fs::set_permissions(&file, Permissions::from_mode(mode)).map_err(|error| failed(&error))
}

/// Whether a link in the path of a folder leads out of the root.
fn leads_out(root: &Path, folder: &Path) -> bool {
    let Ok(root) = root.canonicalize() else {
        return true;
    };
    let there = folder
        .ancestors()
        .find(|ancestor| ancestor.symlink_metadata().is_ok());
    there
        .and_then(|ancestor| ancestor.canonicalize().ok())
        .is_none_or(|real| !real.starts_with(&root))
}

/// Exits as the recorded process did. If a time limit ended that one, the driver knows and this one exits at once.
fn exit_like(end: &End) -> ExitCode {
    match end {
        End::Exit(code) => ExitCode::from(u8::try_from(*code).unwrap_or(1)),
        End::Signal(number) => {
            if let Some(signal) = Signal::from_named_raw(*number) {
                let _ = kill_process(getpid(), signal);
            }
            ExitCode::from(u8::try_from(128 + number).unwrap_or(1))
        }
        End::Stopped { .. } | End::Continued | End::NotStarted(_) => ExitCode::SUCCESS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn change(path: &str, content: Content) -> FileChange {
        FileChange {
            root: Root::Project,
            path: path.to_owned(),
            content,
            guessed: false,
        }
    }

    #[test]
    fn files_are_replayed_and_never_outside_the_project() {
        let outside = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        let placeholders = Placeholders::new(Path::new("/s"), root, "s-1", "t");
        let text = |text: &str| Content::Text(text.to_owned());
        let put = |path: &str, content: Content| apply(root, &change(path, content), &placeholders);

        put("a/b/c.txt", text("in <wavecrew:project-folder>")).unwrap();
        let written = fs::read_to_string(root.join("a/b/c.txt")).unwrap();
        assert_eq!(written, format!("in {}", root.display()));
        put("run.sh", Content::Script("#!/bin/sh\n".into())).unwrap();
        assert_eq!(
            fs::metadata(root.join("run.sh")).unwrap().permissions().mode() & 0o777,
            0o755
        );
        for _ in 0..2 {
            put("run.sh", Content::Gone(true)).unwrap();
        }
        assert!(!root.join("run.sh").exists());
        put("picture", Content::LeftOut("not text".into())).unwrap();

        symlink(outside.path(), root.join("away")).unwrap();
        fs::write(outside.path().join("kept"), "kept").unwrap();
        symlink(outside.path().join("kept"), root.join("link")).unwrap();
        for path in ["away/x", "away/new/x", "../x", "/tmp/x", ".git/config"] {
            assert!(put(path, text("x")).is_err(), "{path}");
        }
        put("link", text("x")).unwrap();
        assert_eq!(fs::read_to_string(outside.path().join("kept")).unwrap(), "kept");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
