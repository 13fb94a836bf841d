//! Runs a framework with limits on time, memory and time without progress.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Pid;
use wavecrew_process::process_table;
use wavecrew_process::sandbox::spawn_confined;

use crate::GenerateError;
use crate::process_tree::ProcessTree;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Bytes kept of what a framework prints.
const KEPT_OUTPUT: usize = 4000;
/// Limit of the engine's heap, in megabytes.
const HEAP_MB: u32 = 1024;
/// Limit for a framework with all its processes: the heap, and memory outside of it.
const MAX_MEMORY: u64 = 2 << 30;
/// Processor time without progress that counts as a hang: of one call, and of loading a module.
const STALLED: Duration = Duration::from_secs(15);
const STALLED_LOADING: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    Exited,
    /// It ran out of time, or made no progress.
    Hung,
    OutOfMemory,
}

pub struct RunResult {
    pub end: RunEnd,
    /// The printed line with the cause of an error.
    pub message: String,
}

pub struct Limits<'a> {
    pub wall_time: Duration,
    /// A file that the process writes whenever it makes progress. Processor time without a write is a hang.
    pub trace: Option<&'a Path>,
}

/// The places that a framework may change: its temporary folder, and where it reports to.
pub struct Places<'a> {
    pub temp: &'a Path,
    pub report: Option<&'a Path>,
    /// Beside the installed packages.
    pub packages: Option<&'a Path>,
}

/// What every process of node gets: the environment, pipes, a group of its own.
pub fn node_environment(command: &mut Command, temp: &Path) {
    command
        .env("TMPDIR", temp)
        .env("CI", "1")
        .env("NO_COLOR", "1")
        .env("NODE_OPTIONS", format!("--max-old-space-size={HEAP_MB}"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
}

/// Runs a command until it exits or exceeds a limit. None of its processes outlives this call.
pub fn run(
    command: &mut Command,
    limits: &Limits<'_>,
    places: &Places<'_>,
) -> Result<RunResult, GenerateError> {
    let program = PathBuf::from(command.get_program());
    let mut writable = vec![places.temp];
    writable.extend(places.report);
    writable.extend(places.packages);
    // The search writes its trace and its result side by side.
    writable.extend(limits.trace.and_then(Path::parent));
    let child =
        spawn_confined(command, &writable).map_err(|why| GenerateError::Interpreter { program, why })?;
    let mut tree = ProcessTree(child);
    let streams = [
        tree.0
            .stdout
            .take()
            .map(|out| Box::new(out) as Box<dyn Read + Send>),
        tree.0
            .stderr
            .take()
            .map(|out| Box::new(out) as Box<dyn Read + Send>),
    ];
    let readers: Vec<_> = streams
        .into_iter()
        .flatten()
        .map(|stream| thread::spawn(move || read_tail(stream)))
        .collect();
    let deadline = Instant::now() + limits.wall_time;
    let root = Pid::from_child(&tree.0);
    let mut progress = LastProgress::default();
    let mut end = RunEnd::Exited;
    while tree.0.try_wait()?.is_none() {
        let usage = process_table::usage_of_tree(root);
        if usage.resident > MAX_MEMORY {
            end = RunEnd::OutOfMemory;
            break;
        }
        let stalled = limits
            .trace
            .is_some_and(|trace| progress.is_stalled(trace, usage.processor));
        if stalled || Instant::now() >= deadline {
            end = RunEnd::Hung;
            break;
        }
        thread::sleep(POLL_INTERVAL);
    }
    drop(tree);
    let printed: Vec<String> = readers
        .into_iter()
        .map(|reader| reader.join().unwrap_or_default())
        .collect();
    let printed = printed.join("\n");
    if printed.contains("heap out of memory") {
        end = RunEnd::OutOfMemory;
    }
    Ok(RunResult {
        end,
        message: match end {
            RunEnd::OutOfMemory => format!("it uses more than {HEAP_MB} MB of memory"),
            RunEnd::Exited | RunEnd::Hung => error_line(&printed),
        },
    })
}

/// The state of a trace file when it last changed.
#[derive(Default)]
struct LastProgress {
    changed: Option<SystemTime>,
    processor: Duration,
}

impl LastProgress {
    /// Measures processor time, because on a busy machine wall time passes without the process running.
    fn is_stalled(&mut self, trace: &Path, processor: Duration) -> bool {
        let changed = fs::metadata(trace).and_then(|found| found.modified()).ok();
        if changed != self.changed {
            *self = Self { changed, processor };
        }
        let limit = if changed.is_some() {
            STALLED
        } else {
            STALLED_LOADING
        };
        processor.saturating_sub(self.processor) > limit
    }
}

/// The end of what a stream delivers. Reads everything, so that the writer never blocks.
fn read_tail(mut stream: Box<dyn Read + Send>) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut chunk = [0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        let surplus = kept.len().saturating_sub(2 * KEPT_OUTPUT);
        if surplus > KEPT_OUTPUT {
            kept.drain(..surplus);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn error_line(printed: &str) -> String {
    let lines = || printed.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| {
        line.contains("No tests found")
            || line.contains("Error:")
            || line.contains("Cannot find")
            || line.contains("SyntaxError")
    });
    let line = error.or_else(|| lines().next_back()).unwrap_or("no output");
    line.chars().take(300).collect()
}
