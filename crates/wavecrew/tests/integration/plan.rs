//! `plan`, `validate` and `completions` through the program itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder to work in, and what the program says there.
struct Sandbox {
    folder: tempfile::TempDir,
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Sandbox {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    fn with(bytes: impl AsRef<[u8]>) -> Self {
        let sandbox = Self::new();
        fs::write(sandbox.path("tasks.csv"), bytes).expect("the table is written");
        sandbox
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Said {
        let before = self.listing();
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new(env!("CARGO_BIN_EXE_wavecrew"))
            .args(args)
            .current_dir(self.folder.path())
            .output()
            .expect("the program starts");
        assert_eq!(self.listing(), before, "{args:?} wrote something");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Said {
            code: status.code(),
            out: text(stdout),
            err: text(stderr),
        }
    }

    fn listing(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder is there");
        let mut names: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
        names.sort();
        names
    }
}

impl Said {
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out
    }

    /// Refused as bad input, with nothing on standard output and all of `texts` on standard error.
    #[track_caller]
    fn refused(&self, texts: &[&str]) {
        assert_eq!(self.code, Some(2), "{}", self.err);
        assert_eq!(self.out, "");
        for text in texts {
            assert!(self.err.contains(text), "no {text:?} in:\n{}", self.err);
        }
    }
}

#[track_caller]
fn refused(table: impl AsRef<[u8]>, texts: &[&str]) {
    let sandbox = Sandbox::with(table);
    sandbox.run(&["plan", "tasks.csv"]).refused(texts);
    sandbox.run(&["validate", "tasks.csv"]).refused(texts);
}

#[test]
fn empty_file() {
    refused("", &["tasks.csv: The file is empty", "help: "]);
}

#[test]
fn header_only() {
    refused(
        "id,description\n",
        &["The file has a header and no tasks", "tasks.csv:1"],
    );
}

#[test]
fn duplicate_header() {
    refused(
        "id,description,id\na,x,b\n",
        &["Duplicate column: id", "tasks.csv:1"],
    );
}

#[test]
fn missing_required_column() {
    refused(
        "id,descripton\na,x\n",
        &[
            "Missing column: description",
            "tasks.csv:1:4",
            "did you mean `description`",
        ],
    );
}

#[test]
fn ragged_rows() {
    refused(
        "id,description\na,x\nb\nc,x,y\n",
        &["Row has 1 field, the header has 2", "tasks.csv:3", "tasks.csv:4"],
    );
}

#[test]
fn nul_byte() {
    refused(
        "id,description\na,x\0y\n",
        &["The file contains a NUL byte", "tasks.csv:2"],
    );
}

#[test]
fn invalid_utf8() {
    refused(
        b"id,description\na,x\nb,\xff\xfe\n",
        &["The text is not UTF-8", "tasks.csv:3"],
    );
}

#[test]
fn hundred_megabyte_field() {
    let mut table = b"id,description\na,\"".to_vec();
    table.resize(table.len() + 100_000_000, b'x');
    table.extend_from_slice(b"\"\n");
    let sandbox = Sandbox::with(table);
    let said = sandbox.run(&["plan", "tasks.csv"]);
    said.refused(&["Field 2 is longer than 8 MiB", "tasks.csv:2"]);
    assert!(said.err.len() < 2000, "the whole field was printed");
}

#[test]
fn ids_that_are_no_file_names() {
    for id in ["../../etc/passwd", "a/b", "CON", "-rf", ".hidden"] {
        refused(
            format!("id,description\n{id},x\n"),
            &[&format!("Invalid task ID: {id}"), "tasks.csv:2:1"],
        );
    }
    refused(
        "id,description\n\"a\nb\",x\n",
        &["Invalid task ID: a\\nb", "tasks.csv:2"],
    );
}

#[test]
fn directory_given_as_table() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("tasks.csv")).expect("a folder");
    sandbox
        .run(&["plan", "tasks.csv"])
        .refused(&["tasks.csv is a directory"]);
}

#[test]
fn table_that_is_not_there() {
    Sandbox::new()
        .run(&["plan", "tasks.csv"])
        .refused(&["tasks.csv cannot be read: No such file or directory"]);
}

