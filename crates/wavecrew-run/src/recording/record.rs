//! Writes a cassette while a run goes on: a line per turn, as soon as the turn and its attempt are settled. What is
//! under way when the run ends is not recorded.

use super::changes::{Changes, Named};
use super::place::Place;
use super::tree::Tree;
use super::words::Words;
use super::{End, FORMAT, FileChange, Header, Printed, Said, Tape, Turn};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use wavecrew_agents::{Redactor, map_text};
use wavecrew_core::engine::WorkerId;
use wavecrew_core::event::{StopReason, TokenUsage};
use wavecrew_process::Exit;
use wavecrew_session::{SessionDir, SessionInfo};

#[derive(Debug)]
pub struct Recorder {
    file: File,
    project: PathBuf,
    session: SessionDir,
    redactor: Redactor,
    changes: Changes,
    words: Words,
    turns: BTreeMap<WorkerId, Open>,
}

/// A turn that is not on the cassette yet.
#[derive(Debug)]
struct Open {
    /// Of its process.
    key: u64,
    role: String,
    place: Place,
    turn: Turn,
    process: Process,
    /// Its report was sent back, which begins the next turn.
    sent_back: bool,
    over: Option<Over>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Process {
    Runs,
    Ended,
    /// By us, so that its exit code means nothing.
    WasEnded,
}

/// The attempt is over.
#[derive(Clone, Debug)]
pub(crate) struct Over {
    pub stop: StopReason,
    pub error: String,
}

/// A turn that begins.
pub(crate) struct Begun<'a> {
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
    /// Begins a cassette, or goes on with the one of the same session.
    pub fn open(
        path: &Path,
        project: &Path,
        session: &SessionDir,
        info: &SessionInfo,
        now: &str,
    ) -> io::Result<Self> {
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        end_last_line(&mut file)?;
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
        let tree = Tree::new(&project, session.path(), vec![cassette]);
        Ok(Self {
            file,
            changes: Changes::new(tree),
            words: Words::new(session),
            redactor: Redactor::new(std::env::vars_os()),
            session: session.clone(),
            project,
            turns: BTreeMap::new(),
        })
    }

