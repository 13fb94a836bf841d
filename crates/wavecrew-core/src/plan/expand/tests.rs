use super::*;
use crate::plan::seal;
use crate::sheet::Origin;
use crate::team::{Expansion, Pipeline, Team};
use std::collections::BTreeMap;

/// The rows of a pipeline of a built-in team, as a plan.
fn plan_of(team: &Team, pipeline: &Pipeline) -> Plan {
    let (header, rows) = pipeline.to_csv_rows(team);
    let mut sheet = SheetBuilder::new(header);
    for (line, row) in (2..).zip(&rows) {
        sheet.row(line, row.iter().map(String::as_str));
    }
    seal(sheet.finish(), team).unwrap().0
}

fn lifecycle() -> (Team, Pipeline, Expansion) {
    let team = Team::builtin("lifecycle").unwrap();
    let pipeline = team.pipeline("impl-only").unwrap().for_request("undo");
    let expansion = team.expansion[0].clone();
    (team, pipeline, expansion)
}

/// `TASK-001: a/x b/y < TASK-002`: a task with its files and what it depends on.
fn tasks(text: &str) -> Vec<PlanTask> {
    let task = |line: &str| {
        let (id, rest) = line.split_once(':').unwrap();
        let (files, deps) = rest.split_once('<').unwrap_or((rest, ""));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        PlanTask {
            id: id.trim().to_owned(),
            title: format!("Title of {}", id.trim()),
            description: "Do it.".to_owned(),
            files: words(files),
            depends_on: words(deps),
            convergence_criteria: vec!["it works".into()],
        }
    };
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(task)
        .collect()
}

/// Ids with waves and dependencies, a line each.
fn shape(plan: &Plan) -> Vec<String> {
    let line = |task| {
        let deps: Vec<&str> = plan.deps(task).iter().map(|dep| plan.id(*dep)).collect();
        format!("{} {} {}", plan.wave(task), plan.id(task), deps.join(";"))
            .trim_end()
            .to_owned()
    };
    plan.tasks().map(line).collect()
}

fn expand(plan: &Plan, text: &str) -> Result<(Plan, Routing), String> {
    let (team, pipeline, expansion) = lifecycle();
    let template = pipeline.task("IMPL-001").unwrap();
    let expanded = per_plan_task(plan, &expansion, template, &tasks(text))?;
    let (plan, _) = seal(expanded.sheet, &team).map_err(|problems| format!("{problems:?}"))?;
    Ok((plan, expanded.what))
}

const LOW: &str = "TASK-001: src/a/x\nTASK-002: src/a/y src/b/z tests/t.py";
const MEDIUM: &str =
    "TASK-001: src/a/x\nTASK-002: src/b/y\nTASK-003: src/c/z ./src/a/x\nTASK-004: src/c/w < TASK-002";
const HIGH: &str = "TASK-001: src/a/x\nTASK-002: src/b/x\nTASK-003: src/c/x\nTASK-004: src/d/x src/e/x";

#[test]
fn plans_are_routed_by_their_modules() {
    let (team, pipeline, _) = lifecycle();
    let plan = plan_of(&team, &pipeline);
    let small = [
        "1 PLAN-001",
        "2 CHECKPOINT-003 PLAN-001",
        "3 IMPL-001 CHECKPOINT-003",
        "4 TEST-001 IMPL-001",
        "4 REVIEW-001 IMPL-001",
    ];
    let medium = [
        "1 PLAN-001",
        "2 CHECKPOINT-003 PLAN-001",
        "3 IMPL-001 CHECKPOINT-003",
        "3 IMPL-002 CHECKPOINT-003",
        "4 IMPL-003 CHECKPOINT-003;IMPL-001",
        "4 IMPL-004 CHECKPOINT-003;IMPL-002",
        "5 TEST-001 IMPL-001;IMPL-002;IMPL-003;IMPL-004",
        "5 REVIEW-001 IMPL-001;IMPL-002;IMPL-003;IMPL-004",
    ];
    let high = [
        "1 PLAN-001",
        "2 CHECKPOINT-003 PLAN-001",
        "3 DESIGN-001 CHECKPOINT-003",
        "4 IMPL-001 DESIGN-001",
        "4 IMPL-002 DESIGN-001",
        "4 IMPL-003 DESIGN-001",
        "4 IMPL-004 DESIGN-001",
        "5 TEST-001 IMPL-001;IMPL-002;IMPL-003;IMPL-004",
        "5 REVIEW-001 IMPL-001;IMPL-002;IMPL-003;IMPL-004",
    ];
    let cases: [(&str, &str, &[&str]); 3] = [
        (LOW, "Low", &small),
        (MEDIUM, "Medium", &medium),
        (HIGH, "High", &high),
    ];
    for (text, complexity, expected) in cases {
        let (expanded, routing) = expand(&plan, text).unwrap();
        assert_eq!(routing.complexity, complexity);
        assert_eq!(shape(&expanded), expected, "{complexity}");
        // A revised plan may be of any other size, and the same one changes nothing.
        for (other, _, rows) in cases {
            let (again, _) = expand(&expanded, other).unwrap();
            assert_eq!(shape(&again), rows, "after {complexity}");
        }
        let (same, _) = expand(&expanded, text).unwrap();
        assert!(
            expanded.sheet().diff(same.sheet(), &["wave"]).is_empty(),
            "{complexity}"
        );
    }
    let (expanded, _) = expand(&plan, LOW).unwrap();
    assert!(
        plan.sheet().diff(expanded.sheet(), &["wave"]).is_empty(),
        "a small plan changes nothing"
    );
}

