//! Questions of real agents at work: claude over its control line, all of them by our own tool. The test is the person.

use crate::agents::task::{Agent, Task};
use crate::agents::with_some;
use serde_json::{Value, json};
use std::fs;

const REPORT: &str = r#"{"id":"A","status":"completed","findings":"done"}"#;

/// Runs the task with a person who answers each question in turn; returns the questions.
fn run_with_answers(agent: &Agent, task: &Task, answers: &[&str]) -> Vec<Value> {
    // A person's word does not lift the confinement: the settings must allow the place too.
    let flags = format!("--ask-in-folder --allow-write {}", agent.home().display());
    let mut run = agent.start(task, &flags);
    let mut ask = |answer: &&str| agent.answer(&mut run, answer);
    let questions = answers.iter().map(&mut ask).collect();
    run.wait();
    agent.expect_no_processes();
    questions
}

/// A file outside of the project, which no mode covers.
fn outside(agent: &Agent, then: &str) -> Task {
    let path = agent.home().join("outside.txt");
    let input = json!({ "file_path": path, "content": "hi" });
    Task::interactive(format!("@@tool Write {input}\n@@final {then}"))
}

#[test]
fn claude_does_what_a_person_allows() {
    let Some(agent) = Agent::new("claude") else {
        return;
    };
    let questions = run_with_answers(&agent, &outside(&agent, REPORT), &["allow"]);
    agent.expect_stop("ok");
    let text = questions[0]["question"].as_str().unwrap();
    assert!(text.starts_with("A wants to: use Write: "), "{text}");
    assert_eq!(
        fs::read_to_string(agent.home().join("outside.txt")).unwrap(),
        "hi"
    );
    agent.note("asks", "yes");
}

#[test]
fn claude_does_not_do_what_a_person_denies() {
    let Some(agent) = Agent::new("claude") else {
        return;
    };
    run_with_answers(&agent, &outside(&agent, REPORT), &["deny"]);
    agent.expect_stop("ok");
    assert!(!agent.home().join("outside.txt").exists());
    assert!(
        agent.log().contains("This worker may not do that."),
        "{}",
        agent.log()
    );
}

#[test]
fn claude_is_denied_outside_files_without_a_person() {
    let Some(agent) = Agent::new("claude") else {
        return;
    };
    agent.run(&outside(&agent, "I was not let."), "");
    agent.expect_stop("permission_blocked");
    assert!(!agent.home().join("outside.txt").exists());
    assert_eq!(agent.events("asked").len(), 0);
}

#[test]
fn claude_is_allowed_what_its_role_may_without_a_question() {
    let Some(agent) = Agent::new("claude") else {
        return;
    };
    // Its mode does not cover what lies below this folder, though it is of the project.
    let path = agent.path(".git/hooks/x");
    let input = json!({ "file_path": path, "content": "hi" });
    let task = Task::interactive(format!("@@tool Write {input}\n@@final {REPORT}"));
    agent.run(&task, "");
    agent.expect_stop("ok");
    assert!(agent.log().contains("can_use_tool"), "it asked: {}", agent.log());
    assert_eq!(fs::read_to_string(path).unwrap(), "hi", "{}", agent.log());
}

#[test]
fn questions_of_claudes_model_are_answered() {
    let Some(agent) = Agent::new("claude") else {
        return;
    };
    let option = |label: &str| json!({ "label": label, "description": "d" });
    let question = json!({
        "question": "Which colour?", "header": "Colour", "options": [option("red"), option("blue")], "multiSelect": false,
    });
    let input = json!({ "questions": [question] });
    let task = Task::interactive(format!("@@tool AskUserQuestion {input}\n@@final {REPORT}"));
    let questions = run_with_answers(&agent, &task, &["green"]);
    agent.expect_stop("ok");
    assert_eq!(questions[0]["options"], json!(["red", "blue"]));
    assert!(
        agent.log().contains(r#"\"Which colour?\"=\"green\""#),
        "{}",
        agent.log()
    );

    let Some(alone) = Agent::new("claude") else {
        return;
    };
    alone.run(&task, "");
    alone.expect_stop("ok");
    assert!(alone.log().contains("Nobody can answer."), "{}", alone.log());
}

/// The tool of our own server, in the agent's own words for it.
fn asks_by_tool(id: &'static str, tool: &str) {
    let Some(agent) = Agent::new(id) else { return };
    let task = Task::one_shot(format!(
        "@@tool {tool} {{\"question\":\"Which colour?\",\"options\":[\"red\"]}}\n@@final {REPORT}"
    ));
    let questions = run_with_answers(&agent, &task, &["green"]);
    agent.expect_stop("ok");
    assert_eq!(questions[0]["options"], json!(["red"]));
    assert!(agent.log().contains("green"), "{}", agent.log());
}

#[test]
fn asks_by_our_tool() {
    with_some(
        "asks by a tool",
        &["codex", "claude", "opencode"],
        1,
        |agent| match agent {
            "codex" => asks_by_tool(agent, "mcp__wavecrew::ask"),
            "opencode" => asks_by_tool(agent, "wavecrew_ask"),
            _ => asks_by_tool(agent, "mcp__wavecrew__ask"),
        },
    );
}

/// The second request of the turn goes past the limit of the task; the third is never made.
fn ended_within_its_turn(id: &'static str) {
    let Some(agent) = Agent::new(id) else { return };
    let task = Task::one_shot(format!(
        "@@shell echo one\n@@shell tail -f /dev/null\n@@final {REPORT}"
    ));
    agent.run(&task, "--max-task-tokens 1500");
    agent.expect_stop("budget");
    let finished = agent.finished();
    let error = finished["result"]["error"].as_str().unwrap();
    assert!(error.starts_with("Ended during its turn: it used 2,"), "{error}");
    assert_eq!(agent.events("usage").len(), 1, "what it used is on record");
    agent.note("limit within a turn", "yes");
}

#[test]
fn is_ended_within_its_turn_at_the_token_limit() {
    with_some(
        "is ended within its turn",
        &["claude", "qwen", "opencode"],
        1,
        ended_within_its_turn,
    );
}
