//! Reads the kernel's process table. A process that ends meanwhile is skipped.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::{Pid, RawPid};
use rustix::time::{ClockId, clock_gettime};

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub pid: Pid,
    pub parent: RawPid,
    pub group: RawPid,
    /// In clock ticks since boot. Together with the pid it identifies a process until the next boot.
    pub start_time: u64,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Alive,
    /// Ended, and not yet reaped by its parent.
    Ended,
}

impl Entry {
    pub fn is_alive(&self) -> bool {
        self.state == State::Alive
    }

    pub fn instance(&self) -> (Pid, u64) {
        (self.pid, self.start_time)
    }
}

/// The kernel measures start times in hundredths of a second.
const TICK_NANOS: u64 = 10_000_000;

/// The start time of a process that starts now.
pub fn ticks_since_boot() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let nanos = now.tv_sec * 1_000_000_000 + now.tv_nsec;
    u64::try_from(nanos).unwrap_or(0) / TICK_NANOS
}

pub fn entry(pid: Pid) -> Option<Entry> {
    // The name has at most 15 bytes and the numbers at most 20 digits: one small read is enough.
    let mut buffer = [0; 512];
    let n = File::open(path(pid, "stat")).ok()?.read(&mut buffer).ok()?;
    parse(pid, &buffer[..n])
}

/// The fields follow the last `)`: the name of a process may contain spaces and parentheses.
fn parse(pid: Pid, line: &[u8]) -> Option<Entry> {
    let after = line.iter().rposition(|&b| b == b')')? + 1;
    let mut fields = std::str::from_utf8(&line[after..]).ok()?.split_ascii_whitespace();
    let state = match fields.next()? {
        "Z" | "X" | "x" => State::Ended,
        _ => State::Alive,
    };
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let start_time = fields.nth(16)?.parse().ok()?;
    Some(Entry {
        pid,
        parent,
        group,
        start_time,
        state,
    })
}

/// Whether a signal has stopped the process.
pub fn is_stopped(pid: Pid) -> bool {
    let text = fs::read(path(pid, "stat")).unwrap_or_default();
    let after = text.iter().rposition(|&b| b == b')');
    after.is_some_and(|after| text[after + 1..].starts_with(b" T"))
}

/// The processor time and memory that a process has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// In bytes.
    pub resident: u64,
    pub processor: Duration,
}

/// The usage of a process and all its descendants.
pub fn usage_of_tree(root: Pid) -> Usage {
    let below = descendants(root).into_iter().map(|entry| entry.pid);
    below
        .chain([root])
        .filter_map(usage)
        .fold(Usage::default(), |sum, one| Usage {
            resident: sum.resident + one.resident,
            processor: sum.processor + one.processor,
        })
}

fn usage(pid: Pid) -> Option<Usage> {
    let mut buffer = [0; 512];
    let n = File::open(path(pid, "stat")).ok()?.read(&mut buffer).ok()?;
    Some(Usage {
        resident: parse_resident(&fs::read_to_string(path(pid, "status")).ok()?),
        processor: parse_processor(&buffer[..n])?,
    })
}

/// A zombie has no such line.
fn parse_resident(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_ascii_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0) * 1024
}

fn parse_processor(line: &[u8]) -> Option<Duration> {
    let after = line.iter().rposition(|&b| b == b')')? + 1;
    let fields = std::str::from_utf8(&line[after..]).ok()?.split_ascii_whitespace();
    // From the state on, `utime` and `stime` are the 12th and 13th.
    let mut fields = fields.skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Duration::from_nanos((user + system) * TICK_NANOS))
}

/// All processes that this user may see.
pub fn all() -> Vec<Entry> {
    let Ok(folder) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    folder
        .flatten()
        .filter_map(|e| pid_from(e.file_name().as_bytes()))
        .filter_map(entry)
        .collect()
}

/// The direct children of a process, ended ones too.
pub fn children(of: Pid) -> Vec<Pid> {
    all()
        .into_iter()
        .filter(|e| e.parent == of.as_raw_pid())
        .map(|e| e.pid)
        .collect()
}

/// The children of a process's main thread: those that it adopted, and those that this thread started. Complete for the
/// current process as long as it reaps none meanwhile. `None` where the kernel does not keep such lists.
pub fn children_of_main_thread(of: Pid) -> Option<Vec<Pid>> {
    if !kernel_lists_children() {
        return None;
    }
    let mut found = Vec::new();
    let main = format!("task/{}/children", of.as_raw_pid());
    listed(Path::new(&path(of, &main)), &mut found);
    Some(found)
}

