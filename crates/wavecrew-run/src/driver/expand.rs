//! Rows that a result asks for: one per task of a plan, or kept apart because plans touch the same files.

use super::Driver;
use wavecrew_core::engine::Input;
use wavecrew_core::id::TaskIx;

impl Driver<'_> {
    pub(super) fn expand(&mut self, task: TaskIx) {
        let task = self.engine.ledger().plan().id(task).to_owned();
        self.inputs.push_back(Input::Expanded {
            task,
            change: Ok(None),
        });
    }
}