#[test]
fn stand_ins_say_what_their_task_says() {
    let (team, pipeline, _) = lifecycle();
    let plan = plan_of(&team, &pipeline);
    let (expanded, _) = expand(&plan, HIGH).unwrap();
    let task = expanded.find("IMPL-002").unwrap();
    assert_eq!(expanded.title(task), "Title of TASK-002");
    assert_eq!(
        expanded.description(task),
        "Implement TASK-002 of the plan (plan/TASK-002.json), and nothing else: Do it. Files: src/b/x. Done when: it works."
    );
    assert_eq!(expanded.role(task), "executor");
    assert_eq!(expanded.cell(task, "pipeline_phase"), "implementation");
    assert_eq!(expanded.cell(task, "context_from"), "PLAN-001;DESIGN-001");
    let design = expanded.find("DESIGN-001").unwrap();
    assert_eq!(
        (expanded.role(design), expanded.cell(design, "pipeline_phase")),
        ("planner", "planning")
    );
    let (small, _) = expand(&expanded, LOW).unwrap();
    let task = small.find("IMPL-001").unwrap();
    assert_eq!(
        small.description(task),
        plan.description(plan.find("IMPL-001").unwrap())
    );
}

#[test]
fn overlaps_against_the_order_of_dependencies() {
    let (team, pipeline, _) = lifecycle();
    let plan = plan_of(&team, &pipeline);
    // The first depends on the third; the second shares files with both.
    let text = "TASK-001: src/a/x < TASK-003\nTASK-002: src/a/x src/b/x\nTASK-003: src/b/x src/c/x";
    let (expanded, _) = expand(&plan, text).unwrap();
    assert_eq!(
        shape(&expanded)[2..5],
        [
            "5 IMPL-001 CHECKPOINT-003;IMPL-002;IMPL-003",
            "3 IMPL-002 CHECKPOINT-003",
            "4 IMPL-003 CHECKPOINT-003;IMPL-002",
        ]
    );
}

#[test]
fn plans_that_cannot_be_followed() {
    let (team, pipeline, _) = lifecycle();
    let plan = plan_of(&team, &pipeline);
    for (text, expected) in [
        (
            "TASK-001: a\nTASK-001: b",
            "two tasks of the plan have the same id",
        ),
        (
            "TASK-001: a < TASK-009",
            "TASK-001 of the plan depends on TASK-009, which is not in it",
        ),
        (
            "TASK-001: a < TASK-002\nTASK-002: b < TASK-001\nTASK-003: c",
            "tasks of the plan wait for each other: TASK-001, TASK-002",
        ),
    ] {
        assert_eq!(expand(&plan, text).unwrap_err(), expected);
    }
}

#[test]
fn without_checkpoints() {
    let (team, pipeline, _) = lifecycle();
    let plan = plan_of(&team, &pipeline);
    let plan = plan.without_where(|task| plan.role(task) == "supervisor");
    let (expanded, _) = expand(&plan, HIGH).unwrap();
    assert_eq!(
        shape(&expanded)[1..3],
        ["2 DESIGN-001 PLAN-001", "3 IMPL-001 DESIGN-001"]
    );
}

#[test]
fn issues_that_touch_the_same_files_are_kept_apart() {
    let team = Team::builtin("planex").unwrap();
    let header = "id,title,description,role,issue_ids,exec_mode,deps,context_from";
    let row =
        |id: &str, role: &str, issue: &str, deps: &str| format!("{id},t,d,{role},{issue},csv-wave,{deps},");
    // The first issue depends on the third one.
    let text = [
        header.to_owned(),
        row("PLAN-001", "planner", "A", ""),
        row("PLAN-002", "planner", "B", ""),
        row("PLAN-003", "planner", "C", ""),
        row("EXEC-001", "executor", "A", "PLAN-001;EXEC-003"),
        row("EXEC-002", "executor", "B", "PLAN-002"),
        row("EXEC-003", "executor", "C", "PLAN-003"),
    ]
    .join("\n");
    let sheet = Sheet::read(text.as_bytes(), Origin::User).unwrap();
    let (plan, _) = seal(sheet, &team).unwrap();
    let files = |pairs: &[(&str, &[&str])]| -> BTreeMap<String, Vec<String>> {
        let owned = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
        pairs
            .iter()
            .map(|(issue, files)| ((*issue).to_owned(), owned(files)))
            .collect()
    };
    let none = per_issue(
        &plan,
        "issue_ids",
        "EXEC",
        &files(&[("A", &["a"]), ("B", &["b"]), ("C", &["c"])]),
    );
    assert!(none.what.is_empty());
    assert!(plan.sheet().diff(&none.sheet, &[]).is_empty());
    let all = files(&[("A", &["x", "y"]), ("B", &["./y", "z"]), ("C", &["z"])]);
    let found = per_issue(&plan, "issue_ids", "EXEC", &all);
    let conflict = |a: &str, b: &str, file: &str| Conflict {
        issues: [a.to_owned(), b.to_owned()],
        files: vec![file.to_owned()],
    };
    assert_eq!(found.what, [conflict("B", "C", "z"), conflict("B", "A", "y")]);
    let (apart, _) = seal(found.sheet, &team).unwrap();
    assert_eq!(
        shape(&apart)[3..],
        [
            "4 EXEC-001 PLAN-001;EXEC-003;EXEC-002",
            "2 EXEC-002 PLAN-002",
            "3 EXEC-003 PLAN-003;EXEC-002",
        ]
    );
    let again = per_issue(&apart, "issue_ids", "EXEC", &all);
    assert!(apart.sheet().diff(&again.sheet, &["wave"]).is_empty());
}