    /// A turn begins. If it takes the place of one that came to nothing, that one is forgotten.
    pub(crate) fn begin(&mut self, begun: Begun<'_>) -> io::Result<()> {
        self.look();
        let place = Place::new(self.session.path(), &self.project, self.session.id(), begun.token);
        let turn = Turn {
            task: begun.task.to_owned(),
            attempt: begun.attempt,
            turn: begun.turn,
            agent: begun.agent.to_owned(),
            print: begun.print,
            output: Vec::new(),
            left_out: 0,
            report: None,
            result_file: None,
            said: Vec::new(),
            files: Vec::new(),
            usage: TokenUsage::default(),
            end: End::Exit(0),
            stop: None,
        };
        let open = Open {
            key: begun.key,
            role: begun.role.to_owned(),
            place,
            turn,
            process: Process::Runs,
            sent_back: false,
            over: None,
        };
        match self.turns.insert(begun.worker, open) {
            Some(mut before) if before.turn.turn != begun.turn => {
                if !before.sent_back {
                    before.turn.end = End::WentOn;
                }
                self.write(before)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A turn whose process goes on while the next one begins: this is what it said and did.
    pub(crate) fn overtaken(&mut self, worker: WorkerId, tape: Tape, named: &Named) {
        if let Some(open) = self
            .turns
            .get_mut(&worker)
            .filter(|open| open.process == Process::Runs)
        {
            open.process = Process::Ended;
            self.settle(worker, tape, named);
        }
    }

    /// The turn's process is gone.
    pub(crate) fn exited(
        &mut self,
        worker: WorkerId,
        key: u64,
        exit: Exit,
        by_us: bool,
        tape: Tape,
        named: &Named,
    ) -> io::Result<()> {
        let Some(open) = self.turns.get_mut(&worker).filter(|open| open.key == key) else {
            return Ok(());
        };
        (open.process, open.turn.end) = match exit {
            _ if by_us => (Process::WasEnded, End::Exit(0)),
            Exit::Code(code) => (Process::Ended, End::Exit(code)),
            Exit::Signal(signal) => (Process::Ended, End::Signal(signal)),
        };
        self.settle(worker, tape, named);
        self.write_if_over(worker)
    }

    pub(crate) fn not_started(&mut self, worker: WorkerId, error: &str) -> io::Result<()> {
        if let Some(open) = self.turns.get_mut(&worker) {
            open.process = Process::Ended;
            open.turn.end = End::NotStarted(error.to_owned());
        }
        self.write_if_over(worker)
    }

    /// A report came over the channel. Of several the last one counts: the others were sent back.
    pub(crate) fn reported(&mut self, worker: WorkerId, body: &str) {
        if let Some(open) = self.turns.get_mut(&worker) {
            open.turn.report = Some(open.place.mark(body));
        }
    }

    pub(crate) fn left_result(&mut self, worker: WorkerId, body: &str) {
        if let Some(open) = self.turns.get_mut(&worker) {
            open.turn.result_file = Some(open.place.mark(body));
        }
    }

    pub(crate) fn spent(&mut self, worker: WorkerId, spent: TokenUsage) {
        if let Some(open) = self.turns.get_mut(&worker) {
            open.turn.usage = spent;
        }
    }

    /// The report was not accepted: the worker is asked again.
    pub(crate) fn sent_back(&mut self, task: &str, attempt: u32) {
        if let Some(open) = self
            .find(task, attempt)
            .and_then(|worker| self.turns.get_mut(&worker))
        {
            open.sent_back = true;
        }
    }

    /// The attempt has its result, or will be tried again.
    pub(crate) fn over(&mut self, task: &str, attempt: u32, over: &Over) -> io::Result<()> {
        let Some(worker) = self.find(task, attempt) else {
            return Ok(());
        };
        if let Some(open) = self.turns.get_mut(&worker) {
            open.over = Some(over.clone());
        }
        self.write_if_over(worker)
    }

    /// The attempt was cut off: another one will do the task.
    pub(crate) fn interrupted(&mut self, task: &str, attempt: u32) {
        if let Some(worker) = self.find(task, attempt) {
            self.turns.remove(&worker);
            self.changes.forget(worker);
        }
    }

    fn find(&self, task: &str, attempt: u32) -> Option<WorkerId> {
        let is_it = |(_, open): &(&WorkerId, &Open)| open.turn.task == task && open.turn.attempt == attempt;
        self.turns.iter().find(is_it).map(|(worker, _)| *worker)
    }

    fn running(&self) -> BTreeSet<WorkerId> {
        let runs = self
            .turns
            .iter()
            .filter(|(_, open)| open.process == Process::Runs);
        runs.map(|(worker, _)| *worker).collect()
    }

    /// Looks what has changed. Before anybody is asked whose files there are, because a file that comes in between would be
    /// taken for somebody else's.
    pub(crate) fn look(&mut self) {
        self.changes.look(&self.running());
    }

    /// Gathers what the turn printed, said and changed, as of the last look.
    fn settle(&mut self, worker: WorkerId, tape: Tape, named: &Named) {
        let Some(open) = self.turns.get_mut(&worker) else {
            return;
        };
        let kept = |text: &str| open.place.mark(&self.redactor.text(text));
        let (output, left_out) = tape.finish();
        let printed = |line: Printed| match line {
            Printed::Out(text) => Printed::Out(kept(&text)),
            Printed::Err(text) => Printed::Err(kept(&text)),
        };
        open.turn.output = output.into_iter().map(printed).collect();
        open.turn.left_out = left_out;
        let files: Vec<FileChange> = self.changes.take(worker, named, kept);
        open.turn.files = files;
        let said = self.words.take(&open.turn.task, &open.role);
        let value = |data: Value| map_text(data, &kept);
        let say = |said: Said| match said {
            Said::Discovery { r#type, data } => Said::Discovery {
                r#type,
                data: value(data),
            },
            Said::Message {
                r#type,
                summary,
                data,
            } => Said::Message {
                r#type,
                summary: kept(&summary),
                data: value(data),
            },
            Said::Wisdom { file, text } => Said::Wisdom {
                file,
                text: kept(&text),
            },
        };
        open.turn.said = said.into_iter().map(say).collect();
    }

    fn write_if_over(&mut self, worker: WorkerId) -> io::Result<()> {
        let settled = |open: &Open| open.over.is_some() && open.process != Process::Runs;
        if !self.turns.get(&worker).is_some_and(settled) {
            return Ok(());
        }
        match self.turns.remove(&worker) {
            Some(open) => self.write(open),
            None => Ok(()),
        }
    }

    fn write(&mut self, open: Open) -> io::Result<()> {
        let mut turn = open.turn;
        if let Some(over) = open.over {
            turn.stop = Some(over.stop);
            if open.process == Process::WasEnded && over.stop != StopReason::Ok {
                turn.end = End::Stopped {
                    stop: over.stop,
                    error: over.error,
                };
            }
        }
        write_line(&mut self.file, &turn)
    }
}

/// One write per line, so that a run that is killed leaves whole lines.
fn write_line(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// What a run that was killed while it wrote left of its last line is taken away: the next line would go on in it.
fn end_last_line(file: &mut File) -> io::Result<()> {
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
    fn a_line_that_was_cut_off_does_not_spoil_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tape.jsonl");
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
            end_last_line(&mut file).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), left, "{found}");
        }
    }
}
