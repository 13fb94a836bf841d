//! `init`, `teams`, and settings that no run would take.

use crate::sessions::support::Project;
use std::fs;

#[test]
fn init_writes_once() {
    let project = Project::new();
    assert_eq!(project.run(&["init"]).ok(), "Wrote wavecrew.toml\n");
    let text = fs::read_to_string(project.path().join("wavecrew.toml")).unwrap();
    assert!(
        text.contains("# concurrency = 3") && text.contains("[limits]"),
        "{text}"
    );
    assert!(!project.path().join(".wavecrew").exists());
    project
        .run(&["init", "--teams"])
        .refused(2, &["wavecrew.toml exists already"]);
    fs::remove_file(project.path().join("wavecrew.toml")).unwrap();
    assert_eq!(
        project.run(&["init", "--teams"]).ok(),
        "Wrote wavecrew.toml and .wavecrew/teams\n"
    );
    assert!(project.path().join(".wavecrew/teams").is_dir());
}

#[test]
fn a_plan_refuses_the_settings_that_a_run_refuses() {
    let project = Project::new();
    fs::write(project.path().join("tasks.csv"), "id,description\nA,a\n").unwrap();
    for (settings, place, mistake) in [
        ("[verify]\ntest = 3\n", "wavecrew.toml:2", "`test` must be text"),
        ("concurrency = 0\n", "wavecrew.toml:1", "`concurrency` must be"),
    ] {
        fs::write(project.path().join("wavecrew.toml"), settings).unwrap();
        for command in ["run", "plan"] {
            project.run(&[command, "tasks.csv"]).refused(2, &[place, mistake]);
        }
    }
    fs::write(
        project.path().join("wavecrew.toml"),
        "[verify]\ntest = \"true\"\n",
    )
    .unwrap();
    assert!(project.run(&["plan", "tasks.csv"]).ok().contains("Wave 1"));
}

#[test]
fn an_agent_that_is_given_as_nothing_is_refused_before_there_is_a_session() {
    let project = Project::new();
    fs::write(project.path().join("tasks.csv"), "id,description\nA,a\n").unwrap();
    for agent in ["", " "] {
        project
            .run(&["run", "tasks.csv", "--agent", agent])
            .refused(2, &["is not an agent", "agents by name: codex"]);
    }
    assert!(!project.path().join(".workflow").exists());
}

#[test]
fn times_that_no_clock_can_count_are_refused() {
    let project = Project::new();
    fs::write(project.path().join("a.py"), "x = 1\n").unwrap();
    let longest = u64::MAX.to_string();
    for words in [
        ["measure", "--timeout"],
        ["testing", "--test-timeout"],
        ["testing", "--offline-budget"],
    ] {
        project
            .run(&[&words[..], &[&longest]].concat())
            .refused(2, &[words[1], "is not in 1..=31536000"]);
    }
}

#[test]
fn teams_are_listed_with_the_project_s_own() {
    let project = Project::new();
    let folder = project.path().join(".wavecrew/teams");
    fs::create_dir_all(&folder).unwrap();
    let mine = "name = \"haiku\"\ntitle = \"Haiku\"\nprefix = \"hk\"\n[[roles]]\nname = \"poet\"\nprefixes = [\"POEM\"]\n\
        instruction = \"Write.\"\n[[pipelines]]\nname = \"one\"\n[[pipelines.tasks]]\nid = \"POEM-001\"\ntitle = \"Write\"\n\
        description = \"Write\"\nrole = \"poet\"\n";
    fs::write(folder.join("haiku.toml"), mine).unwrap();
    fs::write(folder.join("wrong.toml"), "name = \n").unwrap();
    insta::assert_snapshot!(project.run(&["teams"]).ok());
    let json = project.run(&["teams", "--json"]).json();
    assert_eq!(json[4]["origin"], ".wavecrew/teams/haiku.toml");
    assert!(project.run(&["teams", "haiku"]).ok().contains("wave 1  POEM-001"));
    project.run(&["teams", "wrong"]).refused(2, &["wrong.toml:1"]);
    project
        .run(&["teams", "testin"])
        .refused(2, &["did you mean `testing`?"]);
}

#[test]
fn a_team_is_shown_in_full() {
    let project = Project::new();
    insta::assert_snapshot!(project.run(&["teams", "testing"]).ok());
    assert_eq!(
        project.run(&["teams", "planex", "--json"]).json()["prefix"],
        "planex"
    );
    let source = project.run(&["teams", "generic", "--source"]).ok();
    assert!(source.contains("name = \"generic\""), "{source}");
    project
        .run(&["teams", "mine", "--source"])
        .refused(2, &["`mine` is not built in"]);
}
