//! Workers that try to leave their confinement, in every way we know, at every access level. Each attempt is prevented by
//! the kernel, whatever the agent is: here it is a shell script.

mod attempts;
mod machines;
mod programs;
mod unprotected;

use attempts::{Attempt, CALLS, NO_CI, NO_SOURCE, NOBODY, Needs};
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use wavecrew_process::sandbox::{LandlockAbi, Support};
use wavecrew_test_support::sandbox::Sandbox;

const TEAM: &str = r#"
name = "levels"
title = "One role for each access level"
prefix = "levels"

[[roles]]
name = "reader"
prefixes = ["R"]
access = "read-only"
instruction = "Try."

[[roles]]
name = "tester"
prefixes = ["T"]
access = "tests"
instruction = "Try."

[[roles]]
name = "writer"
prefixes = ["D"]
access = "docs"
instruction = "Try."

[[roles]]
name = "coder"
prefixes = ["S"]
access = "source"
instruction = "Try."
"#;

/// Tries every line of its list, and then what its role is for.
const AGENT: &str = r#"#!/bin/sh
export PPID_OF_WORKER=$PPID S=$WAVECREW_SESSION_DIR
export COORDINATOR=$(sed 's/.*"pid":\([0-9]*\).*/\1/' $S/.lock)
while IFS='	' read -r name line; do
  timeout 10 sh -c "$line" < /dev/null > /dev/null 2>&1 && echo "ESCAPED $name"
done < "$LISTS/$WAVECREW_ROLE"
python3 "$LISTS/calls.py"
echo x > "$TMPDIR/mine" || echo "REFUSED temporary folder"
wavecrew wisdom learnings "a line" > /dev/null || echo "REFUSED wisdom"
wavecrew discover finding subject=x > /dev/null 2>&1 || true
case $WAVECREW_ROLE in
  tester) echo x > tests/new.py || echo "REFUSED tests" ;;
  writer) echo x > docs/new.md && echo x >> README.md || echo "REFUSED docs" ;;
  coder) echo x > new.py && mkdir folder && echo x > src/main.py && git add new.py || echo "REFUSED source" ;;
esac
echo x > "$V/told"
cat ~/.ssh/id
echo "TRIED $(wc -l < "$LISTS/$WAVECREW_ROLE")"
printf '{"id":"%s","status":"completed","findings":"tried"}' "$WAVECREW_TASK" > "$WAVECREW_RESULT_FILE"
"#;

pub const HOME_FILES: [&str; 10] = [
    ".ssh/id",
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".netrc",
    ".gnupg/secring",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".local/share/keyrings/login.keyring",
    ".bashrc",
    ".gitconfig",
];

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn is_prevented(needs: Needs, support: Support) -> bool {
    match needs {
        Needs::Landlock => support.landlock >= LandlockAbi(6),
        Needs::Mounts => support.mounts && support.landlock >= LandlockAbi(6),
        Needs::Seccomp => support.seccomp,
    }
}

/// Attempts that no worker may succeed with and this machine can prevent, one on each line.
pub fn list_of_attempts(support: Support) -> String {
    lines(
        NOBODY
            .iter()
            .filter(|(_, needs, _)| is_prevented(*needs, support)),
    )
}

fn lines<'a>(attempts: impl Iterator<Item = &'a Attempt>) -> String {
    let lines = attempts.map(|(name, _, line)| format!("{name}\t{line}\n"));
    lines.collect::<Vec<_>>().concat()
}

/// The lists of attempts that this machine can prevent, and how many there are for each role.
fn write_lists(folder: &Path, support: Support, socket: &str) {
    for (role, own) in [
        ("reader", NO_SOURCE),
        ("tester", NO_SOURCE),
        ("writer", NO_SOURCE),
        ("coder", NO_CI),
    ] {
        let all = NOBODY.iter().chain(own);
        let lines = lines(all.filter(|(_, needs, _)| is_prevented(*needs, support)));
        if support.mounts {
            assert!(lines.lines().count() >= 60, "{role}");
        }
        write(&folder.join(role), &lines);
    }
    let calls: String = CALLS
        .iter()
        .filter(|_| support.seccomp && cfg!(target_arch = "x86_64"))
        .map(|(name, number, words)| format!("    (\"{name}\", {number}, {words:?}),\n"))
        .collect::<Vec<_>>()
        .concat();
    let connect = support.landlock >= LandlockAbi(6);
    let program = format!(
        "import ctypes, socket\nlibc = ctypes.CDLL(None, use_errno=True)\ncalls = [\n{calls}]\n\
         for name, number, words in calls:\n\
         \x20   if libc.syscall(number, *[ctypes.c_long(word) for word in words]) >= 0 or ctypes.get_errno() not in (1, 38):\n\
         \x20       print('ESCAPED', name)\n\
         if {}:\n\
         \x20   try:\n\
         \x20       socket.socket(socket.AF_UNIX).connect('\\0{socket}')\n\
         \x20       print('ESCAPED abstract-socket')\n\
         \x20   except OSError:\n\
         \x20       pass\n",
        if connect { "True" } else { "False" }
    );
    write(&folder.join("calls.py"), &program);
}

