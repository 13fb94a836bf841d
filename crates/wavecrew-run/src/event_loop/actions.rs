//! Carries out the engine's actions, in order.

use crate::checks::role_check::Stage;
use crate::event_loop::{DriveError, Driver};
use crate::session::interactive_results;
use crate::worktree::tasks::{remove_merged_of_wave, session_worktrees};
use std::collections::HashMap;
use std::fs;
use std::io;
use wavecrew_core::engine::{Action, GivenAnswer, Input, Question};
use wavecrew_core::event::{AnsweredBy, Event};
use wavecrew_core::id::TaskIx;
use wavecrew_session::{IoContext, atomic};

impl Driver<'_> {
    pub(super) fn perform(&mut self, actions: Vec<Action>) -> Result<(), DriveError> {
        let mut events: Vec<Event> = Vec::new();
        for action in actions {
            if let Action::Record(event) = action {
                events.push(event);
                continue;
            }
            // Record before effect.
            self.record(&mut events)?;
            self.perform_one(action)?;
        }
        self.record(&mut events)
    }

    fn perform_one(&mut self, action: Action) -> Result<(), DriveError> {
        match action {
            Action::Record(_) => unreachable!("recorded by the caller"),
            Action::WriteWave { wave, rows } => self.write_wave(wave, &rows)?,
            Action::Spawn(assignment) => self.start_worker(*assignment)?,
            Action::Send { worker, turn, text } => self.send(worker, turn, text)?,
            Action::RefuseReport { worker, reason } => self.refuse_report(worker, &reason)?,
            Action::CheckClaim {
                worker,
                task,
                outputs,
                asked,
            } => self.check_claim(worker, task, &outputs, asked)?,
            Action::CheckBeforeStart { worker, task, .. } => {
                self.start_role_check(worker, task, Stage::Before)?;
            }
            Action::Restore { task, attempt } => self.restore_measured_files(task, attempt)?,
            Action::Expand { task } => self.expand_plan(task),
            Action::Close { worker, grace } => self.close_worker(worker, grace)?,
            Action::KeepFindings { task, text, .. } => {
                let id = self.engine.ledger().plan().id(task);
                atomic::write(&self.session.dir.full_findings(id), text.as_bytes())?;
            }
            Action::WriteInteractive { task } => {
                interactive_results::write(&self.session.dir, self.engine.ledger(), task)?;
            }
            Action::PublishWave { wave } => {
                remove_merged_of_wave(&session_worktrees(&self.session), self.engine.ledger(), wave);
                self.clean_up_wave(wave)?;
            }
            Action::Merge { tasks } => self.merge_tasks(&tasks),
            Action::SharePoolEvent { pool, event } => self.share_pool_event(&pool, event),
            Action::Reply { worker, key, reply } => self.reply(worker, &key, &reply)?,
            Action::Ask(question) => self.ask(question),
            Action::Notify(notice) => self.context.reporter.notice(&notice),
            Action::Finish(ending) => self.ending = Some(ending),
        }
        Ok(())
    }

    fn ask(&mut self, question: Question) {
        let Some(asker) = self.context.asker.clone() else {
            let given = GivenAnswer::by(AnsweredBy::Nobody, question.kind.unanswered());
            let question = question.id;
            self.inputs.push_back(Input::Answered { question, given });
            return;
        };
        let answers = self.answers.clone();
        std::thread::spawn(move || {
            let answer = asker(&question);
            let _ = answers.send((question.id, answer));
        });
    }

    fn write_wave(&self, wave: u32, rows: &[(TaskIx, String)]) -> Result<(), DriveError> {
        let ledger = self.engine.ledger();
        let tasks: Vec<_> = rows.iter().map(|(task, _)| *task).collect();
        let contexts: HashMap<_, _> = rows.iter().map(|(task, text)| (*task, text)).collect();
        let mut bytes = Vec::new();
        ledger
            .plan()
            .render_rows(&mut bytes, &tasks, "prev_context", |task, column| match column {
                "prev_context" => contexts.get(&task).map(|text| text.as_str().into()),
                _ => ledger.cell(task, column),
            })
            .expect("writing to memory");
        Ok(atomic::write_volatile(&self.session.dir.wave_csv(wave), &bytes)?)
    }

    /// Removes what a finished wave no longer needs.
    fn clean_up_wave(&mut self, wave: u32) -> Result<(), DriveError> {
        self.remove_processed_reports()?;
        let path = self.session.dir.wave_csv(wave);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => Ok(removed.context("remove", &path)?),
        }
    }
}
