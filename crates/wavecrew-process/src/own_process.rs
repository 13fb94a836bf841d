//! Signals to the current process.

use std::io::Read;

use rustix::process::{Signal, getpid, kill_process};

/// Sends SIGTERM to the current process as soon as its stdin is closed: then the process that started it is gone.
pub fn terminate_when_stdin_closes() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        signal_self(Signal::TERM);
    });
}

pub fn signal_self(signal: Signal) {
    // A process may always signal itself.
    let _ = kill_process(getpid(), signal);
}
