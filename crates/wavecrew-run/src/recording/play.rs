//! The worker of a replay: does again what was recorded of a turn. Files first, then words, output and report, then the
//! same end. Never writes outside the project and the session.

use super::index::{is_below, read_turn};
use super::place::Place;
use super::{Content, End, FileChange, Printed, Root, Said, Turn};
use crate::worker_side::{Identity, Refused, WorkerSide};
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
use wavecrew_session::{Discovery, atomic};

/// The exit code of a turn that could not be played.
const CANNOT: u8 = 70;

/// The last word of a player that is spoken to as its agent was.
pub(super) const SPOKEN: &str = "spoken";

/// The whole life of a process that plays one turn: `FILE OFFSET ATTEMPT [spoken]` and a worker's environment.
pub fn play_main(words: &[String]) -> ExitCode {
    match play(words) {
        Ok(end) => leave(&end),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(CANNOT)
        }
    }
}

fn play(words: &[String]) -> Result<End, String> {
    let usage = || "this is for the workers of a replay".to_owned();
    let (path, offset, attempt, manner) = match words {
        [path, offset, attempt] => (path, offset, attempt, Manner::Prints),
        [path, offset, attempt, last] if last == SPOKEN => (path, offset, attempt, Manner::Answers),
        _ => return Err(usage()),
    };
    let offset: u64 = offset.parse().map_err(|_| usage())?;
    let attempt: u32 = attempt.parse().map_err(|_| usage())?;
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let number: u32 = variable("WAVECREW_TURN").parse().map_err(|_| usage())?;
    let who = Identity::from_env().map_err(|error| error.to_string())?;
    let project = env::current_dir().map_err(|error| format!("there is no project folder: {error}"))?;
    let place = Place::new(
        who.session.path(),
        &project,
        who.session.id(),
        &variable("WAVECREW_TOKEN"),
    );
    let worker = WorkerSide::open(who).map_err(|error| error.to_string())?;
    let stage = Stage {
        project,
        place,
        worker,
        result_file: variable("WAVECREW_RESULT_FILE").into(),
        usage_file: env::var_os("WAVECREW_USAGE_FILE").map(PathBuf::from),
    };
    for number in number.. {
        let task = &stage.worker.who.task;
        let turn = read_turn(Path::new(path), offset, attempt, (task, number))?;
        stage.act(&turn, manner)?;
        // Nobody will tell this worker to go on, so it goes on by itself.
        if turn.end != End::WentOn {
            return Ok(turn.end);
        }
    }
    Ok(End::Exit(0))
}

/// Where a turn is played.
struct Stage {
    project: PathBuf,
    place: Place,
    worker: WorkerSide,
    result_file: PathBuf,
    /// There for programs whose output tells nothing of what they used.
    usage_file: Option<PathBuf>,
}

/// How the output of a turn comes about.
#[derive(Clone, Copy)]
enum Manner {
    Prints,
    /// As answers: each waits for what it is the answer to.
    Answers,
}

impl Stage {
    fn act(&self, turn: &Turn, manner: Manner) -> Result<(), String> {
        let place = &self.place;
        for change in &turn.files {
            let folder = match change.root {
                Root::Project => self.project.as_path(),
                Root::Session => self.worker.who.session.path(),
            };
            apply(folder, change, place)?;
        }
        for said in &turn.said {
            say(&self.worker, said, place).map_err(|error| error.to_string())?;
        }
        let output_error = |error| format!("the output cannot be written: {error}");
        match manner {
            Manner::Prints => {
                print(&turn.output, place).map_err(output_error)?;
                if turn.end == End::WentOn {
                    // It was cut short, perhaps in the middle of a line.
                    print(&[Printed::Out("\n".to_owned())], place).map_err(output_error)?;
                }
                self.hand_in(turn)
            }
            Manner::Answers => {
                let mut lines = io::stdin().lock().lines().map_while(Result::ok);
                let answers: Vec<_> = turn.output.split_inclusive(ends_answer).collect();
                let whole = answers
                    .iter()
                    .filter(|answer| answer.last().is_some_and(ends_answer))
                    .count();
                let mut prompts = 0;
                for (n, answer) in answers.iter().enumerate() {
                    // Some are greeted before the first prompt, which then waits for the answer to the greeting.
                    for line in lines.by_ref() {
                        prompts += usize::from(is_prompt(&line));
                        if n == 0 || prompts > n {
                            break;
                        }
                    }
                    // What was handed in is there when its turn ends.
                    if n + 1 == whole.max(1) {
                        self.hand_in(turn)?;
                    }
                    print(answer, place).map_err(output_error)?;
                }
                Ok(())
            }
        }
    }

