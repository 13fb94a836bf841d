//! A child process that ends together with everything it started.

use std::process::Child;

use rustix::process::Pid;
use wavecrew_process::{end_process_trees, process_table};

/// Ends the child and all of its descendants on drop.
pub struct ProcessTree(pub Child);

impl Drop for ProcessTree {
    fn drop(&mut self) {
        let root = Pid::from_child(&self.0);
        end_process_trees(|| process_table::entry(root).into_iter().collect());
        // The child is dead by now: this only removes it from the process table.
        let _status = self.0.wait();
    }
}
