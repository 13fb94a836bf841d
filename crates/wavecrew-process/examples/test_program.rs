//! Every program that the process tests start: the guardian, a coordinator that waits to be killed, and otherwise the
//! scripted worker.

use std::ffi::OsString;
use std::fs::File;
use std::process::ExitCode;

use wavecrew_process::guardian::{Guardian, GuardianCommand, USER_NAMESPACE, guardian_main};
use wavecrew_process::{GuardianEvent, Spawn};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    match args.peek().and_then(|a| a.to_str()) {
        Some("__guardian") => {
            let words: Vec<String> = args.map(|word| word.to_string_lossy().into_owned()).collect();
            guardian_main(&words)
        }
        Some("__coordinator") => coordinate(args.skip(1).collect()),
        _ => wavecrew_test_support::fake_agent::run(args),
    }
}

/// Starts one worker that does what the arguments say, prints the pids of the guardian and the worker and
/// what contains them, and waits.
fn coordinate(args: Vec<OsString>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let program = std::env::current_exe().expect("its own path").into_os_string();
        let mut words: Vec<OsString> = vec!["__guardian".into()];
        if !rustix::process::geteuid().is_root() {
            words.push(USER_NAMESPACE.into());
        }
        let launch = GuardianCommand {
            program: program.clone(),
            args: words,
            env: Vec::new(),
        };
        let (guardian, mut events) = Guardian::start(launch).await.expect("a guardian");
        let null = || {
            File::options()
                .read(true)
                .write(true)
                .open("/dev/null")
                .expect("the null device")
                .into()
        };
        let spawn = Spawn {
            program,
            args,
            cwd: std::env::current_dir().expect("a working folder"),
            env_set: Vec::new(),
            env_remove: Vec::new(),
            confinement: None,
            stdin: null(),
            stdout: null(),
            stderr: null(),
        };
        guardian.spawn(1, spawn).expect("the guardian is there");
        while let Some(notice) = events.recv().await {
            if let GuardianEvent::Spawned { process, .. } = notice {
                let containment = guardian.containment();
                println!("{} {} {containment:?}", guardian.process().pid, process.pid);
            }
        }
    });
    ExitCode::SUCCESS
}
