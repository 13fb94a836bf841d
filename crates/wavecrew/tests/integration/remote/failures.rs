//! Hosts, coordinators and servers that die, pause or come back.

use super::{Host, completions, journal, project, wait_for_spawn, words};
use wavecrew_test_support::nats_server::NatsServer;
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

/// A task that ends when the test opens a gate, which is a file that its worker can see.
fn gated() -> (Sandbox, std::path::PathBuf) {
    let sandbox = project("A,First,do a,maker,\nB,Second,do b,maker,A\n", "");
    let gate = sandbox.beside("gate");
    let work = format!(
        "echo attempt $WAVECREW_ATTEMPT on $WAVECREW_HOST\nwhile [ ! -e {} ]; do sleep 0.05; done\n\
         echo $WAVECREW_ATTEMPT > by-$WAVECREW_TASK.txt\n",
        gate.display()
    );
    sandbox.write("work.sh", work);
    (sandbox, gate)
}

fn open(gate: &std::path::Path) {
    std::fs::write(gate, "").unwrap();
}

#[test]
fn another_host_takes_over_when_one_is_killed() {
    let Some(nats) = NatsServer::start() else { return };
    let first = Host::start(&nats, "first", "--slots 1");
    let (sandbox, gate) = gated();
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_for_spawn(&sandbox, "A", "first");
    drop(first.running.kill());
    let _second = Host::start(&nats, "second", "--slots 1");
    wait_for_spawn(&sandbox, "A", "second");
    open(&gate);
    run.wait().ok();
    assert_eq!(completions(&sandbox, "A"), 1);
    assert_eq!(sandbox.text("by-A.txt"), "2\n");
    assert!(journal(&sandbox).contains("its host first was lost"));
}

#[test]
fn a_host_that_was_paused_too_long_is_refused() {
    let Some(nats) = NatsServer::start() else { return };
    let paused = Host::start(&nats, "paused", "--slots 1");
    let (sandbox, gate) = gated();
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_for_spawn(&sandbox, "A", "paused");
    paused.stop();
    let _other = Host::start(&nats, "other", "--slots 1");
    wait_for_spawn(&sandbox, "A", "other");
    // Its worker is done now, and it may speak again: too late.
    open(&gate);
    paused.go_on();
    run.wait().ok();
    wait_until("the end of the lost turn", || paused.said().contains("[END] A"));
    assert!(paused.said().contains("lease lost"), "{}", paused.said());
    assert_eq!((completions(&sandbox, "A"), completions(&sandbox, "B")), (1, 1));
    assert_eq!(sandbox.text("by-A.txt"), "2\n");
}

#[test]
fn a_run_waits_while_the_server_is_down() {
    let Some(mut nats) = NatsServer::start() else {
        return;
    };
    let _host = Host::start(&nats, "h1", "--slots 1");
    let (sandbox, gate) = gated();
    sandbox.write("wavecrew.toml", "[remote]\nlease_seconds = 60\n");
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_for_spawn(&sandbox, "A", "h1");
    nats.kill(0);
    open(&gate);
    wait_until("the word that NATS is away", || {
        format!("{}{}", run.stdout(), run.stderr()).contains("does not answer; the run waits")
    });
    nats.restart(0);
    run.wait().expect_exit(0).expect_output("NATS answers again");
    assert_eq!(sandbox.text("by-A.txt"), "1\n");
    assert_eq!(sandbox.text("by-B.txt"), "1\n");
}

#[test]
fn a_cluster_loses_its_leader_without_anyone_noticing() {
    let Some(mut nats) = NatsServer::cluster() else {
        return;
    };
    let _host = Host::start(&nats, "h1", "--slots 1");
    let (sandbox, gate) = gated();
    sandbox.write("wavecrew.toml", "[remote]\nlease_seconds = 30\n");
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_for_spawn(&sandbox, "A", "h1");
    let leader = nats.leader_of("wavecrew-default-results");
    nats.kill(leader);
    open(&gate);
    run.wait().ok();
    assert_eq!((completions(&sandbox, "A"), completions(&sandbox, "B")), (1, 1));
    assert_eq!(sandbox.text("by-A.txt"), "1\n");
}

/// The flags that continue a run on hosts.
fn more(nats: &NatsServer) -> String {
    format!("--agent command:./agent.sh --nats {} --place remote", nats.url())
}

/// How often a host started a task.
fn starts(host: &Host, task: &str) -> usize {
    host.said().matches(&format!("[START] {task}")).count()
}

#[test]
fn a_turn_that_ended_without_a_coordinator_does_not_run_again() {
    let Some(nats) = NatsServer::start() else { return };
    let host = Host::start(&nats, "h1", "--slots 2");
    let (sandbox, gate) = gated();
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_for_spawn(&sandbox, "A", "h1");
    drop(run.kill());
    open(&gate);
    wait_until("the end of the turn", || host.said().contains("[END] A"));
    let said = sandbox.resume_with(&*more(&nats)).ok();
    assert_eq!((completions(&sandbox, "A"), completions(&sandbox, "B")), (1, 1));
    assert_eq!(starts(&host, "A"), 1, "{said}\n{}", host.said());
    assert_eq!(sandbox.text("by-A.txt"), "1\n");
    let log = sandbox.wavecrew("logs A").ok();
    assert!(log.contains("attempt 1 on h1"), "{log}");
}

#[test]
fn a_turn_that_goes_on_without_a_coordinator_is_continued() {
    let Some(nats) = NatsServer::start() else { return };
    let host = Host::start(&nats, "h1", "--slots 2");
    let (sandbox, gate) = gated();
    // It reports by a command, which waits for an answer of the run.
    let report = "[ $WAVECREW_TASK = B ] || wavecrew report '{\"id\": \"A\", \"status\": \"completed\", \"findings\": \"by command\"}'\n";
    sandbox.write("work.sh", sandbox.text("work.sh") + report);
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_for_spawn(&sandbox, "A", "h1");
    drop(run.kill());
    let id = sandbox.session_id();
    let continued = sandbox.spawn(&mut sandbox.command(&*format!("resume {id} {}", more(&nats))));
    continued.wait_for_output("A does not run again");
    open(&gate);
    continued.wait().ok();
    assert_eq!((completions(&sandbox, "A"), completions(&sandbox, "B")), (1, 1));
    assert_eq!(starts(&host, "A"), 1, "{}", host.said());
    assert_eq!(sandbox.text("by-A.txt"), "1\n");
    sandbox.expect_cell("A", "findings", "by command");
}

#[test]
fn a_turn_whose_row_was_edited_runs_again() {
    let Some(nats) = NatsServer::start() else { return };
    let host = Host::start(&nats, "h1", "--slots 2");
    let (sandbox, gate) = gated();
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_for_spawn(&sandbox, "A", "h1");
    drop(run.kill());
    let table = sandbox.in_session("tasks.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::write(&table, text.replace("do a", "do something else")).unwrap();
    open(&gate);
    sandbox.resume_with(&*more(&nats)).ok();
    assert_eq!(starts(&host, "A"), 2, "{}", host.said());
    assert_eq!(sandbox.text("by-A.txt"), "2\n");
}
