//! What `--continue` keeps and what it runs again.

use crate::run::sandbox::{Sandbox, agent};
use std::process::Command;

fn done() -> Sandbox {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a");
    sandbox.run().expect_exit(0);
    sandbox
}

#[test]
fn nothing_changed_means_nothing_runs() {
    let sandbox = done();
    sandbox.go_on().expect_exit(0);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (1, 1));
}

#[test]
fn a_dry_run_says_what_and_why_and_changes_nothing() {
    let sandbox = done();
    let other = agent() + " tag=other";
    let before = sandbox.read("journal.ndjson");
    sandbox
        .go_on_with(&["--dry-run", "--agent", &other])
        .expect_exit(0)
        .expect_says("and the agent is now");
    assert_eq!(sandbox.read("journal.ndjson"), before);
    assert_eq!(sandbox.ran("a"), 1);
}

#[test]
fn another_agent_does_the_work_again_unless_told_to_keep_it() {
    let sandbox = done();
    let other = agent() + " append=ran text=other";
    sandbox.go_on_with(&["--keep", "--agent", &other]).expect_exit(0);
    assert_eq!(sandbox.ran("a"), 1);
    sandbox.go_on_with(&["--agent", &other]).expect_exit(0);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (2, 2));
    assert_eq!(sandbox.cell("b", "findings"), "other");
}

#[test]
fn failed_tasks_are_left_alone() {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a").agent("a", "exit=1");
    sandbox.run().expect_exit(1);
    sandbox.go_on().expect_exit(1);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (1, 0));
}

#[test]
fn results_stand_while_their_commit_is_below_the_head() {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a");
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "-c",
            "commit.gpgsign=false",
        ]);
        let output = git
            .args(args)
            .current_dir(sandbox.folder())
            .output()
            .expect("git is installed");
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    sandbox.run().expect_exit(0);
    git(&["commit", "-q", "--allow-empty", "-m", "on top"]);
    sandbox.go_on().expect_exit(0);
    assert_eq!(
        (sandbox.ran("a"), sandbox.ran("b")),
        (1, 1),
        "a commit on top takes nothing away"
    );
    git(&["reset", "-q", "--hard", "HEAD~2"]);
    git(&["commit", "-q", "--allow-empty", "-m", "elsewhere"]);
    sandbox
        .go_on_with(&["--dry-run"])
        .expect_exit(0)
        .expect_says("which");
    sandbox.go_on().expect_exit(0);
    assert_eq!(
        (sandbox.ran("a"), sandbox.ran("b")),
        (2, 2),
        "history was rewritten"
    );
    sandbox.go_on().expect_exit(0);
    assert_eq!(
        (sandbox.ran("a"), sandbox.ran("b")),
        (2, 2),
        "the new results stand on the new commit"
    );
}
