//! A child process that ends together with everything it started.

use std::process::Child;
use std::thread;

use rustix::process::Pid;
use wavecrew_process::{end, table};

/// Ends the child and all of its descendants on drop.
pub struct ProcessTree(pub Child);

impl Drop for ProcessTree {
    fn drop(&mut self) {
        let root = Pid::from_child(&self.0);
        end(
            || {
                table::descendants(root)
                    .into_iter()
                    .chain(table::entry(root))
                    .collect()
            },
            thread::sleep,
        );
        // The child is dead by now: this only removes it from the process table.
        let _status = self.0.wait();
    }
}