#[cfg(unix)]
#[test]
fn unreadable_table() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with("id,description\na,x\n");
    let path = sandbox.path("tasks.csv");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).expect("own file");
    if fs::read(&path).is_ok() {
        // The superuser reads everything; a link to itself is what even they cannot read.
        fs::remove_file(&path).expect("own file");
        std::os::unix::fs::symlink("tasks.csv", &path).expect("a link");
    }
    sandbox
        .run(&["plan", "tasks.csv"])
        .refused(&["tasks.csv cannot be read: "]);
}

#[test]
fn every_problem_is_shown_at_once_with_its_text_marked() {
    let sandbox = Sandbox::with("id,description,deps,exec_mode\nA-1,x,,now\nB-1,,A-9,\n");
    let said = sandbox.run(&["validate", "tasks.csv"]);
    said.refused(&["did you mean `A-1`?", "3 problems in tasks.csv"]);
    insta::assert_snapshot!(said.err);
}

#[test]
fn a_long_list_of_problems_is_cut() {
    let rows = (0..80).fold(String::new(), |rows, n| format!("{rows}t{n},\n"));
    let said = Sandbox::with(format!("id,description\n{rows}")).run(&["plan", "tasks.csv"]);
    said.refused(&["Empty description for task: t49", "and 30 more"]);
    assert!(!said.err.contains("task: t50"));
}

#[test]
fn a_terminal_is_never_told_what_to_do() {
    let sandbox = Sandbox::with("id,title,description,deps\na,\x1b[2Jwiped,x,\nb,t,x,\x1b]0;pwned\x07\n");
    let said = sandbox.run(&["plan", "tasks.csv"]);
    said.refused(&["Unknown dependency: "]);
    assert!(!said.err.contains('\x1b'), "{:?}", said.err);
    let plan = Sandbox::with("id,title,description\na,\x1b[2Jwiped,x\n")
        .run(&["plan", "tasks.csv"])
        .ok();
    assert!(plan.contains("wiped") && !plan.contains('\x1b'), "{plan:?}");
}

const RELEASE: &str = "id,title,description,role,deps,exec_mode\n\
    notes,Release notes,Write them,writer,,\n\
    audit,一份很长的标题一份很长的标题一份很长的标题一份很长的标题,Look for advisories,reviewer,,interactive\n\
    ship,,\"Ship it\nall\",builder,notes; audit,\n";

#[test]
fn the_plan_is_a_table_by_wave() {
    let sandbox = Sandbox::with(RELEASE);
    insta::assert_snapshot!(sandbox.run(&["plan", "tasks.csv"]).ok());
}

#[test]
fn the_plan_as_json() {
    let sandbox = Sandbox::with(RELEASE);
    let plan: serde_json::Value =
        serde_json::from_str(&sandbox.run(&["plan", "tasks.csv", "--json"]).ok()).expect("one JSON document");
    assert_eq!((&plan["team"], &plan["waves"]), (&"generic".into(), &2.into()));
    assert!(plan["pipeline"].is_null());
    let ship = &plan["tasks"][2];
    assert_eq!(
        (&ship["id"], &ship["wave"], &ship["deps"]),
        (&"ship".into(), &2.into(), &"notes; audit".into())
    );
    assert_eq!(
        (&ship["title"], &ship["exec_mode"], &ship["status"]),
        (&"ship".into(), &"csv-wave".into(), &"pending".into())
    );
}

#[test]
fn the_plan_as_graphs() {
    let sandbox = Sandbox::with(RELEASE);
    let tree = sandbox.run(&["plan", "tasks.csv", "--graph"]).ok();
    assert!(tree.contains("└─ ship  (also after audit)"), "{tree}");
    assert!(
        sandbox
            .run(&["plan", "tasks.csv", "--graph=mermaid"])
            .ok()
            .starts_with("flowchart TD\n")
    );
    assert!(
        sandbox
            .run(&["plan", "tasks.csv", "--graph=dot"])
            .ok()
            .contains("\"audit\" -> \"ship\";")
    );
}

#[test]
fn validate_says_so() {
    let sandbox = Sandbox::with(RELEASE);
    assert_eq!(
        sandbox.run(&["validate", "tasks.csv"]).ok(),
        "tasks.csv is valid: 3 tasks in 2 waves\n"
    );
    let bad = Sandbox::with("id,description\na,\n").run(&["validate", "tasks.csv", "--json"]);
    assert_eq!(bad.code, Some(2));
    let verdict: serde_json::Value = serde_json::from_str(&bad.out).expect("one JSON document");
    assert_eq!(verdict["problems"][0]["message"], "Empty description for task: a");
    assert_eq!(
        (&verdict["valid"], &verdict["problems"][0]["line"]),
        (&false.into(), &2.into())
    );
}