    fn hand_in(&self, turn: &Turn) -> Result<(), String> {
        if let (Some(file), Some(told)) = (&self.usage_file, told(turn)) {
            let left = fs::write(file, told.to_string());
            left.map_err(|error| format!("the usage cannot be left: {error}"))?;
        }
        if let Some(body) = &turn.result_file {
            let left = fs::write(&self.result_file, self.place.fill(body));
            left.map_err(|error| format!("the result cannot be left: {error}"))?;
        }
        if let Some(body) = &turn.report {
            // A report that was taken when it was recorded, and is refused now: the run shall hear why.
            self.worker
                .report(&self.place.fill(body))
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// What the program said of its turn beside its output.
fn told(turn: &Turn) -> Option<Value> {
    let mut told = json!(turn.usage);
    match turn.stop {
        Some(stop @ (StopReason::RateLimited | StopReason::Quota)) => told["stop"] = stop.as_str().into(),
        Some(_) | None if turn.usage.is_nothing() => return None,
        Some(_) | None => {}
    }
    Some(told)
}

/// Whether a line that was written to us begins a turn: of ACP, or of claude.
fn is_prompt(line: &str) -> bool {
    serde_json::from_str::<Value>(line)
        .is_ok_and(|line| line["method"] == "session/prompt" || line["type"] == "user")
}

/// Whether an agent's turn ended with this line: in ACP, or claude's.
fn ends_answer(line: &Printed) -> bool {
    let Printed::Out(text) = line else { return false };
    serde_json::from_str::<Value>(text)
        .is_ok_and(|line| line["result"]["stopReason"].is_string() || line["type"] == "result")
}

fn print(output: &[Printed], place: &Place) -> io::Result<()> {
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    for line in output {
        match line {
            Printed::Out(text) => out.write_all(place.fill(text).as_bytes())?,
            Printed::Err(text) => err.write_all(place.fill(text).as_bytes())?,
        }
    }
    out.flush()
}

fn say(worker: &WorkerSide, said: &Said, place: &Place) -> Result<(), Refused> {
    let fill = |text: &str| place.fill(text);
    match said {
        Said::Discovery { r#type, data } => {
            let who = &worker.who;
            // Straight to the board: workers also write there by hand, types that the team does not know.
            who.session.board().append(&Discovery {
                ts: crate::worker_side::now(),
                worker: who.task.clone(),
                kind: r#type.clone(),
                data: map_text(data.clone(), &fill),
                attempt: Some(who.attempt),
                extra: serde_json::Map::new(),
            })?;
        }
        Said::Message {
            r#type,
            summary,
            data,
        } => worker.message(r#type, &fill(summary), map_text(data.clone(), &fill), None)?,
        Said::Wisdom { file, text } => worker.wisdom(file, &fill(text))?,
    }
    Ok(())
}

/// Makes a file what it became.
fn apply(folder: &Path, change: &FileChange, place: &Place) -> Result<(), String> {
    let refused = |why: &str| format!("the recorded file `{}` is not written: {why}", change.path);
    if !is_below(&change.path) {
        return Err(refused("it is not below the project folder"));
    }
    let file = folder.join(&change.path);
    let parent = file.parent().unwrap_or(folder);
    if leads_out(folder, parent) {
        return Err(refused("a link on the way to it leads elsewhere"));
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
    // Renamed into place: a link that stands there is replaced, not followed.
    atomic::write_volatile(&file, place.fill(text).as_bytes()).map_err(|error| failed(&error))?;
    fs::set_permissions(&file, Permissions::from_mode(mode)).map_err(|error| failed(&error))
}

/// Whether a folder, as far as it exists, is one that a link put elsewhere.
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

/// Ends as the recorded process did. One that a clock ended has nothing to wait for: the driver knows.
fn leave(end: &End) -> ExitCode {
    match end {
        End::Exit(code) => ExitCode::from(u8::try_from(*code).unwrap_or(1)),
        End::Signal(number) => {
            if let Some(signal) = Signal::from_named_raw(*number) {
                let _ = kill_process(getpid(), signal);
            }
            ExitCode::from(u8::try_from(128 + number).unwrap_or(1))
        }
        End::Stopped { .. } | End::WentOn | End::NotStarted(_) => ExitCode::SUCCESS,
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
    fn files_become_what_they_were_and_nothing_leaves_the_project() {
        let outside = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        let place = Place::new(Path::new("/s"), root, "s-1", "t");
        let text = |text: &str| Content::Text(text.to_owned());
        let put = |path: &str, content: Content| apply(root, &change(path, content), &place);

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
