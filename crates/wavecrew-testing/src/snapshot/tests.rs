use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use wavecrew_measure::framework::python_environment::interpreter;

use super::*;

fn project_and_session() -> (TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().canonicalize().unwrap().join("project");
    let session = project.join(".workflow/.csv-wave/tst");
    for (name, text) in [
        ("a.py", "x = 1\n"),
        ("ü b/c.py", "y = 1\n"),
        (".venv/bin/python", "no program"),
        ("node_modules/vite/index.js", "1"),
        ("node_modules/@scope/left/index.js", "1"),
        ("packages/own/index.js", "1"),
        ("target/debug/x", "1"),
    ] {
        let path = project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    symlink("../packages/own", project.join("node_modules/own")).unwrap();
    fs::create_dir_all(&session).unwrap();
    (dir, project, session)
}

#[test]
fn a_copy_has_the_files_and_links_to_environments() {
    let (_dir, project, session) = project_and_session();
    let mut snapshot = Snapshot::make(&project, &session).unwrap();
    let measuring = snapshot.measuring_copy().unwrap();
    for tree in [snapshot.worker_copy(), measuring.clone()] {
        assert_eq!(fs::read_to_string(tree.join("ü b/c.py")).unwrap(), "y = 1\n");
        assert!(tree.join(".venv/bin/python").exists());
        assert!(tree.join("node_modules/@scope/left/index.js").exists());
        assert!(!tree.join("target").exists() && !tree.join(".workflow").exists());
        // A package of the workspace is linked to the one in the copy.
        let own = tree.join("node_modules/own").canonicalize().unwrap();
        assert_eq!(own, tree.canonicalize().unwrap().join("packages/own"));
    }
    assert!(snapshot.manifest.changes(&measuring).is_empty());
    // The person keeps editing.
    fs::write(project.join("a.py"), "x = 2\n").unwrap();
    let again = Snapshot::make(&project, &session).unwrap();
    assert_eq!(
        fs::read_to_string(again.worker_copy().join("a.py")).unwrap(),
        "x = 1\n"
    );
    Snapshot::remove(&session).unwrap();
    assert!(!measuring.exists() && !session.join("tree").exists());
}

#[test]
fn a_copy_uses_the_environment_above_its_project() {
    let (dir, project, session) = project_and_session();
    fs::rename(project.join(".venv"), dir.path().join(".venv")).unwrap();
    let mut snapshot = Snapshot::make(&project, &session).unwrap();
    let measuring = snapshot.measuring_copy().unwrap();
    let python = interpreter(&measuring).canonicalize().unwrap();
    assert_eq!(
        python,
        dir.path().join(".venv/bin/python").canonicalize().unwrap()
    );
    assert!(snapshot.manifest.changes(&measuring).is_empty());
    Snapshot::remove(&session).unwrap();
}

#[test]
fn changes_are_seen_and_undone() {
    let (_dir, project, session) = project_and_session();
    let mut snapshot = Snapshot::make(&project, &session).unwrap();
    let measuring = snapshot.measuring_copy().unwrap();
    fs::write(snapshot.worker_copy().join("a.py"), "x = 9\n").unwrap();
    fs::remove_file(snapshot.worker_copy().join("ü b/c.py")).unwrap();
    fs::write(snapshot.worker_copy().join("new.py"), "").unwrap();
    let changes = snapshot.manifest.changes(&snapshot.worker_copy());
    assert_eq!(
        changes,
        [Change::Edited("a.py".into()), Change::Removed("ü b/c.py".into())]
    );
    snapshot.undo(&changes).unwrap();
    assert!(snapshot.manifest.changes(&snapshot.worker_copy()).is_empty());

    fs::write(measuring.join("a.py"), "x = 9\n").unwrap();
    let put_back = snapshot
        .restore_changed(&[PathBuf::from("a.py"), PathBuf::from("ü b/c.py")])
        .unwrap();
    assert_eq!(put_back, [Path::new("a.py")]);
    assert!(snapshot.manifest.changes(&measuring).is_empty());

    // The machine may remove the measuring copy with other temporary files.
    fs::remove_dir_all(&measuring).unwrap();
    let anew = Snapshot::open(&session).unwrap().measuring_copy().unwrap();
    assert_eq!(fs::read_to_string(anew.join("a.py")).unwrap(), "x = 1\n");
    Snapshot::remove(&session).unwrap();
}
