//! Projects below the root of a repository, with submodules, and without a repository.

use super::*;

#[test]
fn a_project_below_the_root_of_its_repository_is_found_there_in_the_tree() {
    let folder = repository();
    let below = folder.path().join("pkg");
    fs::create_dir(&below).expect("a folder");
    fs::write(below.join("p.txt"), "p\n").expect("a file");
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "second"]);
    let dir = SessionDir::create(&below, "s", &[]).expect("a session");
    let worktrees = SessionWorktrees::new(&below, &dir);
    let (worktree, record) = worktrees.open("A", None).expect("a tree");
    assert!(worktree.project_folder().join("p.txt").exists());
    fs::write(worktree.project_folder().join("p.txt"), "q\n").expect("an edit");
    fs::write(worktree.path.join("a.txt"), "above\n").expect("an edit");
    worktrees.merge("A", &record, "work").expect("merged");
    assert_eq!(fs::read_to_string(below.join("p.txt")).unwrap(), "q\n");
    assert_eq!(
        fs::read_to_string(folder.path().join("a.txt")).unwrap(),
        "above\n"
    );
    assert!(worktrees.remove_if_merged(&record).expect("checked"));
}

#[test]
fn sessions_of_a_project_below_the_root_are_in_nobodys_way() {
    let folder = repository();
    let below = folder.path().join("pkg");
    let issues = below.join(".workflow/issues.jsonl");
    fs::create_dir_all(below.join(".workflow")).expect("a folder");
    fs::write(below.join("p.txt"), "p\n").expect("a file");
    fs::write(&issues, "one\n").expect("a file");
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "second"]);
    let dir = SessionDir::create(&below, "s", &[]).expect("a session");
    let worktrees = SessionWorktrees::new(&below, &dir);
    let worked = |task: &str, text: &str| {
        let (worktree, record) = worktrees.open(task, None).expect("a tree");
        fs::write(worktree.project_folder().join("p.txt"), text).expect("an edit");
        fs::write(worktree.project_folder().join(".workflow/issues.jsonl"), "no\n").expect("an edit");
        worktrees.merge(task, &record, "work").expect("merged")
    };

    fs::write(&issues, "two\n").expect("an edit");
    let merged = worked("A", "q\n");
    assert!(!is_beside(&merged), "{merged:?}");
    assert_eq!(fs::read_to_string(&issues).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(below.join("p.txt")).unwrap(), "q\n");

    // Work that is merged outside a checkout with changes is found under its paths in the project.
    fs::write(folder.path().join("a.txt"), "mine\n").expect("an edit");
    let merged = worked("B", "r\n");
    assert!(is_beside(&merged), "{merged:?}");
    let commit = worktrees.merged_beside().expect("checked").expect("it is there");
    assert_eq!(worktrees.file_in(&commit, "p.txt"), Some(b"r\n".to_vec()));
    let kept = worktrees.file_in(&commit, ".workflow/issues.jsonl");
    assert_eq!(kept, Some(b"one\n".to_vec()));
}

#[test]
fn submodules_are_there_and_changes_of_them_are_kept_for_a_person() {
    let (library, folder) = (repository(), repository());
    let url = library.path().to_string_lossy().into_owned();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &url,
        "lib",
    ];
    git(folder.path(), &add);
    git(folder.path(), &["commit", "-q", "-m", "with a library"]);
    let repo = Repository::of(folder);
    let a = repo.work("A", "b.txt", "b\n");
    assert!(repo.session.join("worktrees/A/lib/a.txt").exists());
    repo.merge("A", &a).expect("merged");
    assert!(repo.worktrees.remove_if_merged(&a).expect("checked"));

    let (worktree, b) = repo.worktrees.open("B", None).expect("a tree");
    fs::write(worktree.path.join("lib/a.txt"), "changed\n").expect("an edit");
    assert!(
        !repo.worktrees.remove_if_merged(&b).expect("checked"),
        "work in a submodule was removed"
    );
    git(
        &worktree.path.join("lib"),
        &["commit", "-q", "-a", "-m", "in the library"],
    );
    let error = repo.merge("B", &b).expect_err("not merged").to_string();
    assert!(error.starts_with("the work changes submodules (lib)"), "{error}");
    assert!(!repo.worktrees.remove_if_merged(&b).expect("checked"));
}

#[test]
fn without_a_repository_or_a_commit_the_error_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(
        Worktree::check_possible(folder.path()),
        Err(WorktreeError::NotARepository)
    );
    git(folder.path(), &["init", "-q"]);
    assert_eq!(
        Worktree::check_possible(folder.path()),
        Err(WorktreeError::NoCommit)
    );
}
