//! The copy of a session on a real NATS server: one writer at a time, nothing lost, whatever ends in between.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use wavecrew_remote::connect::ConnectionSettings;
use wavecrew_remote::replica::{
    Expect, Patience, Replica, ReplicaError, ReplicaSettings, Restored, SessionFile, Waiting,
};
use wavecrew_test_support::nats_server::{NatsServer, NatsSetup};

const JOURNAL_STREAM: &str = "wavecrew-shop-journal";

fn settings(server: &NatsServer, holder: &str) -> ReplicaSettings {
    ReplicaSettings {
        connection: ConnectionSettings::url(server.url()),
        project: "shop".into(),
        run: "run-tasks-1".into(),
        holder: holder.into(),
        lease: Duration::from_secs(10),
    }
}

fn patient() -> Patience {
    Box::new(|_| ControlFlow::Continue(()))
}

fn begin(server: &NatsServer, holder: &str) -> Replica {
    let (replica, found) =
        Replica::acquire(settings(server, holder), Expect::Nothing, patient()).expect("a new session");
    assert!(found.journal.is_empty() && found.files.is_empty());
    replica
}

fn resume(server: &NatsServer, holder: &str) -> Result<(Replica, Restored), ReplicaError> {
    Replica::acquire(settings(server, holder), Expect::Session, patient())
}

fn file(path: &str, bytes: &[u8]) -> SessionFile {
    SessionFile {
        path: path.into(),
        bytes: bytes.to_owned(),
    }
}

#[test]
fn another_machine_finds_the_journal_and_the_files() {
    let Some(server) = NatsServer::start() else { return };
    let mut first = begin(&server, "one");
    let long = vec![b'x'; 1_300_000];
    first.append(b"header\n").unwrap();
    first.append(&long).unwrap();
    first
        .put_files(vec![file("a", b"old"), file("gone", b"1")])
        .unwrap();
    first
        .put_files(vec![file("a", b"new"), file("b/c", &long), file("empty", b"")])
        .unwrap();
    drop(first);
    let (mut second, found) = resume(&server, "two").unwrap();
    assert_eq!(found.journal, [b"header\n".as_slice(), &long].concat());
    let expected = [file("a", b"new"), file("b/c", &long), file("empty", b"")];
    assert_eq!(found.files, expected);
    second.append(b"more\n").unwrap();
    drop(second);
    let (_third, found) = resume(&server, "three").unwrap();
    assert!(found.journal.ends_with(b"xmore\n"));
}

#[test]
fn a_torn_end_is_cut_off() {
    let Some(server) = NatsServer::start() else { return };
    let mut first = begin(&server, "one");
    first.append(b"whole\ntor").unwrap();
    drop(first);
    let (mut second, found) = resume(&server, "two").unwrap();
    assert_eq!(found.journal, b"whole\ntor");
    assert_eq!(found.holder.as_deref(), Some("one"));
    second.cut(6).unwrap();
    second.append(b"more\n").unwrap();
    drop(second);
    let (_third, found) = resume(&server, "three").unwrap();
    assert_eq!(String::from_utf8_lossy(&found.journal), "whole\nmore\n");
}

#[test]
fn two_coordinators_cannot_hold_a_session_at_once() {
    let Some(server) = NatsServer::start() else { return };
    let mut first = begin(&server, "`wavecrew run` on one");
    first.append(b"1").unwrap();
    let error = resume(&server, "two").unwrap_err();
    assert!(
        error.to_string().contains("in use by `wavecrew run` on one"),
        "{error}"
    );
    let error = Replica::acquire(settings(&server, "two"), Expect::Nothing, patient()).unwrap_err();
    assert!(matches!(error, ReplicaError::Exists { .. }), "{error}");
    first.append(b"2").unwrap();
    drop(first);
    resume(&server, "two").expect("released");
}

#[test]
fn a_coordinator_that_was_replaced_writes_nothing_more() {
    let Some(server) = NatsServer::start() else { return };
    // It renews so rarely that others take it for dead, as they would a machine that stands still.
    let mut frozen = settings(&server, "one");
    frozen.lease = Duration::from_hours(10);
    let (mut first, _) = Replica::acquire(frozen, Expect::Nothing, patient()).expect("a new session");
    first.append(b"1").unwrap();
    let mut quick = settings(&server, "two");
    quick.lease = Duration::from_secs(1);
    let (mut second, found) = Replica::acquire(quick, Expect::Session, patient()).expect("taken over");
    assert_eq!(found.journal, b"1");
    second.append(b"2").unwrap();
    let error = first.append(b"lost").unwrap_err();
    assert!(
        matches!(&error, ReplicaError::TakenOver { by, .. } if by == "two"),
        "{error}"
    );
    let error = first.check().unwrap_err();
    assert!(matches!(error, ReplicaError::TakenOver { .. }), "{error}");
    assert!(first.put_files(vec![file("a", b"lost")]).is_err());
    second.append(b"3").unwrap();
    drop((first, second));
    let (_third, found) = resume(&server, "three").unwrap();
    assert_eq!(found.journal, b"123");
}

