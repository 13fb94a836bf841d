//! Questions of workers, with and without a person who answers.

use serde_json::json;
use std::fs;
use wavecrew_test_support::sandbox::{Running, Sandbox};

/// Reports the answer as its findings.
const AGENT: &str = r#"answer=$(wavecrew ask "Which one?" --option this --option that)
wavecrew report "{\"id\":\"a\",\"status\":\"completed\",\"findings\":\"$answer\"}""#;

fn start(sandbox: &Sandbox, agent: &str, flag: &str) -> Running {
    sandbox.write("agent.sh", agent);
    sandbox.write_table();
    sandbox.start_run(&["run", "tasks.csv", "--agent", "command:sh agent.sh", flag])
}

#[test]
fn without_a_person_the_worker_decides() {
    let sandbox = Sandbox::new().tasks("id\na");
    start(&sandbox, AGENT, "-y").wait().expect_exit(0);
    let findings = sandbox.cell("a", "findings");
    assert!(findings.starts_with("Nobody can answer."), "{findings}");
    let questions = fs::read_dir(sandbox.session().join(".run/asks"));
    assert_eq!(questions.into_iter().flatten().count(), 0, "none is left");
}

#[test]
fn a_person_may_answer_freely() {
    let sandbox = Sandbox::new().tasks("id\na");
    let mut run = start(&sandbox, AGENT, "--ask-in-folder");
    let asked = sandbox.answer(&mut run, "neither");
    assert_eq!(
        asked["question"],
        "a asks: Which one? (decides itself unless answered within 2m 00s)"
    );
    assert_eq!(
        (&asked["options"], &asked["open"]),
        (&json!(["this", "that"]), &true.into())
    );
    run.wait().expect_exit(0);
    assert_eq!(sandbox.cell("a", "findings"), "neither");
    sandbox.expect_read("journal.ndjson", r#""answer":"neither""#);
}

#[test]
fn empty_and_foreign_questions_are_refused() {
    let sandbox = Sandbox::new().tasks("id\na");
    let agent = r#"wavecrew ask " " 2> empty; WAVECREW_TOKEN=x wavecrew ask "Who am I?" 2> foreign
wavecrew report '{"id":"a","status":"completed"}'"#;
    start(&sandbox, agent, "-y").wait().expect_exit(0);
    assert!(sandbox.text("empty").contains("the question is empty"));
    assert!(
        sandbox
            .text("foreign")
            .contains("the token is not that of this attempt")
    );
}
