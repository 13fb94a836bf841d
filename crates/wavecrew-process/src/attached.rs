//! Processes that end with whoever started them.

use std::io::Read;

use rustix::process::{Signal, getpid, kill_process};

/// When the other end of stdin is gone, so is whoever wanted the result: stop as if told to.
pub fn terminate_when_stdin_closes() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        signal_self(Signal::TERM);
    });
}

/// As if somebody else had sent it.
pub fn signal_self(signal: Signal) {
    // Nobody but the kernel is asked, and it knows this process.
    let _ = kill_process(getpid(), signal);
}
