//! Real git, in temporary folders.

mod places;

use super::merge_commits::{CommitMerge, merge_commits, merge_in_worktree};
use super::*;
use crate::worktree::git::Git;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wavecrew_core::event::WorktreeRecord;
use wavecrew_session::SessionDir;

/// A project with one commit, and a session in it.
struct Repository {
    folder: tempfile::TempDir,
    worktrees: SessionWorktrees,
    session: PathBuf,
}

fn git(folder: &Path, words: &[&str]) -> String {
    let me = ["-c", "user.name=t", "-c", "user.email=t@t"];
    let all: Vec<&str> = me.iter().chain(words).copied().collect();
    Git::at(folder).run(&all).expect("git does it")
}

fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    git(folder.path(), &["init", "-q", "-b", "main"]);
    fs::write(folder.path().join("a.txt"), "one\n").expect("a file");
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "first"]);
    folder
}

impl Repository {
    fn new() -> Self {
        Self::of(repository())
    }

    fn of(folder: tempfile::TempDir) -> Self {
        let dir = SessionDir::create(folder.path(), "s", &[]).expect("a session");
        Self {
            worktrees: SessionWorktrees::new(folder.path(), &dir),
            session: dir.path().to_owned(),
            folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn git(&self, words: &[&str]) -> String {
        git(self.folder.path(), words)
    }

    /// A worktree in which a file was written.
    fn work(&self, task: &str, file: &str, text: &str) -> WorktreeRecord {
        let (worktree, record) = self.worktrees.open(task, None).expect("a tree");
        fs::write(worktree.project_folder().join(file), text).expect("a file");
        record
    }

    fn merge(&self, task: &str, record: &WorktreeRecord) -> Result<Merged, WorktreeError> {
        self.worktrees.merge(task, record, &format!("{task}: work"))
    }

    fn subjects(&self, of: &str) -> Vec<String> {
        let log = self.git(&["log", "--topo-order", "--reverse", "--format=%s", of]);
        log.lines().map(str::to_owned).collect()
    }

    fn branches(&self) -> Vec<String> {
        let names = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        names.lines().map(str::to_owned).collect()
    }
}

/// Whether the work is merged, and not into the checkout.
fn is_beside(merged: &Merged) -> bool {
    match merged {
        Merged::Commit { into, .. } => *into == Target::Beside,
        Merged::Nothing => false,
    }
}

#[test]
fn a_clean_checkout_gets_the_work_in_order() {
    let repo = Repository::new();
    fs::write(repo.path("mine.txt"), "untracked").expect("a file");
    let (a, b) = (repo.work("A", "a.txt", "two\n"), repo.work("B", "b.txt", "b\n"));
    assert_eq!(a.branch, "wavecrew/s/A");
    for (task, record) in [("A", &a), ("B", &b)] {
        let merged = repo.merge(task, record).expect("merged");
        let Merged::Commit { commit, into } = merged else {
            panic!("nothing was merged")
        };
        assert_eq!(commit, repo.git(&["rev-parse", "HEAD"]));
        let branch = "main".to_owned();
        assert_eq!(into, Target::Checkout { branch });
        assert!(repo.worktrees.remove_if_merged(record).expect("checked"));
    }
    assert_eq!(
        repo.subjects("main"),
        ["first", "A: work", "B: work", "Merge B of s"]
    );
    assert_eq!(fs::read_to_string(repo.path("a.txt")).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(repo.path("mine.txt")).unwrap(), "untracked");
    assert_eq!(repo.branches(), ["main"]);
    assert_eq!(repo.worktrees.publish(), Ok(Published::Nothing));
    assert!(!repo.session.join("worktrees/A").exists());
}

#[test]
fn a_dirty_checkout_is_left_alone_and_the_work_is_on_a_branch() {
    let repo = Repository::new();
    let a = repo.work("A", "a.txt", "theirs\n");
    fs::write(repo.path("a.txt"), "mine\n").expect("an edit");
    let before = repo.git(&["rev-parse", "HEAD"]);
    let merged = repo.merge("A", &a).expect("merged");
    assert!(is_beside(&merged), "{merged:?}");
    // The next worktree starts from the merged work, wherever that is.
    assert!(repo.worktrees.remove_if_merged(&a).expect("checked"));
    let (next, b) = repo.worktrees.open("B", None).expect("a tree");
    assert_eq!(fs::read_to_string(next.path.join("a.txt")).unwrap(), "theirs\n");
    fs::write(next.path.join("b.txt"), "b").expect("a file");
    repo.merge("B", &b).expect("merged");
    repo.worktrees.remove_if_merged(&b).expect("checked");
    assert_eq!(
        repo.worktrees.publish(),
        Ok(Published::Branch("wavecrew/s".to_owned()))
    );
    assert_eq!(repo.subjects("wavecrew/s"), ["first", "A: work", "B: work"]);
    assert_eq!(fs::read_to_string(repo.path("a.txt")).unwrap(), "mine\n");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(repo.git(&["stash", "list"]), "");
    // While that branch exists, git cannot create branches below its name.
    let c = repo.work("C", "c.txt", "c");
    assert_eq!(c.branch, "wavecrew-tasks/s/C");
    repo.merge("C", &c).expect("merged");
    repo.git(&["checkout", "-q", "-f", "wavecrew/s"]);
    let held = repo.worktrees.publish().expect("checked");
    assert!(matches!(held, Published::Held { .. }), "{held:?}");
}

#[test]
fn an_untracked_file_in_the_way_sends_the_work_beside() {
    let repo = Repository::new();
    let a = repo.work("A", "new.txt", "theirs\n");
    fs::write(repo.path("new.txt"), "mine\n").expect("a file");
    let merged = repo.merge("A", &a).expect("merged");
    assert!(is_beside(&merged), "{merged:?}");
    assert_eq!(fs::read_to_string(repo.path("new.txt")).unwrap(), "mine\n");
}

#[test]
fn a_detached_head_is_left_where_it_is() {
    let repo = Repository::new();
    repo.git(&["checkout", "-q", "--detach"]);
    let before = repo.git(&["rev-parse", "HEAD"]);
    let a = repo.work("A", "a.txt", "two\n");
    let merged = repo.merge("A", &a).expect("merged");
    assert!(is_beside(&merged), "{merged:?}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), before);
    repo.worktrees.remove_if_merged(&a).expect("checked");
    assert_eq!(
        repo.worktrees.publish(),
        Ok(Published::Branch("wavecrew/s".to_owned()))
    );
}

#[test]
fn a_conflict_changes_nothing_and_explains_the_next_step() {
    for dirty in [false, true] {
        let repo = Repository::new();
        let (a, b) = (repo.work("A", "a.txt", "A\n"), repo.work("B", "a.txt", "B\n"));
        fs::write(repo.path("other.txt"), "x").expect("a file");
        if dirty {
            repo.git(&["add", "other.txt"]);
        }
        repo.merge("A", &a).expect("merged");
        let (head, status) = (
            repo.git(&["rev-parse", "HEAD"]),
            repo.git(&["status", "--porcelain"]),
        );
        let error = repo.merge("B", &b).expect_err("a conflict").to_string();
        assert_eq!(
            error,
            "merge conflict in a.txt; branch `wavecrew/s/B` is kept: `git merge wavecrew/s/B`, resolve the conflict, \
             commit"
        );
        assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(repo.git(&["status", "--porcelain"]), status);
        assert!(
            !repo.worktrees.remove_if_merged(&b).expect("checked"),
            "unmerged work was removed"
        );
        assert_eq!(repo.git(&["show", "wavecrew/s/B:a.txt"]), "B");
        repo.worktrees.remove_if_merged(&a).expect("checked");
        let published = if dirty {
            // The kept branch occupies its own name.
            Published::Branch("wavecrew-merged/s".to_owned())
        } else {
            Published::Nothing
        };
        assert_eq!(repo.worktrees.publish(), Ok(published));
        // Another attempt starts from the beginning, beside the kept worktree.
        let again = repo.work("B", "b.txt", "B\n");
        assert_eq!(again.branch, "wavecrew/s/B.2");
        repo.merge("B", &again).expect("merged");
    }
}

#[test]
fn merging_twice_is_merging_once() {
    let repo = Repository::new();
    let (a, b) = (repo.work("A", "a.txt", "two\n"), repo.work("B", "b.txt", "b\n"));
    let first = repo.merge("A", &a).expect("merged");
    assert_eq!(repo.merge("A", &a), Ok(first));
    repo.merge("B", &b).expect("merged");
    repo.merge("A", &a).expect("merged");
    assert_eq!(
        repo.subjects("main"),
        ["first", "A: work", "B: work", "Merge B of s"]
    );
}

#[test]
fn nothing_done_is_nothing_merged() {
    let repo = Repository::new();
    let (_, a) = repo.worktrees.open("A", None).expect("a tree");
    assert_eq!(repo.merge("A", &a), Ok(Merged::Nothing));
    assert!(repo.worktrees.remove_if_merged(&a).expect("checked"));
    assert_eq!(repo.branches(), ["main"]);
}

#[test]
fn hooks_signing_and_a_missing_name_are_in_nobodys_way() {
    let repo = Repository::new();
    let hook = repo.path(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().expect("a folder")).expect("made");
    fs::write(&hook, "#!/bin/sh\nexit 1\n").expect("a hook");
    Command::new("chmod")
        .arg("+x")
        .arg(&hook)
        .status()
        .expect("chmod");
    repo.git(&["config", "commit.gpgsign", "true"]);
    repo.git(&["config", "user.useConfigOnly", "true"]);
    let a = repo.work("A", "a.txt", "two\n");
    repo.merge("A", &a).expect("merged");
    repo.git(&["config", "user.name", "Person"]);
    repo.git(&["config", "user.email", "person@example.org"]);
    let b = repo.work("B", "b.txt", "b\n");
    repo.merge("B", &b).expect("merged");
    let authors = repo.git(&["log", "--reverse", "--format=%s by %an", "main"]);
    assert!(authors.ends_with("B: work by Person"), "{authors}");
}

#[test]
fn work_of_the_worker_on_another_branch_is_not_merged() {
    let repo = Repository::new();
    let a = repo.work("A", "a.txt", "two\n");
    let path = repo.session.join("worktrees/A");
    git(&path, &["checkout", "-q", "-b", "elsewhere"]);
    git(&path, &["commit", "-q", "-a", "-m", "wrong"]);
    let error = repo.merge("A", &a).expect_err("on the wrong branch").to_string();
    assert!(
        error.starts_with("the work is on branch `elsewhere`, not on branch `wavecrew/s/A`"),
        "{error}"
    );
    assert!(!repo.worktrees.remove_if_merged(&a).expect("checked"));
    git(&path, &["checkout", "-q", "--detach"]);
    let error = repo.merge("A", &a).expect_err("on no branch").to_string();
    assert!(error.contains("which is on no branch"), "{error}");
}

#[test]
fn a_merge_that_the_worker_left_half_done_is_not_committed() {
    let repo = Repository::new();
    let a = repo.work("A", "a.txt", "mine\n");
    let path = repo.session.join("worktrees/A");
    git(&path, &["commit", "-q", "-a", "-m", "mine"]);
    fs::write(repo.path("a.txt"), "theirs\n").expect("an edit");
    repo.git(&["commit", "-q", "-a", "-m", "theirs"]);
    let merge = Command::new("git")
        .current_dir(&path)
        .args(["merge", "-q", "main"])
        .output();
    assert!(!merge.expect("git runs").status.success());
    let error = repo.merge("A", &a).expect_err("half merged");
    assert!(
        matches!(&error, WorktreeError::Unfinished { files, .. } if files == &["a.txt"]),
        "{error}"
    );
}

#[test]
fn a_tree_that_was_removed_by_hand_is_noticed() {
    let repo = Repository::new();
    let a = repo.work("A", "a.txt", "two\n");
    fs::remove_dir_all(repo.session.join("worktrees/A")).expect("removed");
    let error = repo.merge("A", &a).expect_err("gone").to_string();
    assert!(error.contains("was removed while in use"), "{error}");
    // The next attempt gets the committed part back.
    let (again, _) = repo.worktrees.open("A", Some(&a)).expect("made again");
    assert_eq!(fs::read_to_string(again.path.join("a.txt")).unwrap(), "one\n");
}

#[test]
fn uncommitted_work_is_never_removed_and_is_gone_on_with() {
    let repo = Repository::new();
    let a = repo.work("A", "new.txt", "work");
    assert!(!repo.worktrees.remove_if_merged(&a).expect("checked"));
    let (again, same) = repo.worktrees.open("A", Some(&a)).expect("taken up");
    assert_eq!(same, a);
    assert_eq!(fs::read_to_string(again.path.join("new.txt")).unwrap(), "work");
    // It is not lost even without a record.
    let (other, _) = repo.worktrees.open("A", None).expect("another one");
    assert!(other.path.ends_with("worktrees/A.2"));
    assert!(again.path.join("new.txt").exists());
}

#[test]
fn a_clean_tree_of_an_agent_goes_and_a_changed_one_stays() {
    let repo = Repository::new();
    let (project, place) = (repo.folder.path(), |name: &str| repo.path("trees").join(name));
    let clean = Worktree::open(project, &place("a"), "crew/a").expect("a tree");
    assert_eq!(clean.remove_if_unchanged(), Ok(None));
    assert!(!place("a").exists());
    assert_eq!(repo.branches(), ["main"]);

    let changed = Worktree::open(project, &place("b"), "crew/b").expect("a tree");
    fs::write(place("b").join("new.txt"), "one\n").expect("a file");
    let kept = changed.remove_if_unchanged().expect("checked").expect("kept");
    assert_eq!((kept.branch.as_str(), kept.worktree), ("crew/b", place("b")));
    assert!(kept.diff.contains("1 file changed, 1 insertion"), "{}", kept.diff);
    // It is reused, and still has its uncommitted changes.
    let again = Worktree::open(project, &place("b"), "crew/b").expect("taken up");
    assert_eq!(again, changed);
    assert!(again.remove_if_unchanged().expect("checked").is_some());

    let committed = Worktree::open(project, &place("c"), "crew/c").expect("a tree");
    git(&place("c"), &["commit", "-q", "--allow-empty", "-m", "y"]);
    assert!(committed.remove_if_unchanged().expect("checked").is_some());
    assert!(place("c").exists());
}

#[test]
fn merging_with_and_without_a_checkout_comes_to_the_same() {
    let repo = Repository::new();
    for (task, file) in [("A", "a.txt"), ("B", "b.txt"), ("C", "a.txt")] {
        let record = repo.work(task, file, task);
        let path = repo.session.join(&record.folder);
        git(&path, &["add", "."]);
        git(&path, &["commit", "-q", "-m", task]);
    }
    let at = Git::at(repo.folder.path());
    let tree_of = |merge: CommitMerge| match merge {
        CommitMerge::Commit(commit) => Ok(repo.git(&["rev-parse", &format!("{commit}^{{tree}}")])),
        CommitMerge::Conflict { files } => Err(files),
    };
    for (theirs, conflict) in [("wavecrew/s/B", false), ("wavecrew/s/C", true)] {
        let ours = "wavecrew/s/A";
        let one = tree_of(merge_commits(&at, &repo.session, ours, theirs, "m").expect("merged"));
        let other = tree_of(merge_in_worktree(&at, &repo.session, ours, theirs, "m").expect("merged"));
        assert_eq!(one, other);
        assert_eq!(one.is_err(), conflict);
    }
}

#[test]
fn a_commit_is_believed_when_it_is_there_and_holds_the_files() {
    let repo = Repository::new();
    let folder = repo.folder.path();
    let head = repo.git(&["rev-parse", "HEAD"]);
    fs::write(repo.path("later.txt"), "x").expect("a file");
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "elsewhere"]);
    let other = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["checkout", "-q", "main"]);
    let absent = "0123456789012345678901234567890123456789";
    for (commit, files, wanted) in [
        (head.as_str(), &["a.txt"][..], CommitContent::All),
        (&head[..8], &[], CommitContent::All),
        (
            &head,
            &["a.txt", "later.txt"],
            CommitContent::Missing("later.txt".to_owned()),
        ),
        (&other, &[], CommitContent::OtherBranch),
        (absent, &[], CommitContent::NoSuchCommit),
        ("HEAD", &[], CommitContent::NoSuchCommit),
        ("--all", &[], CommitContent::NoSuchCommit),
    ] {
        assert_eq!(
            commit_contains(folder, commit, files, None),
            Ok(wanted),
            "{commit}"
        );
    }
}
