//! How fast runs are, beside named peers in the same run of this program. Run by hand:
//! `cargo bench -p wavecrew --bench run [-- throughput sandbox chain sleepers continue growth]`.

#![expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wavecrew_core::engine::Ledger;
use wavecrew_core::event::{Event, Fingerprint, Status, StopReason, TaskResult};
use wavecrew_core::plan::seal;
use wavecrew_core::sheet::{Origin, Sheet};
use wavecrew_core::team::Team;
use wavecrew_core::time::Timestamp;
use wavecrew_session::{Journal, SessionDir};

const WAVECREW: &str = env!("CARGO_BIN_EXE_wavecrew");

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let agent = fake_agent();
    for (name, bench) in [
        ("throughput", throughput as fn(&Path)),
        ("sandbox", sandbox),
        ("chain", chain),
        ("sleepers", sleepers),
        ("continue", continuing),
        ("growth", growth),
    ] {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            println!("== {name}");
            bench(&agent);
        }
    }
}

/// The no-op worker, built as this bench is.
fn fake_agent() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let built = Command::new(cargo)
        .args(["build", "--release", "-q", "-p", "wavecrew-test-support"])
        .args(["--bin", "wavecrew-fake-agent"])
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "the fake agent does not build"
    );
    Path::new(WAVECREW).with_file_name("wavecrew-fake-agent")
}

/// A table of `count` tasks whose dependencies `deps` gives.
fn table(folder: &Path, count: usize, deps: impl Fn(usize) -> String) -> PathBuf {
    let mut text = String::from("id,description,deps\n");
    for at in 0..count {
        let _ = writeln!(text, "T{at},no-op,{}", deps(at));
    }
    let path = folder.join("tasks.csv");
    fs::write(&path, text).expect("a table");
    path
}

fn wavecrew(folder: &Path, agent: &Path, words: &str, concurrency: usize) -> Duration {
    let start = Instant::now();
    let status = Command::new(WAVECREW)
        .current_dir(folder)
        .args(["run", "tasks.csv", "-y", "-q", "-c", &concurrency.to_string()])
        .args(["--agent", &format!("command:{} {words}", agent.display())])
        .stdout(Stdio::null())
        .status()
        .expect("wavecrew runs");
    assert!(status.success(), "wavecrew failed: {status}");
    start.elapsed()
}

fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// 10,000 no-op tasks in one wave, eight at a time, every result durable. Machines have better and worse moments, so that
/// everybody takes turns, and the middle of three counts.
fn throughput(agent: &Path) {
    const COUNT: usize = 10_000;
    // The slowest of them gets less to do.
    const FEW: usize = 1000;
    let numbers = |count: usize| (0..count).fold(String::new(), |text, n| text + &format!("{n}\n"));
    let program = agent.to_str().expect("text");
    let (mut bare, mut ours, mut xargs, mut parallel) = (vec![], vec![], vec![], vec![]);
    for _ in 0..3 {
        let folder = tempfile::tempdir().expect("a folder");
        table(folder.path(), COUNT, |_| String::new());
        bare.push(rate(COUNT, bare_spawns(agent, COUNT, 8)));
        ours.push(rate(COUNT, wavecrew(folder.path(), agent, "noop", 8)));
        let took = piped("xargs", &["-P8", "-n1", program, "noop"], &numbers(COUNT));
        xargs.extend(took.map(|took| rate(COUNT, took)));
        let took = piped("parallel", &["-j8", program, "noop"], &numbers(FEW));
        parallel.extend(took.map(|took| rate(FEW, took)));
    }
    let (bare, ours) = (median(&bare).expect("three"), median(&ours).expect("three"));
    println!("bare posix_spawn, 8 threads  {bare:8.0}/s");
    println!(
        "wavecrew -c 8                {ours:8.0}/s   {:.2}x of bare",
        ours / bare
    );
    for (program, rates) in [("xargs", xargs), ("parallel", parallel)] {
        match median(&rates) {
            Some(theirs) => println!(
                "{program:<28} {theirs:8.0}/s   wavecrew is {:.2}x as fast",
                ours / theirs
            ),
            None => println!("{program:<28} not installed"),
        }
    }
    pueue(agent, ours);
}

