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

#[test]
fn a_killed_coordinator_continues() {
    let Some(nats) = NatsServer::start() else { return };
    let _host = Host::start(&nats, "h1", "--slots 2");
    let (sandbox, gate) = gated();
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_for_spawn(&sandbox, "A", "h1");
    drop(run.kill());
    open(&gate);
    let more = format!("--agent command:./agent.sh --nats {} --place remote", nats.url());
    sandbox.resume_with(&more).ok();
    assert_eq!((completions(&sandbox, "A"), completions(&sandbox, "B")), (1, 1));
}
