//! Tells the recorder what happens. A cassette that cannot be written costs the cassette, not the run.

use super::Driver;
use super::claims::delivered;
use crate::recording::{Begun, Named, Over, Recorder, print_of};
use std::io;
use wavecrew_core::engine::{Notice, WorkerId};
use wavecrew_core::event::{Event, TokenUsage};
use wavecrew_core::id::TaskIx;
use wavecrew_process::Exit;

impl Driver<'_> {
    /// What tells whether the row is the one that was recorded.
    pub(super) fn print(&self, task: TaskIx) -> String {
        let made_from = &self.engine.ledger().task(task).made_from;
        made_from
            .as_ref()
            .map_or_else(String::new, |(print, _)| print_of(*print))
    }

    /// A turn is about to begin; one whose process still goes on is taken as it is.
    pub(super) fn tape_begin(&mut self, worker: WorkerId, key: u64, turn: u32) {
        let Some(recorder) = &mut self.session.recorder else {
            return;
        };
        recorder.look();
        let state = &self.workers[&worker];
        let print = self.print(state.assignment.task);
        let named = self.named();
        let (assignment, tape) = (&state.assignment, state.output.take_tape());
        let begun = Begun {
            worker,
            key,
            task: &assignment.id,
            role: &assignment.role,
            attempt: assignment.attempt,
            turn,
            agent: &assignment.agent,
            print,
            token: state.token.as_str(),
        };
        let write = |recorder: &mut Recorder| {
            recorder.overtaken(worker, tape, &named);
            recorder.begin(begun)
        };
        let done = self.session.recorder.as_mut().map_or(Ok(()), write);
        self.tape_check(done);
    }

    pub(super) fn tape_exit(&mut self, worker: WorkerId, key: u64, exit: Exit) {
        let (Some(state), Some(recorder)) = (self.workers.get(&worker), &mut self.session.recorder) else {
            return;
        };
        recorder.look();
        let (by_us, tape) = (state.closing.is_some(), state.output.take_tape());
        let named = self.named();
        self.taped(|recorder| recorder.exited(worker, key, exit, by_us, tape, &named));
    }

    pub(super) fn tape_not_started(&mut self, worker: WorkerId, error: &str) {
        self.taped(|recorder| recorder.not_started(worker, error));
    }

    pub(super) fn tape_report(&mut self, worker: WorkerId, body: &str) {
        if let Some(recorder) = &mut self.session.recorder {
            recorder.reported(worker, body);
        }
    }

    pub(super) fn tape_result_file(&mut self, worker: WorkerId, body: &str) {
        if let Some(recorder) = &mut self.session.recorder {
            recorder.left_result(worker, body);
        }
    }

    pub(super) fn tape_spent(&mut self, worker: WorkerId, spent: TokenUsage) {
        if let Some(recorder) = &mut self.session.recorder {
            recorder.spent(worker, spent);
        }
    }

    /// Ends of turns and attempts.
    pub(super) fn tape_event(&mut self, event: &Event) {
        let (task, attempt, over) = match event {
            Event::Finished {
                task,
                attempt,
                stop,
                result,
                ..
            } => (task, attempt, (*stop, &result.error)),
            Event::AttemptFailed {
                task,
                attempt,
                stop,
                error,
                ..
            }
            | Event::Postponed {
                task,
                attempt,
                stop,
                error,
                ..
            } => (task, attempt, (*stop, error)),
            Event::SentBack { task, attempt, .. } => {
                if let Some(recorder) = &mut self.session.recorder {
                    recorder.sent_back(task, *attempt);
                }
                return;
            }
            Event::Interrupted { task, attempt, .. } => {
                if let Some(recorder) = &mut self.session.recorder {
                    recorder.interrupted(task, *attempt);
                }
                return;
            }
            _ => return,
        };
        let over = Over {
            stop: over.0,
            error: over.1.clone(),
        };
        self.taped(|recorder| recorder.over(task, *attempt, &over));
    }

    /// Files that the agents of all workers say they wrote, those that their tasks owe, and the folders that are theirs
    /// alone.
    fn named(&self) -> Named {
        let (ledger, session) = (self.engine.ledger(), self.session.dir.path());
        let each = self.workers.iter().map(|(worker, state)| {
            let task = ledger.plan().find(&state.assignment.id);
            let owed = task.map(|task| delivered(session, &ledger.team, ledger.plan(), task));
            let owed = owed.into_iter().flatten().map(|name| session.join(name));
            let own = owed.chain([state.folder.clone()]);
            let mut files = state.output.changed_files();
            files.extend(own.map(|path| path.to_string_lossy().into_owned()));
            (*worker, files)
        });
        each.collect()
    }

    fn taped(&mut self, write: impl FnOnce(&mut Recorder) -> io::Result<()>) {
        let done = self.session.recorder.as_mut().map_or(Ok(()), write);
        self.tape_check(done);
    }

    fn tape_check(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.session.recorder = None;
            let note =
                format!("the recording ends here, the run goes on: the cassette cannot be written: {error}");
            self.surface.reporter.notice(&Notice::Note(note));
        }
    }
}
