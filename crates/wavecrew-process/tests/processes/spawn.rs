//! Starting: what arrives in the worker, what cannot be started, many at once, and what it prints.

use std::collections::BTreeMap;
use std::future::pending;

use wavecrew_process::guardian::{Guardian, GuardianCommand};
use wavecrew_process::{GuardianEvent, ProcessError, ProcessExit, SpawnFailure, output_pipe, pump};

use crate::support::{Crew, alive, run, stand_in, tag_of};

#[test]
fn arguments_environment_folder_and_output_arrive() {
    run(async {
        let mut crew = Crew::start().await;
        let (from, to) = output_pipe().unwrap();
        let mut worker = crew.worker("");
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
        crew.guardian.spawn(1, worker).unwrap();
        let mut text = Vec::new();
        let n = pump(from, pending(), |chunk| text.extend_from_slice(chunk))
            .await
            .unwrap();
        let folder = crew.folder.path().canonicalize().unwrap();
        let expected = format!("a b\n|1|none|{}\n", folder.display());
        assert_eq!(
            (String::from_utf8(text).unwrap(), n),
            (expected.clone(), expected.len() as u64)
        );
        crew.spawned().await;
        assert_eq!(crew.exited().await, (1, ProcessExit::Code(0), 0));
        crew.guardian.shutdown().await;
    });
}

#[test]
fn long_commands_arrive_whole() {
    run(async {
        let mut crew = Crew::start().await;
        let long = "x".repeat(100_000);
        let mut worker = crew.worker("");
        worker.program = "sh".into();
        worker.args = [
            "-c",
            "test ${#0} = 100000 && test ${#A} = 100000 && test ${#B} = 100000",
            &long,
        ]
        .map(Into::into)
        .into();
        worker.env_set = ["A", "B"].map(|name| (name.into(), long.clone().into())).into();
        crew.guardian.spawn(1, worker).unwrap();
        crew.spawned().await;
        assert_eq!(crew.exited().await.1, ProcessExit::Code(0));
        crew.guardian.shutdown().await;
    });
}

#[test]
fn what_cannot_be_started_says_why() {
    run(async {
        let mut crew = Crew::start().await;
        let mut missing = crew.worker("");
        missing.program = "no-such-agent".into();
        let mut folder = crew.worker("");
        folder.cwd = crew.path("nowhere");
        let mut long = crew.worker("");
        long.args = vec!["x".repeat(3 << 20).into()];
        let mut text = crew.worker("");
        std::fs::write(crew.path("text"), "hello").unwrap();
        text.program = crew.path("text").into();
        for (key, worker) in (0..).zip([missing, folder, long, text]) {
            crew.guardian.spawn(key, worker).unwrap();
        }
        // Several are tried at once.
        let mut reasons = BTreeMap::new();
        for _ in 0..4 {
            match crew.notices.recv().await {
                Some(GuardianEvent::SpawnFailed { key, error }) => reasons.insert(key, error.reason),
                other => panic!("{other:?} instead of a failure"),
            };
        }
        let no_folder = SpawnFailure::NoWorkingFolder(crew.path("nowhere"));
        let expected = [
            SpawnFailure::NotFound,
            no_folder,
            SpawnFailure::TooLong,
            SpawnFailure::NotPermitted,
        ];
        assert_eq!(reasons, (0..).zip(expected).collect());
        crew.guardian.shutdown().await;
    });
}

#[test]
fn a_program_that_is_no_guardian_is_refused() {
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
fn a_small_table_of_open_files_is_enough_for_many_workers() {
    run(async {
        let limited = "ulimit -n 96; exec \"$0\" __guardian";
        let args = vec!["-c".into(), limited.into(), stand_in().into()];
        let mut crew = Crew::start_with(GuardianCommand {
            program: "sh".into(),
            args,
            env: Vec::new(),
        })
        .await;
        for key in 0..300 {
            crew.guardian.spawn(key, crew.worker("hang")).unwrap();
        }
        for _ in 0..300 {
            crew.spawned().await;
        }
        crew.guardian.shutdown().await;
        assert_eq!(alive(&tag_of(&crew.folder)), Vec::<String>::new());
    });
}

#[test]
fn a_thousand_at_once_all_run_and_all_end() {
    const CROWD: u64 = 1000;
    run(async {
        let mut crew = Crew::start().await;
        for key in 0..CROWD {
            crew.guardian.spawn(key, crew.worker("hang")).unwrap();
        }
        let mut pids = std::collections::HashSet::new();
        for _ in 0..CROWD {
            pids.insert(crew.spawned().await.1.pid);
        }
        assert_eq!(pids.len() as u64, CROWD);
        for key in 0..CROWD {
            crew.guardian.close(key, std::time::Duration::from_secs(5));
        }
        let mut keys = std::collections::HashSet::new();
        for _ in 0..CROWD {
            keys.insert(crew.exited().await.0);
        }
        assert_eq!(keys.len() as u64, CROWD);
        crew.guardian.shutdown().await;
    });
}

#[test]
fn a_flood_of_output_is_pumped_in_chunks() {
    const FLOOD: u64 = 64 << 20;
    run(async {
        let mut crew = Crew::start().await;
        let (from, to) = output_pipe().unwrap();
        let mut worker = crew.worker(&format!("silent print={FLOOD}"));
        worker.stdout = to;
        crew.guardian.spawn(1, worker).unwrap();
        let mut largest = 0;
        let n = pump(from, pending(), |chunk| largest = largest.max(chunk.len()))
            .await
            .unwrap();
        assert_eq!(n, FLOOD);
        assert!(largest <= 64 << 10);
        crew.spawned().await;
        assert_eq!(crew.exited().await.1, ProcessExit::Code(0));
        crew.guardian.shutdown().await;
    });
}

#[test]
fn a_pump_stops_although_somebody_holds_the_pipe() {
    run(async {
        let (from, to) = output_pipe().unwrap();
        rustix::io::write(&to, b"last words").unwrap();
        let mut text = Vec::new();
        pump(from, std::future::ready(()), |chunk| {
            text.extend_from_slice(chunk);
        })
        .await
        .unwrap();
        assert_eq!(text, b"last words");
        drop(to);
    });
}
