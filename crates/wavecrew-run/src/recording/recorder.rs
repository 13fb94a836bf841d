//! Writes a cassette during a run: one line per turn, as soon as the turn has ended and the result of its attempt is known.
//! Turns that are running when the run ends are not recorded.

use super::changes::{Changes, NamedFiles};
use super::entries::SharedEntries;
use super::placeholders::Placeholders;
use super::snapshot::Folders;
use super::{End, FORMAT, FileChange, Header, OutputLine, OutputLines, SharedEntry, Turn};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use wavecrew_agents::{Redactor, map_text};
use wavecrew_core::engine::WorkerId;
use wavecrew_core::event::{StopReason, TokenUsage};
use wavecrew_process::ProcessExit;
use wavecrew_session::{SessionDir, SessionInfo};

#[derive(Debug)]
pub struct Recorder {
    file: File,
    project: PathBuf,
    session: SessionDir,
    redactor: Redactor,
    changes: Changes,
    entries: SharedEntries,
    turns: BTreeMap<WorkerId, OpenTurn>,
}

/// A turn that is not in the cassette yet.
#[derive(Debug)]
struct OpenTurn {
    /// The key of its process.
    key: u64,
    role: String,
    placeholders: Placeholders,
    turn: Turn,
    process: Process,
    /// Its report was sent back, which starts the next turn.
    sent_back: bool,
    attempt_end: Option<AttemptEnd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Process {
    Running,
    Exited,
    /// We ended it, so its exit code means nothing.
    Killed,
}

/// Why an attempt ended.
#[derive(Clone, Debug)]
pub(crate) struct AttemptEnd {
    pub stop: StopReason,
    pub error: String,
}

/// A turn that starts.
pub(crate) struct TurnStart<'a> {
    pub worker: WorkerId,
    pub key: u64,
    pub task: &'a str,
    pub role: &'a str,
    pub attempt: u32,
    pub turn: u32,
    pub agent: &'a str,
    pub print: String,
    pub token: &'a str,
}

