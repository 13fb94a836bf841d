//! What has to hold: when something starts, after every step, at the end.

use super::World;
use wavecrew_core::engine::{Ledger, TaskProgress};
use wavecrew_core::event::{Event, RunOutcome, Status};

impl World {
    /// Wave order, and nothing that is on record as completed runs again unless someone asked for it.
    pub(super) fn check_may_start(&self, id: &str) {
        let ledger = &self.disk;
        let plan = ledger.plan();
        let task = plan.find(id).expect("a task of the plan");
        for other in plan.tasks().filter(|&other| plan.wave(other) < plan.wave(task)) {
            assert_eq!(
                ledger.task(other).progress,
                TaskProgress::Done,
                "{} is not done",
                plan.id(other)
            );
        }
        for &dep in plan.deps(task) {
            assert_eq!(
                ledger.status(dep),
                Status::Completed,
                "{id} runs on a broken dependency"
            );
        }
        let mut completed = false;
        for event in &self.journal {
            match event {
                Event::Finished { task, result, .. } if task == id => {
                    completed = result.status == Status::Completed;
                }
                Event::MarkedDone { task } if task == id => completed = true,
                Event::Reset { task, .. } | Event::Reworked { task, .. } if task == id => completed = false,
                Event::RolledBack { task, .. } if task == id => completed = true,
                Event::Skipped { task, .. } if task == id => completed = false,
                _ => {}
            }
        }
        assert!(!completed, "{id} was completed and runs again");
    }

    /// The table that the journal gives equals the table in memory.
    pub(super) fn check_replay(&mut self) {
        if self.rng.one_in(8) {
            assert_eq!(table_of(&self.disk), table_of(self.engine.ledger()));
            assert_eq!(self.disk.counts(), self.engine.ledger().counts());
        }
    }

    pub(super) fn check_the_end(&mut self) {
        let ledger = self.replayed();
        for task in ledger.plan().tasks() {
            assert_eq!(
                ledger.task(task).progress,
                TaskProgress::Done,
                "{} has no end",
                ledger.plan().id(task)
            );
        }
        let counts = ledger.counts();
        let good = counts.failed + counts.skipped == 0;
        let expected = if good {
            RunOutcome::Completed
        } else {
            RunOutcome::Failed
        };
        assert_eq!(ledger.ending, Some(expected));
    }
}

fn table_of(ledger: &Ledger) -> String {
    let mut table = Vec::new();
    ledger
        .plan()
        .render(&mut table, |task, column| ledger.cell(task, column))
        .expect("memory");
    String::from_utf8(table).expect("text")
}
