//! The loop itself: takes one event at a time until the engine ends the run.

use crate::event_loop::{DriveError, Driver};
use crate::place::PlaceEvent;
use crate::table::publisher::TableEvent;
use crate::worker::streams::{ProcessState, WorkerEvent};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use wavecrew_core::engine::{GivenAnswer, Input, MergeOutcome, Notice, StopKind};
use wavecrew_core::event::RunOutcome;
use wavecrew_process::{GuardianEvent, ProcessError, ProcessExit};

/// How often clocks, table edits and control files are checked.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// The pipes of a process that ends within this time are never watched.
const UNWATCHED: Duration = Duration::from_millis(20);

/// The sources of events.
pub(super) struct Channels {
    pub(super) guardian_events: UnboundedReceiver<GuardianEvent>,
    pub(super) place_events: UnboundedReceiver<PlaceEvent>,
    pub(super) worker_events: UnboundedReceiver<WorkerEvent>,
    pub(super) answers: UnboundedReceiver<(u32, GivenAnswer)>,
    pub(super) check_exits: UnboundedReceiver<(u64, ProcessExit)>,
    pub(super) merges: UnboundedReceiver<(String, MergeOutcome)>,
    pub(super) table_events: UnboundedReceiver<TableEvent>,
}

impl Driver<'_> {
    pub(super) async fn run_event_loop(&mut self, mut channels: Channels) -> Result<RunOutcome, DriveError> {
        let signal_error = |source| ProcessError::System {
            what: "watch for signals",
            source,
        };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(signal_error)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(signal_error)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(signal_error)?;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut watch_ticks = tokio::time::interval(UNWATCHED);
        watch_ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut recovered = self.session.take_recovered();
        for report in &mut recovered {
            report.body = self.redactor.text(&report.body);
        }
        // The waits of other runs are known before anything starts.
        self.sync_pools();
        self.inputs.push_back(Input::Begin { recovered });
        loop {
            while let Some(input) = self.inputs.pop_front() {
                self.step(input)?;
            }
            if let Some(ending) = self.ending.take() {
                return Ok(ending);
            }
            tokio::select! {
                biased;
                Some(event) = channels.guardian_events.recv() => self.handle_guardian_event(event)?,
                Some(event) = channels.place_events.recv() => self.handle_place_event(event)?,
                Some(event) = channels.worker_events.recv() => match event {
                    WorkerEvent::TurnEnded { key } => self.turn_ended(key)?,
                    WorkerEvent::ProcessEnded { key, exit } => self.process_ended(key, exit)?,
                },
                Some((key, exit)) = channels.check_exits.recv() => self.check_ended(key, exit),
                Some((task, outcome)) = channels.merges.recv() => {
                    self.inputs.push_back(Input::MergeDone { task, outcome });
                }
                Some(event) = channels.table_events.recv() => self.handle_table_event(event)?,
                Some((question, given)) = channels.answers.recv() => {
                    self.inputs.push_back(Input::Answered { question, given });
                }
                _ = interrupt.recv() => self.interrupted(),
                _ = terminate.recv() => self.inputs.push_back(Input::Stop(StopKind::Interrupt)),
                _ = hangup.recv() => self.inputs.push_back(Input::Stop(StopKind::Interrupt)),
                _ = ticks.tick() => self.run_periodic_work()?,
                _ = watch_ticks.tick(), if !self.unwatched.is_empty() => self.watch_pipes(),
                () = std::future::ready(()), if self.session.journal.has_unwritten() => {
                    self.session.journal.flush()?;
                    self.journal_sync.wake();
                }
            }
        }
    }

    /// Watches the pipes of processes that are still running after a while.
    fn watch_pipes(&mut self) {
        while let Some((_, key)) = self
            .unwatched
            .pop_front_if(|(since, _)| since.elapsed() >= UNWATCHED)
        {
            if let Some((_, state)) = self.processes.get(&key) {
                state.send_if_modified(|state| {
                    let starts = matches!(state, ProcessState::Unwatched);
                    if starts {
                        *state = ProcessState::Watched;
                    }
                    starts
                });
            }
        }
    }

    /// The first Ctrl-C starts nothing new, the second ends what runs.
    fn interrupted(&mut self) {
        self.interrupts += 1;
        let (input, note) = if self.interrupts == 1 {
            (
                Input::Drain,
                "Stopping: running workers may finish. Press Ctrl-C again to end them.",
            )
        } else {
            (Input::Stop(StopKind::Interrupt), "Ending all workers.")
        };
        self.context.reporter.notice(&Notice::Note(note.to_owned()));
        self.inputs.push_back(input);
    }

    pub(crate) fn step(&mut self, input: Input) -> Result<(), DriveError> {
        let actions = self.engine.step(self.clock.now(), input);
        self.perform(actions)
    }

    fn handle_table_event(&mut self, event: TableEvent) -> Result<(), DriveError> {
        match event {
            TableEvent::Failed(error) => Err(error.into()),
            TableEvent::BeingWritten => {
                self.table.mark_dirty();
                Ok(())
            }
            TableEvent::Edited(bytes) => {
                self.table.mark_dirty();
                self.apply_table_edit(&bytes)
            }
        }
    }
}