impl Recorder {
    /// Starts a cassette, or continues the one of the same session.
    pub fn open(
        path: &Path,
        project: &Path,
        session: &SessionDir,
        info: &SessionInfo,
        now: &str,
    ) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).append(true).create(true).mode(0o600);
        let mut file = options.open(path)?;
        repair_last_line(&mut file)?;
        if file.metadata()?.len() == 0 {
            let header = Header {
                cassette: FORMAT,
                wavecrew: env!("CARGO_PKG_VERSION").to_owned(),
                session: info.id.clone(),
                team: info.team.clone(),
                recorded_at: now.to_owned(),
            };
            write_line(&mut file, &header)?;
        }
        let cassette = path.canonicalize()?;
        let project = project.canonicalize()?;
        let folders = Folders::new(&project, session.path(), vec![cassette]);
        Ok(Self {
            file,
            changes: Changes::new(folders),
            entries: SharedEntries::new(session),
            redactor: Redactor::new(std::env::vars_os()),
            session: session.clone(),
            project,
            turns: BTreeMap::new(),
        })
    }

    /// A turn starts. If it repeats a turn, the earlier one is dropped.
    pub(crate) fn turn_started(&mut self, start: TurnStart<'_>) -> io::Result<()> {
        self.detect_changes();
        let placeholders =
            Placeholders::new(self.session.path(), &self.project, self.session.id(), start.token);
        let turn = Turn {
            task: start.task.to_owned(),
            attempt: start.attempt,
            turn: start.turn,
            agent: start.agent.to_owned(),
            print: start.print,
            output: Vec::new(),
            left_out: 0,
            report: None,
            result_file: None,
            shared: Vec::new(),
            files: Vec::new(),
            usage: TokenUsage::default(),
            end: End::Exit(0),
            stop: None,
        };
        let open = OpenTurn {
            key: start.key,
            role: start.role.to_owned(),
            placeholders,
            turn,
            process: Process::Running,
            sent_back: false,
            attempt_end: None,
        };
        match self.turns.insert(start.worker, open) {
            Some(mut before) if before.turn.turn != start.turn => {
                if !before.sent_back {
                    before.turn.end = End::Continued;
                }
                self.write(before)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The turn's process continues in the next turn: records what it did until now.
    pub(crate) fn turn_continued(&mut self, worker: WorkerId, lines: OutputLines, named: &NamedFiles) {
        if let Some(open) = self
            .turns
            .get_mut(&worker)
            .filter(|open| open.process == Process::Running)
        {
            open.process = Process::Exited;
            self.collect(worker, lines, named);
        }
    }

    /// The turn's process has exited.
    pub(crate) fn process_exited(
        &mut self,
        worker: WorkerId,
        key: u64,
        exit: ProcessExit,
        by_us: bool,
        lines: OutputLines,
        named: &NamedFiles,
    ) -> io::Result<()> {
        let Some(open) = self.turns.get_mut(&worker).filter(|open| open.key == key) else {
            return Ok(());
        };
        (open.process, open.turn.end) = match exit {
            _ if by_us => (Process::Killed, End::Exit(0)),
            ProcessExit::Code(code) => (Process::Exited, End::Exit(code)),
            ProcessExit::Signal(signal) => (Process::Exited, End::Signal(signal)),
        };
        self.collect(worker, lines, named);
        self.write_if_ended(worker)
    }

    pub(crate) fn not_started(&mut self, worker: WorkerId, error: &str) -> io::Result<()> {
        if let Some(open) = self.turns.get_mut(&worker) {
            open.process = Process::Exited;
            open.turn.end = End::NotStarted(error.to_owned());
        }
        self.write_if_ended(worker)
    }

    /// A report was submitted. Of several the last one counts: the others were sent back.
    pub(crate) fn reported(&mut self, worker: WorkerId, body: &str) {
        if let Some(open) = self.turns.get_mut(&worker) {
            open.turn.report = Some(open.placeholders.insert(body));
        }
    }

    pub(crate) fn result_file_written(&mut self, worker: WorkerId, body: &str) {
        if let Some(open) = self.turns.get_mut(&worker) {
            open.turn.result_file = Some(open.placeholders.insert(body));
        }
    }

    pub(crate) fn used(&mut self, worker: WorkerId, usage: TokenUsage) {
        if let Some(open) = self.turns.get_mut(&worker) {
            open.turn.usage = usage;
        }
    }

    /// The report was not accepted: the worker has to report again.
    pub(crate) fn sent_back(&mut self, task: &str, attempt: u32) {
        if let Some(open) = self
            .find(task, attempt)
            .and_then(|worker| self.turns.get_mut(&worker))
        {
            open.sent_back = true;
        }
    }

    /// The attempt has a result, or the task will be tried again.
    pub(crate) fn attempt_ended(&mut self, task: &str, attempt: u32, end: &AttemptEnd) -> io::Result<()> {
        let Some(worker) = self.find(task, attempt) else {
            return Ok(());
        };
        if let Some(open) = self.turns.get_mut(&worker) {
            open.attempt_end = Some(end.clone());
        }
        self.write_if_ended(worker)
    }

    /// The attempt was interrupted: another one will do the task.
    pub(crate) fn attempt_interrupted(&mut self, task: &str, attempt: u32) {
        if let Some(worker) = self.find(task, attempt) {
            self.turns.remove(&worker);
            self.changes.forget(worker);
        }
    }

    fn find(&self, task: &str, attempt: u32) -> Option<WorkerId> {
        let is_it =
            |(_, open): &(&WorkerId, &OpenTurn)| open.turn.task == task && open.turn.attempt == attempt;
        self.turns.iter().find(is_it).map(|(worker, _)| *worker)
    }

    fn running(&self) -> BTreeSet<WorkerId> {
        let runs = self
            .turns
            .iter()
            .filter(|(_, open)| open.process == Process::Running);
        runs.map(|(worker, _)| *worker).collect()
    }

    /// Detects changed files. Call this before collecting the files that agents name: a file that appears in between would
    /// be attributed to another worker.
    pub(crate) fn detect_changes(&mut self) {
        self.changes.detect(&self.running());
    }

    /// Collects what the turn printed, shared and changed until the last detection.
    fn collect(&mut self, worker: WorkerId, lines: OutputLines, named: &NamedFiles) {
        let Some(open) = self.turns.get_mut(&worker) else {
            return;
        };
        let kept = |text: &str| open.placeholders.insert(&self.redactor.text(text));
        let (output, left_out) = lines.finish();
        let printed = |line: OutputLine| match line {
            OutputLine::Out(text) => OutputLine::Out(kept(&text)),
            OutputLine::Err(text) => OutputLine::Err(kept(&text)),
        };
        open.turn.output = output.into_iter().map(printed).collect();
        open.turn.left_out = left_out;
        let files: Vec<FileChange> = self.changes.take(worker, named, kept);
        open.turn.files = files;
        let shared = self.entries.take(&open.turn.task, &open.role);
        let value = |data: Value| map_text(data, &kept);
        let redacted = |entry: SharedEntry| match entry {
            SharedEntry::Discovery { r#type, data } => SharedEntry::Discovery {
                r#type,
                data: value(data),
            },
            SharedEntry::Message {
                r#type,
                summary,
                data,
            } => SharedEntry::Message {
                r#type,
                summary: kept(&summary),
                data: value(data),
            },
            SharedEntry::Wisdom { file, text } => SharedEntry::Wisdom {
                file,
                text: kept(&text),
            },
        };
        open.turn.shared = shared.into_iter().map(redacted).collect();
    }

    fn write_if_ended(&mut self, worker: WorkerId) -> io::Result<()> {
        let ended = |open: &OpenTurn| open.attempt_end.is_some() && open.process != Process::Running;
        if !self.turns.get(&worker).is_some_and(ended) {
            return Ok(());
        }
        match self.turns.remove(&worker) {
            Some(open) => self.write(open),
            None => Ok(()),
        }
    }

    fn write(&mut self, open: OpenTurn) -> io::Result<()> {
        let mut turn = open.turn;
        if let Some(end) = open.attempt_end {
            turn.stop = Some(end.stop);
            if open.process == Process::Killed && end.stop != StopReason::Ok {
                turn.end = End::Stopped {
                    stop: end.stop,
                    error: end.error,
                };
            }
        }
        write_line(&mut self.file, &turn)
    }
}

/// One write per line, so that a killed run leaves complete lines.
fn write_line(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Removes an incomplete last line, which a killed run may leave, so that the next line does not continue it.
fn repair_last_line(file: &mut File) -> io::Result<()> {
    let (mut length, mut line) = (0, Vec::new());
    let mut reader = BufReader::new(&*file);
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)? as u64;
        if line.ends_with(b"\n") {
            length += read;
        } else {
            break;
        }
    }
    if line.is_empty() {
        Ok(())
    } else if serde_json::from_slice::<Turn>(&line).is_ok() {
        file.write_all(b"\n")
    } else {
        file.set_len(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_incomplete_last_line_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cassette.jsonl");
        let whole = r#"{"task":"A","attempt":1,"turn":1,"agent":"codex","end":{"exit":0}}"#;
        for (found, left) in [
            (String::new(), String::new()),
            (format!("header\n{whole}\n"), format!("header\n{whole}\n")),
            (format!("header\n{whole}"), format!("header\n{whole}\n")),
            (format!("header\n{}", &whole[..30]), "header\n".to_owned()),
            ("hea".to_owned(), String::new()),
        ] {
            fs::write(&path, &found).unwrap();
            let mut file = File::options().read(true).append(true).open(&path).unwrap();
            repair_last_line(&mut file).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), left, "{found}");
        }
    }
}