/// What confining each worker costs: the same no-op tasks with the sandbox off and on, in turns; the middle of five counts.
/// `WAVECREW_BENCH_TASKS` is the number of tasks.
fn sandbox(agent: &Path) {
    let count = std::env::var("WAVECREW_BENCH_TASKS").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let run = |mode: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(
            folder.path().join("wavecrew.toml"),
            format!("sandbox = \"{mode}\"\n"),
        )
        .expect("settings");
        table(folder.path(), count, |_| String::new());
        rate(count, wavecrew(folder.path(), agent, "noop", 8))
    };
    let (mut off, mut on) = (vec![], vec![]);
    for _ in 0..5 {
        off.push(run("off"));
        on.push(run("require"));
    }
    let (off, on) = (median(&off).expect("five"), median(&on).expect("five"));
    println!("sandbox = \"off\"             {off:8.0}/s");
    println!(
        "sandbox = \"require\"         {on:8.0}/s   {:.1} % fewer",
        100.0 * (1.0 - on / off)
    );
}

fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn bare_spawns(agent: &Path, count: usize, threads: usize) -> Duration {
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < count {
                    let status = Command::new(agent)
                        .arg("noop")
                        .env("WAVECREW_TASK", "T")
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .status();
                    assert!(status.is_ok_and(|status| status.success()));
                }
            });
        }
    });
    start.elapsed()
}

fn piped(program: &str, args: &[&str], input: &str) -> Option<Duration> {
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .env("WAVECREW_TASK", "T")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    child.wait().ok()?;
    Some(start.elapsed())
}

/// pueue with a daemon of its own in a temporary folder, if it is installed.
fn pueue(agent: &Path, ours: f64) {
    const COUNT: usize = 200;
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("pueue.yml");
    let text = format!(
        "shared:\n  pueue_directory: {dir}\n  runtime_directory: {dir}\n  use_unix_socket: true\n  \
         unix_socket_path: {dir}/s\ndaemon: {{}}\nclient: {{}}\n",
        dir = folder.path().display()
    );
    fs::write(&config, text).expect("a file");
    let call = |args: &[&str]| {
        Command::new("pueue")
            .arg("-c")
            .arg(&config)
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
    };
    let Ok(mut daemon) = Command::new("pueued")
        .arg("-c")
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
    else {
        println!("pueue                        not installed (cargo install pueue)");
        return;
    };
    while !call(&["status"]).is_ok_and(|status| status.success()) {
        std::thread::yield_now();
    }
    let _ = call(&["parallel", "8"]);
    let start = Instant::now();
    for _ in 0..COUNT {
        let _ = call(&["add", "--", &format!("{} noop", agent.display())]);
    }
    let _ = call(&["wait"]);
    let theirs = rate(COUNT, start.elapsed());
    let _ = call(&["shutdown"]);
    let _ = daemon.wait();
    println!(
        "pueue, 8 parallel            {theirs:8.0}/s   wavecrew is {:.1}x as fast",
        ours / theirs
    );
}

/// A chain of 1,000 waves of one task, beside a bare spawn and three fsyncs each.
fn chain(agent: &Path) {
    const COUNT: usize = 1000;
    let folder = tempfile::tempdir().expect("a folder");
    table(folder.path(), COUNT, |at| {
        if at == 0 {
            String::new()
        } else {
            format!("T{}", at - 1)
        }
    });
    let mut file = File::create(folder.path().join("synced")).expect("a file");
    let start = Instant::now();
    for _ in 0..COUNT {
        bare_spawns(agent, 1, 1);
        for _ in 0..3 {
            file.write_all(b"x").expect("a write");
            file.sync_data().expect("a sync");
        }
    }
    let bare = start.elapsed() / 1000;
    let ours = wavecrew(folder.path(), agent, "noop", 1) / 1000;
    println!("bare spawn + 3 fsyncs  {bare:>10.2?} a wave");
    println!(
        "wavecrew               {ours:>10.2?} a wave   {:.2}x",
        ours.as_secs_f64() / bare.as_secs_f64()
    );
}

