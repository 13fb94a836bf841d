//! Coordinator or guardian killed without warning: nobody stays.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use wavecrew_process::GuardianEvent;

use crate::support::{Crew, alive, appears, run, stand_in, tag_of};

/// A coordinator of its own, killed when the test ends.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills the coordinator of a worker with this script. Returns how long anybody lived on.
fn nobody_survives_the_coordinator(script: &str) {
    let folder = tempfile::tempdir().unwrap();
    let tag = tag_of(&folder);
    let up = folder.path().join("up");
    let mut command = Command::new(stand_in());
    command
        .arg("__coordinator")
        .arg(&tag)
        .args(script.split_whitespace());
    command.arg(format!("write={}", up.display())).arg("hang");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut victim = Victim(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(victim.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let (guardian, _) = line.trim().split_once(' ').unwrap();
    let guardian = format!("/proc/{guardian}/stat");
    run(appears(&up));
    victim.0.kill().unwrap();
    let since = Instant::now();
    while std::fs::exists(&guardian).unwrap()
        && !std::fs::read_to_string(&guardian).is_ok_and(|s| s.contains(") Z"))
    {
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "the guardian does not end"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    eprintln!("gone after {:?}", since.elapsed());
    victim.0.wait().unwrap();
    assert_eq!(alive(&tag), Vec::<String>::new());
}

#[test]
fn a_worker_goes_with_its_coordinator() {
    nobody_survives_the_coordinator("");
}

#[test]
fn stubborn_workers_go_with_their_coordinator() {
    nobody_survives_the_coordinator("fork stubborn-fork daemon hidden-daemon ignore-term");
}

#[test]
fn a_chain_of_successors_goes_with_its_coordinator() {
    nobody_survives_the_coordinator("chain ignore-term");
}

#[test]
fn a_crowd_goes_with_its_coordinator() {
    nobody_survives_the_coordinator("bomb=80 ignore-term");
}

#[test]
fn the_coordinator_ends_the_workers_of_a_killed_guardian() {
    run(async {
        let mut crew = Crew::start().await;
        crew.guardian
            .spawn(
                1,
                crew.worker("fork daemon hidden-daemon stubborn-fork chain write={}/up hang"),
            )
            .unwrap();
        crew.spawned().await;
        appears(&crew.path("up")).await;
        kill_process(Pid::from_raw(crew.guardian.process().pid).unwrap(), Signal::KILL).unwrap();
        assert!(matches!(
            crew.notices.recv().await,
            Some(GuardianEvent::GuardianLost)
        ));
        assert_eq!(crew.alive(), Vec::<String>::new());
        assert!(crew.guardian.spawn(2, crew.worker("noop")).is_err());
        crew.guardian.shutdown().await;
    });
}

#[test]
fn signals_of_the_terminal_do_not_reach_guardian_or_workers() {
    run(async {
        let mut crew = Crew::start().await;
        let guardian = Pid::from_raw(crew.guardian.process().pid).unwrap();
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            kill_process(guardian, signal).unwrap();
        }
        crew.guardian.spawn(1, crew.worker("write={}/up hang")).unwrap();
        let (_, worker) = crew.spawned().await;
        appears(&crew.path("up")).await;
        let session = |pid| rustix::process::getsid(Some(pid)).unwrap();
        let worker = Pid::from_raw(worker.pid).unwrap();
        // The guardian leads a session of its own, so no terminal reaches it; its workers live in it.
        assert_eq!(session(guardian), guardian);
        assert_eq!(session(worker), guardian);
        // What the guardian withstands, its workers do not inherit.
        kill_process(worker, Signal::HUP).unwrap();
        assert_eq!(crew.exited().await.1, wavecrew_process::ProcessExit::Signal(1));
        crew.guardian.shutdown().await;
    });
}
