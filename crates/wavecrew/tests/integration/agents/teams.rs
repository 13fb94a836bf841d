//! Whole teams with a real agent: the commands that the examples show, against the fake model service. Every worker is told
//! to run the prepared answers of the example.

use crate::agents::lab::Lab;
use crate::example_files::{copy, examples};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What every worker reports; each judge takes from it what it looks for.
const REPORT: &str = r#"{"id":"{id}","status":"completed","findings":"done","score":0.9,"verdict":"APPROVE","Completeness":90,"Consistency":90,"Traceability":90,"Depth":90}"#;

/// The project of the example, committed.
fn notes(lab: &Lab) -> PathBuf {
    let project = lab.project("notes");
    copy(&examples().join("lifecycle/notes"), &project);
    for words in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Lab"],
        &["config", "user.email", "lab@example.com"],
        &["add", "-A"],
        &["commit", "-q", "-m", "notes"],
    ] {
        let done = Command::new("git")
            .current_dir(&project)
            .args(words)
            .status()
            .unwrap();
        assert!(done.success(), "git {words:?}");
    }
    project
}

fn run(lab: &Lab, words: &[&str], shell: &str) {
    let instruction = format!("@@shell {shell}\n@@final {REPORT}");
    let mut command = lab.wavecrew("notes", &lab.model.base("ok"));
    command
        .args(words)
        .args(["-y", "--agent", lab.name(), "--instruction", &instruction]);
    let output = command.output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn subjects(project: &Path) -> String {
    let log = Command::new("git")
        .current_dir(project)
        .args(["log", "--no-merges", "--format=%s"])
        .output()
        .unwrap();
    String::from_utf8(log.stdout).unwrap()
}

#[test]
fn lifecycle_with_codex() {
    let Some(lab) = Lab::new("codex") else { return };
    let project = notes(&lab);
    let shell = format!(
        "WAVECREW_TASK={{id}} sh {}",
        examples().join("lifecycle/agent.sh").display()
    );
    run(
        &lab,
        &["lifecycle", "--pipeline", "full-lifecycle", "Tag notes"],
        &shell,
    );
    assert!(project.join("app/cli/tags.py").exists(), "{}", subjects(&project));
}

#[test]
fn planex_with_codex() {
    let Some(lab) = Lab::new("codex") else { return };
    let project = notes(&lab);
    let issues = examples().join("planex/issues.jsonl");
    let shell = format!(
        "WAVECREW_TASK={{id}} ISSUE={{issue_ids}} sh {}",
        examples().join("planex/agent.sh").display()
    );
    run(&lab, &["planex", issues.to_str().unwrap()], &shell);
    let subjects = subjects(&project);
    for subject in ["Count the notes", "Forget a note", "Longest note"] {
        assert!(subjects.contains(subject), "{subject}: {subjects}");
    }
}
