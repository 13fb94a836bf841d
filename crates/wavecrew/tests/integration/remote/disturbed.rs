//! What else can happen to a run on hosts: messages that come twice, hosts that come and go, a store without room, hosts of another
//! version.

use super::{Host, completions, journal, project, words};
use std::collections::HashSet;
use wavecrew_test_support::depth;
use wavecrew_test_support::nats_client::{NatsClient, NatsMessage};
use wavecrew_test_support::nats_server::{NatsServer, NatsSetup};
use wavecrew_test_support::sandbox::wait_until;

#[test]
fn every_message_is_delivered_twice() {
    let Some(nats) = NatsServer::start() else { return };
    let host = Host::start(&nats, "h1", "--slots 2");
    let url = nats.url();
    let mut listener = NatsClient::connect(&url);
    listener.subscribe("wavecrew.default.>");
    let repeating = std::thread::spawn(move || {
        let mut sender = NatsClient::connect(&url);
        let mut known = HashSet::new();
        let mut repeated = 0;
        while let Some(message) = listener.next_message() {
            let talks = message.subject.contains(".from.") || message.subject.contains(".to.");
            let again = (message.subject.clone(), message.payload.clone());
            if !talks || !known.insert(again) {
                continue;
            }
            // Without its id, the server takes it for another message.
            let headers: String = message
                .headers
                .split_inclusive("\r\n")
                .filter(|line| !line.starts_with("Nats-Msg-Id"))
                .collect();
            sender.publish(&NatsMessage { headers, ..message });
            repeated += 1;
        }
        repeated
    });
    let work = "wavecrew discover finding '{\"subject\": \"s\", \"description\": \"once\"}'\necho line\n\
                wavecrew report \"{\\\"id\\\": \\\"$WAVECREW_TASK\\\", \\\"status\\\": \\\"completed\\\", \\\"findings\\\": \\\"f\\\"}\"\n";
    let sandbox = project("A,First,do a,maker,\nB,Second,do b,maker,A\n", work);
    sandbox.wavecrew(&*words(&nats, "--place remote")).ok();
    assert_eq!((completions(&sandbox, "A"), completions(&sandbox, "B")), (1, 1));
    assert_eq!(host.output().matches("[START]").count(), 2, "{}", host.output());
    let found = std::fs::read_to_string(sandbox.in_session("discoveries.ndjson")).unwrap();
    assert_eq!(found.matches("once").count(), 2, "one of each task: {found}");
    let log = sandbox.wavecrew("logs A").ok();
    assert_eq!(log.matches("line").count(), 1, "{log}");
    drop(nats);
    assert!(repeating.join().unwrap() >= 10, "something was repeated");
}

#[test]
fn hosts_come_and_go_while_tasks_wait() {
    let Some(nats) = NatsServer::start() else { return };
    let (tasks, names) = if depth::is_full() {
        (2000, vec!["h1", "h2", "h3", "h4"])
    } else {
        (40, vec!["h1", "h2"])
    };
    let rows: Vec<String> = (0..tasks)
        .map(|row| format!("T{row},Task,do it,maker,\n"))
        .collect();
    let sandbox = project(&rows.concat(), "sleep 0.05\n");
    let mut hosts: Vec<Host> = names
        .iter()
        .map(|name| Host::start(&nats, name, "--slots 4"))
        .collect();
    let mut run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote -c 16 --attempts 9")));
    let done = || {
        journal(&sandbox)
            .lines()
            .filter(|line| line.contains("\"e\":\"finished\""))
            .count()
    };
    // After each quarter or tenth of the tasks, the next host dies and another one comes.
    let step = if depth::is_full() { tasks / 10 } else { tasks / 4 };
    let mut next = step;
    for round in 0.. {
        wait_until("more tasks", || done() >= next || !run.is_running());
        if !run.is_running() {
            break;
        }
        let at = round % hosts.len();
        let name = format!("{}-{round}", names[at]);
        drop(
            std::mem::replace(&mut hosts[at], Host::start(&nats, &name, "--slots 4"))
                .running
                .kill(),
        );
        next += step;
    }
    run.wait().ok();
    for row in 0..tasks {
        assert_eq!(completions(&sandbox, &format!("T{row}")), 1, "T{row}");
    }
}

#[test]
fn a_project_that_does_not_fit_into_the_store_is_named() {
    let setup = NatsSetup {
        jetstream: Some("max_file_store: 2MB".to_owned()),
        ..NatsSetup::default()
    };
    let Some(nats) = NatsServer::with(&setup) else {
        return;
    };
    let host = Host::start(&nats, "h1", "");
    let sandbox = project("A,First,do a,maker,\n", "true\n");
    // Bytes that do not repeat: pieces that are the same are stored once.
    let noise: Vec<u8> = (0_u32..2_000_000)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    sandbox.write("large.bin", noise);
    let outcome = sandbox.wavecrew(&*words(&nats, "--place remote"));
    assert_eq!(outcome.code, Some(1), "{}", outcome.text());
    assert!(
        journal(&sandbox).contains("the object store is full"),
        "{}",
        journal(&sandbox)
    );
    assert!(!host.output().contains("[START]"));
}

#[test]
fn a_host_with_an_older_version_is_refused_with_the_reason() {
    let Some(nats) = NatsServer::start() else { return };
    let sandbox = project("A,First,do a,maker,\n", "true\n");
    // The first call makes the bucket in which hosts announce themselves.
    sandbox.wavecrew(&format!("workers --nats {}", nats.url())).ok();
    let mut client = NatsClient::connect(&nats.url());
    client.publish(&NatsMessage {
        subject: "$KV.wavecrew-default-hosts.old".to_owned(),
        headers: String::new(),
        payload: br#"{"wire":1,"host":"old","boot":"1","program":"0.0.9","slots":4,"busy":0}"#.to_vec(),
    });
    client.wait_for_pong();
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_until("the reason", || {
        format!("{}{}", run.stdout(), run.stderr()).contains("old runs wavecrew 0.0.9; this run uses")
    });
    let _fits = Host::start(&nats, "new", "");
    run.wait().ok();
    assert_eq!(completions(&sandbox, "A"), 1);
}
