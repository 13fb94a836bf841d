//! Workers in their own git worktrees, with real git.

use std::fs;
use wavecrew_test_support::sandbox::{Sandbox, wait_for};

/// The project as a repository with one commit that ignores the notes of the workers.
fn committed(sandbox: Sandbox) -> Sandbox {
    sandbox
        .file("shared.txt", "one\n")
        .file(".gitignore", "ran\ngo\ntasks.csv\n")
        .committed()
}

fn isolated(tasks: &str) -> Sandbox {
    committed(Sandbox::new().tasks(tasks).flag("--isolation worktree"))
}

fn subjects(sandbox: &Sandbox, of: &str) -> Vec<String> {
    let log = sandbox.git(&["log", "--topo-order", "--reverse", "--format=%s", of]);
    log.lines().map(str::to_owned).collect()
}

fn branches(sandbox: &Sandbox) -> String {
    sandbox.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
}

fn is_tracked(sandbox: &Sandbox, name: &str) -> bool {
    let listed = sandbox.git(&["ls-files", name]);
    listed == name && sandbox.path(name).exists()
}

#[test]
fn work_is_merged_in_the_order_of_the_table_and_the_next_wave_builds_on_it() {
    let sandbox = isolated("id,title,deps\na,First,\nb,Second,\nc,Third,a;b")
        .agent("a", "sleep=300 write=a.txt:A")
        .agent("b", "write=b.txt:B")
        .agent("c", "wait=a.txt wait=b.txt write=c.txt:C");
    sandbox.run().expect_exit(0);
    let session = sandbox.session_id();
    assert_eq!(
        subjects(&sandbox, "main"),
        [
            "first".to_owned(),
            "a: First".to_owned(),
            "b: Second".to_owned(),
            format!("Merge b of {session}"),
            "c: Third".to_owned(),
        ]
    );
    assert!(
        ["a.txt", "b.txt", "c.txt"]
            .iter()
            .all(|name| is_tracked(&sandbox, name))
    );
    assert_eq!(branches(&sandbox), "main");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    sandbox.resume().expect_exit(0);
    assert_eq!(subjects(&sandbox, "main").len(), 5, "merged twice");
}

#[test]
fn a_conflict_in_the_second_of_three_waves_fails_its_task_and_keeps_its_branch() {
    let sandbox = isolated("id,deps\na,\nb,a\nc,a\nd,b\ne,c")
        .agent("b", "write=shared.txt:B")
        .agent("c", "write=shared.txt:C");
    let ended = sandbox.run().expect_exit(1);
    assert_eq!(
        sandbox.statuses(),
        "a completed, b completed, c failed, d completed, e skipped"
    );
    let branch = format!("wavecrew/{}/c", sandbox.session_id());
    let error = sandbox.cell("c", "error");
    assert!(
        error.starts_with("merge conflict in shared.txt") && error.contains(&branch),
        "{error}"
    );
    ended.expect_output("The worktree of c is kept");
    assert_eq!(sandbox.git(&["show", &format!("{branch}:shared.txt")]), "C");
    assert_eq!(sandbox.text("shared.txt"), "B");
}

#[test]
fn a_checkout_with_changes_is_left_alone() {
    let sandbox = isolated("id,deps\na,\nb,a")
        .agent("a", "write=shared.txt:A")
        .agent("b", "write=b.txt:B");
    sandbox.write("shared.txt", "mine\n");
    let branch = sandbox.run().expect_exit(0);
    let name = format!("wavecrew/{}", sandbox.session_id());
    branch.expect_output(&format!("the work is on branch {name}"));
    assert_eq!(sandbox.text("shared.txt"), "mine\n");
    assert_eq!(subjects(&sandbox, "main"), ["first"]);
    assert_eq!(sandbox.git(&["show", &format!("{name}:shared.txt")]), "A");
    assert_eq!(sandbox.git(&["show", &format!("{name}:b.txt")]), "B");
}

#[test]
fn a_run_killed_before_its_merge_merges_when_resumed() {
    let sandbox = isolated("id,deps\na,\nb,\nc,a;b")
        .agent("a", "write=a.txt:A")
        .agent("b", "write=half.txt:half wait=go write=b.txt:B");
    let run = sandbox.start();
    wait_for("the first task", || {
        let there = !sandbox.sessions().is_empty() && sandbox.in_session("tasks.csv").exists();
        (there && sandbox.status("a") == "completed").then_some(())
    });
    let half = sandbox.in_session("worktrees/b/half.txt");
    wait_for("the second task", || half.exists().then_some(()));
    run.kill();
    // As a git leaves it that is killed in the worktree.
    sandbox.write(".git/worktrees/b/index.lock", "");
    assert!(!is_tracked(&sandbox, "a.txt"));
    fs::write(sandbox.in_session("worktrees/b/go"), "").expect("a file");
    sandbox.resume().expect_exit(0);
    assert!(
        ["a.txt", "b.txt", "half.txt"]
            .iter()
            .all(|name| is_tracked(&sandbox, name))
    );
    assert_eq!(branches(&sandbox), "main");
    let started = sandbox
        .read("journal.ndjson")
        .matches(r#""attempt_started""#)
        .count();
    assert_eq!(started, 4, "only what was cut off runs again");
}

#[test]
fn a_worktree_removed_while_in_use_fails_its_task() {
    let sandbox = isolated("id\na").agent("a", "write=a.txt:A wait=../../go");
    let run = sandbox.start();
    wait_for("the worktree", || {
        let there = !sandbox.sessions().is_empty() && sandbox.in_session("worktrees/a/a.txt").exists();
        there.then_some(())
    });
    let worktree = sandbox.in_session("worktrees/a");
    fs::rename(&worktree, sandbox.in_session("worktrees/moved")).expect("moved away");
    fs::write(sandbox.in_session("go"), "").expect("a file");
    run.wait().expect_exit(1);
    sandbox.expect_cell("a", "error", "was removed while in use");
}

#[test]
fn without_a_repository_isolation_is_off_and_without_a_commit_it_is_an_error() {
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .flag("--isolation worktree")
        .agent("a", "write=a.txt:A");
    sandbox.run().expect_exit(0).expect_output("isolation is off");
    assert!(sandbox.path("a.txt").exists());
    sandbox.git(&["init", "-q"]);
    sandbox
        .run()
        .expect_exit(2)
        .expect_output("requires a git repository with at least one commit");
    assert_eq!(sandbox.sessions().len(), 1);
}

#[test]
fn a_role_of_a_team_file_may_have_a_worktree() {
    let sandbox =
        committed(Sandbox::new().tasks("id,title,role,exec_mode\na,A,coder,csv-wave\nb,B,writer,csv-wave"))
            .agent("a", "write=a.txt:A")
            .agent("b", "write=b.txt:B");
    let team = "name = \"duo\"\ntitle = \"Duo\"\nprefix = \"duo\"\n\n\
                [[roles]]\nname = \"coder\"\nprefixes = [\"a\"]\naccess = \"source\"\nworkspace = \"worktree\"\n\
                commit = \"feat({id}): by {role}\"\ninstruction = \"Do it.\"\n\n\
                [[roles]]\nname = \"writer\"\nprefixes = [\"b\"]\naccess = \"source\"\ninstruction = \"Do it.\"\n";
    sandbox.write("duo.toml", team);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "a team"]);
    sandbox.run_with("--team duo.toml").expect_exit(0);
    assert_eq!(
        subjects(&sandbox, "main"),
        ["first", "a team", "feat(a): by coder"]
    );
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? b.txt");
}
