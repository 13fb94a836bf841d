//! Workers in git worktrees of their own, with real git.

use crate::run::sandbox::{Sandbox, wait_for};
use std::fs;
use std::path::Path;
use std::process::Command;

fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(words)
        .output()
        .expect("git runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {}: {said}", words.join(" "));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The project as a repository with one commit; the notes of the workers are nobody's work.
fn committed(sandbox: Sandbox) -> Sandbox {
    git(sandbox.folder(), &["init", "-q", "-b", "main"]);
    fs::write(sandbox.path("shared.txt"), "one\n").expect("a file");
    fs::write(sandbox.path(".gitignore"), "ran\ngo\ntasks.csv\n").expect("a file");
    git(sandbox.folder(), &["add", "."]);
    git(sandbox.folder(), &["commit", "-q", "-m", "first"]);
    sandbox
}

fn apart(tasks: &str) -> Sandbox {
    committed(Sandbox::new().tasks(tasks).flag("--isolation").flag("worktree"))
}

fn subjects(sandbox: &Sandbox, of: &str) -> Vec<String> {
    let log = git(
        sandbox.folder(),
        &["log", "--topo-order", "--reverse", "--format=%s", of],
    );
    log.lines().map(str::to_owned).collect()
}

fn branches(sandbox: &Sandbox) -> String {
    git(
        sandbox.folder(),
        &["for-each-ref", "--format=%(refname:short)", "refs/heads"],
    )
}

fn is_tracked(sandbox: &Sandbox, name: &str) -> bool {
    let listed = git(sandbox.folder(), &["ls-files", name]);
    listed == name && sandbox.path(name).exists()
}

#[test]
fn work_is_merged_in_the_order_of_the_table_and_the_next_wave_builds_on_it() {
    let sandbox = apart("id,title,deps\na,First,\nb,Second,\nc,Third,a;b")
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
    assert_eq!(git(sandbox.folder(), &["status", "--porcelain"]), "");
    assert_eq!(git(sandbox.folder(), &["worktree", "list"]).lines().count(), 1);
    sandbox.go_on().expect_exit(0);
    assert_eq!(subjects(&sandbox, "main").len(), 5, "merged twice");
}

#[test]
fn a_conflict_in_the_second_of_three_waves_fails_its_task_and_keeps_its_branch() {
    let sandbox = apart("id,deps\na,\nb,a\nc,a\nd,b\ne,c")
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
    ended.expect_says("The worktree of c is kept");
    assert_eq!(
        git(sandbox.folder(), &["show", &format!("{branch}:shared.txt")]),
        "C"
    );
    assert_eq!(fs::read_to_string(sandbox.path("shared.txt")).unwrap(), "B");
}

#[test]
fn a_checkout_with_changes_is_left_alone() {
    let sandbox = apart("id,deps\na,\nb,a")
        .agent("a", "write=shared.txt:A")
        .agent("b", "write=b.txt:B");
    fs::write(sandbox.path("shared.txt"), "mine\n").expect("an edit");
    let branch = sandbox.run().expect_exit(0);
    let name = format!("wavecrew/{}", sandbox.session_id());
    branch.expect_says(&format!("the work is on branch {name}"));
    assert_eq!(fs::read_to_string(sandbox.path("shared.txt")).unwrap(), "mine\n");
    assert_eq!(subjects(&sandbox, "main"), ["first"]);
    assert_eq!(
        git(sandbox.folder(), &["show", &format!("{name}:shared.txt")]),
        "A"
    );
    assert_eq!(git(sandbox.folder(), &["show", &format!("{name}:b.txt")]), "B");
}

#[test]
fn a_run_that_was_killed_before_it_merged_merges_when_it_is_continued() {
    let sandbox = apart("id,deps\na,\nb,\nc,a;b")
        .agent("a", "write=a.txt:A")
        .agent("b", "write=half.txt:half wait=go write=b.txt:B");
    let going = sandbox.start();
    wait_for("the first task", || {
        let table = sandbox.path(".workflow/.csv-wave");
        let there = table.exists() && !sandbox.sessions().is_empty() && sandbox.file("tasks.csv").exists();
        (there && sandbox.status("a") == "completed").then_some(())
    });
    let half = sandbox.file("worktrees/b/half.txt");
    wait_for("the second task", || half.exists().then_some(()));
    going.kill();
    assert!(!is_tracked(&sandbox, "a.txt"));
    fs::write(sandbox.file("worktrees/b/go"), "").expect("a file");
    sandbox.go_on().expect_exit(0);
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
fn a_tree_that_goes_while_it_is_worked_in_fails_its_task() {
    let sandbox = apart("id\na").agent("a", "write=a.txt:A wait=../../go");
    let going = sandbox.start();
    wait_for("the tree", || {
        let there = !sandbox.sessions().is_empty() && sandbox.file("worktrees/a/a.txt").exists();
        there.then_some(())
    });
    let tree = sandbox.file("worktrees/a");
    fs::rename(&tree, sandbox.file("worktrees/moved")).expect("moved away");
    fs::write(sandbox.file("go"), "").expect("a file");
    going.wait().expect_exit(1);
    let error = sandbox.cell("a", "error");
    assert!(error.contains("was removed while in use"), "{error}");
}

#[test]
fn without_a_repository_isolation_is_off_and_without_a_commit_it_is_an_error() {
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .flag("--isolation")
        .flag("worktree")
        .agent("a", "write=a.txt:A");
    sandbox.run().expect_exit(0).expect_says("isolation is off");
    assert!(sandbox.path("a.txt").exists());
    git(sandbox.folder(), &["init", "-q"]);
    sandbox
        .run()
        .expect_exit(2)
        .expect_says("requires a git repository with at least one commit");
    assert_eq!(sandbox.sessions().len(), 1);
}

#[test]
fn a_role_of_a_team_file_may_work_apart() {
    let sandbox =
        committed(Sandbox::new().tasks("id,title,role,exec_mode\na,A,coder,csv-wave\nb,B,reader,csv-wave"))
            .agent("a", "write=a.txt:A")
            .agent("b", "write=b.txt:B");
    let team = "name = \"duo\"\ntitle = \"Duo\"\nprefix = \"duo\"\n\n\
                [[roles]]\nname = \"coder\"\nprefixes = [\"a\"]\naccess = \"source\"\nworkspace = \"worktree\"\n\
                commit = \"feat({id}): by {role}\"\ninstruction = \"Do it.\"\n\n\
                [[roles]]\nname = \"reader\"\nprefixes = [\"b\"]\ninstruction = \"Do it.\"\n";
    fs::write(sandbox.path("duo.toml"), team).expect("a team");
    git(sandbox.folder(), &["add", "."]);
    git(sandbox.folder(), &["commit", "-q", "-m", "a team"]);
    sandbox.write_table();
    let mut run = sandbox.command(&["run", "tasks.csv", "--team", "duo.toml", "-y"]);
    sandbox.spawn(&mut run).wait().expect_exit(0);
    assert_eq!(
        subjects(&sandbox, "main"),
        ["first", "a team", "feat(a): by coder"]
    );
    assert_eq!(git(sandbox.folder(), &["status", "--porcelain"]), "?? b.txt");
}
