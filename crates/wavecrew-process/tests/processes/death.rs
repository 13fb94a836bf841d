//! Coordinator or guardian killed without warning: no process is left.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use wavecrew_process::guardian::Containment;
use wavecrew_process::{GuardianEvent, process_table};

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

/// Which processes of a run are killed at the same moment.
#[derive(PartialEq, Eq)]
enum Killed {
    Coordinator,
    CoordinatorAndGuardian,
}

/// A user without privileges.
const NOBODY: u32 = 65534;

/// Kills what runs a worker with this script, and waits until the guardian is gone. With a user, the run is theirs.
fn kill_and_check_none_is_left(killed: &Killed, script: &str, user: Option<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let tag = tag_argument(&folder);
    let up = folder.path().join("up");
    let program = folder.path().join("program");
    fs::copy(test_program(), &program).unwrap();
    let mut command = Command::new(&program);
    if let Some(user) = user {
        chown(folder.path(), Some(user), Some(user)).unwrap();
        command.uid(user).gid(user).current_dir("/");
    }
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
    if user.is_some() && !line.trim().ends_with("Namespace") {
        eprintln!("not checked: the kernel has no user namespaces for everyone");
        return;
    }
    let (guardian, _) = line.split_once(' ').unwrap();
    let guardian = Pid::from_raw(guardian.parse().unwrap()).unwrap();
    run(wait_for_file(&up));
    // Neither can notice the death of the other.
    let both = [Pid::from_child(&victim.0), guardian];
    let both = &both[..if *killed == Killed::Coordinator { 1 } else { 2 }];
    for signal in [Signal::STOP, Signal::KILL] {
        if signal == Signal::KILL || both.len() == 2 {
            for pid in both {
                kill_process(*pid, signal).unwrap();
            }
        }
    }
    let since = Instant::now();
    while process_table::entry(guardian).is_some_and(|entry| entry.is_alive())
        || (both.len() == 2 && !processes_with_argument(&tag).is_empty())
    {
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "still there: {:?}",
            processes_with_argument(&tag)
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    victim.0.wait().unwrap();
    assert_eq!(processes_with_argument(&tag), Vec::<String>::new());
}

fn kill_coordinator_and_check_none_is_left(script: &str) {
    kill_and_check_none_is_left(&Killed::Coordinator, script, None);
}

/// Root becomes another user for it.
#[test]
fn workers_that_hide_end_when_coordinator_and_guardian_are_killed_at_once() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for script in [
        "",
        "daemon hidden-daemon",
        "fork stubborn-fork daemon hidden-daemon ignore-term",
        "chain",
    ] {
        for user in [None, Some(NOBODY)] {
            kill_and_check_none_is_left(&Killed::CoordinatorAndGuardian, script, user);
        }
    }
}

/// The keeper is the parent of the guardian.
#[test]
fn workers_end_with_a_killed_keeper() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        if coordinator.guardian.containment() == Containment::None {
            return;
        }
        coordinator
            .guardian
            .spawn(1, coordinator.worker("hidden-daemon write={}/up hang"))
            .unwrap();
        coordinator.spawned().await;
        wait_for_file(&coordinator.path("up")).await;
        let guardian = Pid::from_raw(coordinator.guardian.process().pid).unwrap();
        let keeper = process_table::entry(guardian).unwrap().parent;
        kill_process(Pid::from_raw(keeper).unwrap(), Signal::KILL).unwrap();
        let event = coordinator.events.recv().await;
        assert!(matches!(event, Some(GuardianEvent::GuardianLost)), "{event:?}");
        assert_eq!(coordinator.alive(), Vec::<String>::new());
        coordinator.guardian.shutdown().await;
    });
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
