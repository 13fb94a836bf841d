//! What workers do on hosts: files, commits, commands of workers, places.

use super::{Host, journal, project, words};
use std::collections::BTreeSet;
use std::path::PathBuf;
use wavecrew_test_support::nats_server::NatsServer;
use wavecrew_test_support::sandbox::Sandbox;

const WORK: &str = r#"
case $WAVECREW_TASK in
A) cat data/in.txt; echo out > data/out.txt; rm data/old.txt; mkdir -p bin; cp agent.sh bin/tool
   wavecrew discover finding '{"subject": "s", "description": "found on a host"}'
   wavecrew wisdom learnings "learned on a host"
   head -c 700000 /dev/zero | tr '\0' 'x' > data/large.bin
   echo "secret folder $PWD/data" ;;
B) cat data/out.txt; test ! -e data/old.txt; test -x bin/tool; test "$(wc -c < data/large.bin)" = 700000
   wavecrew report '{"id": "B", "status": "completed", "findings": "reported by command"}' ;;
esac
"#;

fn sample() -> Sandbox {
    let sandbox = project("A,First,do a,maker,\nB,Second,do b,maker,A\n", WORK);
    sandbox.write("data/in.txt", "from the coordinator\n");
    sandbox.write("data/old.txt", "old\n");
    sandbox
}

/// The names in a session folder, without those that a run leaves for a moment.
fn session_files(sandbox: &Sandbox) -> BTreeSet<PathBuf> {
    let files = sandbox.files().into_keys();
    let inside = files.filter_map(|path| {
        let rest = path.strip_prefix(".workflow/.csv-wave").ok()?.to_owned();
        Some(rest.iter().skip(1).collect::<PathBuf>())
    });
    inside.filter(|path| !path.starts_with(".run")).collect()
}

#[test]
fn a_run_on_a_host_leaves_what_a_local_run_leaves() {
    let Some(nats) = NatsServer::start() else { return };
    let host = Host::start(&nats, "h1", "--slots 2");
    let (here, there) = (sample(), sample());
    here.wavecrew(&*words(&nats, "--place local")).ok();
    there.wavecrew(&*words(&nats, "--place remote")).ok();
    assert!(journal(&there).contains("\"host\":\"h1\""), "{}", host.output());
    assert!(!journal(&here).contains("\"host\""));
    for name in ["data/in.txt", "data/out.txt", "data/large.bin", "bin/tool"] {
        assert_eq!(there.text(name), here.text(name), "{name}");
    }
    assert!(!there.path("data/old.txt").exists());
    assert_eq!(session_files(&there), session_files(&here));
    let session = there.session();
    let read = |name: &str| std::fs::read_to_string(session.join(name)).unwrap();
    assert!(read("discoveries.ndjson").contains("found on a host"));
    assert!(read("wisdom/learnings.md").contains("learned on a host"));
    assert!(read("tasks.csv").contains("reported by command"));
    let log = there.wavecrew("logs A").ok();
    assert!(log.contains("from the coordinator"), "{log}");
    let folder = format!("secret folder {}/data", there.project().display());
    assert!(log.contains(&folder), "paths are the coordinator's: {log}");
    let status = there.wavecrew("status").ok();
    assert!(status.contains("on h1"), "{status}");
    let listed = there.wavecrew(&format!("workers --nats {}", nats.url())).ok();
    assert!(listed.contains("h1") && listed.contains("SLOTS"), "{listed}");
}

#[test]
fn commits_and_worktrees_come_back() {
    let Some(nats) = NatsServer::start() else { return };
    let _host = Host::start(&nats, "h1", "--slots 2");
    let work = "git log --oneline\necho $WAVECREW_TASK > $WAVECREW_TASK.txt\nif [ $WAVECREW_TASK = A ]; then git add A.txt; \
                git -c user.name=w -c user.email=w@example.org commit -qm 'work of A'; fi\n";
    let tasks = "A,First,do a,maker,\nB,Second,do b,maker,\nC,Third,do c,maker,A\n";
    let sandbox = project(tasks, work).committed();
    sandbox
        .wavecrew(&*words(&nats, "--place remote --isolation worktree"))
        .ok();
    for name in ["A.txt", "B.txt", "C.txt"] {
        let all = sandbox.git(&["log", "--all", "--format=%H", "--", name]);
        assert!(!all.trim().is_empty(), "{name} is in a commit");
    }
    assert!(
        sandbox
            .git(&["log", "--all", "--format=%s"])
            .contains("work of A")
    );
    // In the project itself.
    let sandbox = project("A,First,do a,maker,\n", work).committed();
    sandbox.wavecrew(&*words(&nats, "--place remote")).ok();
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]).trim(), "work of A");
    assert_eq!(sandbox.git(&["status", "--short"]).trim(), "");
}

#[test]
fn rules_and_labels_decide_where_a_worker_runs() {
    let Some(nats) = NatsServer::start() else { return };
    let _plain = Host::start(&nats, "plain", "--slots 4");
    let _special = Host::start(&nats, "special", "--slots 1 --label gpu");
    let sandbox = project(
        "A,First,do a,planner,\nB,Second,do b,painter,\nC,Third,do c,painter,\n",
        "true\n",
    );
    let rules = "[remote]\nplace = \"remote\"\n[[place]]\nrole = \"planner\"\non = \"local\"\n\
                 [[place]]\nrole = \"painter\"\nlabel = \"gpu\"\n";
    sandbox.write("wavecrew.toml", rules);
    sandbox.wavecrew(&*words(&nats, "")).ok();
    let journal = journal(&sandbox);
    let spawned = |task: &str| {
        let task = format!("\"task\":\"{task}\"");
        let mut lines = journal.lines().filter(|line| line.contains("\"e\":\"spawned\""));
        lines.find(|line| line.contains(&task)).unwrap().to_owned()
    };
    assert!(!spawned("A").contains("\"host\""));
    assert!(spawned("B").contains("\"host\":\"special\"") && spawned("C").contains("\"host\":\"special\""));
    // Without a host, `any` means here.
    let Some(empty) = NatsServer::start() else { return };
    let sandbox = project("A,First,do a,planner,\n", "true\n");
    sandbox.wavecrew(&*words(&empty, "--place any")).ok();
}

#[test]
fn a_long_message_reaches_the_worker() {
    let Some(nats) = NatsServer::start() else { return };
    let _host = Host::start(&nats, "h1", "");
    // Too long for the message that starts the turn.
    let long = "word ".repeat(30_000);
    let sandbox = project(&format!("A,First,{long},maker,\n"), "cat > message.txt\n");
    sandbox.wavecrew(&*words(&nats, "--place remote")).ok();
    assert!(sandbox.text("message.txt").contains(long.trim()));
}
