//! Documents that are not what they have to be: sent back with the list, in the same conversation, then failed.

use crate::lifecycle::team_sandbox::{TeamSandbox, example};

/// Does what the example's agent does.
fn good() -> String {
    format!("exec {}", example("lifecycle/agent.sh").display())
}

#[test]
fn missing_parts_are_listed_and_sent_back() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.worker(
        "DRAFT-002.1.1",
        r#"printf '# R\n## Functional requirements\n- FR-001 (Must) keep tags\n' > "$session/spec/requirements.md"; report done"#,
    )
    .worker("DRAFT-002.1.2", &good());
    sandbox.run_pipeline("spec-only --no-supervision").expect_exit(0);
    assert_eq!(sandbox.turns("DRAFT-002"), 2);
    let prompt = sandbox.prompt("DRAFT-002.1.2");
    for missing in [
        "`spec/requirements.md` has no heading `User stories`",
        "`spec/requirements.md` has no acceptance criteria for FR-001",
    ] {
        assert!(prompt.contains(missing), "{missing:?} is not in\n{prompt}");
    }
}

#[test]
fn documents_that_stay_wrong_fail() {
    for (script, error) in [
        (
            r#": > "$session/spec/product-brief.md"; report done"#,
            "`spec/product-brief.md` is empty",
        ),
        (
            "report 'done in the project'",
            "`spec/product-brief.md` is missing; found",
        ),
        (
            "report done",
            "`spec/product-brief.md` is missing: write it into the session folder",
        ),
    ] {
        let sandbox = TeamSandbox::lifecycle();
        sandbox.worker("DRAFT-001", script);
        if script.contains("in the project") {
            sandbox.write("product-brief.md", "text");
        }
        sandbox.run_pipeline("spec-only --no-supervision").expect_exit(1);
        sandbox.expect_cell("DRAFT-001", "error", error);
        assert_eq!(sandbox.turns("DRAFT-001"), 3, "sent back twice");
        assert_eq!(sandbox.cell("DRAFT-002", "status"), "skipped");
    }
}

#[test]
fn an_invalid_score_is_sent_back() {
    for (score, reason) in [
        ("", "the report needs `score`, a number from 0 to 1, and has none"),
        (r#""score":7"#, "`score` is `7`, but must be a number from 0 to 1"),
    ] {
        let sandbox = TeamSandbox::lifecycle();
        sandbox.score("CHECKPOINT-001", score);
        sandbox.run_pipeline("spec-only").expect_exit(1);
        assert_eq!(sandbox.turns("CHECKPOINT-001"), 3, "sent back twice");
        sandbox.expect_cell("CHECKPOINT-001", "error", reason);
        assert_eq!(sandbox.cell("DRAFT-003", "status"), "skipped");
    }
}

#[test]
fn an_invalid_plan_goes_back_to_its_planner() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.worker(
        "PLAN-001.1.1",
        r#"for n in 1 2; do
printf '{"id":"TASK-00%s","title":"t","description":"d","files":["a"],"depends_on":["TASK-009"],"convergence_criteria":["x"]}' $n > "$session/plan/TASK-00$n.json"
done
echo '{"complexity":"Low","tasks":["TASK-001","TASK-002"]}' > "$session/plan/plan.json"
report planned"#,
    )
    .worker("PLAN-001.1.2", &good());
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(0);
    sandbox.expect_prompt(
        "PLAN-001.1.2",
        &["TASK-001 of the plan depends on TASK-009, which is not in it"],
    );
    assert_eq!(sandbox.cell("PLAN-001", "status"), "completed");
}

#[test]
fn a_new_plan_replaces_the_rows_of_the_old_one() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.score("CHECKPOINT-003.1", r#""score":0.2"#);
    // Three files are there from before; the second plan has two tasks in one module.
    let plan = r#"for n in 1 2; do
printf '{"id":"TASK-00%s","title":"t","description":"Keep the tags of part %s in the store","files":["app/store/tags%s.py"],"depends_on":[],"convergence_criteria":["make test passes"]}' $n $n $n > "$session/plan/TASK-00$n.json"
done
echo '{"complexity":"Low","tasks":["TASK-001","TASK-002"]}' > "$session/plan/plan.json"
report planned"#;
    sandbox.worker("PLAN-001.2.1", plan).worker(
        "PLAN-001.2.2",
        &format!("rm \"$session/plan/TASK-003.json\"\n{plan}"),
    );
    sandbox.run_pipeline("impl-only").expect_exit(0);
    sandbox.expect_prompt(
        "PLAN-001.2.2",
        &["task `TASK-003` has a file, but `plan/plan.json` does not list it"],
    );
    assert_eq!(
        sandbox.statuses(),
        "PLAN-001 completed, CHECKPOINT-003 completed, IMPL-001 completed, TEST-001 completed, REVIEW-001 completed"
    );
    assert_eq!(sandbox.cell("TEST-001", "deps"), "IMPL-001");
}

#[test]
fn a_plan_that_stays_invalid_fails() {
    let sandbox = TeamSandbox::lifecycle();
    let circle = format!(
        "{}\nexit 0",
        r#"for n in 1 2; do
printf '{"id":"TASK-00%s","title":"t","description":"Keep the tags of part %s","files":["a"],"depends_on":["TASK-00%s"],"convergence_criteria":["make test passes"]}' $n $n $((3 - n)) > "$session/plan/TASK-00$n.json"
done
echo '{"complexity":"Low","tasks":["TASK-001","TASK-002"]}' > "$session/plan/plan.json"
report planned"#
    );
    sandbox.worker("PLAN-001", &circle);
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(1);
    assert_eq!(
        sandbox.cell("PLAN-001", "error"),
        "tasks of the plan wait for each other: TASK-001, TASK-002"
    );
    assert_eq!(sandbox.turns("PLAN-001"), 3, "sent back twice");
    sandbox.worker(
        "PLAN-001",
        &circle.replace(r#""files":["a"]"#, r#""files":["../../etc/passwd"]"#),
    );
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(1);
    sandbox.expect_cell("PLAN-001", "error", "relative to the project's root");
}
