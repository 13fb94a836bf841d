//! The loop of a run: takes in what happens, one thing at a time, until the engine says how it ended.

use super::table::TableNews;
use super::worker::{Life, ProcessNews};
use super::{DriveError, Driver};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use wavecrew_core::engine::{Answer, Input, MergeOutcome, Notice, StopKind};
use wavecrew_core::event::RunOutcome;
use wavecrew_process::{Exit, Notice as ProcessNotice, ProcessError};

/// How often clocks, edits and words from outside are looked at.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// A process that is gone by then never has its pipes watched.
const YOUNG: Duration = Duration::from_millis(20);

/// Where what happens comes from.
pub(super) struct Channels {
    pub(super) notices: UnboundedReceiver<ProcessNotice>,
    pub(super) news_of_processes: UnboundedReceiver<ProcessNews>,
    pub(super) answered: UnboundedReceiver<(u32, Answer)>,
    pub(super) checks_ended: UnboundedReceiver<(u64, Exit)>,
    pub(super) landed: UnboundedReceiver<(String, MergeOutcome)>,
    pub(super) news: UnboundedReceiver<TableNews>,
}

impl Driver<'_> {
    pub(super) async fn look_after(&mut self, mut channels: Channels) -> Result<RunOutcome, DriveError> {
        let signal_error = |source| ProcessError::System {
            what: "watch for signals",
            source,
        };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(signal_error)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(signal_error)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(signal_error)?;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut grows = tokio::time::interval(YOUNG);
        grows.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut recovered = self.session.take_recovered();
        for report in &mut recovered {
            report.body = self.redactor.text(&report.body);
        }
        // What others wait for is known before anything starts.
        self.look_at_pools();
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
                Some(notice) = channels.notices.recv() => self.hear(notice)?,
                Some(news) = channels.news_of_processes.recv() => match news {
                    ProcessNews::TurnOver { key } => self.turn_over(key)?,
                    ProcessNews::Ended { key, exit } => self.process_ended(key, exit)?,
                },
                Some((key, exit)) = channels.checks_ended.recv() => self.check_ended(key, exit),
                Some((task, outcome)) = channels.landed.recv() => {
                    self.inputs.push_back(Input::MergeDone { task, outcome });
                }
                Some(news) = channels.news.recv() => self.table_news(news)?,
                Some((question, answer)) = channels.answered.recv() => {
                    self.inputs.push_back(Input::Answered { question, answer });
                }
                _ = interrupt.recv() => self.interrupted(),
                _ = terminate.recv() => self.inputs.push_back(Input::Stop(StopKind::Interrupt)),
                _ = hangup.recv() => self.inputs.push_back(Input::Stop(StopKind::Interrupt)),
                _ = ticks.tick() => self.tick()?,
                _ = grows.tick(), if !self.young.is_empty() => self.watch_the_grown(),
                () = std::future::ready(()), if self.session.journal.has_unwritten() => {
                    self.session.journal.flush()?;
                    self.committer.wake();
                }
            }
        }
    }

    /// Processes that are still there after a while have their pipes watched.
    fn watch_the_grown(&mut self) {
        while let Some((_, key)) = self.young.pop_front_if(|(since, _)| since.elapsed() >= YOUNG) {
            if let Some((_, life)) = self.processes.get(&key) {
                life.send_if_modified(|life| {
                    let grows = matches!(life, Life::Young);
                    if grows {
                        *life = Life::Watched;
                    }
                    grows
                });
            }
        }
    }

    /// Once: start nothing new. Again: end what runs.
    fn interrupted(&mut self) {
        self.interrupts += 1;
        let (input, note) = if self.interrupts == 1 {
            (
                Input::Drain,
                "Stopping: workers that run may finish. Press Ctrl-C again to end them.",
            )
        } else {
            (Input::Stop(StopKind::Interrupt), "Ending all workers.")
        };
        self.surface.reporter.notice(&Notice::Note(note.to_owned()));
        self.inputs.push_back(input);
    }

    pub(super) fn step(&mut self, input: Input) -> Result<(), DriveError> {
        let actions = self.engine.step(self.clock.now(), input);
        self.perform(actions)
    }

    fn table_news(&mut self, news: TableNews) -> Result<(), DriveError> {
        match news {
            TableNews::Failed(error) => Err(error.into()),
            TableNews::Unsettled => {
                self.table.mark_dirty();
                Ok(())
            }
            TableNews::Edit(bytes) => {
                self.table.mark_dirty();
                self.hand_edit(&bytes)
            }
        }
    }
}
