//! What `--continue` keeps and what it runs again.

use wavecrew_test_support::sandbox::{Sandbox, test_agent};

fn done() -> Sandbox {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a");
    sandbox.run().expect_exit(0);
    sandbox
}

#[test]
fn nothing_changed_means_nothing_runs() {
    let sandbox = done();
    sandbox.resume().expect_exit(0);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (1, 1));
}

#[test]
fn a_dry_run_shows_what_runs_and_why_and_changes_nothing() {
    let sandbox = done();
    let other = test_agent() + " tag=other";
    let before = sandbox.read("journal.ndjson");
    sandbox
        .resume_with(&["--dry-run", "--agent", &other])
        .expect_exit(0)
        .expect_output("and the agent is now");
    assert_eq!(sandbox.read("journal.ndjson"), before);
    assert_eq!(sandbox.ran("a"), 1);
}

#[test]
fn another_agent_runs_tasks_again_unless_results_are_kept() {
    let sandbox = done();
    let other = test_agent() + " append=ran text=other";
    sandbox.resume_with(&["--keep", "--agent", &other]).expect_exit(0);
    assert_eq!(sandbox.ran("a"), 1);
    sandbox.resume_with(&["--agent", &other]).expect_exit(0);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (2, 2));
    assert_eq!(sandbox.cell("b", "findings"), "other");
}

#[test]
fn failed_tasks_are_left_alone() {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a").agent("a", "exit=1");
    sandbox.run().expect_exit(1);
    sandbox.resume().expect_exit(1);
    assert_eq!((sandbox.ran("a"), sandbox.ran("b")), (1, 0));
}

#[test]
fn results_are_valid_while_their_commit_is_an_ancestor_of_head() {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a").committed();
    let git = |words: &[&str]| sandbox.git(words);
    git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    sandbox.run().expect_exit(0);
    git(&["commit", "-q", "--allow-empty", "-m", "on top"]);
    sandbox.resume().expect_exit(0);
    assert_eq!(
        (sandbox.ran("a"), sandbox.ran("b")),
        (1, 1),
        "a commit on top takes nothing away"
    );
    git(&["reset", "-q", "--hard", "HEAD~2"]);
    git(&["commit", "-q", "--allow-empty", "-m", "elsewhere"]);
    sandbox
        .resume_with("--dry-run")
        .expect_exit(0)
        .expect_output("which");
    sandbox.resume().expect_exit(0);
    assert_eq!(
        (sandbox.ran("a"), sandbox.ran("b")),
        (2, 2),
        "history was rewritten"
    );
    sandbox.resume().expect_exit(0);
    assert_eq!(
        (sandbox.ran("a"), sandbox.ran("b")),
        (2, 2),
        "the new results stand on the new commit"
    );
}
