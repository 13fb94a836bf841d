//! Closing a worker ends everything that it started, and nothing else.

use std::time::Duration;

use wavecrew_process::ProcessExit;

use crate::support::{TestCoordinator, run, wait_for_file};

const SOON: Duration = Duration::from_millis(50);

/// Starts the script, waits until it has written `{}/up`, and closes it.
fn close_and_check_none_is_left(script: &str) -> ProcessExit {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        coordinator
            .guardian
            .spawn(1, coordinator.worker(&format!("{script} write={{}}/up hang")))
            .unwrap();
        coordinator.spawned().await;
        wait_for_file(&coordinator.path("up")).await;
        assert!(!coordinator.alive().is_empty());
        coordinator.guardian.close(1, SOON);
        let (key, status, _) = coordinator.exited().await;
        assert_eq!(key, 1);
        assert_eq!(coordinator.alive(), Vec::<String>::new());
        coordinator.guardian.shutdown().await;
        status
    })
}

#[test]
fn closing_sends_sigterm_first() {
    assert_eq!(close_and_check_none_is_left(""), ProcessExit::Signal(15));
}

#[test]
fn closing_kills_a_worker_that_ignores_sigterm() {
    assert_eq!(
        close_and_check_none_is_left("ignore-term"),
        ProcessExit::Signal(9)
    );
}

#[test]
fn closing_ends_children() {
    close_and_check_none_is_left("fork stubborn-fork");
}

#[test]
fn closing_ends_daemons() {
    close_and_check_none_is_left("daemon");
}

#[test]
fn closing_ends_daemons_that_hide_their_origin() {
    close_and_check_none_is_left("hidden-daemon");
}

#[test]
fn closing_ends_a_process_that_keeps_forking() {
    close_and_check_none_is_left("chain");
}

#[test]
fn closing_ends_a_fork_bomb() {
    close_and_check_none_is_left("bomb=60");
}

#[test]
fn closing_leaves_other_workers_running() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        coordinator
            .guardian
            .spawn(1, coordinator.worker("daemon fork write={}/one hang"))
            .unwrap();
        coordinator
            .guardian
            .spawn(
                2,
                coordinator.worker("daemon stubborn-fork hidden-daemon write={}/two hang"),
            )
            .unwrap();
        coordinator.spawned().await;
        coordinator.spawned().await;
        wait_for_file(&coordinator.path("one")).await;
        wait_for_file(&coordinator.path("two")).await;
        coordinator.guardian.close(1, SOON);
        assert_eq!(coordinator.exited().await.0, 1);
        assert_eq!(coordinator.alive().len(), 4);
        coordinator.guardian.close(2, SOON);
        assert_eq!(coordinator.exited().await.0, 2);
        assert_eq!(coordinator.alive(), Vec::<String>::new());
        coordinator.guardian.shutdown().await;
    });
}

#[test]
fn closing_a_worker_that_is_gone_does_nothing() {
    run(async {
        let mut coordinator = TestCoordinator::start().await;
        coordinator
            .guardian
            .spawn(1, coordinator.worker("exit=3"))
            .unwrap();
        coordinator.spawned().await;
        assert_eq!(coordinator.exited().await, (1, ProcessExit::Code(3), 0));
        coordinator.guardian.close(1, SOON);
        coordinator.guardian.spawn(2, coordinator.worker("noop")).unwrap();
        assert_eq!(coordinator.spawned().await.0, 2);
        assert_eq!(coordinator.exited().await, (2, ProcessExit::Code(0), 0));
        coordinator.guardian.shutdown().await;
    });
}
