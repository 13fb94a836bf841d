//! Machines that offer less: an ordinary user, and older kernels.

use std::fs;
use std::process::Command;
use wavecrew_process::sandbox::{LandlockAbi, Support};
use wavecrew_test_support::sandbox::Sandbox;

/// A user that no machine gives any rights.
const NOBODY: &str = "65534";

/// Says what it could change.
const AGENT: &str = "#!/bin/sh
try() { sh -c \"$2\" 2> /dev/null && echo \"COULD $1\"; }
try overwrite 'echo x > $V/file'
try create 'echo x > $V/new'
try truncate 'perl -e \"truncate(q($V/file), 0) || exit 1\"'
try rename 'mv $V/folder/file $V/moved'
try hook 'echo x > .git/hooks/post-commit'
try settings 'echo x >> wavecrew.toml'
try journal ': >> $WAVECREW_SESSION_DIR/journal.ndjson'
try key 'cat $HOME/.ssh/id > /dev/null'
try project 'echo x > made.txt'
echo ENDED
";

fn prepared(settings: &str) -> Sandbox {
    let sandbox = Sandbox::new()
        .script("agent.sh", AGENT)
        .file("wavecrew.toml", settings)
        .tasks("id\na");
    sandbox.git(&["init", "-q"]);
    let (victim, home) = (sandbox.beside("victim"), sandbox.beside("home"));
    for file in [
        victim.join("file"),
        victim.join("folder/file"),
        home.join(".ssh/id"),
    ] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "text").unwrap();
    }
    fs::create_dir_all(sandbox.path(".git/hooks")).unwrap();
    sandbox.env("V", victim).env("HOME", home)
}

/// What the worker could do.
fn could(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.read("logs/a.1.log");
    assert!(log.contains("ENDED"), "{log}");
    let could = log.lines().filter_map(|line| line.strip_prefix("COULD "));
    could.map(str::to_owned).collect()
}

fn as_nobody() -> Option<Command> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    let mut probe = Command::new("setpriv");
    probe.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    let probed = probe.args(["unshare", "--user", "--mount", "true"]).output();
    if probed.is_ok_and(|output| output.status.success()) {
        return Some(command);
    }
    eprintln!("not checked: this needs root, and user namespaces for others");
    None
}

#[test]
fn a_user_without_privileges_is_confined_as_well() {
    let Some(command) = as_nobody().filter(|_| Support::detect().landlock >= LandlockAbi(3)) else {
        return;
    };
    let sandbox = prepared("sandbox = \"require\"\n");
    sandbox.write_table();
    let root = sandbox.project().parent().unwrap().to_owned();
    let owned = Command::new("chown")
        .args(["-R", NOBODY])
        .arg(&root)
        .status()
        .unwrap();
    assert!(owned.success());
    let ended = sandbox
        .start_run_under(command, "run tasks.csv -y --agent command:./agent.sh")
        .wait();
    let ended = ended.expect_output("read-only mounts");
    assert!(!ended.text().contains("; not:"), "{}", ended.text());
    assert_eq!(could(&sandbox), ["project"]);
}

#[test]
fn older_kernels_enforce_what_they_can_and_say_what_they_cannot() {
    if Support::detect().landlock < LandlockAbi(6) {
        eprintln!("not checked: the kernel has no Landlock 6");
        return;
    }
    let free = ["hook", "settings", "journal", "project"];
    for (abi, missing, more) in [
        (
            0,
            "files (Landlock, Linux 5.13)",
            &["overwrite", "create", "truncate", "rename", "key"][..],
        ),
        (1, "moving files between folders", &["truncate"]),
        (2, "truncating files", &["truncate"]),
        (3, "TCP ports", &[]),
        (5, "signals and abstract sockets", &[]),
    ] {
        let less = format!("landlock={abi},mounts=0");
        let sandbox = prepared("").env("WAVECREW_SANDBOX_SUPPORT", less);
        sandbox
            .run_with("--agent command:./agent.sh")
            .expect_output(missing)
            .expect_output("read-only mounts (root, or user namespaces)");
        assert!(sandbox.read("context.md").contains(missing));
        let mut wanted: Vec<&str> = more.iter().chain(&free).copied().collect();
        let mut found = could(&sandbox);
        wanted.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, wanted, "Landlock {abi}");
    }
}
