//! What other machines cost: `wavecrew worker` processes on this machine over a real NATS server, beside the same run without them.
//! Run by hand: `cargo bench -p wavecrew --bench remote`; `scripts/install-nats.sh` installs the server. Words choose figures:
//! `-- rate latency many bytes`. `WAVECREW_BENCH_TASKS` replaces the number of tasks of `rate`.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};
use wavecrew_test_support::nats_server::NatsServer;
use wavecrew_test_support::sandbox::{Running, Sandbox, wait_until};

const AGENT: &str =
    "#!/bin/sh\necho \"{\\\"id\\\":\\\"$WAVECREW_TASK\\\",\\\"status\\\":\\\"completed\\\"}\"\n";
/// Tasks one after the other, for the latency of one.
const CHAIN: usize = 40;
/// The size of the project for the bytes, in files of 1 MB.
const MEGABYTES: usize = 200;

/// A process of `wavecrew worker`. It ends with the bench.
struct Host {
    running: Running,
    _home: Sandbox,
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load before: {}", load.trim());
    if wanted("rate") {
        rate();
    }
    if wanted("latency") {
        latency();
    }
    if wanted("many") {
        many();
    }
    if wanted("bytes") {
        bytes();
    }
}

/// No-op tasks over four processes of four slots, and with 16 slots here.
fn rate() {
    let tasks = std::env::var("WAVECREW_BENCH_TASKS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(10_000);
    let (nats, hosts) = machines(4, 4);
    let here = timed(
        &project(tasks, false),
        &format!("-c 16 --nats {} --place local", nats.url()),
    );
    let there = timed(
        &project(tasks, false),
        &format!("-c 16 --nats {} --place remote", nats.url()),
    );
    let per_second = |time: Duration| number(tasks) / time.as_secs_f64();
    println!(
        "{tasks} no-op tasks on 16 slots: here {:.0}/s, over 4 processes {:.0}/s: {:.2}x",
        per_second(here),
        per_second(there),
        here.as_secs_f64() / there.as_secs_f64()
    );
    end(hosts);
}

/// From the start of an attempt to its result, for tasks one after the other.
fn latency() {
    let (nats, hosts) = machines(1, 1);
    let median = |place: &str| {
        let sandbox = project(CHAIN, true);
        timed(&sandbox, &format!("-c 1 --nats {} --place {place}", nats.url()));
        median_of_tasks(&sandbox)
    };
    let (here, there) = (median("local"), median("remote"));
    println!(
        "one task, median: here {here} ms, on a host {there} ms: {} ms more",
        there - here
    );
    end(hosts);
}

/// 1,000 tasks on 200 slots over ten processes.
fn many() {
    let (nats, hosts) = machines(10, 20);
    let here = timed(
        &project(1000, false),
        &format!("-c 200 --nats {} --place local", nats.url()),
    );
    let there = timed(
        &project(1000, false),
        &format!("-c 200 --nats {} --place remote", nats.url()),
    );
    println!(
        "1000 no-op tasks on 200 slots: here {:.1} s, over 10 processes {:.1} s: {:.2}x",
        here.as_secs_f64(),
        there.as_secs_f64(),
        here.as_secs_f64() / there.as_secs_f64()
    );
    end(hosts);
}

/// What goes through the server for each of three tasks of a large project, each in a run of its own.
fn bytes() {
    let (nats, hosts) = machines(1, 1);
    let sandbox = project(1, false);
    let mut state = 1_u64;
    for file in 0..MEGABYTES {
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .take(131_072)
        .flatten()
        .collect();
        sandbox.write(format!("data/{file}.bin"), noise);
    }
    let moved = || {
        let page = nats.monitor(0, "/varz").unwrap_or_default();
        page["in_bytes"].as_u64().unwrap_or(0) + page["out_bytes"].as_u64().unwrap_or(0)
    };
    for run in 1..=3 {
        sandbox.write("small.txt", format!("{run}\n").repeat(1000));
        let before = moved();
        let time = timed(&sandbox, &format!("-c 1 --nats {} --place remote", nats.url()));
        println!(
            "{MEGABYTES} MB project, task {run}: {} KB through the server, {:.1} s",
            (moved() - before) / 1024,
            time.as_secs_f64()
        );
    }
    end(hosts);
}

fn machines(processes: usize, slots: usize) -> (NatsServer, Vec<Host>) {
    let nats = NatsServer::start().expect("scripts/install-nats.sh installs a server");
    let hosts = (1..=processes).map(|number| host(&nats, number, slots)).collect();
    (nats, hosts)
}

fn host(nats: &NatsServer, number: usize, slots: usize) -> Host {
    let home = user();
    let words = format!("worker --nats {} --name h{number} --slots {slots}", nats.url());
    let running = home.spawn(&mut home.command(&*words));
    wait_until("a host", || running.stderr().contains("Ready"));
    Host { running, _home: home }
}

fn end(hosts: Vec<Host>) {
    for host in hosts {
        drop(host.running.kill());
    }
}

/// Hosts trust the user who starts them.
fn user() -> Sandbox {
    Sandbox::new().env(
        "XDG_CONFIG_HOME",
        std::env::temp_dir().join("wavecrew-bench-user"),
    )
}

fn project(tasks: usize, chained: bool) -> Sandbox {
    let mut table = "id,title,description,role,deps\n".to_owned();
    for task in 0..tasks {
        let after = if chained && task > 0 {
            format!("T{}", task - 1)
        } else {
            String::new()
        };
        table += &format!("T{task},no-op,no-op,maker,{after}\n");
    }
    let sandbox = user().script("agent.sh", AGENT);
    sandbox.write("tasks.csv", table);
    sandbox
}

fn timed(sandbox: &Sandbox, flags: &str) -> Duration {
    let words = format!("run tasks.csv -y -q --agent command:./agent.sh {flags}");
    let from = Instant::now();
    sandbox.wavecrew(&*words).ok();
    from.elapsed()
}

/// In milliseconds, by the journal.
fn median_of_tasks(sandbox: &Sandbox) -> i64 {
    let mut started: HashMap<String, i64> = HashMap::new();
    let mut times = Vec::new();
    for event in sandbox.journal() {
        let task = event["task"].as_str().unwrap_or_default().to_owned();
        let at = event["at"].as_i64().unwrap_or(0);
        match event["e"].as_str() {
            Some("attempt_started") => drop(started.insert(task, at)),
            Some("finished") => times.extend(started.get(&task).map(|from| at - from)),
            _ => {}
        }
    }
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
fn number(tasks: usize) -> f64 {
    tasks as f64
}
