//! Hosts, coordinators and servers that die, pause or come back.

use super::{Host, completions, journal, project, user, wait_for_spawn, words};
use std::path::{Path, PathBuf};
use std::process::Command;
use wavecrew_test_support::nats_server::NatsServer;
use wavecrew_test_support::sandbox::{Running, Sandbox, wait_until};

/// A task that ends when the test opens a gate, which is a file that its worker can see.
fn gated() -> (Sandbox, PathBuf) {
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

/// A run of such a project, with task A on its only host.
struct Started {
    nats: NatsServer,
    host: Host,
    sandbox: Sandbox,
    gate: PathBuf,
    run: Running,
}

impl Started {
    /// `None` when these tests are skipped.
    fn with(nats: Option<NatsServer>, lease_seconds: u32) -> Option<Self> {
        Self::with_work(nats, lease_seconds, "")
    }

    /// With more lines in `work.sh`.
    fn with_work(nats: Option<NatsServer>, lease_seconds: u32, more: &str) -> Option<Self> {
        let nats = nats?;
        let host = Host::start(&nats, "first", "--slots 2");
        let (sandbox, gate) = gated();
        sandbox.write("work.sh", sandbox.text("work.sh") + more);
        sandbox.write(
            "wavecrew.toml",
            format!("[remote]\nlease_seconds = {lease_seconds}\n"),
        );
        let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
        wait_for_spawn(&sandbox, "A", "first");
        Some(Self {
            nats,
            host,
            sandbox,
            gate,
            run,
        })
    }

    /// Kills the coordinator.
    fn killed(self) -> (NatsServer, Host, Sandbox, PathBuf) {
        drop(self.run.kill());
        (self.nats, self.host, self.sandbox, self.gate)
    }
}

fn open(gate: &Path) {
    std::fs::write(gate, "").unwrap();
}

#[test]
fn another_host_takes_over_when_one_is_killed() {
    let Some(started) = Started::with(NatsServer::start(), 2) else {
        return;
    };
    let sandbox = &started.sandbox;
    drop(started.host.running.kill());
    let _second = Host::start(&started.nats, "second", "--slots 1");
    wait_for_spawn(sandbox, "A", "second");
    open(&started.gate);
    started.run.wait().ok();
    assert_eq!(completions(sandbox, "A"), 1);
    assert_eq!(sandbox.text("by-A.txt"), "2\n");
    assert!(journal(sandbox).contains("its host first was lost"));
}

#[test]
fn a_host_that_was_paused_too_long_is_refused() {
    let Some(started) = Started::with(NatsServer::start(), 2) else {
        return;
    };
    let (paused, sandbox) = (&started.host, &started.sandbox);
    paused.stop();
    let _other = Host::start(&started.nats, "other", "--slots 1");
    wait_for_spawn(sandbox, "A", "other");
    // Its worker is done now, and it may speak again: too late.
    open(&started.gate);
    paused.go_on();
    started.run.wait().ok();
    wait_until("the end of the lost turn", || paused.output().contains("[END] A"));
    assert!(paused.output().contains("lease lost"), "{}", paused.output());
    assert_eq!((completions(sandbox, "A"), completions(sandbox, "B")), (1, 1));
    assert_eq!(sandbox.text("by-A.txt"), "2\n");
}

#[test]
fn a_run_waits_while_the_server_is_down() {
    let Some(mut started) = Started::with(NatsServer::start(), 60) else {
        return;
    };
    started.nats.kill(0);
    open(&started.gate);
    let run = started.run;
    wait_until("the word that NATS is away", || {
        format!("{}{}", run.stdout(), run.stderr()).contains("does not answer; the run waits")
    });
    started.nats.restart(0);
    run.wait().expect_exit(0).expect_output("NATS answers again");
    assert_eq!(started.sandbox.text("by-A.txt"), "1\n");
    assert_eq!(started.sandbox.text("by-B.txt"), "1\n");
}

#[test]
fn a_cluster_loses_its_leader_without_anyone_noticing() {
    let Some(mut started) = Started::with(NatsServer::cluster(), 30) else {
        return;
    };
    let leader = started.nats.leader_of("wavecrew-default-results");
    started.nats.kill(leader);
    open(&started.gate);
    started.run.wait().ok();
    let sandbox = &started.sandbox;
    assert_eq!((completions(sandbox, "A"), completions(sandbox, "B")), (1, 1));
    assert_eq!(sandbox.text("by-A.txt"), "1\n");
}

/// The flags that continue a run on hosts.
fn more(nats: &NatsServer) -> String {
    format!("--agent command:./agent.sh --nats {} --place remote", nats.url())
}

/// How often a host started a task.
fn starts(host: &Host, task: &str) -> usize {
    host.output().matches(&format!("[START] {task}")).count()
}

#[test]
fn a_turn_that_ended_without_a_coordinator_does_not_run_again() {
    let Some(started) = Started::with(NatsServer::start(), 2) else {
        return;
    };
    let (nats, host, sandbox, gate) = started.killed();
    open(&gate);
    wait_until("the end of the turn", || host.output().contains("[END] A"));
    let output = sandbox.resume_with(&*more(&nats)).ok();
    assert_eq!((completions(&sandbox, "A"), completions(&sandbox, "B")), (1, 1));
    assert_eq!(starts(&host, "A"), 1, "{output}\n{}", host.output());
    assert_eq!(sandbox.text("by-A.txt"), "1\n");
    let log = sandbox.wavecrew("logs A").ok();
    assert!(log.contains("attempt 1 on first"), "{log}");
}

#[test]
fn a_turn_that_goes_on_without_a_coordinator_is_continued() {
    // It reports by a command, which waits for an answer of the run.
    let report = "[ $WAVECREW_TASK = B ] || wavecrew report '{\"id\": \"A\", \"status\": \"completed\", \"findings\": \"by command\"}'\n";
    let Some(started) = Started::with_work(NatsServer::start(), 2, report) else {
        return;
    };
    let (nats, host, sandbox, gate) = started.killed();
    let id = sandbox.session_id();
    let continued = sandbox.spawn(&mut sandbox.command(&*format!("resume {id} {}", more(&nats))));
    continued.wait_for_output("A does not run again");
    open(&gate);
    continued.wait().ok();
    assert_eq!((completions(&sandbox, "A"), completions(&sandbox, "B")), (1, 1));
    assert_eq!(starts(&host, "A"), 1, "{}", host.output());
    assert_eq!(sandbox.text("by-A.txt"), "1\n");
    sandbox.expect_cell("A", "findings", "by command");
}

#[test]
fn a_turn_whose_row_was_edited_runs_again() {
    let Some(started) = Started::with(NatsServer::start(), 2) else {
        return;
    };
    let (nats, host, sandbox, gate) = started.killed();
    let table = sandbox.in_session("tasks.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::write(&table, text.replace("do a", "do something else")).unwrap();
    open(&gate);
    sandbox.resume_with(&*more(&nats)).ok();
    assert_eq!(starts(&host, "A"), 2, "{}", host.output());
    assert_eq!(sandbox.text("by-A.txt"), "2\n");
}

/// A user whose programs see a clock that is wrong by `offset`, by the library of `faketime`.
fn with_clock(offset: &str) -> Sandbox {
    let library = Command::new("faketime")
        .args(["-f", offset, "printenv", "LD_PRELOAD"])
        .output()
        .expect("faketime is installed");
    let library = String::from_utf8(library.stdout).expect("a path");
    user().env("LD_PRELOAD", library.trim()).env("FAKETIME", offset)
}

#[test]
fn clocks_that_are_two_hours_apart_change_nothing() {
    let Some(nats) = NatsServer::start() else { return };
    let early = Host::start_with(with_clock("-1h"), &nats, "early", "--slots 1");
    let late = Host::start_with(with_clock("+1h"), &nats, "late", "--slots 1");
    // Longer than a lease, so that it is renewed.
    let rows = "A,First,do a,maker,\nB,Second,do b,maker,\nC,Third,do c,maker,A;B\n";
    let sandbox = project(rows, "date +%s > when-$WAVECREW_TASK.txt\nsleep 3\n");
    sandbox.wavecrew(&*words(&nats, "--place remote -c 2")).ok();
    for task in ["A", "B", "C"] {
        assert_eq!(completions(&sandbox, task), 1, "{}", journal(&sandbox));
    }
    for host in [&early, &late] {
        assert!(host.output().contains("[END]"), "both work: {}", host.output());
        assert!(!host.output().contains("lease lost"), "{}", host.output());
    }
    let when = |task: &str| {
        sandbox
            .text(format!("when-{task}.txt"))
            .trim()
            .parse::<i64>()
            .unwrap()
    };
    assert!((when("A") - when("B")).abs() > 7000, "the clocks are apart");
}
