//! The permissions of `examples/remote/permissions.conf`: enough for both sides, and not more.

use super::{Host, completions, project, user};
use std::path::Path;
use wavecrew_test_support::nats_client::{NatsClient, NatsMessage};
use wavecrew_test_support::nats_server::NatsServer;
use wavecrew_test_support::sandbox::{Sandbox, wait_until};

/// The example, with passwords.
fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/remote/permissions.conf");
    let text = std::fs::read_to_string(path).unwrap();
    text.replace("$COORDINATOR_PASSWORD", "c-secret")
        .replace("$WORKER_PASSWORD", "w-secret")
}

/// Logs a sandbox in.
fn log_in(sandbox: &Sandbox, login: &str, inbox: &str, password: &str) {
    sandbox.write("nats-password", password);
    let settings = format!(
        "[remote]\nuser = \"{login}\"\npassword_file = \"nats-password\"\ninbox = \"{inbox}\"\nlease_seconds = 5\n"
    );
    sandbox.write("wavecrew.toml", settings);
}

/// What the server refuses of these subjects.
fn refused(nats: &NatsServer, login: &str, password: &str, subjects: &[&str]) -> Vec<String> {
    let mut client = NatsClient::connect_as(&nats.url(), login, password);
    let mut refused = Vec::new();
    for subject in subjects {
        let message = NatsMessage {
            subject: (*subject).to_owned(),
            headers: String::new(),
            payload: b"{}".to_vec(),
        };
        if client.is_refused(&message) {
            refused.push((*subject).to_owned());
        }
    }
    refused
}

#[test]
fn both_sides_work_with_the_permissions_of_the_example_and_have_no_more() {
    let Some(nats) = NatsServer::with_config(example()) else {
        return;
    };
    let sandbox = project(
        "A,First,do a,maker,\nB,Second,do b,maker,A\n",
        "echo $WAVECREW_TASK > by-$WAVECREW_TASK.txt\n",
    );
    log_in(&sandbox, "coordinator", "_INBOX_coordinator", "c-secret");
    // A worker may not make streams: the first coordinator does.
    sandbox.wavecrew(&format!("workers --nats {}", nats.url())).ok();
    let machine = user();
    log_in(&machine, "worker", "_INBOX_vm-1", "w-secret");
    let words = format!("worker --nats {} --name vm-1", nats.url());
    let running = machine.spawn(&mut machine.command(&*words));
    wait_until("a host that is ready", || running.stderr().contains("Ready"));
    let host = Host {
        running,
        _sandbox: machine,
    };
    let run = format!(
        "run tasks.csv -y --agent command:./agent.sh --nats {} --place remote --journal nats",
        nats.url()
    );
    sandbox.wavecrew(&*run).ok();
    assert_eq!(
        (completions(&sandbox, "A"), completions(&sandbox, "B")),
        (1, 1),
        "{}",
        host.output()
    );
    assert_eq!(sandbox.text("by-B.txt"), "B\n");
    let violations: Vec<String> = nats
        .log(0)
        .lines()
        .filter(|line| line.contains("Violation"))
        .map(str::to_owned)
        .collect();
    assert!(violations.is_empty(), "{violations:#?}");
    let beyond = [
        "wavecrew.default.to.vm-1.run-1",
        "wavecrew.default.to.vm-2.run-1",
        "wavecrew.default.from.vm-2.run-1.t",
        "wavecrew.default.journal.run-1",
        "wavecrew.other.from.vm-1.run-1.t",
        "$KV.wavecrew-default-leases.vm-2.run-1.x",
        "$KV.wavecrew-default-hosts.vm-2",
        "$KV.wavecrew-default-coordinators.run-1",
        "$JS.API.STREAM.DELETE.wavecrew-default-results",
        "$JS.API.STREAM.PURGE.wavecrew-default-results",
    ];
    assert_eq!(refused(&nats, "worker", "w-secret", &beyond), beyond);
    let beyond = [
        "wavecrew.default.from.vm-1.run-1.t",
        "wavecrew.other.to.vm-1.run-1",
        "$KV.wavecrew-default-hosts.vm-1",
        "$JS.API.STREAM.DELETE.wavecrew-default-results",
    ];
    assert_eq!(refused(&nats, "coordinator", "c-secret", &beyond), beyond);
    assert!(
        refused(
            &nats,
            "worker",
            "w-secret",
            &["wavecrew.default.from.vm-1.run-1.t"]
        )
        .is_empty()
    );
}
