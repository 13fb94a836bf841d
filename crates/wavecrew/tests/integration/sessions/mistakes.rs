//! Mistakes that are caught before a session starts, and hints that work when pasted.

use super::support::{Project, Said};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const TABLE: &str = "id,description,tone\na,Say hello,calm\n";
/// Reports success, whatever the task.
const AGENT: &str = "#!/bin/sh\nwavecrew report \"{\\\"id\\\": \\\"$WAVECREW_TASK\\\", \\\"status\\\": \\\"completed\\\"}\"\n";

fn project() -> Project {
    let project = Project::new();
    fs::write(project.path().join("tasks.csv"), TABLE).unwrap();
    let agent = project.path().join("agent.sh");
    fs::write(&agent, AGENT).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    project
}

fn run_in(project: &Project, folder: &Path, args: &[&str]) -> Said {
    let output = project.command(args).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Said {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

fn has_session(project: &Project) -> bool {
    project.path().join(".workflow").exists()
}

#[test]
fn agents_that_cannot_do_the_work_are_refused() {
    let project = project();
    fs::write(project.path().join("plain.sh"), "#!/bin/sh\n").unwrap();
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
            ["is not an agent", "`--agent 'command:./agent.sh'`"],
        ),
        (
            "offline",
            ["cannot do the work of the team `generic`", "wavecrew testing"],
        ),
    ] {
        let said = project.run(&["run", "tasks.csv", "-y", "--agent", agent]);
        said.refused(2, &texts);
        assert!(!has_session(&project), "{agent}");
    }
    let args = ["lifecycle", "Implement undo", "-y", "--agent", "offline"];
    project.run(&args).refused(2, &["the team `lifecycle`"]);
}

#[test]
fn a_path_in_the_request_must_exist() {
    let project = Project::new();
    fs::create_dir(project.path().join("src")).unwrap();
    fs::write(project.path().join("pyproject.toml"), "[project]\nname = 'x'\n").unwrap();
    fs::write(
        project.path().join("src/calc.py"),
        "def add(a, b):\n    return a + b\n",
    )
    .unwrap();
    for (request, texts) in [
        (
            "src/clac.py",
            ["names `src/clac.py`", "did you mean `src/calc.py`?"],
        ),
        ("calc.py", ["names `calc.py`", "did you mean `src/calc.py`?"]),
        ("Please test src/nosuch.py", ["names `src/nosuch.py`", "help"]),
    ] {
        project.run(&["plan", "testing", request]).refused(2, &texts);
    }
    let said = project.run(&["plan", "testing", "Test the and/or logic of Node.js"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
}

#[test]
fn a_placeholder_without_a_column_is_a_warning() {
    let project = project();
    let run = ["run", "tasks.csv", "-y", "--agent", "command:./agent.sh"];
    let said = project.run(&[&run[..], &["--instruction", "Be {tune}, not {tone}: {\"a\": 1}"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    for text in [
        "`{tune}` in --instruction names no column",
        "did you mean `tone`?",
    ] {
        assert!(said.err.contains(text), "{}", said.err);
    }
    assert_eq!(said.err.matches("names no column").count(), 1, "{}", said.err);
}

#[test]
fn tables_of_spreadsheets_are_read() {
    let project = Project::new();
    let table = project.path().join("tasks.csv");
    let utf16: Vec<u8> = "\u{feff}id\tdescription\na\tdo, it\nb\tü\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for bytes in [&b"id;description\na;do, it\nb;x\n"[..], &utf16] {
        fs::write(&table, bytes).unwrap();
        let plan = project.run(&["plan", "tasks.csv", "--json"]).json();
        assert_eq!(plan["tasks"][0]["description"], "do, it");
        assert_eq!(plan["tasks"][1]["id"], "b");
    }
    fs::write(&table, "id;description\na;x\na;y\n").unwrap();
    let said = project.run(&["validate", "tasks.csv"]);
    said.refused(2, &["Duplicate task ID: a", "tasks.csv:3"]);
    fs::write(&table, "id;what, why;description\na;x;y\n").unwrap();
    project
        .run(&["validate", "tasks.csv"])
        .refused(2, &["it looks like a table with semicolons"]);
}

#[test]
fn the_project_is_found_from_below() {
    let project = project();
    fs::write(
        project.path().join("wavecrew.toml"),
        "agent = \"command:./agent.sh\"\n",
    )
    .unwrap();
    let below = project.path().join("docs/notes");
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("more.csv"), TABLE).unwrap();
    let said = run_in(&project, &below, &["run", "more.csv", "-y"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let root = project.path().canonicalize().unwrap();
    let found = format!("Project {} (found above the current folder)", root.display());
    assert!(said.err.contains(&found), "{}", said.err);
    assert!(has_session(&project) && !below.join(".workflow").exists());
    let listed = run_in(&project, &below, &["list", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let said = project.run(&["list"]);
    assert!(!said.err.contains("Project"), "{}", said.err);
    let said = run_in(&project, project.path(), &["-C", "docs/notes", "list"]);
    assert!(
        said.out.contains("No sessions yet. `wavecrew -C docs/notes run`"),
        "{}",
        said.out
    );
}

#[test]
fn hints_repeat_the_folder_and_work_when_pasted() {
    let outside = Project::new();
    let folder = outside.path().join("my project");
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
    let said = outside.run(&args);
    let line = |name: &str| {
        let line = said.out.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {}", said.out))
            .trim()
            .to_owned()
    };
    assert!(outside.path().join(line("Report ")).is_file(), "{}", said.out);
    let retry = line("Retry ");
    assert!(retry.starts_with("wavecrew -C 'my project' retry "), "{retry}");
    let words = shlex::split(&retry).unwrap();
    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let again = outside.run(&words);
    assert_eq!(again.code, Some(1), "{}", again.err);
    assert!(again.err.contains("a runs again: retry"), "{}", again.err);
    let said = outside.run(&["-C", "my project", "logs", "nosuch"]);
    said.refused(2, &["there is no session `nosuch`"]);
}

#[test]
fn an_empty_list_is_an_empty_array() {
    let project = Project::new();
    for args in [&["list", "--json"][..], &["issues", "list", "--json"]] {
        assert_eq!(project.run(args).json(), serde_json::json!([]), "{args:?}");
    }
    let teams = project.run(&["teams", "--json"]).json();
    assert!(teams.as_array().unwrap().iter().all(|team| team["version"] == 1));
    let text = project.run(&["teams", "lifecycle"]).ok();
    assert!(text.contains("Switches (--switch)\n  no-supervision"), "{text}");
}
