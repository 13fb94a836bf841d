//! Coordinator or guardian killed without warning: no process is left.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use wavecrew_process::GuardianEvent;

use crate::support::{
    TestCoordinator, processes_with_argument, run, tag_argument, test_program, wait_for_file,
};

/// A coordinator of its own, killed when the test ends.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills the coordinator of a worker with this script and waits until the guardian is gone.
fn kill_coordinator_and_check_none_is_left(script: &str) {
    let folder = tempfile::tempdir().unwrap();
    let tag = tag_argument(&folder);
    let up = folder.path().join("up");
    let mut command = Command::new(test_program());
    command
        .arg("__coordinator")
        .arg(&tag)
        .args(script.split_whitespace());
    command.arg(format!("write={}", up.display())).arg("hang");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut victim = KilledOnDrop(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(victim.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let (guardian, _) = line.trim().split_once(' ').unwrap();
    let guardian = format!("/proc/{guardian}/stat");
    run(wait_for_file(&up));
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
    assert_eq!(processes_with_argument(&tag), Vec::<String>::new());
}

#[test]
fn a_worker_ends_with_its_coordinator() {
    kill_coordinator_and_check_none_is_left("");
}

#[test]
fn workers_that_ignore_sigterm_end_with_their_coordinator() {
    kill_coordinator_and_check_none_is_left("fork stubborn-fork daemon hidden-daemon ignore-term");
}

#[test]
fn a_process_that_keeps_forking_ends_with_its_coordinator() {
    kill_coordinator_and_check_none_is_left("chain ignore-term");
}

#[test]
fn a_fork_bomb_ends_with_its_coordinator() {
    kill_coordinator_and_check_none_is_left("bomb=80 ignore-term");
}

#[test]
fn the_coordinator_ends_the_workers_of_a_killed_guardian() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        coordinator
            .guardian
            .spawn(
                1,
                coordinator.worker("fork daemon hidden-daemon stubborn-fork chain write={}/up hang"),
            )
            .unwrap();
        coordinator.spawned().await;
        wait_for_file(&coordinator.path("up")).await;
        kill_process(
            Pid::from_raw(coordinator.guardian.process().pid).unwrap(),
            Signal::KILL,
        )
        .unwrap();
        assert!(matches!(
            coordinator.events.recv().await,
            Some(GuardianEvent::GuardianLost)
        ));
        assert_eq!(coordinator.alive(), Vec::<String>::new());
        assert!(coordinator.guardian.spawn(2, coordinator.worker("noop")).is_err());
        coordinator.guardian.shutdown().await;
    });
}

#[test]
fn terminal_signals_do_not_reach_guardian_or_workers() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        let guardian = Pid::from_raw(coordinator.guardian.process().pid).unwrap();
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            kill_process(guardian, signal).unwrap();
        }
        coordinator
            .guardian
            .spawn(1, coordinator.worker("write={}/up hang"))
            .unwrap();
        let (_, worker) = coordinator.spawned().await;
        wait_for_file(&coordinator.path("up")).await;
        let session = |pid| rustix::process::getsid(Some(pid)).unwrap();
        let worker = Pid::from_raw(worker.pid).unwrap();
        // The guardian leads a session of its own, so no terminal reaches it; its workers live in it.
        assert_eq!(session(guardian), guardian);
        assert_eq!(session(worker), guardian);
        // What the guardian withstands, its workers do not inherit.
        kill_process(worker, Signal::HUP).unwrap();
        assert_eq!(
            coordinator.exited().await.1,
            wavecrew_process::ProcessExit::Signal(1)
        );
        coordinator.guardian.shutdown().await;
    });
}
