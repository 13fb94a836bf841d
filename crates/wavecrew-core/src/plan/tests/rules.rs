//! What is refused or warned about: every rule by name, all problems at once.

use super::*;

/// A team with one of each rule, so that rules are tested apart from the built-in teams' content.
fn strict() -> Team {
    let text = r#"
name = "strict"
title = "Strict"
prefix = "str"

[[columns]]
name = "layer"
kind = "input"
type = "enum"
values = ["L1", "L2", "L3"]
checks = [{ kind = "one-of", allow_empty = true, message = "Invalid layer: {value}" }]

[[columns]]
name = "coverage_target"
kind = "input"
checks = [{ kind = "numeric", when = "layer", message = "Invalid coverage target: {value}" }]

[[columns]]
name = "issue_ids"
kind = "input"
required = true
checks = [{ kind = "non-empty", message = "No issue_ids for task: {id}" }]

[[rules]]
kind = "pair"
prefix = "EXEC"
needs = "PLAN"
message = "EXEC task without PLAN dependency: {id}"

[[rules]]
kind = "interactive-result"
message = "Cross-mechanism dependency unresolvable: {id}"

[[roles]]
name = "planner"
prefixes = ["PLAN"]
access = "read-only"
instruction = "Plan."

[[roles]]
name = "executor"
prefixes = ["EXEC"]
access = "read-only"
instruction = "Do it."
"#;
    Team::parse("strict.toml", text).expect("a good team")
}

/// All problems as `line: message`.
fn problems(text: &str, team: &Team) -> Vec<String> {
    let problems = sealed(text, team).expect_err("a bad plan");
    problems
        .iter()
        .map(|p| format!("{}: {}", p.line, p.message))
        .collect()
}

fn generic(text: &str) -> Vec<String> {
    problems(text, &team("generic"))
}

#[test]
fn duplicate_ids_are_refused() {
    assert_eq!(
        generic("id,description\na,x\nb,x\na,y\n"),
        ["4: Duplicate task ID: a"]
    );
}

#[test]
fn unknown_dependencies_are_refused_with_a_suggestion() {
    let found =
        sealed("id,description,deps\nA-1,x,\nB-2,x,A-1; A-9\n", &team("generic")).expect_err("unknown");
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].line, found[0].message.as_str()),
        (3, "Unknown dependency: A-9")
    );
    assert_eq!(
        (found[0].column.as_deref(), found[0].text.as_str()),
        (Some("deps"), "A-9")
    );
    assert_eq!(found[0].help.as_deref(), Some("did you mean `A-1`?"));
}

#[test]
fn self_dependencies_are_refused() {
    assert_eq!(generic("id,description,deps\na,x,a\n"), ["2: Self-dependency: a"]);
}

#[test]
fn cycles_name_their_own_tasks_only() {
    let text = "id,description,deps\nroot,x,\na,x,root;c\nb,x,a\nc,x,b\nbehind,x,c\nfar,x,behind\n";
    assert_eq!(
        generic(text),
        ["3: Circular dependency detected involving: a, b, c"]
    );
}

#[test]
fn every_cycle_is_named() {
    let text = "id,description,deps\na,x,b\nb,x,a\nc,x,a;d\nd,x,c\n";
    let expected = [
        "2: Circular dependency detected involving: a, b",
        "4: Circular dependency detected involving: c, d",
    ];
    assert_eq!(generic(text), expected);
}

#[test]
fn a_cycle_shows_the_way_round() {
    let found = sealed("id,description,deps\na,x,b\nb,x,c\nc,x,a\n", &team("generic")).expect_err("a cycle");
    assert_eq!(
        found[0].help.as_deref(),
        Some("each waits for the next: a -> b -> c -> a")
    );
}

#[test]
fn context_comes_from_known_tasks_of_earlier_waves() {
    let text = "id,description,deps,context_from\na,x,,b\nb,x,,\nc,x,a,a;b\nd,x,,d\ne,x,a,nobody\n";
    let expected = [
        "2: Invalid context_from: b",
        "5: Invalid context_from: d",
        "6: Invalid context_from: nobody",
    ];
    assert_eq!(generic(text), expected);
}

#[test]
fn exec_mode_is_one_of_two_or_empty() {
    assert_eq!(
        generic("id,description,exec_mode\na,x,batch\n"),
        ["2: Invalid exec_mode: batch"]
    );
    let plan = plan("id,description,exec_mode\na,x,\nb,x,interactive\nc,x,csv-wave\n");
    let modes: Vec<ExecMode> = plan.tasks().map(|t| plan.mode(t)).collect();
    assert_eq!(
        modes,
        [ExecMode::CsvWave, ExecMode::Interactive, ExecMode::CsvWave]
    );
}

#[test]
fn descriptions_are_never_empty() {
    assert_eq!(
        generic("id,description\na,\nb,\" \n\"\n"),
        [
            "2: Empty description for task: a",
            "3: Empty description for task: b"
        ]
    );
}

#[test]
fn status_is_one_of_four_or_empty() {
    assert_eq!(
        generic("id,description,status\na,x,done\n"),
        ["2: Invalid status: done"]
    );
    assert_eq!(
        plan("id,description,status\na,x,\nb,x,pending\nc,x,completed\nd,x,failed\ne,x,skipped\n").len(),
        5
    );
}

