//! `plan`, `validate` and `completions` through the program itself.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use wavecrew_test_support::sandbox::{Outcome, Sandbox, Words};

fn with_table(table: impl AsRef<[u8]>) -> Sandbox {
    Sandbox::new().file("tasks.csv", table)
}

/// Runs a command that must not write anything.
#[track_caller]
fn run(sandbox: &Sandbox, words: impl Words) -> Outcome {
    let listing = || {
        let entries = fs::read_dir(sandbox.project()).expect("the project");
        let mut names: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        names.sort();
        names
    };
    let before = listing();
    let outcome = sandbox.wavecrew(words);
    assert_eq!(listing(), before, "it wrote something");
    outcome
}

#[track_caller]
fn refused(table: impl AsRef<[u8]>, texts: &[&str]) {
    let sandbox = with_table(table);
    run(&sandbox, "plan tasks.csv").expect_error(2, texts);
    run(&sandbox, "validate tasks.csv").expect_error(2, texts);
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
    let sandbox = with_table(table);
    let outcome = run(&sandbox, "plan tasks.csv");
    outcome.expect_error(2, &["Field 2 is longer than 8 MiB", "tasks.csv:2"]);
    assert!(outcome.stderr.len() < 2000, "the whole field was printed");
}

#[test]
fn invalid_task_ids() {
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
    run(&sandbox, "plan tasks.csv").expect_error(2, &["tasks.csv is a directory"]);
}

#[test]
fn missing_table() {
    run(&Sandbox::new(), "plan tasks.csv")
        .expect_error(2, &["tasks.csv cannot be read: No such file or directory"]);
}

#[cfg(unix)]
#[test]
fn unreadable_table() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = with_table("id,description\na,x\n");
    let path = sandbox.path("tasks.csv");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).expect("own file");
    if fs::read(&path).is_ok() {
        // The superuser reads everything; a link to itself is what even they cannot read.
        fs::remove_file(&path).expect("own file");
        std::os::unix::fs::symlink("tasks.csv", &path).expect("a link");
    }
    run(&sandbox, "plan tasks.csv").expect_error(2, &["tasks.csv cannot be read: "]);
}

#[test]
fn every_problem_is_shown_at_once_with_its_text_marked() {
    let sandbox = with_table("id,description,deps,exec_mode\nA-1,x,,now\nB-1,,A-9,\n");
    let outcome = run(&sandbox, "validate tasks.csv");
    outcome.expect_error(2, &["did you mean `A-1`?", "3 problems in tasks.csv"]);
    insta::assert_snapshot!(outcome.stderr);
}

#[test]
fn a_long_list_of_problems_is_cut() {
    let rows = (0..80).fold(String::new(), |rows, n| format!("{rows}t{n},\n"));
    let outcome = run(&with_table(format!("id,description\n{rows}")), "plan tasks.csv");
    outcome.expect_error(2, &["Empty description for task: t49", "and 30 more"]);
    assert!(!outcome.stderr.contains("task: t50"));
}

#[test]
fn escape_sequences_never_reach_the_terminal() {
    let sandbox = with_table("id,title,description,deps\na,\x1b[2Jwiped,x,\nb,t,x,\x1b]0;pwned\x07\n");
    let outcome = run(&sandbox, "plan tasks.csv");
    outcome.expect_error(2, &["Unknown dependency: "]);
    assert!(!outcome.stderr.contains('\x1b'), "{:?}", outcome.stderr);
    let plan = run(
        &with_table("id,title,description\na,\x1b[2Jwiped,x\n"),
        "plan tasks.csv",
    )
    .ok();
    assert!(plan.contains("wiped") && !plan.contains('\x1b'), "{plan:?}");
}

const RELEASE: &str = "id,title,description,role,deps,exec_mode\n\
    notes,Release notes,Write them,writer,,\n\
    audit,一份很长的标题一份很长的标题一份很长的标题一份很长的标题,Look for advisories,reviewer,,interactive\n\
    ship,,\"Ship it\nall\",builder,notes; audit,\n";

#[test]
fn the_plan_is_a_table_by_wave() {
    let sandbox = with_table(RELEASE);
    insta::assert_snapshot!(run(&sandbox, "plan tasks.csv").ok());
}

#[test]
fn the_plan_as_json() {
    let sandbox = with_table(RELEASE);
    let plan = run(&sandbox, "plan tasks.csv --json").json();
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
    let sandbox = with_table(RELEASE);
    let tree = run(&sandbox, "plan tasks.csv --graph").ok();
    assert!(tree.contains("└─ ship  (also after audit)"), "{tree}");
    assert!(
        run(&sandbox, "plan tasks.csv --graph=mermaid")
            .ok()
            .starts_with("flowchart TD\n")
    );
    assert!(
        run(&sandbox, "plan tasks.csv --graph=dot")
            .ok()
            .contains("\"audit\" -> \"ship\";")
    );
}

