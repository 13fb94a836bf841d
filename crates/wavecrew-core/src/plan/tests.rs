//! Plans: every rule by name, waves, cycles, removal.

use super::*;
use crate::sheet::Origin;
use crate::team::Team;
use proptest::prelude::*;
use std::borrow::Cow;

fn team(name: &str) -> Team {
    Team::builtin(name).expect("a built-in team")
}

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

fn sealed(text: &str, team: &Team) -> Result<(Plan, Vec<Warning>), Vec<Problem>> {
    seal(Sheet::read(text.as_bytes(), Origin::User)?, team)
}

fn plan(text: &str) -> Plan {
    sealed(text, &team("generic")).expect("a good plan").0
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

fn ids<'a>(plan: &'a Plan, tasks: &[TaskIx]) -> Vec<&'a str> {
    tasks.iter().map(|t| plan.id(*t)).collect()
}

fn waves(plan: &Plan) -> Vec<Vec<&str>> {
    (1..=plan.waves())
        .map(|w| ids(plan, plan.wave_tasks(w)))
        .collect()
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
    let found = unresolvable(&plan, &strict(), |_| false);
    let found: Vec<_> = found.iter().map(|p| (p.line, p.message.as_str())).collect();
    assert_eq!(found, [(2, "Cross-mechanism dependency unresolvable: PLAN-1")]);
    assert_eq!(unresolvable(&plan, &strict(), |id| id == "PLAN-1"), []);
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
fn waves_are_dependency_depths_in_row_order() {
    let plan = plan("id,description,deps\nd,x,b;c\nb,x,a\nc,x, a ;a;\na,x,\ne,x,\n");
    assert_eq!(waves(&plan), [vec!["a", "e"], vec!["b", "c"], vec!["d"]]);
    let c = plan.find("c").expect("c");
    assert_eq!(ids(&plan, plan.deps(c)), ["a"]);
    assert_eq!(ids(&plan, plan.dependents(plan.deps(c)[0])), ["b", "c"]);
    assert_eq!(
        (plan.find("zz"), plan.wave_tasks(0), plan.wave_tasks(9)),
        (None, &[][..], &[][..])
    );
}

#[test]
fn a_chain_of_a_million_tasks_has_a_million_waves() {
    // Backwards, so that every task waits for the next row.
    let mut text = String::from("id,description,deps\n");
    for n in 0..1_000_000 {
        let next = if n == 999_999 {
            String::new()
        } else {
            format!("t{}", n + 1)
        };
        text += &format!("t{n},x,{next}\n");
    }
    let plan = plan(&text);
    assert_eq!(plan.waves(), 1_000_000);
    assert_eq!(ids(&plan, plan.wave_tasks(1)), ["t999999"]);
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

#[test]
fn a_table_gets_the_columns_it_lacks_and_keeps_its_own_in_place() {
    let plan = plan("id,colour,description,deps,cost\na,red,x,,3\n");
    assert_eq!(
        plan.header().join(","),
        "id,colour,title,description,role,deps,cost,context_from,exec_mode,wave,status,findings,error"
    );
    let mut out = Vec::new();
    plan.render(&mut out, |_, column| {
        (column == "findings").then_some(Cow::Borrowed("=found"))
    })
    .expect("memory");
    let text = String::from_utf8(out).expect("UTF-8");
    let row = r#""a","red","a","x","","","3","","csv-wave","1","pending","'=found","""#;
    assert_eq!(text.lines().nth(1), Some(row));
    let again = Sheet::read(text.as_bytes(), Origin::Session).expect("our own table");
    let (again, _) = seal(again, &team("generic")).expect("our own plan");
    assert_eq!(again.header(), plan.header());
}

#[test]
fn a_wave_table_has_its_rows_and_one_more_column() {
    let plan = plan("id,description,deps\na,x,\nb,y,a\n");
    let mut out = Vec::new();
    let context = |task: TaskIx, column: &str| {
        (column == "prev_context").then(|| Cow::Owned(format!("before {}", plan.id(task))))
    };
    plan.render_rows(&mut out, plan.wave_tasks(2), "prev_context", context)
        .expect("memory");
    let text = String::from_utf8(out).expect("UTF-8");
    assert_eq!(text.lines().count(), 2);
    assert!(
        text.starts_with("id,title,") && text.contains(",error,prev_context\n\"b\","),
        "{text}"
    );
    assert!(text.ends_with(",\"before b\"\n"), "{text}");
}

#[test]
fn dependents_inherit_what_a_removed_task_waited_for() {
    let plan =
        plan("id,description,deps,context_from\na,x,,\nc1,x,a,a\nc2,x,c1,a\nb,x,c2,a;c1;c2\nz,x,b;c2,b\n");
    let less = plan.without_where(|t| plan.id(t).starts_with('c'));
    assert_eq!(waves(&less), [vec!["a"], vec!["b"], vec!["z"]]);
    let cells = |id| {
        less.find(id)
            .map(|t| (less.cell(t, "deps"), less.cell(t, "context_from")))
    };
    assert_eq!(cells("b"), Some(("a", "a")));
    assert_eq!(cells("z"), Some(("b;a", "b")));
    assert_eq!(less.find("c1"), None);
}

#[test]
fn a_source_of_context_stays_before_its_reader() {
    // Without `gate` nothing would keep `reader` behind `source`.
    let plan = plan(
        "id,description,deps,context_from\na,x,,\nsource,x,a,\nb,x,a,\ngate,x,b,\nreader,x,gate,source\n",
    );
    let less = plan.without_where(|t| matches!(plan.id(t), "gate" | "b"));
    assert_eq!(waves(&less), [vec!["a"], vec!["source"], vec!["reader"]]);
    assert_eq!(less.cell(less.find("reader").expect("kept"), "deps"), "a;source");
}

#[test]
fn graphs_show_every_task_and_edge() {
    let plan = plan("id,title,description,deps\na,\"say \"\"hi\"\" <b>\",x,\nb,,x,a\nc,,x,a\nd,,x,b;c\n");
    let text = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut out = Vec::new();
        write(&mut out).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    };
    insta::assert_snapshot!(text(&|out| tree(&plan, out, |t| plan.id(t).to_owned())), @r"
    a
    ├─ b
    │  └─ d  (also after c)
    └─ c
    ");
    insta::assert_snapshot!(text(&|out| mermaid(&plan, out, Detail::IdAndTitle)));
    insta::assert_snapshot!(text(&|out| dot(&plan, out, Detail::IdAndTitle)));
}

/// Plans whose rows name only rows before them, shuffled.
fn any_plan() -> impl Strategy<Value = (Plan, Vec<bool>)> {
    let edges = proptest::collection::vec(
        proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        1..20,
    );
    edges.prop_flat_map(|edges| {
        let len = edges.len();
        let order = Just((0..len).collect::<Vec<_>>()).prop_shuffle();
        (Just(edges), order, proptest::collection::vec(any::<bool>(), len)).prop_map(
            |(edges, order, removed)| {
                let mut text = String::from("id,description,deps,context_from\n");
                for n in order {
                    let deps: Vec<String> = match n {
                        0 => Vec::new(),
                        n => edges[n].iter().map(|e| format!("t{}", e.index(n))).collect(),
                    };
                    text += &format!("t{n},x,{0},{0}\n", deps.join(";"));
                }
                (plan(&text), removed)
            },
        )
    })
}

/// All tasks that must be done before a task.
fn before(plan: &Plan, task: TaskIx) -> std::collections::BTreeSet<String> {
    let mut open = plan.deps(task).to_vec();
    let mut found = std::collections::BTreeSet::new();
    while let Some(dep) = open.pop() {
        if found.insert(plan.id(dep).to_owned()) {
            open.extend(plan.deps(dep));
        }
    }
    found
}

proptest! {
    #[test]
    fn every_task_runs_right_after_its_last_dependency((plan, _) in any_plan()) {
        for task in plan.tasks() {
            let last = plan.deps(task).iter().map(|d| plan.wave(*d)).max().unwrap_or(0);
            prop_assert_eq!(plan.wave(task), last + 1);
            prop_assert!(plan.wave_tasks(plan.wave(task)).contains(&task));
        }
    }

    #[test]
    fn removal_keeps_the_order_of_what_is_left((plan, removed) in any_plan()) {
        let less = plan.without_where(|t| removed[t.index()]);
        for task in less.tasks() {
            let id = less.id(task);
            let old = plan.find(id).expect("kept tasks were there");
            let mut expected = before(&plan, old);
            expected.retain(|id| less.find(id).is_some());
            prop_assert_eq!(before(&less, task), expected);
        }
        // What is written is what is planned.
        if !less.is_empty() {
            let mut out = Vec::new();
            less.render(&mut out, |_, _| None).expect("memory");
            let again = Sheet::read(out.as_slice(), Origin::Session).expect("our own table");
            let (again, warnings) = seal(again, &team("generic")).expect("our own plan");
            prop_assert_eq!(waves(&again), waves(&less));
            prop_assert!(warnings.is_empty());
        }
    }
}