#[test]
fn warnings_stop_nothing_and_can_be_silenced() {
    let sandbox = Sandbox::with("id,description,wave\na,x,3\n");
    let said = sandbox.run(&["plan", "tasks.csv"]);
    assert!(said.err.contains("Wave of a is 3, computed 1"), "{}", said.err);
    assert_eq!(said.code, Some(0));
    assert_eq!(sandbox.run(&["plan", "tasks.csv", "-q"]).err, "");
}

#[test]
fn an_unknown_team_gets_a_suggestion() {
    let sandbox = Sandbox::with(RELEASE);
    sandbox
        .run(&["plan", "tasks.csv", "--team", "tsting"])
        .refused(&["there is no team `tsting`", "did you mean `testing`?"]);
}

#[test]
fn a_projects_own_team_is_found() {
    let sandbox = Sandbox::with("id,title,description,role,exec_mode\na,t,x,writer,csv-wave\n");
    let teams = sandbox.path(".wavecrew/teams");
    fs::create_dir_all(&teams).expect("a folder");
    let team = "name = \"docs\"\ntitle = \"Docs\"\nprefix = \"docs\"\n\n[[roles]]\nname = \"writer\"\nprefixes = [\"W\"]\n\
        access = \"read-only\"\ninstruction = \"Write.\"\n";
    fs::write(teams.join("docs.toml"), team).expect("a team");
    assert!(
        sandbox
            .run(&["plan", "tasks.csv", "--team", "docs"])
            .ok()
            .contains("(team docs)")
    );
    fs::write(teams.join("docs.toml"), team.replace("title", "titel")).expect("a team");
    let said = sandbox.run(&["plan", "tasks.csv", "--team", "docs"]);
    said.refused(&[".wavecrew/teams/docs.toml"]);
}

#[test]
fn another_folder_can_be_named() {
    let sandbox = Sandbox::with(RELEASE);
    let folder = sandbox.folder.path().to_str().expect("UTF-8").to_owned();
    let said = Sandbox::new().run(&["-C", &folder, "plan", "tasks.csv"]);
    assert!(said.ok().contains("3 tasks in 2 waves"));
    Sandbox::new()
        .run(&["-C", "nowhere", "plan", "tasks.csv"])
        .refused(&["cannot change to the folder nowhere"]);
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            Sandbox::new()
                .run(&["completions", shell])
                .ok()
                .contains("validate"),
            "{shell}"
        );
    }
}

#[test]
fn help_has_examples_and_bad_usage_is_refused() {
    assert!(
        Sandbox::new()
            .run(&["--help"])
            .ok()
            .contains("wavecrew plan tasks.csv")
    );
    assert!(
        Sandbox::new()
            .run(&["plan", "--help"])
            .ok()
            .contains("--graph=dot")
    );
    assert!(Sandbox::new().run(&["--version"]).ok().starts_with("wavecrew "));
    Sandbox::new().run(&["plan"]).refused(&["TASKS.csv"]);
    Sandbox::new().run(&["paln", "tasks.csv"]).refused(&["plan"]);
}

/// The example tables of the three built-in teams get the waves that are printed in them.
#[test]
fn example_tables_of_the_built_in_teams_have_their_printed_waves() {
    for (team, table, rows) in [
        ("testing", "testing", 6),
        ("testing", "testing-wave-engine", 3),
        ("lifecycle", "lifecycle", 13),
        ("planex", "planex", 4),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(format!("{table}.csv"));
        let path = path.to_str().expect("UTF-8");
        let said = Sandbox::new().run(&["plan", path, "--team", team, "--json"]);
        assert_eq!(said.err, "", "{table}: a wave that differs is a warning");
        let plan: serde_json::Value = serde_json::from_str(&said.ok()).expect("one JSON document");
        assert_eq!(plan["tasks"].as_array().map(Vec::len), Some(rows), "{table}");
    }
}

#[test]
fn the_example_tables_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/csv");
    let mut tables = 0;
    for entry in fs::read_dir(folder).expect("examples") {
        let path = entry.expect("an entry").path();
        Sandbox::new()
            .run(&["validate", path.to_str().expect("UTF-8")])
            .ok();
        tables += 1;
    }
    assert!(tables >= 2);
}
