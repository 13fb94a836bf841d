//! Workers on other hosts: real NATS servers, real `wavecrew worker` processes, each with a home of its own.

mod bad_input;
mod disturbed;
mod failures;
mod journal;
mod network;
mod permissions;
mod states;
mod trust;
mod work;

use rustix::process::Signal;
use std::fs;
use wavecrew_test_support::nats_server::NatsServer;
use wavecrew_test_support::sandbox::{Running, Sandbox, wait_until};

/// A host that runs, with its own home and state.
struct Host {
    running: Running,
    _sandbox: Sandbox,
}

impl Host {
    fn start(nats: &NatsServer, name: &str, flags: &str) -> Self {
        Self::start_with(user(), nats, name, flags)
    }

    /// A host in whose home something is special.
    fn start_with(sandbox: Sandbox, nats: &NatsServer, name: &str, flags: &str) -> Self {
        let sandbox = sandbox.env("WAVECREW_HOST_TEST", "1");
        let words = format!("worker --nats {} --name {name} {flags}", nats.url());
        let running = sandbox.spawn(&mut sandbox.command(&words));
        wait_until("a host that is ready", || running.stderr().contains("Ready"));
        Self {
            running,
            _sandbox: sandbox,
        }
    }

    /// Its output so far.
    fn output(&self) -> String {
        self.running.stderr()
    }

    fn stop(&self) {
        self.running.signal(Signal::STOP);
    }

    fn go_on(&self) {
        self.running.signal(Signal::CONT);
    }
}

/// A folder of the one user whom the hosts of these tests trust.
fn user() -> Sandbox {
    let config = concat!(env!("CARGO_TARGET_TMPDIR"), "/remote-user");
    Sandbox::new().env("XDG_CONFIG_HOME", config)
}

/// A project whose agent is `agent.sh`: it runs `work.sh` of the project and reports success.
fn project(tasks: &str, work: &str) -> Sandbox {
    let agent = "set -eu\n. ./work.sh\nprintf '{\"id\": \"%s\", \"status\": \"completed\", \"findings\": \
                 \"attempt %s\"}\\n' \"$WAVECREW_TASK\" \"$WAVECREW_ATTEMPT\"\n";
    let sandbox = user()
        .script("agent.sh", &format!("#!/bin/sh\n{agent}"))
        .file("work.sh", work)
        .file("wavecrew.toml", "[remote]\nlease_seconds = 2\n");
    sandbox.write("tasks.csv", format!("id,title,description,role,deps\n{tasks}"));
    sandbox
}

/// The words that run the table on hosts.
fn words(nats: &NatsServer, flags: &str) -> Vec<std::ffi::OsString> {
    let url = nats.url();
    let words = [
        "run",
        "tasks.csv",
        "-y",
        "--agent",
        "command:./agent.sh",
        "--nats",
        &url,
    ];
    let flags = flags.split_whitespace();
    words.into_iter().chain(flags).map(Into::into).collect()
}

fn journal(sandbox: &Sandbox) -> String {
    let sessions = fs::read_dir(sandbox.path(".workflow/.csv-wave"));
    let journals = sessions.into_iter().flatten().flatten();
    let texts = journals.filter_map(|entry| fs::read_to_string(entry.path().join("journal.ndjson")).ok());
    texts.collect()
}

/// How often a task was completed, by the journal.
fn completions(sandbox: &Sandbox, task: &str) -> usize {
    let finished = "\"e\":\"finished\"";
    let task = format!("\"task\":\"{task}\"");
    journal(sandbox)
        .lines()
        .filter(|line| line.contains(finished) && line.contains(&task) && line.contains("completed"))
        .count()
}

/// Waits until the process of a task exists on a host.
fn wait_for_spawn(sandbox: &Sandbox, task: &str, host: &str) {
    let (task, host) = (format!("\"task\":\"{task}\""), format!("\"host\":\"{host}\""));
    wait_until("a worker on the host", || {
        journal(sandbox)
            .lines()
            .any(|line| line.contains("\"e\":\"spawned\"") && line.contains(&task) && line.contains(&host))
    });
}