/// All descendants of a process, parents before their children. A process that forks meanwhile can be missed: call again until
/// nothing new appears.
pub fn descendants(root: Pid) -> Vec<Entry> {
    descendants_except(root, |_| false)
}

/// The same without excluded processes and their descendants.
pub fn descendants_except(root: Pid, is_excluded: impl Fn(Pid) -> bool) -> Vec<Entry> {
    let mut found = Vec::new();
    if kernel_lists_children() {
        let mut queue = Vec::new();
        listed_children(root, &mut queue);
        while let Some(pid) = queue.pop() {
            let Some(e) = entry(pid).filter(|_| !is_excluded(pid)) else {
                continue;
            };
            found.push(e);
            listed_children(pid, &mut queue);
        }
    } else {
        let mut by_parent: HashMap<RawPid, Vec<Entry>> = HashMap::new();
        for e in all() {
            by_parent.entry(e.parent).or_default().push(e);
        }
        let mut queue = vec![root.as_raw_pid()];
        while let Some(parent) = queue.pop() {
            let mut below = by_parent.remove(&parent).unwrap_or_default();
            below.retain(|e| !is_excluded(e.pid));
            queue.extend(below.iter().map(|e| e.pid.as_raw_pid()));
            found.extend(below);
        }
    }
    found
}

/// The value of a variable in the environment that a process was started with.
pub fn environment_variable(pid: Pid, name: &str) -> Option<Vec<u8>> {
    let environment = fs::read(path(pid, "environ")).ok()?;
    environment.split(|&b| b == 0).find_map(|pair| {
        let rest = pair.strip_prefix(name.as_bytes())?;
        Some(rest.strip_prefix(b"=")?.to_vec())
    })
}

/// The kernel lists children per thread of the parent.
fn listed_children(of: Pid, into: &mut Vec<Pid>) {
    let Ok(threads) = fs::read_dir(path(of, "task")) else {
        return;
    };
    for thread in threads.flatten() {
        listed(&thread.path().join("children"), into);
    }
}

fn listed(file: &Path, into: &mut Vec<Pid>) {
    if let Ok(text) = fs::read(file) {
        into.extend(text.split(u8::is_ascii_whitespace).filter_map(pid_from));
    }
}

fn kernel_lists_children() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    *LISTS.get_or_init(|| fs::exists("/proc/thread-self/children").unwrap_or(false))
}

fn pid_from(digits: &[u8]) -> Option<Pid> {
    let raw: RawPid = OsStr::from_bytes(digits).to_str()?.parse().ok()?;
    if raw > 0 { Pid::from_raw(raw) } else { None }
}

fn path(pid: Pid, file: &str) -> String {
    let mut path = String::with_capacity(24);
    write!(path, "/proc/{}/{file}", pid.as_raw_pid()).expect("writing to a string cannot fail");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_in_a_process_name_do_not_shift_the_fields() {
        let line = b"77 (a) Z 1 (2)) S 5 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2\n";
        let e = parse(Pid::from_raw(77).unwrap(), line).unwrap();
        assert_eq!(
            (e.parent, e.group, e.start_time, e.state),
            (5, 77, 987_654, State::Alive)
        );
    }

    #[test]
    fn memory_and_processor_time_are_parsed() {
        let line = b"77 (a) Z 1 (2)) S 5 77 77 0 -1 4194560 1 2 3 4 150 50 7 8 20 0 1 0 987654 1000000 3 9\n";
        assert_eq!(parse_processor(line), Some(Duration::from_secs(2)));
        assert_eq!(parse_resident("VmHWM:\t 9 kB\nVmRSS:\t    3 kB\n"), 3072);
        assert!(usage_of_tree(rustix::process::getpid()).resident > 0);
    }

    #[test]
    fn a_start_time_lies_between_the_ticks_around_it() {
        let before = ticks_since_boot();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let after = ticks_since_boot();
        let started = entry(Pid::from_child(&child)).unwrap().start_time;
        assert!((before..=after).contains(&started), "{before} {started} {after}");
        child.wait().unwrap();
    }

    #[test]
    fn this_process_is_a_child_of_its_parent() {
        let me = rustix::process::getpid();
        let parent = Pid::from_raw(entry(me).unwrap().parent).unwrap();
        assert!(children(parent).contains(&me));
        assert!(descendants(parent).iter().any(|e| e.pid == me));
        assert!(all().iter().any(|e| e.pid == me));
    }
}