#[test]
fn ids_that_are_no_file_names_are_refused() {
    let expected = [
        "2: Invalid task ID: ../../etc/passwd",
        "3: Invalid task ID: a/b",
        "4: Invalid task ID: CON",
        "5: Invalid task ID: a\\nb",
        "7: Invalid task ID: ",
    ];
    assert_eq!(
        generic("id,description\n../../etc/passwd,x\na/b,x\nCON,x\n\"a\nb\",x\n,x\n"),
        expected
    );
}

#[test]
fn missing_columns_are_refused_with_a_suggestion() {
    let found = sealed("id,descripton\na,x\n", &team("generic")).expect_err("missing");
    assert_eq!(
        (found[0].line, found[0].message.as_str()),
        (1, "Missing column: description")
    );
    assert_eq!(found[0].text, "descripton");
    assert_eq!(
        generic("title,x\na,b\n"),
        ["1: Missing column: id", "1: Missing column: description"]
    );
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    let text = "id,description,deps,exec_mode,status\na,x,zz,now,pending\nb,,a,,what\na,x,a,,\n";
    assert_eq!(
        generic(text),
        [
            "2: Invalid exec_mode: now",
            "2: Unknown dependency: zz",
            "3: Empty description for task: b",
            "3: Invalid status: what",
            "4: Duplicate task ID: a",
        ]
    );
}

const STRICT: &str = "id,title,description,role,layer,coverage_target,issue_ids,deps,exec_mode\n";

fn strict_problems(rows: &str) -> Vec<String> {
    problems(&format!("{STRICT}{rows}"), &strict())
}

#[test]
fn roles_are_the_teams() {
    assert_eq!(
        strict_problems("A,t,d,planer,,,i,,csv-wave\nB,t,d,,,,i,,csv-wave\n"),
        ["2: Invalid role: planer", "3: Invalid role: "]
    );
}

#[test]
fn enums_are_the_teams() {
    assert_eq!(
        strict_problems("PLAN-1,t,d,planner,L4,80,i,,csv-wave\n"),
        ["2: Invalid layer: L4"]
    );
}

#[test]
fn numbers_are_asked_for_where_the_other_column_is_filled() {
    let rows = "PLAN-1,t,d,planner,L1,lots,i,,csv-wave\nPLAN-2,t,d,planner,,,i,,csv-wave\nPLAN-3,t,d,planner,L1,,i,,csv-wave\n";
    assert_eq!(
        strict_problems(rows),
        ["2: Invalid coverage target: lots", "4: Invalid coverage target: "]
    );
}

#[test]
fn filled_columns_are_asked_for() {
    assert_eq!(
        strict_problems("PLAN-1,t,d,planner,,,; ;,,csv-wave\n"),
        ["2: No issue_ids for task: PLAN-1"]
    );
}

#[test]
fn followers_depend_on_their_leaders() {
    let rows = "PLAN-1,t,d,planner,,,i,,csv-wave\nPLAN-2,t,d,planner,,,i,,csv-wave\n\
        EXEC-1,t,d,executor,,,i,PLAN-1,csv-wave\nEXEC-2,t,d,executor,,,i,PLAN-1,csv-wave\n";
    assert_eq!(
        strict_problems(rows),
        ["5: EXEC task without PLAN dependency: EXEC-2"]
    );
}

#[test]
fn a_lost_result_of_an_interactive_task_is_a_problem() {
    let text = "id,title,description,role,issue_ids,deps,exec_mode,status\nPLAN-1,t,d,planner,i,,interactive,completed\n\
        PLAN-2,t,d,planner,i,,interactive,completed\nEXEC-1,t,d,executor,i,PLAN-1,csv-wave,pending\n";
    let (plan, _) = sealed(text, &strict()).expect("a good plan");
    let found = unresolvable_deps(&plan, &strict(), |_| false);
    let found: Vec<_> = found.iter().map(|p| (p.line, p.message.as_str())).collect();
    assert_eq!(found, [(2, "Cross-mechanism dependency unresolvable: PLAN-1")]);
    assert_eq!(unresolvable_deps(&plan, &strict(), |id| id == "PLAN-1"), []);
}

#[test]
fn another_roles_prefix_and_a_wrong_wave_are_warnings() {
    let text = "id,title,description,role,issue_ids,deps,exec_mode,wave\nPLAN-1,t,d,planner,i,,csv-wave,1\n\
        PLAN-2,t,d,executor,i,PLAN-1,csv-wave,7\n";
    let (plan, warnings) = sealed(text, &strict()).expect("warnings stop nothing");
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "ID PLAN-2 has the prefix of role planner, its role is executor",
            "Wave of PLAN-2 is 7, computed 2"
        ]
    );
    assert_eq!(plan.waves(), 2);
}

#[test]
fn a_cycle_of_many_tasks_is_found_without_recursion() {
    let mut text = String::from("id,description,deps\n");
    for n in 0..200_000 {
        text += &format!("t{n},x,t{}\n", (n + 1) % 200_000);
    }
    let found = generic(&text);
    assert_eq!(found.len(), 1);
    assert!(found[0].ends_with("… and 199950 more"), "{}", found[0]);
}
