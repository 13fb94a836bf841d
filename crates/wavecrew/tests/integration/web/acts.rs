//! What a person does in the browser: a testing run from its first question to the copied tests, and every act on a run.

use crate::run::interactive_agents::AGENT as ACP_AGENT;
use crate::sessions::support::{Session, TABLE, half_way};
use crate::testing::testing_sandbox::{TestingSandbox, example};
use std::fs;
use wavecrew_session::SessionState;
use wavecrew_test_support::browser::Browser;
use wavecrew_test_support::sandbox::{Running, Sandbox, wait_for, wait_until};
use wavecrew_test_support::web_server::Server;

/// The link that a command with `--web` prints.
fn link(run: &Running) -> String {
    wait_for("the link", || {
        let output = run.stderr();
        let found = output.lines().find_map(|line| line.strip_prefix("Browser "));
        found.map(str::to_owned)
    })
}

/// The acts in the journal that were done in the browser.
fn acts(sandbox: &Sandbox) -> Vec<String> {
    let acts = sandbox.events("acted").into_iter();
    acts.filter(|act| act["via"] == "browser")
        .map(|act| act["action"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn testing_works_in_the_browser_from_the_first_question_to_the_copied_tests() {
    let Some(sandbox) = TestingSandbox::example("python-shop") else {
        return;
    };
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    let agent = format!("command:{} python-answers", example("agent.py").display());
    let mut command = sandbox.command("testing --web --pipeline targeted --mutation off --agent");
    let run = sandbox.spawn(command.arg(agent));
    browser.open(&link(&run));
    browser.wait_for_text("Run this");
    browser.press("Edit the table first");
    browser.wait_for_text("Edit the table");
    browser.run("const t = document.querySelector('textarea'); t.value = t.value.replace('Analyze changes', 'Look at changes')");
    browser.press("Send");
    browser.wait_for_text("Look at changes");
    browser.press("Run it");
    browser.wait_for_text("What should happen to the session?");
    browser.press("Raise the coverage target of a layer");
    browser.write("textarea", "L1=much");
    browser.press("Send");
    browser.wait_for_text("Layer and percentage: ");
    browser.press("Go back");
    browser.press("Copy its tests into the project, after showing them");
    browser.wait_for_text("Copy 2 files into the project?");
    assert_eq!(
        browser.run("return document.querySelectorAll('.diff .add').length > 10"),
        true
    );
    browser.press("Copy");
    browser.wait_for_text("11 of 11 tests pass");
    browser.wait_for_text("The command has ended");
    run.wait().expect_exit(0);
    assert!(sandbox.path("tests/test_price.py").exists());
    assert_eq!(acts(&sandbox), ["edit plan", "approve plan", "apply tests"]);
    sandbox.expect_read("tasks.csv", "Look at changes");
    // The same from the page of a session that has ended.
    fs::remove_file(sandbox.path("tests/test_price.py")).expect("the copied tests");
    let server = Server::start(&sandbox, "");
    server
        .post(&format!("/s/{}/apply", sandbox.session_id()), "")
        .expect(200)
        .expect_text("tests/test_price.py written");
    assert!(sandbox.path("tests/test_price.py").exists());
}

#[test]
fn a_declined_plan_ends_the_command_and_the_page_says_so() {
    let sandbox = Sandbox::new().committed();
    let Some(browser) = Browser::start(&sandbox) else {
        return;
    };
    let words = ["lifecycle", "Write a parser", "--web", "--agent", "command:true"];
    let run = sandbox.spawn(&mut sandbox.command(&words[..]));
    browser.open(&link(&run));
    browser.press("Cancel");
    browser.wait_for_text("The command has ended");
    run.wait();
    assert!(sandbox.sessions().is_empty());
}

#[test]
fn a_running_session_is_paused_told_edited_resumed_and_cancelled() {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a");
    sandbox.write_table();
    sandbox.write("agent.sh", ACP_AGENT);
    // It works on its first message until there is another one.
    let agent = r#"acp:sh agent.sh 'if [ $n = 1 ]; then touch "prompted-$WAVECREW_TASK"; else text "$report"; done_; fi'"#;
    let run = sandbox.start_run(&["run", "tasks.csv", "--agent", agent]);
    sandbox.wait_for_file("prompted-a");
    let id = sandbox.session_id();
    let server = Server::start(&sandbox, "");
    let act = |path: &str, form: &str| server.post(&format!("/s/{id}/{path}"), form);
    act("pause", "").expect(303);
    wait_until("the pause", || {
        server
            .get(&format!("/s/{id}"))
            .expect(200)
            .body
            .contains("do-resume")
    });
    act("t/a/tell", "text=++")
        .expect(409)
        .expect_text("the message is empty");
    act("t/a/tell", "text=Use+tabs%2C+please").expect(303);
    wait_until("the report", || sandbox.status("a") == "completed");
    sandbox.expect_read("prompts/a.1.2.md", "Use tabs, please");
    act("t/b/edit", "title=Well+named").expect(303);
    wait_until("the edit", || sandbox.events("edited").len() == 1);
    assert!(!sandbox.path("prompted-b").exists(), "it is paused");
    act("resume", "").expect(303);
    sandbox.wait_for_file("prompted-b");
    act("retry", "").expect(409).expect_text("the session is running");
    act("archive", "")
        .expect(409)
        .expect_text("the session is running");
    act("cancel", "").expect(303);
    run.wait();
    assert_eq!(
        acts(&sandbox),
        ["pause", "message", "edit row", "resume", "cancel"]
    );
    sandbox.expect_cell("b", "title", "Well named");
    server
        .get(&format!("/s/{id}"))
        .expect(200)
        .expect_text("cancelled");
}

#[test]
fn a_message_that_nobody_reads_is_not_called_delivered() {
    let sandbox = Sandbox::new().tasks("id,deps\na,\nb,a");
    sandbox.write_table();
    sandbox.write("agent.sh", "until [ -e go ]; do sleep 0.05; done");
    let run = sandbox.start_run(&["run", "tasks.csv", "--agent", "command:sh agent.sh"]);
    wait_until("the worker", || {
        sandbox.project().join(".workflow").exists()
            && !sandbox.sessions().is_empty()
            && sandbox.in_session("journal.ndjson").exists()
            && !sandbox.events("spawned").is_empty()
    });
    let id = sandbox.session_id();
    let server = Server::start(&sandbox, "");
    server
        .post(&format!("/s/{id}/t/b/tell"), "text=Hello")
        .expect(303);
    wait_until("the note", || {
        let acted = sandbox.events("acted");
        acted.iter().any(|act| act["action"] == "message not delivered")
    });
    run.kill();
}

#[test]
fn a_question_in_two_tabs_is_answered_once() {
    let sandbox = Sandbox::new().tasks("id\na");
    sandbox.write_table();
    let run = sandbox.start_run(&["run", "tasks.csv", "--agent", "command:false", "--ask-in-folder"]);
    let server = Server::start(&sandbox, "");
    // All questions are on the page of the project, too.
    let page = wait_for("the question", || {
        let page = server.get("/").expect(200).body;
        page.contains(" asks</h2>").then_some(page)
    });
    let id = sandbox.session_id();
    assert!(page.contains(&format!("action=\"/s/{id}/answer\"")), "{page}");
    let answer = |given: &str| server.post(&format!("/s/{id}/answer"), &format!("question=0&answer={given}"));
    answer("perhaps")
        .expect(409)
        .expect_text("not an answer to the question");
    answer("abort").expect(303);
    answer("retry").expect(409).expect_text("already has an answer");
    run.wait().expect_exit(1);
    let answered = sandbox.events("answered");
    assert_eq!(answered.len(), 1, "{answered:?}");
    assert_eq!(answered[0]["by"], "browser");
}

#[test]
fn a_session_that_ended_is_continued_and_a_task_retried() {
    let sandbox = Sandbox::new();
    let id = "run-x-20260308";
    Session::new(&sandbox, id, "generic", TABLE)
        .record(&half_way())
        .state(SessionState::Failed);
    sandbox.write_script(
        "agent.sh",
        "#!/bin/sh\necho \"{\\\"id\\\":\\\"$WAVECREW_TASK\\\",\\\"status\\\":\\\"completed\\\"}\"",
    );
    let server = Server::start(&sandbox, "");
    server.post(&format!("/s/{id}/t/B/retry"), "").expect(303);
    wait_until("the end", || {
        server
            .get(&format!("/s/{id}"))
            .expect(200)
            .body
            .contains("4<small> of 4 completed")
    });
    let acted = sandbox.events("acted");
    assert_eq!(
        (&acted[0]["action"], &acted[0]["task"]),
        (&"retry".into(), &"B".into())
    );
}
