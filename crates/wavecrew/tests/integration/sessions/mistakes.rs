//! Mistakes that are caught before a session starts, and hints that work when pasted.

use std::fs;
use std::path::Path;
use wavecrew_test_support::sandbox::{Outcome, Sandbox};

const TABLE: &str = "id,description,tone\na,Say hello,calm\n";
/// Reports success, whatever the task.
const AGENT: &str = "#!/bin/sh\nwavecrew report \"{\\\"id\\\": \\\"$WAVECREW_TASK\\\", \\\"status\\\": \\\"completed\\\"}\"\n";

fn project() -> Sandbox {
    Sandbox::new().file("tasks.csv", TABLE).script("agent.sh", AGENT)
}

fn run_in(project: &Sandbox, folder: &Path, args: &[&str]) -> Outcome {
    project.spawn(project.command(args).current_dir(folder)).wait()
}

fn has_session(project: &Sandbox) -> bool {
    project.path(".workflow").exists()
}

#[test]
fn agents_that_cannot_do_the_work_are_refused() {
    let project = project();
    project.write("plain.sh", "#!/bin/sh\n");
    for (agent, texts) in [
        (
            "command:./nosuch.sh",
            ["./nosuch.sh` of the agent", "does not exist"],
        ),
        ("command:./plain.sh", ["is not executable", "chmod +x ./plain.sh"]),
        (
            "command:agent.sh --fast",
            ["is not on PATH", "write `command:./agent.sh --fast`"],
        ),
        ("command:no-such-program", ["is not on PATH", "full path"]),
        (
            "./agent.sh",
            ["is not a known agent", "`--agent 'command:./agent.sh'`"],
        ),
        (
            "offline",
            ["cannot do the work of the team `generic`", "wavecrew testing"],
        ),
    ] {
        let outcome = project.wavecrew(&["run", "tasks.csv", "-y", "--agent", agent]);
        outcome.expect_error(2, &texts);
        assert!(!has_session(&project), "{agent}");
    }
    let args = ["lifecycle", "Implement undo", "-y", "--agent", "offline"];
    project.wavecrew(&args).expect_error(2, &["the team `lifecycle`"]);
}

#[test]
fn a_path_in_the_request_must_exist() {
    let project = Sandbox::new();
    fs::create_dir(project.path("src")).unwrap();
    project.write("pyproject.toml", "[project]\nname = 'x'\n");
    project.write("src/calc.py", "def add(a, b):\n    return a + b\n");
    for (request, texts) in [
        (
            "src/clac.py",
            ["names `src/clac.py`", "did you mean `src/calc.py`?"],
        ),
        ("calc.py", ["names `calc.py`", "did you mean `src/calc.py`?"]),
        ("Please test src/nosuch.py", ["names `src/nosuch.py`", "help"]),
    ] {
        project
            .wavecrew(&["plan", "testing", request])
            .expect_error(2, &texts);
    }
    let outcome = project.wavecrew(&["plan", "testing", "Test the and/or logic of Node.js"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn a_placeholder_without_a_column_is_a_warning() {
    let project = project();
    let run = ["run", "tasks.csv", "-y", "--agent", "command:./agent.sh"];
    let outcome =
        project.wavecrew(&[&run[..], &["--instruction", "Be {tune}, not {tone}: {\"a\": 1}"]].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for text in [
        "`{tune}` in --instruction names no column",
        "did you mean `tone`?",
    ] {
        assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
    }
    assert_eq!(
        outcome.stderr.matches("names no column").count(),
        1,
        "{}",
        outcome.stderr
    );
}

#[test]
fn tables_of_spreadsheets_are_read() {
    let project = Sandbox::new();
    let table = project.path("tasks.csv");
    let utf16: Vec<u8> = "\u{feff}id\tdescription\na\tdo, it\nb\tü\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for bytes in [&b"id;description\na;do, it\nb;x\n"[..], &utf16] {
        fs::write(&table, bytes).unwrap();
        let plan = project.wavecrew(&["plan", "tasks.csv", "--json"]).json();
        assert_eq!(plan["tasks"][0]["description"], "do, it");
        assert_eq!(plan["tasks"][1]["id"], "b");
    }
    fs::write(&table, "id;description\na;x\na;y\n").unwrap();
    let outcome = project.wavecrew(&["validate", "tasks.csv"]);
    outcome.expect_error(2, &["Duplicate task ID: a", "tasks.csv:3"]);
    fs::write(&table, "id;what, why;description\na;x;y\n").unwrap();
    project
        .wavecrew(&["validate", "tasks.csv"])
        .expect_error(2, &["it looks like a table with semicolons"]);
}

#[test]
fn the_project_is_found_from_below() {
    let project = project();
    project.write("wavecrew.toml", "agent = \"command:./agent.sh\"\n");
    let below = project.path("docs/notes");
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("more.csv"), TABLE).unwrap();
    let outcome = run_in(&project, &below, &["run", "more.csv", "-y"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let root = project.project().canonicalize().unwrap();
    let found = format!("Project {} (found above the current folder)", root.display());
    assert!(outcome.stderr.contains(&found), "{}", outcome.stderr);
    assert!(has_session(&project) && !below.join(".workflow").exists());
    let listed = run_in(&project, &below, &["list", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let outcome = project.wavecrew(&["list"]);
    assert!(!outcome.stderr.contains("Project"), "{}", outcome.stderr);
    let outcome = run_in(&project, project.project(), &["-C", "docs/notes", "list"]);
    assert!(
        outcome
            .stdout
            .contains("No sessions yet. `wavecrew -C docs/notes run`"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn hints_repeat_the_folder_and_work_when_pasted() {
    let outside = Sandbox::new();
    let folder = outside.path("my project");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("tasks.csv"), TABLE).unwrap();
    let args = [
        "-C",
        "my project",
        "run",
        "tasks.csv",
        "-y",
        "--agent",
        "command:false",
    ];
    let outcome = outside.wavecrew(&args);
    let line = |name: &str| {
        let line = outcome.stdout.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {}", outcome.stdout))
            .trim()
            .to_owned()
    };
    assert!(outside.path(line("Report ")).is_file(), "{}", outcome.stdout);
    let retry = line("Retry ");
    assert!(retry.starts_with("wavecrew -C 'my project' retry "), "{retry}");
    let words = shlex::split(&retry).unwrap();
    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let again = outside.wavecrew(&words);
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    assert!(
        again.stderr.contains("a runs again: you asked for it"),
        "{}",
        again.stderr
    );
    let outcome = outside.wavecrew(&["-C", "my project", "logs", "nosuch"]);
    outcome.expect_error(2, &["there is no session `nosuch`"]);
}

#[test]
fn an_empty_list_is_an_empty_array() {
    let project = Sandbox::new();
    for args in [&["list", "--json"][..], &["issues", "list", "--json"]] {
        assert_eq!(project.wavecrew(args).json(), serde_json::json!([]), "{args:?}");
    }
    let teams = project.wavecrew(&["teams", "--json"]).json();
    assert!(teams.as_array().unwrap().iter().all(|team| team["version"] == 1));
    let text = project.wavecrew(&["teams", "lifecycle"]).ok();
    assert!(text.contains("Switches (--switch)\n  no-supervision"), "{text}");
}
