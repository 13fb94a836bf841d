//! Plans a table of a million tasks beside the bare `csv` crate and beside Python.
//!
//! `cargo bench -p wavecrew --bench plan`; needs `python3` on the PATH for the last comparison.

#![expect(clippy::cast_precision_loss, reason = "sizes far below 2^52")]
#![expect(clippy::cast_possible_truncation, reason = "a remainder of a u32")]

use std::fs::{self, File};
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wavecrew_core::plan::{Plan, seal};
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;

const TASKS: u32 = 1_000_000;
const ROUNDS: usize = 7;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, flag, path] = args.as_slice()
        && flag == "--peak"
    {
        black_box(plan(Path::new(path)));
        println!("{}", peak_bytes());
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tasks.csv");
    for tasks in [1000, 10_000, 100_000] {
        fs::write(&path, table(Kind::Plain, tasks)).expect("the table is written");
        let (bare, ours) = beside(&path);
        println!(
            "{tasks:>7} tasks             {:8.1} ms   {:.2}x of the csv crate",
            ms(ours),
            ratio(ours, bare)
        );
    }
    fs::write(&path, table(Kind::Plain, TASKS)).expect("the table is written");
    let size = fs::metadata(&path).expect("the table is there").len();
    println!("{TASKS} tasks, 2 dependencies each, {:.1} MB", mega(size));

    let (bare, ours) = beside(&path);
    println!("csv crate, reading only   {:8.1} ms", ms(bare));
    println!(
        "read, validate, level     {:8.1} ms   {:.2}x of the csv crate",
        ms(ours),
        ratio(ours, bare)
    );
    for (what, text) in [
        ("descriptions in quotes", table(Kind::Quoted, TASKS)),
        ("rows in no order", table(Kind::Shuffled, TASKS)),
    ] {
        let path = folder.path().join("other.csv");
        fs::write(&path, text).expect("the table is written");
        let (bare, ours) = beside(&path);
        let times = ratio(ours, bare);
        println!("  {what:<24}{:8.1} ms   {times:.2}x of the csv crate", ms(ours));
    }

    let command = (0..3)
        .map(|_| time(|| run(wavecrew(&path))))
        .min()
        .unwrap_or_default();
    println!("wavecrew plan > /dev/null {:8.1} ms", ms(command));

    let peak: u64 = output(Command::new(&args[0]).arg("--peak").arg(&path))
        .parse()
        .expect("the child prints bytes");
    println!(
        "peak memory               {:8.1} MB   {:.2}x of the file (at most 4)",
        mega(peak),
        peak as f64 / size as f64
    );

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/plan.py");
    let python = time(|| output(Command::new("python3").arg(&script).arg(&path)));
    println!(
        "Python csv + graphlib     {:8.1} ms   {:.1}x of ours (at least 15)",
        ms(python),
        ratio(python, ours)
    );

    let version = (0..20).map(|_| time(|| run(version()))).min().unwrap_or_default();
    println!("wavecrew --version        {:8.1} ms   (at most 10)", ms(version));
}

/// The best of some rounds, in turns, so that a busy machine slows down both.
fn beside(path: &Path) -> (Duration, Duration) {
    let (mut bare, mut ours) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        bare = bare.min(time(|| bare_csv(path)));
        ours = ours.min(time(|| plan(path)));
    }
    (bare, ours)
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Quoted,
    Shuffled,
}

/// Every task waits for one close before it and for any earlier one.
fn table(kind: Kind, tasks: u32) -> String {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut pick = |below: u32| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % u64::from(below.max(1))) as u32
    };
    let quote = if kind == Kind::Quoted { "\"" } else { "" };
    let mut rows = Vec::with_capacity(tasks as usize);
    for n in 0..tasks {
        let near = n.saturating_sub(1 + pick(100));
        let far = pick(n);
        let deps = if n < 2 {
            String::new()
        } else {
            format!("TASK-{near:07};TASK-{far:07}")
        };
        rows.push(format!(
            "TASK-{n:07},Task {n},{quote}Do part {n} of the work{quote},worker,{deps},,csv-wave\n"
        ));
    }
    if kind == Kind::Shuffled {
        for n in (1..tasks).rev() {
            rows.swap(n as usize, pick(n + 1) as usize);
        }
    }
    let header = "id,title,description,role,deps,context_from,exec_mode\n";
    rows.iter().fold(header.to_owned(), |text, row| text + row)
}

fn bare_csv(path: &Path) -> u64 {
    let mut reader = csv::Reader::from_path(path).expect("the table opens");
    let mut record = csv::ByteRecord::new();
    let mut fields = 0;
    while reader.read_byte_record(&mut record).expect("the table is good") {
        fields += record.len() as u64;
    }
    fields
}

/// What `wavecrew plan` does before it prints.
fn plan(path: &Path) -> Plan {
    let team = Team::builtin("generic").expect("a built-in team");
    let file = File::open(path).expect("the table opens");
    let sheet = Sheet::read(file, Origin::User).expect("the table is good");
    seal(sheet, &team).expect("the plan is good").0
}

fn wavecrew(path: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
    command.arg("plan").arg(path);
    command
}

fn version() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
    command.arg("--version");
    command
}

fn run(mut command: Command) {
    let status = command
        .stdout(Stdio::null())
        .status()
        .expect("the program starts");
    assert!(status.success(), "{command:?} ended with {status}");
}

fn output(command: &mut Command) -> String {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{command:?} ended with {}",
        output.status
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the system tells a process its memory");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("peak resident size");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024
}

fn time<T>(job: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(job());
    start.elapsed()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}