/// 1,000 workers asleep at once: what the coordinator and its guardian hold in memory.
fn sleepers(agent: &Path) {
    const COUNT: usize = 1000;
    let folder = tempfile::tempdir().expect("a folder");
    table(folder.path(), COUNT, |_| String::new());
    let up = folder.path().join("up");
    let mut child = Command::new(WAVECREW)
        .current_dir(folder.path())
        .args(["run", "tasks.csv", "-y", "-q", "-c", "1000"])
        .args([
            "--agent",
            &format!("command:{} append={} hang", agent.display(), up.display()),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("wavecrew runs");
    while lines(&up) < COUNT {
        std::thread::sleep(Duration::from_millis(20));
    }
    let guardian = children(child.id()).first().copied().unwrap_or(0);
    let (ours, theirs) = (resident(child.id()), resident(guardian));
    println!(
        "coordinator {ours:.1} MB, guardian {theirs:.1} MB, together {:.1} MB resident",
        ours + theirs
    );
    child.kill().expect("it runs");
    let _ = child.wait();
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Megabytes of resident memory.
fn resident(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|kb| kb.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1024.0
}

/// A session of 100,000 tasks with 10 left: from the start of the program to the first worker.
fn continuing(agent: &Path) {
    const COUNT: usize = 100_000;
    const LEFT: usize = 10;
    let folder = tempfile::tempdir().expect("a folder");
    // Begin it for real, stop it, then write the journal of a run that got almost to the end.
    table(folder.path(), COUNT, |_| String::new());
    let up = folder.path().join("up");
    let words = format!("command:{} append={} noop", agent.display(), up.display());
    let mut child = Command::new(WAVECREW)
        .current_dir(folder.path())
        .args(["run", "tasks.csv", "-y", "-q", "--agent", &words])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("wavecrew runs");
    while lines(&up) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("it runs");
    let _ = child.wait();
    let name = fs::read_dir(folder.path().join(".workflow/.csv-wave")).expect("sessions");
    let name = name
        .flatten()
        .find(|entry| entry.path().is_dir())
        .expect("a session")
        .file_name();
    let session = SessionDir::open(folder.path(), &name.to_string_lossy()).expect("a session");
    write_history(&session, &words, COUNT - LEFT);
    fs::remove_file(&up).expect("the marks of the first run");
    let start = SystemTime::now();
    let status = Command::new(WAVECREW)
        .current_dir(folder.path())
        .args(["run", "--continue", &name.to_string_lossy(), "-y", "-q"])
        .stdout(Stdio::null())
        .status()
        .expect("wavecrew runs");
    assert!(status.success(), "{status}");
    let (events, _) = Journal::<Event>::read(&session.journal_file()).expect("a journal");
    let first = events
        .iter()
        .rev()
        .take_while(|event| !matches!(event, Event::RunStarted { .. }))
        .last();
    let begun = events.iter().rev().find_map(|event| match event {
        Event::RunStarted { at, .. } => Some(*at),
        _ => None,
    });
    let start = start.duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let until = u128::from(begun.expect("a run").0) - start;
    assert_eq!(lines(&up), LEFT, "exactly what was left is run, {first:?}");
    println!("{COUNT} tasks, {LEFT} left: first spawn after {until} ms");
}

/// A journal as a real run writes it: three events for every task that is done.
fn write_history(session: &SessionDir, agent: &str, done: usize) {
    let team = Arc::new(Team::builtin("generic").expect("built in"));
    let file = File::open(session.run_folder().join("plan.csv")).expect("the plan");
    let plan = seal(Sheet::read(file, Origin::Session).expect("a table"), &team)
        .expect("a plan")
        .0;
    let ledger = Ledger::new(team, plan);
    let mut text = Vec::new();
    File::open(session.journal_file())
        .expect("a journal")
        .read_to_end(&mut text)
        .expect("text");
    fs::remove_file(session.journal_file()).expect("a journal");
    let mut journal = Journal::<Event>::create(&session.journal_file()).expect("a journal");
    let at = Timestamp(1_700_000_000_000);
    let mut events = vec![
        Event::RunStarted { at, concurrency: 3 },
        Event::WaveStarted { wave: 1 },
    ];
    let prints = wavecrew_core::engine::Fingerprinter::new(ledger.plan(), &ledger.team);
    for task in ledger.plan().tasks().take(done) {
        let id = ledger.plan().id(task).to_owned();
        let print: Fingerprint = prints.of(ledger.plan(), &ledger.team, task, "");
        let agent = agent.to_owned();
        events.push(Event::AttemptStarted {
            at,
            task: id.clone(),
            attempt: 1,
            print,
            agent,
        });
        let process = wavecrew_core::event::ProcessId {
            pid: 1,
            start_time: 1,
            boot_id: "0".repeat(36),
            host: None,
        };
        events.push(Event::Spawned {
            task: id.clone(),
            attempt: 1,
            turn: 1,
            process,
        });
        let result = TaskResult {
            status: Status::Completed,
            findings: format!("{id} is done"),
            ..TaskResult::default()
        };
        events.push(Event::Finished {
            at,
            task: id,
            attempt: 1,
            stop: StopReason::Ok,
            result,
        });
    }
    journal.append(&events).expect("a journal");
    journal.sync().expect("a journal");
}

/// Time per task must not grow with the number of tasks.
fn growth(agent: &Path) {
    let mut first = None;
    for count in [10_000, 100_000] {
        let folder = tempfile::tempdir().expect("a folder");
        table(folder.path(), count, |_| String::new());
        let took = wavecrew(folder.path(), agent, "noop", 8);
        let each = took.as_secs_f64() * 1e6 / count as f64;
        let first = *first.get_or_insert(each);
        println!(
            "{count:>7} tasks  {each:6.0} µs a task   {:.2}x of the smallest",
            each / first
        );
    }
}
