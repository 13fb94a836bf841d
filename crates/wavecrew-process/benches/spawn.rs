//! How fast workers start and end through the guardian, beside a bare loop of `posix_spawn` in eight threads in the same
//! run, and what a guardian with a thousand idle workers weighs.
//!
//! `cargo bench -p wavecrew-run --bench spawn [-- COUNT]`

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;
use wavecrew_process::guardian::{Guardian, GuardianCommand, guardian_main};
use wavecrew_process::{GuardianEvent, Spawn, output_pipe, pump};

const AT_ONCE: usize = 8;
const IDLE: u64 = 1000;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.first().and_then(|a| a.to_str()) {
        Some("__guardian") => {
            let words: Vec<String> = args
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            return guardian_main(&words);
        }
        Some("noop" | "hang") => return wavecrew_test_support::fake_agent::run(args.into_iter()),
        _ => {}
    }
    let count = args
        .iter()
        .find_map(|a| a.to_str()?.parse().ok())
        .unwrap_or(10_000);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    for _ in 0..2 {
        let bare = rate(count, || bare(count));
        let silent = rate(count, || runtime.block_on(guarded(count, Output::Nowhere)));
        let piped = rate(count, || runtime.block_on(guarded(count, Output::Pumped)));
        println!("bare, {AT_ONCE} threads        {bare:7.0}/s");
        println!("guardian               {silent:7.0}/s  {:.2}x", silent / bare);
        println!("guardian, output piped {piped:7.0}/s  {:.2}x", piped / bare);
    }
    runtime.block_on(idle());
    ExitCode::SUCCESS
}

fn rate(count: usize, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    f64::from(u32::try_from(count).expect("a small count")) / start.elapsed().as_secs_f64()
}

fn bare(count: usize) {
    let left = AtomicUsize::new(count);
    let program = this();
    let take = || {
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
            .is_ok()
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while take() {
                    let mut command = Command::new(&program);
                    command
                        .arg("noop")
                        .env("WAVECREW_TASK", "1")
                        .current_dir("/tmp")
                        .process_group(0);
                    command
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null());
                    assert!(command.status().expect("a child").success());
                }
            });
        }
    });
}

#[derive(Clone, Copy)]
enum Output {
    Nowhere,
    Pumped,
}

async fn guarded(count: usize, output: Output) {
    let (guardian, mut events) = start().await;
    let post = |key: usize| {
        let stdout = match output {
            Output::Nowhere => null(),
            Output::Pumped => {
                let (from, to) = output_pipe().expect("a pipe");
                tokio::spawn(async move { pump(from, std::future::pending(), |_| {}).await });
                to
            }
        };
        guardian
            .spawn(key as u64, worker("noop", stdout))
            .expect("the guardian is there");
    };
    (0..AT_ONCE.min(count)).for_each(post);
    let mut next = AT_ONCE;
    let mut done = 0;
    while done < count {
        match events.recv().await {
            Some(GuardianEvent::Exited { status, .. }) => {
                assert!(status.is_success());
                done += 1;
                if next < count {
                    post(next);
                    next += 1;
                }
            }
            Some(GuardianEvent::Spawned { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    guardian.shutdown().await;
}

async fn idle() {
    let (guardian, mut events) = start().await;
    let pid = guardian.process().pid;
    println!("guardian without workers   {} resident", resident(pid));
    let begun = Instant::now();
    for key in 0..IDLE {
        guardian
            .spawn(key, worker("hang", null()))
            .expect("the guardian is there");
    }
    for _ in 0..IDLE {
        assert!(matches!(events.recv().await, Some(GuardianEvent::Spawned { .. })));
    }
    println!("{IDLE} workers started in {:.2?}", begun.elapsed());
    println!("guardian with {IDLE} workers {} resident", resident(pid));
    println!(
        "coordinator                {} resident",
        resident(std::process::id().cast_signed())
    );
    let begun = Instant::now();
    for key in 0..IDLE {
        guardian.close(key, Duration::from_secs(5));
    }
    for _ in 0..IDLE {
        assert!(matches!(events.recv().await, Some(GuardianEvent::Exited { .. })));
    }
    println!("{IDLE} workers closed in {:.2?}", begun.elapsed());
    guardian.shutdown().await;
}

async fn start() -> (Guardian, UnboundedReceiver<GuardianEvent>) {
    let launch = GuardianCommand {
        program: this(),
        args: vec!["__guardian".into()],
        env: Vec::new(),
    };
    Guardian::start(launch).await.expect("a guardian")
}

fn worker(word: &str, stdout: OwnedFd) -> Spawn {
    Spawn {
        program: this(),
        args: vec![word.into()],
        cwd: Path::new("/tmp").to_owned(),
        env_set: vec![("WAVECREW_TASK".into(), "1".into())],
        env_remove: Vec::new(),
        confinement: None,
        stdin: null(),
        stdout,
        stderr: null(),
    }
}

fn this() -> OsString {
    std::env::current_exe().expect("its own path").into()
}

fn null() -> OwnedFd {
    File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .expect("the null device")
        .into()
}

fn resident(pid: i32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .expect("its size");
    line.trim().to_owned()
}
