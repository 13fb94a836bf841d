//! Files that version 0.1.0 wrote still open: sessions with their journals, cassettes and team files. The fixtures are
//! never written again; a new format gets new fixtures beside them.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use wavecrew_core::team::Team;
use wavecrew_test_support::sandbox::{Sandbox, copy_folder};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.1")
}

/// A project that holds one old session under the id that its `session.json` has.
pub fn with_session(name: &str) -> Sandbox {
    let file = |name: &str| fs::read(fixtures().join(name)).unwrap();
    let sandbox = Sandbox::new()
        .script("agent.sh", &String::from_utf8(file("agent.sh")).unwrap())
        .file("tasks.csv", file("tasks.csv"));
    add_session(&sandbox, name);
    sandbox
}

/// Copies an old session into a project; returns its id.
pub fn add_session(sandbox: &Sandbox, name: &str) -> String {
    let old = fixtures().join("sessions").join(name);
    let info: Value = serde_json::from_slice(&fs::read(old.join("session.json")).unwrap()).unwrap();
    let id = info["id"].as_str().unwrap().to_owned();
    let session = sandbox.path(format!(".workflow/.csv-wave/{id}"));
    copy_folder(&old, &session);
    // Git keeps no empty folders.
    fs::create_dir_all(session.join("interactive")).unwrap();
    id
}

fn status(sandbox: &Sandbox) -> Value {
    sandbox
        .wavecrew(&format!("status {} --json", sandbox.session_id()))
        .json()
}

#[test]
fn every_session_shows_its_state() {
    for (name, team, state, counts) in [
        ("completed", "generic", "completed", [0, 4, 0, 0]),
        ("failed", "generic", "failed", [0, 2, 1, 1]),
        ("killed", "generic", "stopped", [2, 2, 0, 0]),
        ("packed", "generic", "completed", [0, 150, 0, 0]),
        ("lifecycle", "lifecycle", "completed", [0, 15, 0, 0]),
        ("planex", "planex", "completed", [0, 6, 0, 0]),
        ("testing", "testing", "stopped", [1, 2, 0, 0]),
    ] {
        let project = with_session(name);
        let status = status(&project);
        assert_eq!(status["team"], team, "{name}");
        assert_eq!(status["state"], state, "{name}");
        let found = ["pending", "completed", "failed", "skipped"].map(|key| status["counts"][key].as_u64());
        assert_eq!(found, counts.map(Some), "{name}: {}", status["counts"]);
        assert!(
            project.wavecrew("list").ok().contains(&project.session_id()),
            "{name}"
        );
        let report = project.wavecrew(&format!("show {}", project.session_id())).ok();
        assert!(report.contains(&project.session_id()), "{name}: {report}");
    }
}

#[test]
fn logs_are_read_from_files_and_from_packs() {
    for (name, task) in [("completed", "A"), ("packed", "T5"), ("packed", "T149")] {
        let project = with_session(name);
        let log = project
            .wavecrew(&format!("logs {} {task}", project.session_id()))
            .ok();
        assert!(log.contains(&format!("working on {task}\n")), "{name}: {log}");
    }
}

#[test]
fn a_killed_session_continues_and_repeats_nothing() {
    let project = with_session("killed");
    project
        .wavecrew(&format!("run --continue {} -y", project.session_id()))
        .expect_exit(0);
    let status = status(&project);
    assert_eq!(status["state"], "completed");
    assert_eq!(status["counts"]["completed"], 4);
    for (log, exists) in [("A.2.log", false), ("C.2.log", false), ("B.2.log", true)] {
        assert_eq!(project.in_session("logs").join(log).exists(), exists, "{log}");
    }
}

#[test]
fn a_failed_session_can_be_retried() {
    let project = with_session("failed");
    project
        .wavecrew(&format!("retry {} -y", project.session_id()))
        .expect_exit(0);
    assert_eq!(status(&project)["counts"]["completed"], 4);
}

#[test]
fn a_cassette_replays() {
    let project = with_session("completed");
    let cassette = fixtures().join("cassettes/generic.jsonl");
    let agent = format!("replay:{}", cassette.display());
    project.run_with(&["--agent", &agent]).expect_exit(0);
}

#[test]
fn team_files_parse() {
    let mut count = 0;
    for entry in fs::read_dir(fixtures().join("teams")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let team = Team::parse(&path.to_string_lossy(), &text);
        assert!(team.is_ok(), "{}: {:?}", path.display(), team.err());
        count += 1;
    }
    assert_eq!(count, 7);
}
