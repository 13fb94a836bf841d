//! `init`, `teams`, and settings that no run would take.

use std::fs;
use wavecrew_test_support::sandbox::Sandbox;

#[test]
fn init_writes_once() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.wavecrew("init").ok(), "Wrote wavecrew.toml\n");
    let text = sandbox.text("wavecrew.toml");
    assert!(
        text.contains("# concurrency = 3") && text.contains("[limits]"),
        "{text}"
    );
    assert!(!sandbox.path(".wavecrew").exists());
    sandbox
        .wavecrew("init --teams")
        .expect_error(2, &["wavecrew.toml already exists"]);
    fs::remove_file(sandbox.path("wavecrew.toml")).unwrap();
    assert_eq!(
        sandbox.wavecrew("init --teams").ok(),
        "Wrote wavecrew.toml and .wavecrew/teams\n"
    );
    assert!(sandbox.path(".wavecrew/teams").is_dir());
}

#[test]
fn a_plan_refuses_the_settings_that_a_run_refuses() {
    let sandbox = Sandbox::new();
    sandbox.write("tasks.csv", "id,description\nA,a\n");
    for (settings, place, mistake) in [
        ("[verify]\ntest = 3\n", "wavecrew.toml:2", "`test` must be text"),
        ("concurrency = 0\n", "wavecrew.toml:1", "`concurrency` must be"),
    ] {
        sandbox.write("wavecrew.toml", settings);
        for command in ["run", "plan"] {
            sandbox
                .wavecrew(&format!("{command} tasks.csv"))
                .expect_error(2, &[place, mistake]);
        }
    }
    sandbox.write("wavecrew.toml", "[verify]\ntest = \"true\"\n");
    assert!(sandbox.wavecrew("plan tasks.csv").ok().contains("Wave 1"));
}

#[test]
fn an_empty_agent_name_is_refused_before_a_session_exists() {
    let sandbox = Sandbox::new();
    sandbox.write("tasks.csv", "id,description\nA,a\n");
    for agent in ["", " "] {
        sandbox
            .wavecrew(&["run", "tasks.csv", "--agent", agent])
            .expect_error(2, &["is not a known agent", "use one of codex"]);
    }
    assert!(!sandbox.path(".workflow").exists());
}

#[test]
fn too_long_timeouts_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.py", "x = 1\n");
    let longest = u64::MAX.to_string();
    for words in [
        ["measure", "--timeout"],
        ["testing", "--test-timeout"],
        ["testing", "--offline-budget"],
    ] {
        sandbox
            .wavecrew(&[&words[..], &[&longest]].concat())
            .expect_error(2, &[words[1], "is not in 1..=31536000"]);
    }
}

#[test]
fn teams_are_listed_with_the_project_s_own() {
    let sandbox = Sandbox::new();
    let mine = "name = \"haiku\"\ntitle = \"Haiku\"\nprefix = \"hk\"\n[[roles]]\nname = \"poet\"\nprefixes = [\"POEM\"]\n\
        instruction = \"Write.\"\n[[pipelines]]\nname = \"one\"\n[[pipelines.tasks]]\nid = \"POEM-001\"\ntitle = \"Write\"\n\
        description = \"Write\"\nrole = \"poet\"\n";
    sandbox.write(".wavecrew/teams/haiku.toml", mine);
    sandbox.write(".wavecrew/teams/wrong.toml", "name = \n");
    insta::assert_snapshot!(sandbox.wavecrew("teams").ok());
    let json = sandbox.wavecrew("teams --json").json();
    assert_eq!(json[4]["origin"], ".wavecrew/teams/haiku.toml");
    assert!(sandbox.wavecrew("teams haiku").ok().contains("wave 1  POEM-001"));
    sandbox.wavecrew("teams wrong").expect_error(2, &["wrong.toml:1"]);
    sandbox
        .wavecrew("teams testin")
        .expect_error(2, &["did you mean `testing`?"]);
}

#[test]
fn a_team_is_shown_in_full() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.wavecrew("teams testing").ok());
    assert_eq!(sandbox.wavecrew("teams planex --json").json()["prefix"], "planex");
    let source = sandbox.wavecrew("teams generic --source").ok();
    assert!(source.contains("name = \"generic\""), "{source}");
    sandbox
        .wavecrew("teams mine --source")
        .expect_error(2, &["`mine` is not built in"]);
}
