//! A host, the coordinator or the leading node of a cluster is killed at any moment of a run, and every task completes once.

use super::{Host, completions, journal, project, words};
use wavecrew_test_support::depth::sample;
use wavecrew_test_support::nats_server::NatsServer;
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

const TASKS: [&str; 3] = ["A", "B", "C"];
/// About as many lines as the journal of such a run has: queued, leased, running, reporting, merging, for each task.
const MOMENTS: std::ops::Range<usize> = 1..14;

/// Two tasks side by side and one after them. They report by a command, and work on for a moment.
fn chain() -> Sandbox {
    let work = "wavecrew report \"{\\\"id\\\": \\\"$WAVECREW_TASK\\\", \\\"status\\\": \\\"completed\\\", \\\"findings\\\": \\\"f\\\"}\"\n\
                echo \"$WAVECREW_TASK\" > \"by-$WAVECREW_TASK.txt\"\n";
    project(
        "A,First,do a,maker,\nB,Second,do b,maker,\nC,Third,do c,maker,A;B\n",
        work,
    )
}

fn wait_for_moment(sandbox: &Sandbox, lines: usize, ended: impl Fn() -> bool) {
    wait_until("the moment", || {
        journal(sandbox).lines().count() >= lines || ended()
    });
}

fn expect_each_once(sandbox: &Sandbox, moment: usize) {
    for task in TASKS {
        assert_eq!(
            completions(sandbox, task),
            1,
            "{task} at {moment}: {}",
            journal(sandbox)
        );
        assert_eq!(sandbox.text(format!("by-{task}.txt")).trim(), task, "at {moment}");
    }
}

fn continued(nats: &NatsServer, sandbox: &Sandbox) -> String {
    let id = sandbox.session_id();
    format!(
        "run --continue {id} --agent command:./agent.sh --nats {} --place remote",
        nats.url()
    )
}

#[test]
fn the_coordinator_is_killed_at_any_moment() {
    let Some(nats) = NatsServer::start() else { return };
    let _host = Host::start(&nats, "h1", "--slots 2");
    for moment in sample("kill the coordinator", MOMENTS, 4) {
        let sandbox = chain();
        let mut run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
        wait_until("the moment", || {
            // The session file comes last; a folder without it holds nothing to continue.
            let is_session = !sandbox.sessions().is_empty() && sandbox.in_session("session.json").exists();
            (is_session && journal(&sandbox).lines().count() >= moment) || !run.is_running()
        });
        drop(run.kill());
        // Once more, later: whatever the second one left is found by the third.
        let mut second = sandbox.spawn(&mut sandbox.command(&*continued(&nats, &sandbox)));
        wait_until("the moment", || {
            journal(&sandbox).lines().count() >= moment + 5 || !second.is_running()
        });
        drop(second.kill());
        sandbox.wavecrew(&*continued(&nats, &sandbox)).ok();
        expect_each_once(&sandbox, moment);
    }
}

#[test]
fn a_host_is_killed_at_any_moment() {
    let Some(nats) = NatsServer::start() else { return };
    for moment in sample("kill a host", MOMENTS, 2) {
        let sandbox = chain();
        let mut hosts = vec![
            Host::start(&nats, &format!("first-{moment}"), "--slots 1"),
            Host::start(&nats, &format!("second-{moment}"), "--slots 1"),
        ];
        let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
        wait_for_moment(&sandbox, moment, || false);
        drop(hosts.remove(0).running.kill());
        run.wait().ok();
        expect_each_once(&sandbox, moment);
    }
}

#[test]
fn the_leading_node_is_killed_at_any_moment() {
    let Some(mut nats) = NatsServer::cluster() else {
        return;
    };
    let _host = Host::start(&nats, "h1", "--slots 2");
    for moment in sample("kill the leading node", MOMENTS, 1) {
        let sandbox = chain();
        sandbox.write("wavecrew.toml", "[remote]\nlease_seconds = 30\n");
        let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote --journal nats")));
        wait_for_moment(&sandbox, moment, || false);
        let leader = nats.leader_of("wavecrew-default-results");
        nats.kill(leader);
        run.wait().ok();
        expect_each_once(&sandbox, moment);
        nats.restart(leader);
    }
}
