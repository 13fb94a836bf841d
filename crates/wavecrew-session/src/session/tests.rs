use super::*;
use serde_json::{Map, json};
use std::os::unix::fs::symlink;

fn project() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn info(id: &str, started_at: &str) -> SessionInfo {
    SessionInfo {
        format: SESSION_FORMAT,
        id: id.into(),
        team: "generic".into(),
        pipeline: None,
        request: "do it".into(),
        agents: [("tester".to_owned(), "claude".to_owned())].into(),
        default_agent: "offline".into(),
        version: "0.1.0".into(),
        started_at: started_at.into(),
        state: SessionState::Running,
        source_file: None,
        base_commit: Some("abc".into()),
        concurrency: 3,
        extra: Map::new(),
    }
}

fn ids(root: &Path) -> Vec<String> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    list_sessions(root)
        .unwrap()
        .iter()
        .map(|listed| match listed {
            SessionEntry::Session(dir, _) => dir.id().to_owned(),
            SessionEntry::Broken { path, .. } => format!("broken {}", name(path)),
        })
        .collect()
}

#[test]
fn a_new_session_has_its_files() {
    let root = project();
    let session = SessionDir::create(root.path(), "tst-a-20261115", &["tests/L1-unit", "strategy"]).unwrap();
    let read = |path: &str| fs::read_to_string(session.path().join(path)).unwrap();
    assert_eq!(read("../.gitignore"), "*\n");
    assert_eq!(read("wisdom/conventions.md"), "# Conventions\n");
    assert_eq!(
        (
            read("discoveries.ndjson"),
            read(".msg/messages.jsonl"),
            read(".msg/meta.json")
        ),
        (String::new(), String::new(), "{}\n".into())
    );
    for folder in [
        "interactive",
        "logs",
        "prompts",
        ".run",
        "tests/L1-unit",
        "strategy",
    ] {
        assert!(session.path().join(folder).is_dir(), "{folder}");
    }
    assert_eq!(SessionDir::open(root.path(), session.id()).unwrap(), session);
    assert_eq!(SessionDir::at(session.path()).unwrap(), session);
}

