//! Whole teams with a real agent: the commands that the examples show, against the fake model service. Every worker is told
//! to run the prepared answers of the example.

use crate::agents::task::Agent;
use crate::lifecycle::example;
use wavecrew_test_support::sandbox::copy_folder;

/// What every worker reports; each policy uses its part of it.
const REPORT: &str = r#"{"id":"{id}","status":"completed","findings":"done","score":0.9,"verdict":"APPROVE","Completeness":90,"Consistency":85,"Traceability":85,"Depth":80}"#;

/// An agent in the project of the example, committed.
fn in_notes(id: &'static str) -> Option<Agent> {
    let agent = Agent::new(id)?;
    copy_folder(&example("lifecycle/notes"), agent.project());
    agent.git(&["init", "-q", "-b", "main"]);
    agent.git(&["config", "user.name", "t"]);
    agent.git(&["config", "user.email", "t@localhost"]);
    agent.git(&["add", "-A"]);
    agent.git(&["commit", "-q", "-m", "notes"]);
    Some(agent)
}

fn run(agent: &Agent, words: &[&str], shell: &str) {
    let instruction = format!("@@shell {shell}\n@@final {REPORT}");
    let mut command = agent.command(words);
    command.args(["-y", "--agent", agent.name(), "--instruction", &instruction]);
    agent.spawn(&mut command).wait().expect_exit(0);
}

#[test]
fn lifecycle_with_codex() {
    let Some(agent) = in_notes("codex") else { return };
    let script = example("lifecycle/agent.sh");
    let shell = format!("WAVECREW_TASK={{id}} sh {}", script.display());
    let words = ["lifecycle", "--pipeline", "full-lifecycle", "Tag notes"];
    run(&agent, &words, &shell);
    assert!(agent.path("app/cli/tags.py").exists());
}

#[test]
fn planex_with_codex() {
    let Some(agent) = in_notes("codex") else { return };
    let (issues, script) = (example("planex/issues.jsonl"), example("planex/agent.sh"));
    let shell = format!("WAVECREW_TASK={{id}} ISSUE={{issue_ids}} sh {}", script.display());
    run(&agent, &["planex", issues.to_str().unwrap()], &shell);
    let subjects = agent.git(&["log", "--no-merges", "--format=%s"]);
    for subject in ["Count the notes", "Forget a note", "Longest note"] {
        assert!(subjects.contains(subject), "{subject}: {subjects}");
    }
}
