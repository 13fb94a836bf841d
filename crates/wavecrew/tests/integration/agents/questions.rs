//! What real agents ask while they work, and what comes of the answers: claude over its control line, all of them with the
//! tool of ours. The person is this test.

use crate::agents::lab::{Lab, Ran, Row};
use crate::agents::with_some;
use serde_json::{Value, json};
use std::fs;

const REPORT: &str = r#"{"id":"A","status":"completed","findings":"done"}"#;

/// Runs the row with a person who answers each question in turn; what was asked.
fn asked(lab: &Lab, row: &Row, answers: &[&str]) -> (Ran, Vec<Value>) {
    let base = lab.model.base("ok");
    let mut command = lab.command("project", &base, row, &["--ask-in-folder"]);
    let mut run = command.spawn().unwrap();
    let mut questions: Vec<Value> = Vec::new();
    for answer in answers {
        lab.until("it asks", || {
            let text = lab.session("project").and_then(|session| {
                let file = session.join(".run/question.json");
                fs::read(file).ok()
            });
            let question: Option<Value> = text.and_then(|text| serde_json::from_slice(&text).ok());
            let is_new = |question: &Value| questions.iter().all(|known| known["id"] != question["id"]);
            let Some(question) = question.filter(is_new) else {
                assert!(run.try_wait().unwrap().is_none(), "it never asked");
                return false;
            };
            let told = json!({ "id": question["id"], "answer": answer });
            let file = lab.session("project").unwrap().join(".run/answer.json");
            fs::write(file, told.to_string()).unwrap();
            questions.push(question);
            true
        });
    }
    let code = run.wait().unwrap().code();
    (lab.ran("project", code), questions)
}

/// A file outside of the project, which no mode covers.
fn outside(lab: &Lab, then: &str) -> Row {
    let path = lab.home().join("outside.txt");
    let input = json!({ "file_path": path, "content": "hi" });
    Row::interactive(format!("@@tool Write {input}\n@@final {then}"))
}

#[test]
fn claude_does_what_a_person_allows() {
    let Some(lab) = Lab::new("claude") else { return };
    let (ran, questions) = asked(&lab, &outside(&lab, REPORT), &["allow"]);
    ran.ends("ok");
    let text = questions[0]["question"].as_str().unwrap();
    assert!(text.starts_with("A wants to: use Write: "), "{text}");
    assert_eq!(fs::read_to_string(lab.home().join("outside.txt")).unwrap(), "hi");
    lab.note("asks", "yes");
}

#[test]
fn claude_does_not_do_what_a_person_denies() {
    let Some(lab) = Lab::new("claude") else { return };
    let (ran, _) = asked(&lab, &outside(&lab, REPORT), &["deny"]);
    ran.ends("ok");
    assert!(!lab.home().join("outside.txt").exists());
    assert!(
        ran.log().contains("This worker may not do that."),
        "{}",
        ran.log()
    );
}

#[test]
fn claude_is_denied_it_without_a_person() {
    let Some(lab) = Lab::new("claude") else { return };
    let row = outside(&lab, "I was not let.");
    let ran = lab.run("project", &lab.model.base("ok"), &row, &[]);
    ran.ends("permission_blocked");
    assert!(!lab.home().join("outside.txt").exists());
    assert_eq!(ran.events("asked").count(), 0);
}

#[test]
fn claude_is_allowed_at_once_what_its_role_may() {
    let Some(lab) = Lab::new("claude") else { return };
    // Its mode does not cover what lies below this folder, though it is of the project.
    let path = lab.project("project").join(".git/hooks/x");
    let input = json!({ "file_path": path, "content": "hi" });
    let row = Row::interactive(format!("@@tool Write {input}\n@@final {REPORT}"));
    let ran = lab.run("project", &lab.model.base("ok"), &row, &[]);
    ran.ends("ok");
    assert!(ran.log().contains("can_use_tool"), "it asked: {}", ran.log());
    assert_eq!(fs::read_to_string(path).unwrap(), "hi", "{}", ran.log());
}

#[test]
fn what_the_model_of_claude_asks_is_answered() {
    let Some(lab) = Lab::new("claude") else { return };
    let option = |label: &str| json!({ "label": label, "description": "d" });
    let question = json!({
        "question": "Which colour?", "header": "Colour", "options": [option("red"), option("blue")], "multiSelect": false,
    });
    let input = json!({ "questions": [question] });
    let row = Row::interactive(format!("@@tool AskUserQuestion {input}\n@@final {REPORT}"));
    let (ran, questions) = asked(&lab, &row, &["green"]);
    ran.ends("ok");
    assert_eq!(questions[0]["options"], json!(["red", "blue"]));
    assert!(
        ran.log().contains(r#"\"Which colour?\"=\"green\""#),
        "{}",
        ran.log()
    );

    let ran = lab.run("alone", &lab.model.base("ok"), &row, &[]);
    ran.ends("ok");
    assert!(ran.log().contains("Nobody is here to answer."), "{}", ran.log());
}

/// The tool of our own server, in the agent's own words for it.
fn asks_by_tool(agent: &'static str, tool: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    let row = Row::one_shot(format!(
        "@@tool {tool} {{\"question\":\"Which colour?\",\"options\":[\"red\"]}}\n@@final {REPORT}"
    ));
    let (ran, questions) = asked(&lab, &row, &["green"]);
    ran.ends("ok");
    assert_eq!(questions[0]["options"], json!(["red"]));
    assert!(ran.log().contains("green"), "{}", ran.log());
}

#[test]
fn asks_by_a_tool_of_ours() {
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
fn ended_within_its_turn(agent: &'static str) {
    let Some(lab) = Lab::new(agent) else { return };
    let row = Row::one_shot(format!(
        "@@shell echo one\n@@shell tail -f /dev/null\n@@final {REPORT}"
    ));
    let ran = lab.run(
        "project",
        &lab.model.base("ok"),
        &row,
        &["--max-task-tokens", "1500"],
    );
    ran.ends("budget");
    let error = ran.finished()["result"]["error"].as_str().unwrap();
    assert!(error.starts_with("Ended within its turn: it used 2,"), "{error}");
    assert_eq!(ran.events("usage").count(), 1, "what it used is on record");
    lab.note("limit within a turn", "yes");
}

#[test]
fn is_ended_within_its_turn() {
    with_some(
        "is ended within its turn",
        &["claude", "qwen", "opencode"],
        1,
        ended_within_its_turn,
    );
}
