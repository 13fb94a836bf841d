//! What wavecrew itself runs on files of workers is confined too: tests under measurement, and commands that check results.

use crate::mcp::jobs::{call, connect, with_script};
use serde_json::json;
use std::fs;
use wavecrew_process::sandbox::{LandlockAbi, Support};
use wavecrew_test_support::sandbox::Sandbox;

/// Tries to change places that it may not change, and prints where it succeeded.
const ATTEMPTS: &str = "echo x > ../victim/new && echo ESCAPED victim; \
    echo x > $HOME/.left && echo ESCAPED home; \
    cat $HOME/.ssh/id && echo ESCAPED key; \
    echo x > $TMPDIR/own || echo REFUSED temporary; \
    echo x > inside || echo REFUSED project; ";

fn prepared(sandbox: Sandbox) -> Sandbox {
    let home = sandbox.beside("home");
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id"), "secret").unwrap();
    fs::create_dir(sandbox.beside("victim")).unwrap();
    sandbox.env("HOME", home)
}

fn is_supported() -> bool {
    let supported = Support::detect().landlock >= LandlockAbi(3);
    if !supported {
        eprintln!("not checked: the kernel has no Landlock 3");
    }
    supported
}

fn expect_nothing_left(sandbox: &Sandbox) {
    assert!(!sandbox.beside("victim").join("new").exists());
    assert!(!sandbox.beside("home").join(".left").exists());
    assert!(sandbox.path("inside").exists());
}

#[test]
fn tests_under_measurement_change_only_their_project() {
    if !is_supported() {
        return;
    }
    let sandbox = prepared(Sandbox::new().file("a.py", "a = 1\n"));
    sandbox.git(&["init", "-q"]);
    let hook = sandbox.path(".git/hooks/post-commit");
    let protected = if Support::detect().mounts {
        "echo x > .git/hooks/post-commit && echo ESCAPED hook; echo x >> .git/config && echo ESCAPED config; "
    } else {
        ""
    };
    let line = format!(
        "{{ {ATTEMPTS} {protected} }} > $WAVECREW_REPORTS/said 2>&1; cp $WAVECREW_REPORTS/said said; \
         echo '<testsuite><testcase classname=\"a\" name=\"b\"/></testsuite>' > $WAVECREW_REPORTS/j.xml"
    );
    let ended = sandbox.wavecrew(&["measure", "a.py", "--command", line.as_str()]);
    ended.expect_exit(0).expect_output("1");
    let output = fs::read_to_string(sandbox.path("said")).unwrap();
    assert!(
        !output.contains("ESCAPED") && !output.contains("REFUSED"),
        "{output}"
    );
    expect_nothing_left(&sandbox);
    assert!(!hook.exists());
}

#[test]
fn the_network_of_checks_can_be_turned_off() {
    if Support::detect().landlock < LandlockAbi(4) {
        eprintln!("not checked: the kernel has no Landlock 4");
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let line = format!(
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 5)\" && touch connected; \
         echo '<testsuite><testcase classname=\"a\" name=\"b\"/></testsuite>' > $WAVECREW_REPORTS/j.xml"
    );
    for (settings, connected) in [("", true), ("[sandbox]\ncheck_network = \"off\"\n", false)] {
        let sandbox = prepared(
            Sandbox::new()
                .file("a.py", "a = 1\n")
                .file("wavecrew.toml", settings),
        );
        sandbox
            .wavecrew(&["measure", "a.py", "--command", line.as_str()])
            .expect_exit(0);
        assert_eq!(sandbox.path("connected").exists(), connected, "{settings}");
    }
}

#[test]
fn commands_that_check_results_change_only_the_project() {
    if !is_supported() {
        return;
    }
    let project = prepared(with_script("path\na\n", "echo '{\"n\": 1}'"));
    let verify = format!("{{ {ATTEMPTS} }} > said 2>&1; true");
    let answer = connect(&project).call("spawn_agents_on_csv", call(json!({ "verify": verify })));
    assert_eq!(answer["completed_items"], 1, "{answer}");
    let output = project.text("said");
    assert!(
        !output.contains("ESCAPED") && !output.contains("REFUSED"),
        "{output}"
    );
    expect_nothing_left(&project);
}

#[test]
fn agents_of_a_client_change_only_the_project() {
    if !is_supported() {
        return;
    }
    let project = prepared(with_script(
        "a\n1\n",
        &format!("{{ {ATTEMPTS} }} 2> /dev/null; echo done"),
    ));
    let mut client = connect(&project);
    let answer = client.call("spawn_agent", json!({ "message": "try" }));
    let id = answer["agent_id"].as_str().unwrap().to_owned();
    let answer = client.call("wait", json!({ "ids": [id], "timeout_ms": 120_000 }));
    assert_eq!(answer["status"][&id], json!({ "completed": "done" }), "{answer}");
    expect_nothing_left(&project);
}
