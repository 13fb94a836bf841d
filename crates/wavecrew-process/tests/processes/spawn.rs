//! Spawning: what a worker receives, failed spawns, many workers at once, and output.

use std::collections::BTreeMap;
use std::future::pending;

use wavecrew_process::guardian::{Guardian, GuardianCommand};
use wavecrew_process::{GuardianEvent, ProcessError, ProcessExit, SpawnFailure, output_pipe, pump};

use crate::support::{TestCoordinator, processes_with_argument, run, tag_argument, test_program};

#[test]
fn a_worker_gets_its_arguments_environment_folder_and_pipes() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        let (from, to) = output_pipe().unwrap();
        let mut worker = coordinator.worker("");
        worker.program = "sh".into();
        worker.args = [
            "-c",
            "echo \"$0|$A|${HOME-none}|$(pwd)\"; echo \"$0\" >&2",
            "a b\n",
        ]
        .map(Into::into)
        .into();
        worker.env_set = vec![("A".into(), "1".into())];
        worker.env_remove = vec!["HOME".into()];
        worker.stdout = to;
        coordinator.guardian.spawn(1, worker).unwrap();
        let mut text = Vec::new();
        let n = pump(from, pending(), |chunk| text.extend_from_slice(chunk))
            .await
            .unwrap();
        let folder = coordinator.folder.path().canonicalize().unwrap();
        let expected = format!("a b\n|1|none|{}\n", folder.display());
        assert_eq!(
            (String::from_utf8(text).unwrap(), n),
            (expected.clone(), expected.len() as u64)
        );
        coordinator.spawned().await;
        assert_eq!(coordinator.exited().await, (1, ProcessExit::Code(0), 0));
        coordinator.guardian.shutdown().await;
    });
}

#[test]
fn long_command_lines_arrive_complete() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        let long = "x".repeat(100_000);
        let mut worker = coordinator.worker("");
        worker.program = "sh".into();
        worker.args = [
            "-c",
            "test ${#0} = 100000 && test ${#A} = 100000 && test ${#B} = 100000",
            &long,
        ]
        .map(Into::into)
        .into();
        worker.env_set = ["A", "B"].map(|name| (name.into(), long.clone().into())).into();
        coordinator.guardian.spawn(1, worker).unwrap();
        coordinator.spawned().await;
        assert_eq!(coordinator.exited().await.1, ProcessExit::Code(0));
        coordinator.guardian.shutdown().await;
    });
}

#[test]
fn failed_spawns_name_the_reason() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        let mut missing = coordinator.worker("");
        missing.program = "no-such-agent".into();
        let mut folder = coordinator.worker("");
        folder.cwd = coordinator.path("nowhere");
        let mut long = coordinator.worker("");
        long.args = vec!["x".repeat(3 << 20).into()];
        let mut text = coordinator.worker("");
        std::fs::write(coordinator.path("text"), "hello").unwrap();
        text.program = coordinator.path("text").into();
        for (key, worker) in (0..).zip([missing, folder, long, text]) {
            coordinator.guardian.spawn(key, worker).unwrap();
        }
        // Several are tried at once.
        let mut reasons = BTreeMap::new();
        for _ in 0..4 {
            match coordinator.events.recv().await {
                Some(GuardianEvent::SpawnFailed { key, error }) => reasons.insert(key, error.reason),
                other => panic!("{other:?} instead of a failure"),
            };
        }
        let no_folder = SpawnFailure::NoWorkingFolder(coordinator.path("nowhere"));
        let expected = [
            SpawnFailure::NotFound,
            no_folder,
            SpawnFailure::TooLong,
            SpawnFailure::NotPermitted,
        ];
        assert_eq!(reasons, (0..).zip(expected).collect());
        coordinator.guardian.shutdown().await;
    });
}

#[test]
fn other_programs_are_refused_as_guardian() {
    run(async {
        let launch = |program: &str| GuardianCommand {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
        };
        let missing = Guardian::start(launch("/no/such/program")).await;
        assert!(matches!(missing, Err(ProcessError::Start { .. })));
        let other = Guardian::start(launch("true")).await;
        assert!(matches!(other, Err(ProcessError::NotReady { .. })));
    });
}

#[test]
fn a_low_limit_of_open_files_is_enough_for_many_workers() {
    run(async {
        let limited = "ulimit -n 96; exec \"$0\" __guardian";
        let args = vec!["-c".into(), limited.into(), test_program().into()];
        let mut coordinator = TestCoordinator::start_with(GuardianCommand {
            program: "sh".into(),
            args,
            env: Vec::new(),
        })
        .await;
        for key in 0..300 {
            coordinator
                .guardian
                .spawn(key, coordinator.worker("hang"))
                .unwrap();
        }
        for _ in 0..300 {
            coordinator.spawned().await;
        }
        coordinator.guardian.shutdown().await;
        assert_eq!(
            processes_with_argument(&tag_argument(&coordinator.folder)),
            Vec::<String>::new()
        );
    });
}

#[test]
fn a_thousand_workers_run_at_once() {
    const CROWD: u64 = 1000;
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        for key in 0..CROWD {
            coordinator
                .guardian
                .spawn(key, coordinator.worker("hang"))
                .unwrap();
        }
        let mut pids = std::collections::HashSet::new();
        for _ in 0..CROWD {
            pids.insert(coordinator.spawned().await.1.pid);
        }
        assert_eq!(pids.len() as u64, CROWD);
        for key in 0..CROWD {
            coordinator.guardian.close(key, std::time::Duration::from_secs(5));
        }
        let mut keys = std::collections::HashSet::new();
        for _ in 0..CROWD {
            keys.insert(coordinator.exited().await.0);
        }
        assert_eq!(keys.len() as u64, CROWD);
        coordinator.guardian.shutdown().await;
    });
}

#[test]
fn large_output_is_pumped_in_chunks() {
    const FLOOD: u64 = 64 << 20;
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        let (from, to) = output_pipe().unwrap();
        let mut worker = coordinator.worker(&format!("silent print={FLOOD}"));
        worker.stdout = to;
        coordinator.guardian.spawn(1, worker).unwrap();
        let mut largest = 0;
        let n = pump(from, pending(), |chunk| largest = largest.max(chunk.len()))
            .await
            .unwrap();
        assert_eq!(n, FLOOD);
        assert!(largest <= 64 << 10);
        coordinator.spawned().await;
        assert_eq!(coordinator.exited().await.1, ProcessExit::Code(0));
        coordinator.guardian.shutdown().await;
    });
}

#[test]
fn a_pump_stops_while_the_pipe_is_still_open() {
    run(async {
        let (from, to) = output_pipe().unwrap();
        rustix::io::write(&to, b"rest").unwrap();
        let mut text = Vec::new();
        pump(from, std::future::ready(()), |chunk| {
            text.extend_from_slice(chunk);
        })
        .await
        .unwrap();
        assert_eq!(text, b"rest");
        drop(to);
    });
}
