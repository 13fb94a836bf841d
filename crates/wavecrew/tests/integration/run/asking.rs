//! Workers that ask: a person behind the run answers, or nobody does.

use crate::run::sandbox::{Sandbox, wait_for};
use serde_json::{Value, json};
use std::fs;

/// Reports the answer as its findings.
const AGENT: &str = r#"answer=$(wavecrew ask "Which one?" --option this --option that)
wavecrew report "{\"id\":\"a\",\"status\":\"completed\",\"findings\":\"$answer\"}""#;

fn start(sandbox: &Sandbox, agent: &str, words: &[&str]) -> crate::run::sandbox::Going {
    fs::write(sandbox.path("agent.sh"), agent).expect("the agent is written");
    sandbox.write_table();
    let words = [&["run", "tasks.csv", "--agent", "command:sh agent.sh"], words].concat();
    sandbox.spawn(&mut sandbox.command(&words))
}

/// The question that lies in the session's folder.
fn question(sandbox: &Sandbox) -> Value {
    wait_for("the question", || {
        sandbox.sessions().first()?;
        let text = fs::read(sandbox.session().join(".run/question.json")).ok()?;
        serde_json::from_slice(&text).ok()
    })
}

#[test]
fn without_a_person_the_worker_decides() {
    let sandbox = Sandbox::new().tasks("id\na");
    start(&sandbox, AGENT, &["-y"]).wait().expect_exit(0);
    let findings = sandbox.cell("a", "findings");
    assert!(findings.starts_with("Nobody is here to answer."), "{findings}");
    assert_eq!(
        fs::read_dir(sandbox.session().join(".run/asks"))
            .expect("the folder")
            .count(),
        0
    );
}

#[test]
fn a_person_answers_in_words_of_their_own() {
    let sandbox = Sandbox::new().tasks("id\na");
    let run = start(&sandbox, AGENT, &["--ask-in-folder"]);
    let asked = question(&sandbox);
    assert_eq!(
        asked["question"],
        "a asks: Which one? (decides itself unless told within 2m 00s)"
    );
    assert_eq!(
        (&asked["options"], &asked["open"]),
        (&json!(["this", "that"]), &true.into())
    );
    let answer = json!({ "id": asked["id"], "answer": "neither" });
    fs::write(sandbox.session().join(".run/answer.json"), answer.to_string()).expect("it is answered");
    run.wait().expect_exit(0);
    assert_eq!(sandbox.cell("a", "findings"), "neither");
    let journal = sandbox.read("journal.ndjson");
    assert!(journal.contains(r#""answer":"neither""#), "{journal}");
}

#[test]
fn a_question_that_is_none_or_for_another_task_is_refused() {
    let sandbox = Sandbox::new().tasks("id\na");
    let agent = r#"wavecrew ask " " 2> empty; WAVECREW_TOKEN=x wavecrew ask "Who am I?" 2> foreign
wavecrew report '{"id":"a","status":"completed"}'"#;
    start(&sandbox, agent, &["-y"]).wait().expect_exit(0);
    let said = |name| fs::read_to_string(sandbox.path(name)).expect("it was said");
    assert!(
        said("empty").contains("the question is empty"),
        "{}",
        said("empty")
    );
    assert!(
        said("foreign").contains("the token is not that of this attempt"),
        "{}",
        said("foreign")
    );
}