#[test]
fn a_run_waits_for_a_server_that_is_down_and_loses_nothing() {
    let Some(mut server) = NatsServer::start() else {
        return;
    };
    let (sender, waits) = mpsc::channel();
    let patience: Patience = Box::new(move |waiting| {
        let _ = sender.send(waiting);
        ControlFlow::Continue(())
    });
    let (mut replica, _) = Replica::acquire(settings(&server, "one"), Expect::Nothing, patience).unwrap();
    replica.append(b"before ").unwrap();
    // A slow machine may have waited already.
    let _ = waits.try_iter().count();
    server.kill(0);
    let appending = std::thread::spawn(move || {
        let appended = replica.append(b"after");
        (replica, appended)
    });
    let first = waits.recv().expect("it says that it waits");
    assert!(matches!(first, Waiting::Away(_)), "{first:?}");
    server.restart(0);
    let (replica, appended) = appending.join().expect("it goes on");
    appended.expect("stored");
    assert_eq!(waits.try_iter().last(), Some(Waiting::Over));
    drop(replica);
    let (_second, found) = resume(&server, "two").unwrap();
    assert_eq!(found.journal, b"before after");
}

#[test]
fn somebody_who_waits_can_give_up() {
    let Some(mut server) = NatsServer::start() else {
        return;
    };
    let gives_up = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&gives_up);
    let patience: Patience = Box::new(move |_| {
        if asked.load(Ordering::SeqCst) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let (mut replica, _) = Replica::acquire(settings(&server, "one"), Expect::Nothing, patience).unwrap();
    server.kill(0);
    gives_up.store(true, Ordering::SeqCst);
    let error = replica.append(b"x").unwrap_err();
    assert!(matches!(error, ReplicaError::GaveUp), "{error}");
}

#[test]
fn a_cluster_loses_its_leader_and_the_journal_loses_nothing() {
    let Some(mut server) = NatsServer::cluster() else {
        return;
    };
    let mut replica = begin(&server, "one");
    let mut expected = Vec::new();
    for number in 0..30 {
        let line = format!("line {number}\n");
        if number == 10 {
            let leader = server.leader_of(JOURNAL_STREAM);
            server.kill(leader);
            replica.append(line.as_bytes()).expect("the others go on");
            server.restart(leader);
        } else {
            replica.append(line.as_bytes()).expect("stored");
        }
        expected.extend_from_slice(line.as_bytes());
    }
    drop(replica);
    let (_second, found) = resume(&server, "two").unwrap();
    assert_eq!(
        String::from_utf8_lossy(&found.journal),
        String::from_utf8_lossy(&expected)
    );
}

#[test]
fn a_full_store_and_limits_that_are_too_small_are_named() {
    let setup = |limits: &str| NatsSetup {
        jetstream: Some(limits.to_owned()),
        ..NatsSetup::default()
    };
    let Some(server) = NatsServer::with(&setup("max_file_store: 1MB")) else {
        return;
    };
    let mut replica = begin(&server, "one");
    replica.append(b"fits").unwrap();
    let error = replica.append(&vec![b'x'; 3_000_000]).unwrap_err();
    assert!(matches!(error, ReplicaError::Refused(_)), "{error:?}");
    let config = "accounts { A: { jetstream: { max_streams: 1 }, users: [ { user: a, password: b } ] } }\n\
                  no_auth_user: a";
    let Some(server) = NatsServer::with_config(config) else {
        return;
    };
    let error = Replica::acquire(settings(&server, "one"), Expect::Nothing, patient()).unwrap_err();
    assert!(
        error.to_string().contains("limits of JetStream are too small"),
        "{error}"
    );
}

#[test]
fn an_unknown_session_is_named() {
    let Some(server) = NatsServer::start() else { return };
    let error = resume(&server, "one").unwrap_err();
    assert!(
        matches!(&error, ReplicaError::Unknown { run, .. } if run == "run-tasks-1"),
        "{error}"
    );
}