fn prepared(support: Support) -> (Sandbox, UnixListener) {
    let sandbox = Sandbox::new();
    let victim = sandbox.beside("victim");
    for file in ["file", "folder/file"] {
        write(&victim.join(file), "of somebody else");
    }
    fs::create_dir(victim.join("empty")).unwrap();
    for file in HOME_FILES {
        write(&sandbox.beside("home").join(file), "secret");
    }
    for file in [
        "src/main.py",
        "tests/test_main.py",
        "docs/a.md",
        "README.md",
        ".github/workflows/ci.yml",
    ] {
        write(&sandbox.path(file), "text\n");
    }
    write(&sandbox.path("wavecrew.toml"), "concurrency = 4\n");
    write(&sandbox.path("levels.toml"), TEAM);
    write(&sandbox.path(".git/info/exclude"), "");
    sandbox.git(&["init", "-q"]);
    let name = format!("wavecrew-escape-{}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    write_lists(&sandbox.beside("lists"), support, &name);
    let sandbox = sandbox.script("agent.sh", AGENT);
    let (home, lists, project) = (sandbox.beside("home"), sandbox.beside("lists"), sandbox.path(""));
    let sandbox = sandbox
        .env("HOME", home)
        .env("V", victim)
        .env("LISTS", lists)
        .env("P", project)
        .tasks("id,title,role,exec_mode\nR-1,Read,reader,csv-wave\nT-1,Test,tester,csv-wave\nD-1,Write,writer,csv-wave\nS-1,Code,coder,csv-wave");
    (sandbox, listener)
}

#[test]
fn every_attempt_is_prevented_at_every_access_level() {
    let support = Support::detect();
    if support.landlock < LandlockAbi(6) {
        eprintln!("not checked: the kernel has no Landlock 6");
        return;
    }
    let (sandbox, _listener) = prepared(support);
    let ended = sandbox
        .run_with("--team levels.toml --agent command:./agent.sh")
        .expect_exit(0);
    ended.expect_output("Sandbox files by role");
    for task in ["R-1", "T-1", "D-1", "S-1"] {
        let log = sandbox.read(&format!("logs/{task}.1.log"));
        assert!(log.contains("TRIED"), "{log}");
        let surprises: Vec<&str> = log
            .lines()
            .filter(|line| line.starts_with("ESCAPED") || line.starts_with("REFUSED"))
            .collect();
        assert!(surprises.is_empty(), "{task}: {surprises:#?}");
    }
    let victim = sandbox.beside("victim");
    let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
    assert_eq!((names(&victim), names(&victim.join("empty"))), (3, 0));
    assert_eq!(
        fs::read_to_string(victim.join("file")).unwrap(),
        "of somebody else"
    );
    assert_eq!(
        fs::read_to_string(sandbox.beside("home").join(".bashrc")).unwrap(),
        "secret"
    );
    let report = sandbox.read("context.md");
    assert!(report.contains("Sandbox: files by role"), "{report}");
    // Refusals in a worker's output are reported, with the setting that would allow the access.
    let target = victim.join("told").display().to_string();
    let key = sandbox.beside("home").join(".ssh/id").display().to_string();
    for task in ["R-1", "T-1", "D-1", "S-1"] {
        let log = sandbox.read(&format!("logs/{task}.1.log"));
        assert!(
            log.contains(&format!(
                "[wavecrew] the sandbox refused to change {target}; to allow it: --allow-write"
            )),
            "{log}"
        );
        assert!(
            log.contains(&format!("refused to read {key}; to allow it: `read`")),
            "{log}"
        );
    }
    let refused = report
        .lines()
        .filter(|line| line.contains("Refused by the sandbox: "));
    assert_eq!(
        refused
            .filter(|line| line.contains(&target) && line.contains("--allow-write"))
            .count(),
        4,
        "{report}"
    );
}

#[test]
fn settings_allow_more_or_turn_it_off() {
    if !Support::detect().any() {
        return;
    }
    let script = "#!/bin/sh\necho x > $V/new && echo wrote\n";
    let sandbox = Sandbox::new().script("agent.sh", script).tasks("id\na");
    let victim = sandbox.beside("victim");
    fs::create_dir(&victim).unwrap();
    let sandbox = sandbox.env("V", &victim);
    let wrote = |flags: &str| {
        let _ = fs::remove_file(victim.join("new"));
        sandbox.run_with(flags);
        victim.join("new").exists()
    };
    assert!(!wrote("--agent command:./agent.sh"));
    assert!(wrote("--agent command:./agent.sh --allow-write ../victim"));
    fs::write(
        sandbox.path("wavecrew.toml"),
        "[sandbox]\nwrite = [\"../victim\"]\n",
    )
    .unwrap();
    assert!(wrote("--agent command:./agent.sh"));
    fs::write(sandbox.path("wavecrew.toml"), "sandbox = \"off\"\n").unwrap();
    assert!(wrote("--agent command:./agent.sh"));
    let report = sandbox.sessions().into_iter().max().unwrap();
    let report = sandbox.path(format!(".workflow/.csv-wave/{report}/context.md"));
    assert!(
        fs::read_to_string(report)
            .unwrap()
            .contains("Sandbox: off, as set")
    );
}

#[test]
fn settings_hide_more() {
    if !Support::detect().any() {
        return;
    }
    let script = "#!/bin/sh\ncat $V/file\ncat $V/folder/file\n";
    let sandbox = Sandbox::new().script("agent.sh", script).tasks("id\na");
    let victim = sandbox.beside("victim");
    write(&victim.join("file"), "shown");
    write(&victim.join("folder/file"), "hidden");
    let sandbox = sandbox.env("V", &victim);
    let settings = "[sandbox]\ndeny = [\"../victim/folder\"]\n";
    fs::write(sandbox.path("wavecrew.toml"), settings).unwrap();
    sandbox.run_with("--agent command:./agent.sh");
    let log = sandbox.read("logs/a.1.log");
    assert!(log.contains("shown") && !log.contains("hidden"), "{log}");
}

#[test]
fn a_required_sandbox_that_is_missing_stops_the_run() {
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .env("WAVECREW_SANDBOX_SUPPORT", "landlock=2,mounts=0");
    fs::write(sandbox.path("wavecrew.toml"), "sandbox = \"require\"\n").unwrap();
    sandbox
        .run()
        .expect_exit(2)
        .expect_output("this machine cannot confine: truncating files");
}

#[test]
fn roles_without_network_reach_no_port() {
    if Support::detect().landlock < LandlockAbi(4) {
        eprintln!("not checked: the kernel has no Landlock 4");
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "#!/bin/sh\npython3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 5)\" && echo CONNECTED\n"
    );
    let connected = |settings: &str| {
        let sandbox = Sandbox::new().script("agent.sh", &connect).tasks("id\na");
        fs::write(sandbox.path("wavecrew.toml"), settings).unwrap();
        sandbox.run_with("--agent command:./agent.sh");
        sandbox.read("logs/a.1.log").contains("CONNECTED")
    };
    assert!(connected(""));
    assert!(!connected("[sandbox]\nnetwork = \"off\"\n"));
    assert!(!connected("[sandbox]\nnetwork = \"agent\"\n"));
    assert!(connected(&format!(
        "[sandbox]\nnetwork = \"agent\"\nports = [{port}]\n"
    )));
}

#[test]
fn roles_for_tests_and_documents_may_begin_with_them() {
    if !Support::detect().any() {
        return;
    }
    let script = "#!/bin/sh\ncase $WAVECREW_ROLE in\n  tester) echo x > tests/new.py ;;\n  writer) ls -d docs ;;\nesac\nprintf '{\"id\":\"%s\",\"status\":\"completed\"}' \"$WAVECREW_TASK\" > \"$WAVECREW_RESULT_FILE\"\n";
    let sandbox = Sandbox::new()
        .file("levels.toml", TEAM)
        .script("agent.sh", script)
        .tasks("id,title,role,exec_mode\nT-1,Test,tester,csv-wave\nD-1,Write,writer,csv-wave");
    sandbox
        .run_with("--team levels.toml --agent command:./agent.sh")
        .expect_exit(0);
    assert_eq!(fs::read_to_string(sandbox.path("tests/new.py")).unwrap(), "x\n");
    assert!(!sandbox.path("docs").exists(), "nobody wrote documents");
}
