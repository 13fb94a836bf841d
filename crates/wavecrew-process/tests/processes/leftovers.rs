//! Processes that a worker leaves behind when it exits.

use std::time::Duration;

use wavecrew_process::{ProcessExit, ProcessId, end_leftovers, is_alive};

use crate::support::{TestCoordinator, run, wait_for_file};

fn count_leftovers(script: &str) -> u32 {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        coordinator.guardian.spawn(1, coordinator.worker(script)).unwrap();
        coordinator.spawned().await;
        let (_, status, leftovers) = coordinator.exited().await;
        assert_eq!(status, ProcessExit::Code(0));
        assert_eq!(coordinator.alive(), Vec::<String>::new());
        coordinator.guardian.shutdown().await;
        leftovers
    })
}

#[test]
fn a_plain_worker_has_no_leftovers() {
    assert_eq!(count_leftovers("noop"), 0);
}

#[test]
fn children_and_daemons_are_counted_and_ended() {
    assert_eq!(count_leftovers("fork stubborn-fork daemon hidden-daemon"), 4);
}

#[test]
fn a_process_that_keeps_forking_is_ended() {
    assert!(count_leftovers("chain") >= 1);
}

#[test]
fn a_fork_bomb_is_ended() {
    assert!(count_leftovers("bomb=60") >= 1);
}

#[test]
fn a_daemon_that_hides_its_origin_belongs_to_the_only_older_worker() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        coordinator
            .guardian
            .spawn(1, coordinator.worker("write={}/one hang"))
            .unwrap();
        coordinator.spawned().await;
        wait_for_file(&coordinator.path("one")).await;
        coordinator
            .guardian
            .spawn(2, coordinator.worker("hidden-daemon"))
            .unwrap();
        coordinator.spawned().await;
        assert_eq!(coordinator.exited().await, (2, ProcessExit::Code(0), 0));
        assert_eq!(coordinator.alive().len(), 2);
        coordinator.guardian.close(1, Duration::ZERO);
        assert_eq!(coordinator.exited().await.1, ProcessExit::Signal(9));
        assert_eq!(coordinator.alive(), Vec::<String>::new());
        coordinator.guardian.shutdown().await;
    });
}

#[test]
fn end_leftovers_ends_workers_of_a_dead_run_only() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        let mut worker = coordinator.worker("daemon stubborn-fork write={}/up hang");
        let session = coordinator.path("session");
        worker
            .env_set
            .push(("WAVECREW_SESSION_DIR".into(), session.clone().into()));
        coordinator.guardian.spawn(1, worker).unwrap();
        let (_, recorded) = coordinator.spawned().await;
        coordinator
            .guardian
            .spawn(2, coordinator.worker("write={}/other hang"))
            .unwrap();
        let (_, other) = coordinator.spawned().await;
        wait_for_file(&coordinator.path("up")).await;
        wait_for_file(&coordinator.path("other")).await;
        // The pid of a recorded process may belong to somebody else by now.
        let reused = ProcessId {
            start_time: other.start_time + 1,
            ..other.clone()
        };
        let done = tokio::task::spawn_blocking({
            let recorded = recorded.clone();
            move || end_leftovers(None, &[recorded, reused], &session)
        });
        let done = done.await.unwrap();
        assert_eq!((done.ended, done.survivors), (3, vec![]));
        assert!(!is_alive(&recorded));
        assert!(is_alive(&other));
        assert_eq!(coordinator.alive().len(), 1);
        assert_eq!(coordinator.exited().await.0, 1);
        coordinator.guardian.shutdown().await;
    });
}