#[test]
fn validate_reports_valid_and_invalid_tables() {
    let sandbox = with_table(RELEASE);
    assert_eq!(
        run(&sandbox, "validate tasks.csv").ok(),
        "tasks.csv is valid: 3 tasks in 2 waves\n"
    );
    let bad = run(&with_table("id,description\na,\n"), "validate tasks.csv --json");
    assert_eq!(bad.code, Some(2));
    let verdict: Value = serde_json::from_str(&bad.stdout).expect("one JSON document");
    assert_eq!(verdict["problems"][0]["message"], "Empty description for task: a");
    assert_eq!(
        (&verdict["valid"], &verdict["problems"][0]["line"]),
        (&false.into(), &2.into())
    );
}

#[test]
fn warnings_do_not_fail_and_can_be_silenced() {
    let sandbox = with_table("id,description,wave\na,x,3\n");
    let outcome = run(&sandbox, "plan tasks.csv");
    assert!(
        outcome.stderr.contains("Wave of a is 3, computed 1"),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.code, Some(0));
    assert_eq!(run(&sandbox, "plan tasks.csv -q").stderr, "");
}

#[test]
fn an_unknown_team_gets_a_suggestion() {
    let sandbox = with_table(RELEASE);
    run(&sandbox, "plan tasks.csv --team tsting")
        .expect_error(2, &["there is no team `tsting`", "did you mean `testing`?"]);
}

#[test]
fn a_projects_own_team_is_found() {
    let sandbox = with_table("id,title,description,role,exec_mode\na,t,x,writer,csv-wave\n");
    let team = "name = \"docs\"\ntitle = \"Docs\"\nprefix = \"docs\"\n\n[[roles]]\nname = \"writer\"\nprefixes = [\"W\"]\n\
        access = \"read-only\"\ninstruction = \"Write.\"\n";
    sandbox.write(".wavecrew/teams/docs.toml", team);
    assert!(
        run(&sandbox, "plan tasks.csv --team docs")
            .ok()
            .contains("(team docs)")
    );
    sandbox.write(".wavecrew/teams/docs.toml", team.replace("title", "titel"));
    let outcome = run(&sandbox, "plan tasks.csv --team docs");
    outcome.expect_error(2, &[".wavecrew/teams/docs.toml"]);
}

#[test]
fn another_folder_can_be_named() {
    let sandbox = with_table(RELEASE);
    let folder = sandbox.project().to_str().expect("UTF-8").to_owned();
    let outcome = run(&Sandbox::new(), &["-C", &folder, "plan", "tasks.csv"]);
    assert!(outcome.ok().contains("3 tasks in 2 waves"));
    run(&Sandbox::new(), "-C nowhere plan tasks.csv")
        .expect_error(2, &["cannot change to the folder nowhere"]);
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            run(&Sandbox::new(), &["completions", shell])
                .ok()
                .contains("validate"),
            "{shell}"
        );
    }
}

#[test]
fn help_has_examples_and_bad_usage_is_refused() {
    assert!(
        run(&Sandbox::new(), "--help")
            .ok()
            .contains("wavecrew plan tasks.csv")
    );
    assert!(run(&Sandbox::new(), "plan --help").ok().contains("--graph=dot"));
    assert!(run(&Sandbox::new(), "--version").ok().starts_with("wavecrew "));
    run(&Sandbox::new(), "plan").expect_error(2, &["TASKS.csv"]);
    run(&Sandbox::new(), "paln tasks.csv").expect_error(2, &["plan"]);
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
        let outcome = run(&Sandbox::new(), &["plan", path, "--team", team, "--json"]);
        assert_eq!(outcome.stderr, "", "{table}: a wave that differs is a warning");
        let plan: Value = serde_json::from_str(&outcome.ok()).expect("one JSON document");
        assert_eq!(plan["tasks"].as_array().map(Vec::len), Some(rows), "{table}");
    }
}

/// A table of a session, whose interactive task is completed: its result file has to be beside the table.
#[test]
fn a_lost_result_of_an_interactive_task_is_refused() {
    let sandbox = with_table(
        "id,title,description,role,pipeline_phase,deps,context_from,exec_mode,status\n\
         CHECKPOINT-001,t,d,supervisor,checkpoint,,,interactive,completed\n\
         DRAFT-001,t,d,writer,product-brief,CHECKPOINT-001,,csv-wave,pending\n",
    );
    let words = "validate tasks.csv --team lifecycle";
    let message = "Cross-mechanism dependency unresolvable: CHECKPOINT-001";
    run(&sandbox, words).expect_error(2, &[message, "restore interactive/CHECKPOINT-001-result.json"]);
    sandbox.write("interactive/CHECKPOINT-001-result.json", "{}");
    run(&sandbox, words).ok();
}

#[test]
fn the_example_tables_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/csv");
    let mut tables = 0;
    for entry in fs::read_dir(folder).expect("examples") {
        let path = entry.expect("an entry").path();
        run(&Sandbox::new(), &["validate", path.to_str().expect("UTF-8")]).ok();
        tables += 1;
    }
    assert!(tables >= 2);
}
