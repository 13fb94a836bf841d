//! Starts the coordinator under strace, and reads what strace writes down.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use wavecrew_test_support::sandbox::{Outcome, Sandbox};

/// Calls that change the disk.
pub const CHANGES: [&str; 11] = [
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "linkat",
    "unlink",
    "mkdir",
    "ftruncate",
];

/// The n-th call of a thread that has this name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Point {
    pub call: String,
    pub nth: usize,
    /// Only calls about this file of the project count.
    pub file: Option<String>,
}

/// Stands for a name that is new in each run.
const TEMPORARY: &str = "TEMPORARY";

/// What a call was about: its name and its file within the project, without what differs between runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Kind(String);

/// A call of the coordinator that concerns the project's sessions.
#[derive(Clone, Debug)]
pub struct Call {
    pub point: Point,
    pub kind: Kind,
    /// Below the project's folder.
    pub path: String,
}

/// What happens at a point.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    Kill,
    Error(&'static str),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} number {}", self.call, self.nth)?;
        match &self.file {
            Some(file) => write!(f, " of {file}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Runs the coordinator undisturbed and returns its calls of these names.
pub fn record(sandbox: &Sandbox, words: &[&str], calls: &[&str]) -> Vec<Call> {
    let trace = format!("trace={}", calls.join(","));
    let (ended, log) = under_strace(sandbox, words, &["-e", &trace]);
    ended.expect_exit(0);
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (thread, name, rest) in log.lines().filter_map(parse) {
        let nth = seen.entry((thread, name)).or_default();
        *nth += 1;
        let only_reads = name == "openat" && !rest.contains("O_CREAT");
        if let Some(path) = session_path(name, rest).filter(|_| !only_reads) {
            let point = Point {
                call: name.to_owned(),
                nth: *nth,
                file: None,
            };
            let kind = Kind::of(name, path);
            let path = path.to_owned();
            found.push(Call { point, kind, path });
        }
    }
    assert!(!found.is_empty(), "strace recorded nothing:\n{log}");
    found
}

/// Runs the coordinator with a fault at a point. Returns at what kind of call it struck, if it did.
pub fn strike(sandbox: &Sandbox, words: &[&str], point: &Point, fault: Fault) -> (Outcome, Option<Kind>) {
    let Point { call, nth, file } = point;
    let fault = match fault {
        Fault::Kill => "signal=KILL".to_owned(),
        Fault::Error(name) => format!("error={name}"),
    };
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:{fault}:when={nth}");
    let mut options = vec!["-e", &trace, "-e", &inject];
    let file = file
        .as_ref()
        .map(|file| sandbox.path(file).to_string_lossy().into_owned());
    if let Some(file) = &file {
        options.extend(["-P", file]);
    }
    let (ended, log) = under_strace(sandbox, words, &options);
    let kind = struck(&log).and_then(|(name, rest)| Some(Kind::of(name, session_path(name, rest)?)));
    (ended, kind)
}

/// The call that never returned, or whose answer was replaced.
fn struck(log: &str) -> Option<(&str, &str)> {
    // Calls of several threads at the same time are written down in two pieces.
    let mut begun: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for line in log.lines() {
        let (thread, text) = line.split_once(' ')?;
        let call = parse(line).map(|(_, name, rest)| (name, rest));
        if line.ends_with("= ?") || line.ends_with("(INJECTED)") {
            return call.or_else(|| begun.get(thread).copied());
        }
        if let Some(call) = call.filter(|_| line.ends_with("<unfinished ...>")) {
            begun.insert(thread, call);
        } else if text.contains(" resumed>") {
            begun.remove(thread);
        }
    }
    begun.into_values().next()
}

fn under_strace(sandbox: &Sandbox, words: &[&str], options: &[&str]) -> (Outcome, String) {
    require_strace();
    let log = sandbox.path("strace.log");
    let mut command = Command::new("strace");
    command
        .args(["-f", "--detach-on=execve", "-y", "-qq", "-e", "signal=none", "-o"])
        .arg(&log)
        .args(options);
    let ended = sandbox.start_run_under(command, words).wait();
    (ended, fs::read_to_string(log).expect("strace's log"))
}

/// Without strace nothing here would be tested: that is a failure, not a pass.
fn require_strace() {
    static WORKS: OnceLock<Result<(), String>> = OnceLock::new();
    let works = WORKS.get_or_init(|| {
        let output = Command::new("strace")
            .args(["-qq", "-o", "/dev/null", "true"])
            .output();
        let output = output.map_err(|error| {
            format!("strace does not start ({error}); install it, for example with `apt install strace`")
        })?;
        let reason = String::from_utf8_lossy(&output.stderr);
        output.status.success().then_some(()).ok_or_else(|| {
            format!("strace may not trace here; allow ptrace (in a container: CAP_SYS_PTRACE): {reason}")
        })
    });
    if let Err(reason) = works {
        panic!("{reason}");
    }
}

/// `THREAD NAME(REST`
fn parse(line: &str) -> Option<(&str, &str, &str)> {
    let (thread, call) = line.split_once(' ')?;
    let (name, rest) = call.trim_start().split_once('(')?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then_some((thread, name, rest))
}

/// The file that the call is about, from the project's folder on: of a rename, the new name.
fn session_path<'a>(name: &str, rest: &'a str) -> Option<&'a str> {
    let from_project = |part: &'a str| part.find("/.workflow/").map(|at| &part[at + 1..]);
    let mut paths = rest.split(['<', '>', '"']).filter_map(from_project);
    if name.starts_with("rename") {
        paths.next_back()
    } else {
        paths.next()
    }
}

impl Kind {
    /// Whether the file has another name in each run.
    pub fn is_temporary(&self) -> bool {
        self.0.contains(TEMPORARY)
    }

    fn of(name: &str, path: &str) -> Self {
        let parts: Vec<&str> = path
            .split('/')
            .map(|part| match part {
                part if part.starts_with(".tmp-") => TEMPORARY,
                part if part.starts_with("run-tasks-") => "SESSION",
                part => part,
            })
            .collect();
        Self(format!("{name} {}", parts.join("/")))
    }
}
