//! The processes that a sandbox started.

use super::Sandbox;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

impl Sandbox {
    /// Processes that work in the sandbox, or name it in their command line or environment.
    pub fn processes(&self) -> Vec<String> {
        let (root, name) = (self.root.path(), self.root_name());
        let mut found = Vec::new();
        for process in fs::read_dir("/proc").expect("the process table").flatten() {
            // A process that ended has none of them.
            let Ok(command) = fs::read(process.path().join("cmdline")) else {
                continue;
            };
            let works_here =
                fs::read_link(process.path().join("cwd")).is_ok_and(|folder| folder.starts_with(root));
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            let is_named = |bytes: &[u8]| bytes.windows(name.len()).any(|part| part == name.as_bytes());
            if works_here || is_named(&command) || is_named(&environment) {
                let command = String::from_utf8_lossy(&command).replace('\0', " ");
                let pid = process.file_name();
                found.push(format!("{} {command}", String::from_utf8_lossy(pid.as_bytes())));
            }
        }
        found
    }

    /// Whether a worker runs that knows itself by this number.
    pub fn is_worker_alive(&self, pid: &str) -> bool {
        self.worker(pid).is_some()
    }

    /// The worker that knows itself by this number: its folder in the process table. Each guardian numbers its workers anew (see
    /// `NSpid` in proc(5)), so ask while one guardian runs.
    pub fn worker(&self, pid: &str) -> Option<PathBuf> {
        let all = fs::read_dir("/proc").expect("the process table").flatten();
        all.map(|process| process.path()).find(|process| {
            let works_here =
                fs::read_link(process.join("cwd")).is_ok_and(|folder| folder.starts_with(self.root.path()));
            let status = fs::read_to_string(process.join("status")).unwrap_or_default();
            let own = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
            works_here && own.and_then(|own| own.split_whitespace().last()) == Some(pid.trim())
        })
    }

    /// Kills the guardian of the latest session's run.
    pub fn kill_guardian(&self) {
        self.signal_guardian(Signal::KILL);
    }

    pub fn signal_guardian(&self, signal: Signal) {
        let guardian = self.json(".run/guardian.json")["pid"].as_i64().expect("a number");
        let guardian = Pid::from_raw(i32::try_from(guardian).expect("a pid")).expect("a pid");
        kill_process(guardian, signal).expect("the guardian runs");
    }

    /// Fails if anything that the sandbox started still runs.
    #[track_caller]
    pub fn expect_no_processes(&self) {
        assert_eq!(self.processes(), Vec::<String>::new(), "left running");
    }
}
