//! Resuming a session and applying table edits: what is kept, what runs again, and why.

use super::action::{Action, Notice};
use super::fingerprint::Fingerprinter;
use super::input::RecoveredReport;
use super::ledger::{Ledger, TaskProgress};
use super::{AgentChoice, Engine, Mode};
use crate::event::{Event, Status, StopReason};
use crate::id::TaskIx;
use crate::plan::Plan;
use crate::sheet::Patch;
use std::collections::BTreeMap;

/// The present basis of a session, to compare with what its results were made from.
pub struct ResumeBasis<'a> {
    pub agents: &'a AgentChoice,
    /// Why results made on the old base commit are stale, if they are.
    pub base: Option<String>,
}

/// A result that no longer matches what it was made from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaleResult {
    pub task: TaskIx,
    pub why: String,
}

impl Ledger {
    /// Results that must be made again, with what depends on them, in plan order.
    pub fn stale_results(&self, basis: &ResumeBasis<'_>) -> Vec<StaleResult> {
        let plan = self.plan();
        let prints = Fingerprinter::new(plan, &self.team);
        let mut found = BTreeMap::new();
        for task in plan.tasks() {
            if let Some(why) = self.why_stale(&prints, basis, task) {
                found.insert(task, why);
            }
        }
        let mut open: Vec<TaskIx> = found.keys().copied().collect();
        while let Some(task) = open.pop() {
            for &next in plan.dependents(task) {
                if self.task(next).progress == TaskProgress::Done && !found.contains_key(&next) {
                    found.insert(next, format!("it depends on {}, which runs again", plan.id(task)));
                    open.push(next);
                }
            }
        }
        found
            .into_iter()
            .map(|(task, why)| StaleResult { task, why })
            .collect()
    }

    fn why_stale(&self, prints: &Fingerprinter, basis: &ResumeBasis<'_>, task: TaskIx) -> Option<String> {
        let (plan, state) = (self.plan(), self.task(task));
        let (made_from, agent) = state.made_from.as_ref()?;
        if state.progress != TaskProgress::Done {
            return None;
        }
        let now = prints.of(plan, &self.team, task, &self.prev_context(task));
        if now.row != made_from.row {
            return Some("its row was edited".to_owned());
        }
        // A failed task runs again only when its row is edited or on `retry`.
        if state.result.status != Status::Completed {
            return None;
        }
        let role = plan.role(task);
        let chosen = self.agent_of(task, basis.agents);
        if now.instruction != made_from.instruction {
            Some(format!("the instruction of role `{role}` changed"))
        } else if now.upstream != made_from.upstream {
            Some("the findings it builds on changed".to_owned())
        } else if **agent != *chosen {
            Some(format!(
                "it was done by `{agent}`, and the agent is now `{chosen}`"
            ))
        } else {
            basis.base.clone()
        }
    }
}

impl Engine {
    pub(super) fn begin(&mut self, recovered: &[RecoveredReport]) {
        if self.mode != Mode::Idle {
            return;
        }
        self.mode = Mode::Running;
        self.record(Event::RunStarted {
            at: self.now,
            concurrency: self.options.concurrency,
        });
        self.note_budget();
        self.note_waits();
        let open: Vec<(TaskIx, u32)> = self.ledger.open_attempts().collect();
        for (task, attempt) in open {
            self.resume_attempt(task, attempt, recovered);
        }
    }

    /// An attempt without an end: its report counts if it was received, otherwise the task runs again.
    fn resume_attempt(&mut self, task: TaskIx, attempt: u32, recovered: &[RecoveredReport]) {
        let id = self.ledger.plan().id(task).to_owned();
        let owes = self
            .ledger
            .team
            .role(self.ledger.plan().role(task))
            .is_some_and(|role| !role.owes.is_empty() || role.check.is_some());
        let report = recovered
            .iter()
            .find(|report| report.task == id && report.attempt == attempt)
            .and_then(|report| self.reader.read(&id, &report.body).ok());
        match report {
            // Owed files are checked while the worker can still correct them, so a new worker takes over.
            Some(report) if report.result.status == Status::Failed || !owes => {
                if let Some(text) = report.whole_findings {
                    self.out.push(Action::KeepFindings { task, attempt, text });
                }
                self.record(Event::Finished {
                    at: self.now,
                    task: id,
                    attempt,
                    stop: StopReason::Ok,
                    result: report.result,
                });
                self.write_interactive_result(task);
            }
            Some(_) | None => self.record(Event::Interrupted {
                at: self.now,
                task: id,
                attempt,
            }),
        }
    }

    /// Resets tasks so that they run again: stale results, or tasks to retry.
    pub fn reset(&mut self, stale: Vec<StaleResult>) -> Vec<Event> {
        let reset = |StaleResult { task, why }| Event::Reset {
            task: self.ledger.plan().id(task).to_owned(),
            why,
        };
        let events: Vec<Event> = stale.into_iter().map(reset).collect();
        for event in &events {
            self.ledger.apply(event);
        }
        events
    }

    /// Applies a table edit, already sealed into a plan.
    pub(super) fn table_edited(&mut self, patch: Patch, plan: Plan) {
        let wanted = requested_statuses(&patch);
        let live: Vec<_> = self
            .live
            .iter()
            .map(|(w, a)| (*w, self.ledger.plan().id(a.task).to_owned()))
            .collect();
        self.prints = Fingerprinter::new(&plan, &self.ledger.team);
        self.ledger.replace_plan(plan);
        for (worker, id) in live {
            let task = self
                .ledger
                .plan()
                .find(&id)
                .expect("rows of running tasks cannot be removed");
            self.live.get_mut(&worker).expect("taken from the map").task = task;
        }
        self.out.push(Action::Record(Event::TableEdited { patch }));
        for (id, status) in wanted {
            self.set_status(&id, status);
        }
        self.reschedule();
    }

    fn set_status(&mut self, id: &str, status: Status) {
        let Some(task) = self.ledger.plan().find(id) else {
            return;
        };
        let open = matches!(self.ledger.task(task).progress, TaskProgress::Open { .. });
        if open || self.ledger.status(task) == status {
            if open {
                let note = format!("{id} is running; its status in the table is not changed by hand");
                self.notify(Notice::Note(note));
            }
            return;
        }
        let task_id = id.to_owned();
        match status {
            Status::Pending => {
                self.reset_by_hand(task, "its status was set to pending by hand");
            }
            Status::Completed => self.record(Event::MarkedDone { task: task_id }),
            Status::Skipped => {
                self.record(Event::Skipped {
                    task: task_id,
                    error: "Skipped by hand".to_owned(),
                });
            }
            Status::Failed => {
                let note = format!("{id}: a status of `failed` cannot be set by hand; use `skipped`");
                self.notify(Notice::Note(note));
            }
        }
    }
}

impl Ledger {
    /// These tasks and everything that was skipped because of them.
    pub fn to_retry(&self, tasks: &[TaskIx]) -> Vec<TaskIx> {
        let mut all: Vec<TaskIx> = tasks.to_vec();
        let mut at = 0;
        while at < all.len() {
            for &next in self.plan().dependents(all[at]) {
                if self.status(next) == Status::Skipped && !all.contains(&next) {
                    all.push(next);
                }
            }
            at += 1;
        }
        all
    }
}

/// The statuses a person set, by task id, in the order of the table.
fn requested_statuses(patch: &Patch) -> Vec<(String, Status)> {
    let statuses = patch.changed.iter().filter(|cell| cell.column == "status");
    statuses
        .filter_map(|cell| Some((cell.id.clone(), Status::parse(&cell.value)?)))
        .collect()
}
