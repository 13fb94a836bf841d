//! Projects as they are found: with changes, on no branch, with submodules, without a commit, without git.

use crate::lifecycle::lab::Lab;
use std::fs;
use std::process::Command;

fn all_completed(lab: &Lab) {
    let statuses = lab.statuses();
    assert!(
        statuses.split(", ").all(|row| row.ends_with(" completed")),
        "{statuses}"
    );
}

fn branch(lab: &Lab) -> String {
    format!("wavecrew/{}", lab.session_id())
}

#[test]
fn changes_of_the_person_stay_and_the_work_is_on_a_branch() {
    let lab = Lab::planex();
    let mine = lab.project().join("app/store/__init__.py");
    let text = fs::read_to_string(&mine).unwrap() + "# mine\n";
    fs::write(&mine, &text).unwrap();
    fs::write(lab.project().join("new.txt"), "mine, too\n").unwrap();
    lab.plan_and_execute()
        .exits(0)
        .says("Your checkout has uncommitted changes");
    all_completed(&lab);
    assert_eq!(fs::read_to_string(&mine).unwrap(), text);
    assert_eq!(lab.subjects("main"), ["notes"]);
    assert_eq!(lab.subjects(&branch(&lab)).len(), 4);
    assert_eq!(lab.git(&["stash", "list"]), "");
    let issues = fs::read_to_string(lab.project().join(".workflow/issues/issues.jsonl")).unwrap();
    assert_eq!(issues.matches(r#""status":"closed""#).count(), 3, "{issues}");
}

#[test]
fn a_checkout_on_no_branch_stays_where_it_is() {
    let lab = Lab::planex();
    lab.git(&["checkout", "-q", "--detach"]);
    let head = lab.git(&["rev-parse", "HEAD"]);
    lab.plan_and_execute().exits(0).says("is on no branch");
    all_completed(&lab);
    assert_eq!(lab.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(lab.subjects(&branch(&lab)).len(), 4);
}

#[test]
fn submodules_are_there_for_the_workers() {
    let lab = Lab::planex();
    let library = lab.path("library");
    fs::create_dir(&library).unwrap();
    let git = |words: &[&str]| {
        let done = Command::new("git")
            .current_dir(&library)
            .args(words)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    fs::write(library.join("lib.py"), "x = 1\n").unwrap();
    git(&["add", "-A"]);
    git(&[
        "-c",
        "user.name=L",
        "-c",
        "user.email=l@example.com",
        "commit",
        "-q",
        "-m",
        "lib",
    ]);
    lab.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        library.to_str().unwrap(),
        "vendor/library",
    ]);
    lab.git(&["commit", "-q", "-m", "a library"]);
    lab.answer(
        "EXEC-001",
        "cp vendor/library/lib.py app/cli/count.py; report 'taken over'",
    );
    // The commit of a submodule is not for workers to change.
    lab.answer(
        "EXEC-002",
        "cd vendor/library; echo x = 2 > lib.py; git -c user.name=W -c user.email=w@example.com commit -q -a -m other; cd ../..; echo > app/cli/more.py; report moved",
    );
    lab.plan_and_execute().exits(1);
    assert_eq!(
        lab.cell("EXEC-001", "status"),
        "completed",
        "{}",
        lab.cell("EXEC-001", "error")
    );
    assert_eq!(
        fs::read_to_string(lab.project().join("app/cli/count.py")).unwrap(),
        "x = 1\n"
    );
    let error = lab.cell("EXEC-002", "error");
    assert!(error.contains("submodule"), "{error}");
    assert_eq!(lab.cell("EXEC-003", "status"), "skipped");
}

#[test]
fn without_a_commit_nothing_runs() {
    let lab = Lab::planex();
    fs::remove_dir_all(lab.project().join(".git")).unwrap();
    lab.git(&["init", "-q"]);
    lab.plan_and_execute()
        .exits(2)
        .says("requires a git repository with at least one commit");
    assert_eq!(lab.ran("PLAN-001"), 0);
    assert!(!lab.project().join(".workflow/issues/issues.jsonl").exists());
}

#[test]
fn without_a_repository_everybody_works_in_the_project_and_that_is_said() {
    let lab = Lab::planex();
    fs::remove_dir_all(lab.project().join(".git")).unwrap();
    lab.plan_and_execute().exits(0).says("isolation is off");
    all_completed(&lab);
    assert!(lab.project().join("app/cli/count.py").exists());
}

#[test]
fn a_plan_that_names_other_files_than_are_changed_is_found_out_by_the_merge() {
    let lab = Lab::planex();
    // The first issue said that it would leave the store alone. The third one waits for the second.
    lab.answer(
        "EXEC-001",
        "printf '\\n    def first(self):\\n        return 1\\n' >> app/store/__init__.py; report done",
    );
    lab.plan_and_execute()
        .exits(1)
        .says("The worktree of EXEC-002 is kept");
    assert_eq!(lab.cell("EXEC-001", "status"), "completed");
    let error = lab.cell("EXEC-002", "error");
    assert!(
        error.contains("merge conflict in app/store/__init__.py") && error.contains("git merge"),
        "{error}"
    );
    assert_eq!(lab.cell("EXEC-003", "status"), "skipped");
    lab.git(&[
        "cat-file",
        "-e",
        &format!("{}/EXEC-002:tests/test_forget.py", branch(&lab)),
    ]);
}

#[test]
fn a_worktree_that_is_removed_by_hand_fails_its_task_alone() {
    let lab = Lab::planex();
    lab.answer(
        "EXEC-001",
        "cd /; rm -rf \"$session/worktrees/$task\"; report done",
    );
    lab.plan_and_execute().exits(1);
    let error = lab.cell("EXEC-001", "error");
    assert!(error.contains("was removed"), "{error}");
    assert_eq!(lab.cell("EXEC-003", "status"), "completed");
    assert_eq!(lab.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}
