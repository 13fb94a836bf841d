//! Commits that workers report, and what becomes of a repository while they work.

use super::*;

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
    repo.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    let empty = repo.git(&["rev-parse", "HEAD"]);
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
        (&empty, &[], CommitContent::Empty),
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
    assert_eq!(
        commit_contains(folder, &head, &[], Some(&head)),
        Ok(CommitContent::Earlier)
    );
}

#[test]
fn what_becomes_of_branches_tags_and_files_is_found() {
    let repo = Repository::new();
    let folder = repo.folder.path();
    for name in ["kept", "lost", "grown", "merged", "moved"] {
        repo.git(&["branch", name]);
    }
    repo.git(&["tag", "v1"]);
    fs::write(repo.path("mine.txt"), "mine").expect("a file");
    let before = ProjectMark::of(folder).expect("a repository");
    assert!(before.ref_changes(&before, folder, "s").is_empty());
    let commit = |subject: &str, parents: &[&str]| {
        let mut words = vec!["commit-tree", "-m", subject, "HEAD^{tree}"];
        for parent in parents {
            words.extend(["-p", parent]);
        }
        repo.git(&words)
    };
    repo.git(&["branch", "-D", "lost"]);
    repo.git(&["update-ref", "refs/heads/grown", &commit("more", &["HEAD"])]);
    repo.git(&[
        "update-ref",
        "refs/heads/merged",
        &commit("Merge A of s", &["HEAD"]),
    ]);
    repo.git(&["update-ref", "refs/heads/moved", &commit("other", &[])]);
    repo.git(&["update-ref", "refs/tags/v1", &commit("tag", &["HEAD"])]);
    fs::write(repo.path("a.txt"), "changed").expect("a file");
    fs::write(repo.path("new.txt"), "new").expect("a file");
    let now = ProjectMark::of(folder).expect("a repository");
    let changes: Vec<String> = before
        .ref_changes(&now, folder, "s")
        .into_iter()
        .map(|change| match change {
            RefChange::Lost(text) => format!("lost: {}", text.split(" was").next().unwrap_or_default()),
            RefChange::Moved(text) => format!("moved: {}", text.split(" got").next().unwrap_or_default()),
        })
        .collect();
    assert_eq!(
        changes,
        [
            "moved: the branch `grown`",
            "lost: the branch `lost` is gone, it",
            "lost: the branch `moved`",
            "lost: the tag `v1`",
        ]
    );
    assert_eq!(before.changed_files(&now), ["a.txt", "new.txt"]);
}
