//! What a worker leaves behind when it ends by itself.

use std::time::Duration;

use wavecrew_process::{ProcessExit, ProcessId, end_leftovers, is_alive};

use crate::support::{Crew, appears, run};

fn left_behind(script: &str) -> u32 {
    run(async {
        let mut crew = Crew::start().await;
        crew.guardian.spawn(1, crew.worker(script)).unwrap();
        crew.spawned().await;
        let (_, status, leftovers) = crew.exited().await;
        assert_eq!(status, ProcessExit::Code(0));
        assert_eq!(crew.alive(), Vec::<String>::new());
        crew.guardian.shutdown().await;
        leftovers
    })
}

#[test]
fn nothing_is_the_ordinary_case() {
    assert_eq!(left_behind("noop"), 0);
}

#[test]
fn children_and_daemons_are_counted_and_ended() {
    assert_eq!(left_behind("fork stubborn-fork daemon hidden-daemon"), 4);
}

#[test]
fn a_chain_of_successors_is_ended() {
    assert!(left_behind("chain") >= 1);
}

#[test]
fn a_crowd_is_ended() {
    assert!(left_behind("bomb=60") >= 1);
}

#[test]
fn a_daemon_without_a_trace_is_of_the_only_worker_that_is_older() {
    run(async {
        let mut crew = Crew::start().await;
        crew.guardian.spawn(1, crew.worker("write={}/one hang")).unwrap();
        crew.spawned().await;
        appears(&crew.path("one")).await;
        crew.guardian.spawn(2, crew.worker("hidden-daemon")).unwrap();
        crew.spawned().await;
        assert_eq!(crew.exited().await, (2, ProcessExit::Code(0), 0));
        assert_eq!(crew.alive().len(), 2);
        crew.guardian.close(1, Duration::ZERO);
        assert_eq!(crew.exited().await.1, ProcessExit::Signal(9));
        assert_eq!(crew.alive(), Vec::<String>::new());
        crew.guardian.shutdown().await;
    });
}

#[test]
fn continuing_ends_what_a_dead_run_left() {
    run(async {
        let mut crew = Crew::start().await;
        let mut worker = crew.worker("daemon stubborn-fork write={}/up hang");
        let session = crew.path("session");
        worker
            .env_set
            .push(("WAVECREW_SESSION_DIR".into(), session.clone().into()));
        crew.guardian.spawn(1, worker).unwrap();
        let (_, recorded) = crew.spawned().await;
        crew.guardian
            .spawn(2, crew.worker("write={}/other hang"))
            .unwrap();
        let (_, other) = crew.spawned().await;
        appears(&crew.path("up")).await;
        appears(&crew.path("other")).await;
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
        assert_eq!(crew.alive().len(), 1);
        assert_eq!(crew.exited().await.0, 1);
        crew.guardian.shutdown().await;
    });
}
