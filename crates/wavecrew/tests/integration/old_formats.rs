//! Files that version 0.1.0 wrote still open: sessions with their journals, cassettes and team files. The fixtures are
//! never written again; a new format gets new fixtures beside them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use wavecrew_core::team::Team;

use crate::example_files::copy;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.1")
}

/// A project that holds one old session under the id that its `session.json` has.
struct Project {
    folder: TempDir,
    session: String,
}

impl Project {
    fn with_session(name: &str) -> Self {
        let old = fixtures().join("sessions").join(name);
        let info = fs::read(old.join("session.json")).unwrap();
        let info: Value = serde_json::from_slice(&info).unwrap();
        let session = info["id"].as_str().unwrap().to_owned();
        let folder = tempfile::tempdir().unwrap();
        copy(&old, &folder.path().join(".workflow/.csv-wave").join(&session));
        // Git keeps no empty folders.
        let interactive = folder
            .path()
            .join(".workflow/.csv-wave")
            .join(&session)
            .join("interactive");
        fs::create_dir_all(interactive).unwrap();
        for file in ["agent.sh", "tasks.csv"] {
            fs::copy(fixtures().join(file), folder.path().join(file)).unwrap();
        }
        Self { folder, session }
    }

    fn wavecrew(&self, args: &[&str]) -> Output {
        let output = Command::new(env!("CARGO_BIN_EXE_wavecrew"))
            .args(args)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        assert!(output.status.code().is_some(), "{args:?}: {output:?}");
        output
    }

    fn text(&self, args: &[&str]) -> String {
        let output = self.wavecrew(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.text(&["status", &self.session, "--json"])).unwrap()
    }
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
        let project = Project::with_session(name);
        let status = project.status();
        assert_eq!(status["team"], team, "{name}");
        assert_eq!(status["state"], state, "{name}");
        let found = ["pending", "completed", "failed", "skipped"].map(|key| status["counts"][key].as_u64());
        assert_eq!(found, counts.map(Some), "{name}: {}", status["counts"]);
        assert!(project.text(&["list"]).contains(&project.session), "{name}");
        let report = project.text(&["show", &project.session]);
        assert!(report.contains(&project.session), "{name}: {report}");
    }
}

#[test]
fn logs_are_read_from_files_and_from_packs() {
    for (name, task) in [("completed", "A"), ("packed", "T5"), ("packed", "T149")] {
        let project = Project::with_session(name);
        let log = project.text(&["logs", &project.session, task]);
        assert!(log.contains(&format!("working on {task}\n")), "{name}: {log}");
    }
}

#[test]
fn a_killed_session_continues_and_repeats_nothing() {
    let project = Project::with_session("killed");
    let output = project.wavecrew(&["run", "--continue", &project.session, "-y"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let status = project.status();
    assert_eq!(status["state"], "completed");
    assert_eq!(status["counts"]["completed"], 4);
    let session = project
        .folder
        .path()
        .join(".workflow/.csv-wave")
        .join(&project.session);
    for (log, exists) in [("A.2.log", false), ("C.2.log", false), ("B.2.log", true)] {
        assert_eq!(session.join("logs").join(log).exists(), exists, "{log}");
    }
}

#[test]
fn a_failed_session_can_be_retried() {
    let project = Project::with_session("failed");
    let output = project.wavecrew(&["retry", &project.session, "-y"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(project.status()["counts"]["completed"], 4);
}

#[test]
fn a_cassette_replays() {
    let project = Project::with_session("completed");
    let cassette = fixtures().join("cassettes/generic.jsonl");
    let agent = format!("replay:{}", cassette.display());
    let output = project.wavecrew(&["run", "tasks.csv", "-y", "--agent", &agent]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
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
