//! Projects as they are found: with changes, on no branch, with submodules, without a commit, without git.

use crate::lifecycle::team_sandbox::TeamSandbox;
use std::fs;
use wavecrew_test_support::sandbox::Sandbox;

fn all_completed(sandbox: &TeamSandbox) {
    let statuses = sandbox.statuses();
    assert!(
        statuses.split(", ").all(|row| row.ends_with(" completed")),
        "{statuses}"
    );
}

fn branch(sandbox: &TeamSandbox) -> String {
    format!("wavecrew/{}", sandbox.session_id())
}

#[test]
fn uncommitted_changes_stay_and_the_work_is_on_a_branch() {
    let sandbox = TeamSandbox::planex();
    let mine = sandbox.path("app/store/__init__.py");
    let text = fs::read_to_string(&mine).unwrap() + "# mine\n";
    fs::write(&mine, &text).unwrap();
    sandbox.write("new.txt", "mine, too\n");
    sandbox
        .run_planex()
        .expect_exit(0)
        .expect_output("Your checkout has uncommitted changes");
    all_completed(&sandbox);
    assert_eq!(fs::read_to_string(&mine).unwrap(), text);
    assert_eq!(sandbox.subjects("main"), ["first"]);
    assert_eq!(sandbox.subjects(&branch(&sandbox)).len(), 4);
    assert_eq!(sandbox.git(&["stash", "list"]), "");
    let issues = sandbox.text(".workflow/issues/issues.jsonl");
    assert_eq!(issues.matches(r#""status":"closed""#).count(), 3, "{issues}");
}

#[test]
fn a_detached_checkout_stays_where_it_is() {
    let sandbox = TeamSandbox::planex();
    sandbox.git(&["checkout", "-q", "--detach"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox
        .run_planex()
        .expect_exit(0)
        .expect_output("is on no branch");
    all_completed(&sandbox);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.subjects(&branch(&sandbox)).len(), 4);
}

#[test]
fn workers_have_the_submodules() {
    let sandbox = TeamSandbox::planex();
    let library = Sandbox::new().file("lib.py", "x = 1\n").committed();
    let url = library.project().to_str().unwrap();
    sandbox.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        url,
        "vendor/library",
    ]);
    sandbox.git(&["commit", "-q", "-m", "a library"]);
    sandbox.worker(
        "EXEC-001",
        "cp vendor/library/lib.py app/cli/count.py; report 'taken over'",
    );
    // The commit of a submodule is not for workers to change.
    sandbox.worker(
        "EXEC-002",
        "cd vendor/library; echo x = 2 > lib.py; git -c user.name=W -c user.email=w@example.com commit -q -a -m other; cd ../..; echo y = 1 > app/cli/more.py; report moved",
    );
    sandbox.run_planex().expect_exit(1);
    assert_eq!(
        sandbox.cell("EXEC-001", "status"),
        "completed",
        "{}",
        sandbox.cell("EXEC-001", "error")
    );
    assert_eq!(sandbox.text("app/cli/count.py"), "x = 1\n");
    sandbox.expect_cell("EXEC-002", "error", "submodule");
    assert_eq!(sandbox.cell("EXEC-003", "status"), "skipped");
}

#[test]
fn without_a_commit_nothing_runs() {
    let sandbox = TeamSandbox::planex();
    fs::remove_dir_all(sandbox.path(".git")).unwrap();
    sandbox.git(&["init", "-q"]);
    sandbox
        .run_planex()
        .expect_exit(2)
        .expect_output("requires a git repository with at least one commit");
    assert_eq!(sandbox.turns("PLAN-001"), 0);
    assert!(!sandbox.path(".workflow/issues/issues.jsonl").exists());
}

#[test]
fn without_a_repository_isolation_is_off() {
    let sandbox = TeamSandbox::planex();
    fs::remove_dir_all(sandbox.path(".git")).unwrap();
    sandbox
        .run_planex()
        .expect_exit(0)
        .expect_output("isolation is off");
    all_completed(&sandbox);
    assert!(sandbox.path("app/cli/count.py").exists());
}

#[test]
fn work_outside_its_plan_conflicts_in_the_merge() {
    let sandbox = TeamSandbox::planex();
    // The plan of the first issue does not touch the store. The third one waits for the second.
    sandbox.worker(
        "EXEC-001",
        "printf '\\n    def first(self):\\n        return 1\\n' >> app/store/__init__.py; report done",
    );
    sandbox
        .run_planex()
        .expect_exit(1)
        .expect_output("The worktree of EXEC-002 is kept");
    assert_eq!(sandbox.cell("EXEC-001", "status"), "completed");
    let error = sandbox.cell("EXEC-002", "error");
    assert!(
        error.contains("merge conflict in app/store/__init__.py") && error.contains("git merge"),
        "{error}"
    );
    assert_eq!(sandbox.cell("EXEC-003", "status"), "skipped");
    sandbox.git(&[
        "cat-file",
        "-e",
        &format!("{}/EXEC-002:tests/test_forget.py", branch(&sandbox)),
    ]);
}

#[test]
fn a_removed_worktree_fails_only_its_task() {
    let sandbox = TeamSandbox::planex();
    sandbox.worker(
        "EXEC-001",
        "cd /; rm -rf \"$session/worktrees/$task\"; report done",
    );
    sandbox.run_planex().expect_exit(1);
    sandbox.expect_cell("EXEC-001", "error", "was removed");
    assert_eq!(sandbox.cell("EXEC-003", "status"), "completed");
    assert_eq!(
        sandbox.git(&["status", "--porcelain", "--untracked-files=no"]),
        ""
    );
}
