//! A host runs only what somebody has signed whom it trusts.

use super::{Host, journal, project, user, words};
use wavecrew_test_support::nats_server::NatsServer;
use wavecrew_test_support::sandbox::Sandbox;

/// The key of a user.
fn key(sandbox: &Sandbox) -> String {
    sandbox.wavecrew("worker --show-key").ok().trim().to_owned()
}

#[test]
fn a_host_that_does_not_trust_a_run_executes_nothing() {
    let Some(nats) = NatsServer::start() else { return };
    let other = Sandbox::new();
    let config = other.beside("config");
    let other = other.env("XDG_CONFIG_HOME", config);
    let host = Host::start(&nats, "h1", &format!("--trust {}", key(&other)));
    let sandbox = project("A,First,do a,maker,\n", "");
    let trace = sandbox.beside("trace");
    sandbox.write("work.sh", format!("echo ran > {}\n", trace.display()));
    let outcome = sandbox.wavecrew(&*words(&nats, "--place remote"));
    assert_ne!(outcome.code, Some(0), "{}", host.output());
    let advice = format!(
        "host h1 does not trust this run; on that host, run `wavecrew worker --trust {}`",
        key(&user())
    );
    assert!(journal(&sandbox).contains(&advice), "{}", journal(&sandbox));
    assert!(
        host.output().contains("which this host does not trust"),
        "{}",
        host.output()
    );
    assert!(!host.output().contains("[START]") && !trace.exists());
}

#[test]
fn a_host_runs_what_each_trusted_user_signs() {
    let Some(nats) = NatsServer::start() else { return };
    let other = Sandbox::new();
    let config = other.beside("config");
    let other = other.env("XDG_CONFIG_HOME", config);
    let keys = format!("--trust {} --trust {}", key(&other), key(&user()));
    let _host = Host::start(&nats, "h1", &keys);
    let sandbox = project("A,First,do a,maker,\n", "true\n");
    sandbox.wavecrew(&*words(&nats, "--place remote")).ok();
    assert!(journal(&sandbox).contains("\"host\":\"h1\""));
}

#[test]
fn a_key_that_is_none_is_refused() {
    let outcome = user().wavecrew("worker --nats nats://127.0.0.1:9 --trust UNONSENSE");
    outcome.expect_error(2, &["`UNONSENSE` is not a key", "--show-key"]);
}
