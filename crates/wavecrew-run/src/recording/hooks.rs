//! Passes what happens in a run to the recorder. If the cassette cannot be written, the recording ends and
//! the run continues.

use super::changes::NamedFiles;
use super::fingerprint_text;
use super::recorder::{AttemptEnd, Recorder, TurnStart};
use crate::checks::claims::delivered;
use crate::event_loop::Driver;
use std::io;
use wavecrew_core::engine::{Notice, WorkerId};
use wavecrew_core::event::{Event, TokenUsage};
use wavecrew_core::id::TaskIx;
use wavecrew_process::ProcessExit;

impl Driver<'_> {
    /// Identifies the row and its instruction in a cassette.
    pub(crate) fn row_fingerprint(&self, task: TaskIx) -> String {
        let made_from = &self.engine.ledger().task(task).made_from;
        made_from
            .as_ref()
            .map_or_else(String::new, |(print, _)| fingerprint_text(*print))
    }

    /// A turn starts. If the last one has not ended, it is recorded as it is.
    pub(crate) fn record_turn_start(&mut self, worker: WorkerId, key: u64, turn: u32) {
        let Some(recorder) = &mut self.session.recorder else {
            return;
        };
        recorder.detect_changes();
        let state = &self.workers[&worker];
        let print = self.row_fingerprint(state.assignment.task);
        let named = self.named_files();
        let (assignment, lines) = (&state.assignment, state.output.take_lines());
        let start = TurnStart {
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
        let written = self.session.recorder.as_mut().map_or(Ok(()), |recorder| {
            recorder.turn_continued(worker, lines, &named);
            recorder.turn_started(start)
        });
        self.stop_recording_on_error(written);
    }

    pub(crate) fn record_exit(&mut self, worker: WorkerId, key: u64, exit: ProcessExit) {
        let (Some(state), Some(recorder)) = (self.workers.get(&worker), &mut self.session.recorder) else {
            return;
        };
        recorder.detect_changes();
        let (by_us, lines) = (state.closing.is_some(), state.output.take_lines());
        let named = self.named_files();
        self.write_recording(|recorder| recorder.process_exited(worker, key, exit, by_us, lines, &named));
    }

    pub(crate) fn record_not_started(&mut self, worker: WorkerId, error: &str) {
        self.write_recording(|recorder| recorder.not_started(worker, error));
    }

    pub(crate) fn record_report(&mut self, worker: WorkerId, body: &str) {
        if let Some(recorder) = &mut self.session.recorder {
            recorder.reported(worker, body);
        }
    }

    pub(crate) fn record_result_file(&mut self, worker: WorkerId, body: &str) {
        if let Some(recorder) = &mut self.session.recorder {
            recorder.result_file_written(worker, body);
        }
    }

    pub(crate) fn record_usage(&mut self, worker: WorkerId, spent: TokenUsage) {
        if let Some(recorder) = &mut self.session.recorder {
            recorder.used(worker, spent);
        }
    }

    /// Records the ends of turns and attempts.
    pub(crate) fn record_attempt_event(&mut self, event: &Event) {
        let (task, attempt, end) = match event {
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
                    recorder.attempt_interrupted(task, *attempt);
                }
                return;
            }
            _ => return,
        };
        let end = AttemptEnd {
            stop: end.0,
            error: end.1.clone(),
        };
        self.write_recording(|recorder| recorder.attempt_ended(task, *attempt, &end));
    }

    /// For each worker: the files that its agent says it wrote, the files that its task owes, and its own folder.
    fn named_files(&self) -> NamedFiles {
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

    fn write_recording(&mut self, write: impl FnOnce(&mut Recorder) -> io::Result<()>) {
        let written = self.session.recorder.as_mut().map_or(Ok(()), write);
        self.stop_recording_on_error(written);
    }

    fn stop_recording_on_error(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.session.recorder = None;
            let note = format!(
                "the recording has stopped, the run continues: the cassette cannot be written: {error}"
            );
            self.context.reporter.notice(&Notice::Note(note));
        }
    }
}
