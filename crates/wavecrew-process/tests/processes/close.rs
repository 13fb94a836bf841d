//! Closing one worker takes everything with it that it ever started, and nothing else.

use std::time::Duration;

use wavecrew_process::ProcessExit;

use crate::support::{Crew, appears, run};

const SOON: Duration = Duration::from_millis(50);

/// Starts the script, waits until it has written `{}/up`, closes it, and looks who is left.
fn nobody_survives_closing(script: &str) -> ProcessExit {
    run(async {
        let mut crew = Crew::start().await;
        crew.guardian
            .spawn(1, crew.worker(&format!("{script} write={{}}/up hang")))
            .unwrap();
        crew.spawned().await;
        appears(&crew.path("up")).await;
        assert!(!crew.alive().is_empty());
        crew.guardian.close(1, SOON);
        let (key, status, _) = crew.exited().await;
        assert_eq!(key, 1);
        assert_eq!(crew.alive(), Vec::<String>::new());
        crew.guardian.shutdown().await;
        status
    })
}

#[test]
fn an_obedient_worker_ends_by_the_request() {
    assert_eq!(nobody_survives_closing(""), ProcessExit::Signal(15));
}

#[test]
fn a_worker_that_ignores_the_request_is_killed() {
    assert_eq!(nobody_survives_closing("ignore-term"), ProcessExit::Signal(9));
}

#[test]
fn children_go_too() {
    nobody_survives_closing("fork stubborn-fork");
}

#[test]
fn daemons_go_too() {
    nobody_survives_closing("daemon");
}

#[test]
fn daemons_without_a_trace_go_too() {
    nobody_survives_closing("hidden-daemon");
}

#[test]
fn a_chain_of_successors_goes_too() {
    nobody_survives_closing("chain");
}

#[test]
fn a_crowd_goes_too() {
    nobody_survives_closing("bomb=60");
}

#[test]
fn other_workers_and_their_daemons_stay() {
    run(async {
        let mut crew = Crew::start().await;
        crew.guardian
            .spawn(1, crew.worker("daemon fork write={}/one hang"))
            .unwrap();
        crew.guardian
            .spawn(
                2,
                crew.worker("daemon stubborn-fork hidden-daemon write={}/two hang"),
            )
            .unwrap();
        crew.spawned().await;
        crew.spawned().await;
        appears(&crew.path("one")).await;
        appears(&crew.path("two")).await;
        crew.guardian.close(1, SOON);
        assert_eq!(crew.exited().await.0, 1);
        assert_eq!(crew.alive().len(), 4);
        crew.guardian.close(2, SOON);
        assert_eq!(crew.exited().await.0, 2);
        assert_eq!(crew.alive(), Vec::<String>::new());
        crew.guardian.shutdown().await;
    });
}

#[test]
fn closing_a_worker_that_is_gone_does_nothing() {
    run(async {
        let mut crew = Crew::start().await;
        crew.guardian.spawn(1, crew.worker("exit=3")).unwrap();
        crew.spawned().await;
        assert_eq!(crew.exited().await, (1, ProcessExit::Code(3), 0));
        crew.guardian.close(1, SOON);
        crew.guardian.spawn(2, crew.worker("noop")).unwrap();
        assert_eq!(crew.spawned().await.0, 2);
        assert_eq!(crew.exited().await, (2, ProcessExit::Code(0), 0));
        crew.guardian.shutdown().await;
    });
}
