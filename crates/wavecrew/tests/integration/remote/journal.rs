//! `--journal nats`: another machine continues a session.

use super::{Host, completions, project, user, wait_for_spawn, words};
use wavecrew_test_support::nats_server::NatsServer;
use wavecrew_test_support::sandbox::{Sandbox, copy_folder, wait_until};

const TASKS: &str = "A,First,do a,maker,\nB,Second,do b,maker,A\n";

/// A project whose task B ends when the test opens a gate.
fn gated() -> (Sandbox, std::path::PathBuf) {
    let sandbox = project(TASKS, "");
    let gate = sandbox.beside("gate");
    let work = format!(
        "while [ $WAVECREW_TASK = B ] && [ ! -e {} ]; do sleep 0.05; done\necho $WAVECREW_ATTEMPT > by-$WAVECREW_TASK.txt\n",
        gate.display()
    );
    sandbox.write("work.sh", work);
    (sandbox, gate)
}

/// The same project on another machine: another folder, another home.
fn another_machine(first: &Sandbox) -> Sandbox {
    let other = user();
    for name in ["agent.sh", "work.sh", "wavecrew.toml", "tasks.csv"] {
        std::fs::copy(first.path(name), other.path(name)).unwrap();
    }
    other
}

fn continued(nats: &NatsServer, session: &str, flags: &str) -> String {
    format!(
        "run --continue {session} --agent command:./agent.sh --nats {} {flags}",
        nats.url()
    )
}

#[test]
fn another_machine_continues_a_session_whose_coordinator_is_gone() {
    let Some(nats) = NatsServer::start() else { return };
    let host = Host::start(&nats, "h1", "--slots 2");
    let (first, gate) = gated();
    let run = first.spawn(&mut first.command(&*words(&nats, "--place remote --journal nats")));
    wait_for_spawn(&first, "B", "h1");
    let id = first.session_id();
    let second = another_machine(&first);
    // While the first one is alive, no other coordinator gets the session.
    let outcome = second.wavecrew(&*continued(&nats, &id, "--place remote"));
    outcome.expect_error(5, &[&format!("the session `{id}` is in use by"), "wavecrew run"]);
    drop(run.kill());
    std::fs::remove_dir_all(first.path(".workflow")).unwrap();
    std::fs::write(&gate, "").unwrap();
    wait_until("the end of B", || host.output().contains("[END] B"));
    second.wavecrew(&*continued(&nats, &id, "--place remote")).ok();
    assert_eq!((completions(&second, "A"), completions(&second, "B")), (1, 1));
    assert_eq!(host.output().matches("[START]").count(), 2, "{}", host.output());
    // The files of A, for the first machine, and of B, for none, are in the folder of the second one.
    assert_eq!(
        (second.text("by-A.txt"), second.text("by-B.txt")),
        ("1\n".to_owned(), "1\n".to_owned())
    );
    assert_eq!(second.statuses(), "A completed, B completed");
}

#[test]
fn a_coordinator_that_was_paused_too_long_writes_nothing_more() {
    let Some(nats) = NatsServer::start() else { return };
    let _host = Host::start(&nats, "h1", "--slots 2");
    let (first, gate) = gated();
    let run = first.spawn(&mut first.command(&*words(&nats, "--place remote --journal nats")));
    wait_for_spawn(&first, "B", "h1");
    let id = first.session_id();
    let second = another_machine(&first);
    run.signal(rustix::process::Signal::STOP);
    std::fs::write(&gate, "").unwrap();
    second.wavecrew(&*continued(&nats, &id, "--place remote")).ok();
    run.signal(rustix::process::Signal::CONT);
    let outcome = run.wait().expect_exit(5);
    outcome.expect_output("another coordinator continued the session");
    assert_eq!((completions(&second, "A"), completions(&second, "B")), (1, 1));
    assert_eq!(completions(&first, "B"), 0, "the first one may not know");
    // The first machine finds what the second one did.
    first.wavecrew(&*continued(&nats, &id, "--place remote")).ok();
    assert_eq!(completions(&first, "B"), 1);
}

#[test]
fn the_same_session_from_two_machines_is_refused() {
    let Some(nats) = NatsServer::start() else { return };
    let first = project("A,First,do a,maker,\n", "true\n");
    first
        .wavecrew(&*words(&nats, "--place local --journal nats"))
        .ok();
    let second = another_machine(&first);
    let outcome = second.wavecrew(&*words(&nats, "--place local --journal nats"));
    let id = first.session_id();
    outcome.expect_error(
        2,
        &[&format!("NATS already has a session `{id}` of this project")],
    );
    assert!(second.sessions().is_empty(), "nothing is left of it");
    let outcome = second.wavecrew(&*continued(&nats, "nonsense", ""));
    outcome.expect_error(2, &["NATS has no session `nonsense` of the project `default`"]);
    // A copy of the whole folder is the same session.
    copy_folder(&first.path(".workflow"), &second.path(".workflow"));
    second.wavecrew(&*continued(&nats, &id, "")).ok();
}

#[test]
fn a_run_waits_for_its_journal() {
    let Some(mut nats) = NatsServer::start() else {
        return;
    };
    let sandbox = project("A,First,do a,maker,\n", "");
    sandbox.write(
        "work.sh",
        "touch started\nwhile [ ! -e gate ]; do sleep 0.05; done\n",
    );
    let run = sandbox.spawn(&mut sandbox.command(&*words(&nats, "--place local --journal nats")));
    sandbox.wait_for_file("started");
    nats.kill(0);
    sandbox.write("gate", "");
    wait_until("the word that NATS is away", || {
        run.stderr().contains("NATS does not answer")
    });
    assert_eq!(completions(&sandbox, "A"), 0, "the journal waits for its copy");
    nats.restart(0);
    run.wait().ok();
    assert_eq!(completions(&sandbox, "A"), 1);
}
