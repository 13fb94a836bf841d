//! Runs one program of a test run, and ends it with everything that it started. Keeps only the beginning and the end of its
//! output.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use wavecrew_process::end_process_trees;
use wavecrew_process::process_table::{self, Entry};
use wavecrew_process::sandbox::spawn_confined;

use crate::framework::all_facts;

/// Set in every process of a test run, to find processes that left their group.
const MARK: &str = "WAVECREW_MEASURE";

#[derive(Debug, Clone)]
pub struct Step {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: Vec<(&'static str, OsString)>,
    /// What it may change, besides temporary files: existing folders.
    pub writable: Vec<PathBuf>,
    /// Also receives standard output, up to a limit: some tools print their report.
    pub copy_to: Option<PathBuf>,
    /// Lines of the output that begin with this are kept apart.
    pub mark: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
    TimedOut,
    /// By the caller.
    Stopped,
}

#[derive(Debug)]
pub struct Ran {
    pub ended: Ended,
    /// Standard output and error; a line replaces what was left out.
    pub output: String,
    /// The marked lines, without their mark.
    pub marked: Vec<String>,
}

/// Runs until the program ends, the deadline passes or `stop` becomes readable. Leaves no process behind.
pub fn run(program: &Step, deadline: Instant, stop: Option<BorrowedFd<'_>>) -> io::Result<Ran> {
    let mark = mark();
    let (reader, writer) = io::pipe()?;
    let copy = program.copy_to.as_ref().map(File::create).transpose()?;
    let mut command = Command::new(&program.program);
    command
        .args(&program.args)
        .current_dir(&program.cwd)
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .env(MARK, &mark)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .process_group(0);
    // A report on standard output must not be mixed with error messages.
    if copy.is_some() {
        command.stderr(Stdio::null());
    } else {
        command.stderr(writer.try_clone()?);
    }
    // An outer test run may be running this very program.
    for name in all_facts().flat_map(|facts| facts.process_variables) {
        command.env_remove(name);
    }
    let places: Vec<&Path> = program.writable.iter().map(PathBuf::as_path).collect();
    let mut child = spawn_confined(&mut command, &places)?;
    drop((command, writer));
    let mut sorter = LineSorter::new(program.mark.clone());
    let reader = thread::spawn(move || {
        let output = read_output(reader, copy, &mut sorter);
        (output, sorter.found)
    });
    let waited = wait(&child, deadline, stop);
    end_tree(&child, &mark);
    let status = child.wait()?;
    let (output, marked) = reader.join().unwrap_or_default();
    Ok(Ran {
        ended: waited?.unwrap_or_else(|| ended(status)),
        output,
        marked,
    })
}

/// The prefix of the marks of this process's runs. A later process with the same pid has another.
pub fn run_name() -> String {
    let me = rustix::process::getpid();
    let start = process_table::entry(me).map_or(0, |e| e.start_time);
    format!("{}.{start}", me.as_raw_pid())
}

fn mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}.{}", run_name(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// `None` when the program ended by itself.
fn wait(child: &Child, deadline: Instant, stop: Option<BorrowedFd<'_>>) -> io::Result<Option<Ended>> {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Some(Ended::TimedOut));
        }
        let mut fds = vec![PollFd::new(&pidfd, PollFlags::IN)];
        fds.extend(stop.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        // A timeout may be too long for the system: wait for an hour, and check again.
        let time = Timespec::try_from(left.min(Duration::from_hours(1))).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !fds[0].revents().is_empty() {
            return Ok(None);
        }
        if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
            return Ok(Some(Ended::Stopped));
        }
    }
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(0)),
    }
}

/// Ends the group, all processes with the mark, and their descendants.
fn end_tree(child: &Child, mark: &str) {
    let group = Pid::from_child(child).as_raw_pid();
    end_process_trees(|| {
        let all = process_table::all().into_iter();
        all.filter(|e| e.group == group || marked(e).is_some_and(|value| value == mark.as_bytes()))
            .collect()
    });
}

/// Ends all runs of a process that is gone: processes with one of its marks, their groups, and their descendants.
pub fn end_runs_of(name: &str) {
    let prefix = format!("{name}.");
    let mut groups = HashSet::new();
    end_process_trees(|| {
        let all = process_table::all();
        let is_marked = |e: &Entry| marked(e).is_some_and(|value| value.starts_with(prefix.as_bytes()));
        // A marked group leader belongs to the run; other groups may be older than the run.
        groups.extend(
            all.iter()
                .filter(|e| e.group == e.pid.as_raw_pid() && is_marked(e))
                .map(|e| e.group),
        );
        all.into_iter()
            .filter(|e| groups.contains(&e.group) || is_marked(e))
            .collect()
    });
}

fn marked(e: &Entry) -> Option<Vec<u8>> {
    process_table::environment_variable(e.pid, MARK)
}

/// This many bytes of the beginning and of the end of a program's output are kept.
const KEPT: usize = 64 * 1024;
/// Larger reports are refused.
pub const REPORT_LIMIT: u64 = 256 * 1024 * 1024;

/// At most this many marked lines are kept.
const MARKED_LINES: usize = 200_000;

/// Keeps marked lines apart from the rest of an output.
struct LineSorter {
    mark: Option<String>,
    /// The beginning of a line whose end has not been read.
    open: Vec<u8>,
    found: Vec<String>,
}

impl LineSorter {
    fn new(mark: Option<String>) -> Self {
        Self {
            mark: mark.map(|mark| format!("{mark} ")),
            open: Vec::new(),
            found: Vec::new(),
        }
    }

    /// The bytes without marked lines. Holds the last line back until it ends.
    fn sort(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some(mark) = self.mark.clone() else {
            return bytes.to_vec();
        };
        let mut rest = Vec::with_capacity(bytes.len());
        self.open.extend(bytes);
        let all = std::mem::take(&mut self.open);
        for line in all.split_inclusive(|&byte| byte == b'\n') {
            match line.strip_prefix(mark.as_bytes()) {
                Some(text) if line.ends_with(b"\n") => {
                    if self.found.len() < MARKED_LINES {
                        self.found
                            .push(String::from_utf8_lossy(text).trim_end().to_owned());
                    }
                }
                _ if !line.ends_with(b"\n") && line.len() < KEPT => self.open.extend(line),
                _ => rest.extend(line),
            }
        }
        rest
    }
}

fn read_output(mut from: PipeReader, mut copy: Option<File>, sorter: &mut LineSorter) -> String {
    let mut head = Vec::new();
    let mut tail: VecDeque<u8> = VecDeque::new();
    let mut total = 0u64;
    let mut buffer = vec![0; 64 * 1024];
    let mut is_open = true;
    while is_open {
        let read = match from.read(&mut buffer) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        is_open = read > 0;
        let output = if is_open {
            sorter.sort(&buffer[..read])
        } else {
            std::mem::take(&mut sorter.open)
        };
        let (bytes, n) = (&output[..], output.len());
        if let Some(file) = &mut copy
            && (total + n as u64 > REPORT_LIMIT || file.write_all(bytes).is_err())
        {
            copy = None;
        }
        total += n as u64;
        let for_head = bytes.len().min(KEPT - head.len());
        head.extend(&bytes[..for_head]);
        tail.extend(&bytes[for_head..]);
        let surplus = tail.len().saturating_sub(KEPT);
        tail.drain(..surplus);
    }
    let left_out = total - head.len() as u64 - tail.len() as u64;
    if left_out > 0 {
        head.extend(format!("\n[... {left_out} bytes left out ...]\n").into_bytes());
    }
    head.extend(tail);
    String::from_utf8_lossy(&head).into_owned()
}
