//! Mistakes, each with its own message.

use super::{Host, project, user, words};
use wavecrew_test_support::nats_server::{NatsServer, NatsSetup};
use wavecrew_test_support::sandbox::wait_until;

#[test]
fn a_server_that_is_missing_or_unfit_is_named() {
    let sandbox = project("A,First,do a,maker,\n", "true\n");
    let run = "run tasks.csv -y --agent command:./agent.sh";
    let outcome = sandbox.wavecrew(&format!("{run} --place remote"));
    outcome.expect_error(2, &["need a NATS server", "--nats URL"]);
    let outcome = sandbox.wavecrew(&format!("{run} --nats ftp://x"));
    outcome
        .expect_exit(2)
        .expect_output("not the address of a NATS server");
    let outcome = sandbox.wavecrew("worker");
    outcome.expect_error(2, &["no NATS server is named"]);
    let outcome = sandbox.wavecrew("workers --nats nats://127.0.0.1:9");
    outcome.expect_error(2, &["no NATS server answers at nats://127.0.0.1:9"]);
    sandbox.write(
        "wavecrew.toml",
        "[remote]\nplace = \"moon\"\n[[place]]\nrole = \"x\"\n",
    );
    let outcome = sandbox.wavecrew(&format!("{run} --nats nats://127.0.0.1:9"));
    outcome.expect_error(
        2,
        &["`place` cannot be `moon`", "does not set where its workers run"],
    );
}

#[test]
fn a_server_without_jetstream_is_refused() {
    let setup = NatsSetup {
        jetstream: None,
        ..NatsSetup::default()
    };
    let Some(nats) = NatsServer::with(&setup) else {
        return;
    };
    let sandbox = user();
    let outcome = sandbox.wavecrew(&format!("worker --nats {}", nats.url()));
    outcome.expect_error(2, &["has no JetStream", "nats-server -js"]);
}

#[test]
fn credentials_that_the_server_does_not_know_are_refused() {
    let config = r#"authorization { users: [ { user: alice, password: "s3cret" } ] }"#;
    let Some(nats) = NatsServer::with_config(config) else {
        return;
    };
    let sandbox = project("A,First,do a,maker,\n", "true\n");
    let wrong = nats.url().replace("nats://", "nats://alice:wr0ng@");
    let run = format!("run tasks.csv -y --agent command:./agent.sh --nats {wrong}");
    for words in [
        run,
        format!("worker --nats {wrong}"),
        format!("workers --nats {wrong}"),
    ] {
        let outcome = sandbox.wavecrew(&*words);
        assert!(!outcome.text().contains("wr0ng"), "{}", outcome.text());
        outcome.expect_error(2, &["refuses these credentials", "`credentials`"]);
    }
    assert!(sandbox.sessions().is_empty());
}

#[test]
fn limits_that_are_too_small_for_the_streams_are_named() {
    let config = "accounts { A: { jetstream: { max_streams: 1 }, users: [ { user: a, password: b } ] } }\n\
                  no_auth_user: a";
    let Some(nats) = NatsServer::with_config(config) else {
        return;
    };
    let sandbox = project("A,First,do a,maker,\n", "true\n");
    let run = format!(
        "run tasks.csv -y --agent command:./agent.sh --nats {}",
        nats.url()
    );
    for words in [run, format!("worker --nats {}", nats.url())] {
        let outcome = sandbox.wavecrew(&*words);
        outcome.expect_error(2, &["the limits of JetStream are too small", "max_file_store"]);
    }
    assert!(sandbox.sessions().is_empty());
}

#[test]
fn hosts_that_do_not_fit_are_named_with_the_reasons() {
    let Some(nats) = NatsServer::start() else { return };
    let _host = Host::start(&nats, "h1", "--label gpu");
    let sandbox = project("A,First,do a,maker,\n", "true\n");
    sandbox.write("wavecrew.toml", "[[place]]\nrole = \"maker\"\nlabel = \"arm\"\n");
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place remote")));
    wait_until("the reasons", || {
        format!("{}{}", run.stdout(), run.stderr()).contains("h1 has only gpu")
    });
    // A host that fits may still come.
    let _fits = Host::start(&nats, "h2", "--label arm");
    run.wait().ok();
}

#[test]
fn two_hosts_of_one_name_are_refused() {
    let Some(nats) = NatsServer::start() else { return };
    let _first = Host::start(&nats, "same", "");
    let sandbox = user();
    let outcome = sandbox.wavecrew(&format!("worker --name same --nats {}", nats.url()));
    outcome.expect_error(2, &["another host named `same` is connected", "--name"]);
}