#[test]
fn a_taken_id_gets_a_number_even_in_a_race() {
    let root = project();
    let made = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| SessionDir::create(root.path(), "run-t-1", &[]).unwrap()))
            .collect();
        let mut ids: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap().id().to_owned())
            .collect();
        ids.sort();
        ids
    });
    let expected = [
        "run-t-1",
        "run-t-1-2",
        "run-t-1-3",
        "run-t-1-4",
        "run-t-1-5",
        "run-t-1-6",
        "run-t-1-7",
        "run-t-1-8",
    ];
    assert_eq!(made, expected);
    let above: Vec<_> = fs::read_dir(root.path().join(".workflow"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(above, [".csv-wave"], "no draft of the folder is left");
}

#[test]
fn a_removed_gitignore_stays_removed() {
    let root = project();
    SessionDir::create(root.path(), "a", &[]).unwrap();
    let ignore = ProjectPaths::at(root.path()).sessions_folder().join(".gitignore");
    fs::remove_file(&ignore).unwrap();
    SessionDir::create(root.path(), "b", &[]).unwrap();
    assert!(!ignore.exists());
}

#[test]
fn ids_that_leave_the_folder_are_refused() {
    let root = project();
    for id in ["", "..", ".hidden", "a/b", "../x", "-rf", "a\0b"] {
        assert!(
            matches!(
                SessionDir::open(root.path(), id),
                Err(SessionError::BadName { .. })
            ),
            "{id:?}"
        );
        assert!(
            matches!(
                SessionDir::create(root.path(), id, &[]),
                Err(SessionError::BadName { .. })
            ),
            "{id:?}"
        );
    }
    assert!(matches!(
        SessionDir::open(root.path(), "none"),
        Err(SessionError::NoSuchSession { .. })
    ));
}

#[test]
fn a_link_out_of_the_project_is_refused_and_one_inside_is_not() {
    let (root, outside) = (project(), project());
    let session = SessionDir::create(root.path(), "real", &[]).unwrap();
    let folder = ProjectPaths::at(root.path()).sessions_folder();
    symlink(outside.path(), folder.join("out")).unwrap();
    symlink(session.path(), folder.join("in")).unwrap();
    let error = SessionDir::open(root.path(), "out").unwrap_err();
    assert!(matches!(error, SessionError::OutsideProject { .. }), "{error}");
    SessionDir::open(root.path(), "in").unwrap();

    let linked = project();
    symlink(outside.path(), linked.path().join(".workflow")).unwrap();
    assert!(matches!(
        SessionDir::create(linked.path(), "a", &[]),
        Err(SessionError::OutsideProject { .. })
    ));
}

#[test]
fn info_survives_with_the_fields_of_others() {
    let root = project();
    let session = SessionDir::create(root.path(), "a", &[]).unwrap();
    let mut written = info("a", "2026-11-15T10:00:00Z");
    written.extra.insert("note".into(), json!({"by": "hand"}));
    session.write_info(&written).unwrap();
    assert_eq!(session.read_info().unwrap(), written);
}

#[test]
fn a_newer_session_is_refused_whatever_its_fields() {
    let root = project();
    let session = SessionDir::create(root.path(), "a", &[]).unwrap();
    fs::write(
        session.session_json(),
        r#"{"format": 2, "state": {"new": "shape"}}"#,
    )
    .unwrap();
    assert!(matches!(
        session.read_info(),
        Err(SessionError::NewerFormat { found: 2, .. })
    ));
}

#[test]
fn sessions_are_listed_newest_first_and_broken_ones_last() {
    let root = project();
    assert!(ids(root.path()).is_empty());
    for (id, at) in [
        ("old", "2026-11-14T10:00:00Z"),
        ("new", "2026-11-15T10:00:00.5Z"),
        ("mid", "2026-11-15T10:00:00Z"),
    ] {
        let session = SessionDir::create(root.path(), id, &[]).unwrap();
        session.write_info(&info(id, at)).unwrap();
    }
    SessionDir::create(root.path(), "half", &[]).unwrap();
    symlink("/", ProjectPaths::at(root.path()).sessions_folder().join("link")).unwrap();
    assert_eq!(
        ids(root.path()),
        ["new", "mid", "old", "broken link", "broken half"]
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_anything_runs() {
    let session = SessionDir::at(Path::new("/sys/kernel")).unwrap();
    let error = session.lock(&Holder::this_process("now", "w")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot create a file in `/sys/kernel`"),
        "{error}"
    );
    let help = error.help();
    assert!(
        help.contains("permission") || help.contains("read-only"),
        "{help}"
    );
}

#[test]
fn one_writer_at_a_time_and_its_leftovers_are_swept() {
    let root = project();
    let session = SessionDir::create(root.path(), "a", &[]).unwrap();
    let me = Holder::this_process("now", "wavecrew run");
    let _lock = session.lock(&me).unwrap();
    assert!(matches!(session.lock(&me), Err(SessionError::Locked { .. })));
    fs::write(session.run_folder().join(".tmp-x"), "").unwrap();
    fs::write(session.path().join(".tmp-y"), "").unwrap();
    fs::write(session.wave_csv(12), "").unwrap();
    fs::write(session.path().join("wave-mine.csv"), "").unwrap();
    assert_eq!(session.sweep().unwrap(), 3);
    assert_eq!(session.sweep().unwrap(), 0);
    assert!(session.shared_state_file().exists());
    assert!(session.path().join("wave-mine.csv").exists());
}

#[test]
fn the_drafts_of_killed_runs_are_cleared_away() {
    let root = project();
    fs::create_dir_all(root.path().join(".workflow/.tmp-draft")).unwrap();
    fs::write(root.path().join(".workflow/.tmp-draft/.gitignore"), "*\n").unwrap();
    SessionDir::create(root.path(), "a", &[]).unwrap();
    let names: Vec<_> = fs::read_dir(root.path().join(".workflow"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, [".csv-wave"]);
}
