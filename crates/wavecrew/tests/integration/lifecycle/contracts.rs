//! Documents that are not what they have to be: sent back with the list, in the same conversation, then failed.

use crate::lifecycle::lab::Lab;

const GOOD: &str = "exec EXAMPLE";

fn good() -> String {
    GOOD.replace(
        "EXAMPLE",
        crate::example_files::examples()
            .join("lifecycle/agent.sh")
            .to_str()
            .unwrap(),
    )
}

#[test]
fn a_missing_part_is_sent_back_with_the_list() {
    let lab = Lab::new();
    lab.answer(
        "DRAFT-002.1.1",
        r#"printf '# R\n## Functional requirements\n- FR-001 (Must) keep tags\n' > "$session/spec/requirements.md"; report done"#,
    )
    .answer("DRAFT-002.1.2", &good());
    lab.run("spec-only", &["--no-supervision"]).exits(0);
    assert_eq!(lab.ran("DRAFT-002"), 2);
    let told = lab.prompt("DRAFT-002.1.2");
    for missing in [
        "`spec/requirements.md` has no heading `User stories`",
        "`spec/requirements.md` has no acceptance criteria for FR-001",
    ] {
        assert!(told.contains(missing), "{missing:?} is not in\n{told}");
    }
}

#[test]
fn what_stays_wrong_fails() {
    for (script, error) in [
        (
            r#": > "$session/spec/product-brief.md"; report done"#,
            "`spec/product-brief.md` is empty",
        ),
        (
            r#"echo text > "$session/product-brief.md"; report done"#,
            "`spec/product-brief.md` is missing, and there is",
        ),
        (
            "report done",
            "`spec/product-brief.md` is missing: write it into the session folder",
        ),
    ] {
        let lab = Lab::new();
        lab.answer("DRAFT-001", script);
        lab.run("spec-only", &["--no-supervision"]).exits(1);
        let said = lab.cell("DRAFT-001", "error");
        assert!(said.contains(error), "{error:?} is not in {said:?}");
        assert_eq!(lab.ran("DRAFT-001"), 3, "sent back twice");
        assert_eq!(lab.cell("DRAFT-002", "status"), "skipped");
    }
}

#[test]
fn a_score_that_is_none_is_sent_back() {
    for (score, told) in [
        ("", "the report needs `score`, a number from 0 to 1, and has none"),
        (
            r#""score":7"#,
            "`score` is `7`, and has to be a number from 0 to 1",
        ),
    ] {
        let lab = Lab::new();
        lab.score("CHECKPOINT-001", score);
        lab.run("spec-only", &[]).exits(1);
        assert_eq!(lab.ran("CHECKPOINT-001"), 3, "sent back twice");
        let error = lab.cell("CHECKPOINT-001", "error");
        assert!(error.contains(told), "{told:?} is not in {error:?}");
        assert_eq!(lab.cell("DRAFT-003", "status"), "skipped");
    }
}

#[test]
fn a_plan_that_cannot_be_followed_goes_back_to_its_planner() {
    let lab = Lab::new();
    lab.answer(
        "PLAN-001.1.1",
        r#"for n in 1 2; do
printf '{"id":"TASK-00%s","title":"t","description":"d","files":["a"],"depends_on":["TASK-009"],"convergence_criteria":["x"]}' $n > "$session/plan/TASK-00$n.json"
done
echo '{"complexity":"Low","tasks":["TASK-001","TASK-002"]}' > "$session/plan/plan.json"
report planned"#,
    )
    .answer("PLAN-001.1.2", &good());
    lab.run("impl-only", &["--no-supervision"]).exits(0);
    let told = lab.prompt("PLAN-001.1.2");
    assert!(
        told.contains("TASK-001 of the plan depends on TASK-009, which is not in it"),
        "{told}"
    );
    assert_eq!(lab.cell("PLAN-001", "status"), "completed");
}

#[test]
fn a_plan_that_is_made_anew_replaces_the_rows_of_the_old_one() {
    let lab = Lab::new();
    lab.score("CHECKPOINT-003.1", r#""score":0.2"#);
    // Three files are there from before; the second plan has two tasks in one module.
    let plan = r#"for n in 1 2; do
printf '{"id":"TASK-00%s","title":"t","description":"Keep the tags of part %s in the store","files":["app/store/tags%s.py"],"depends_on":[],"convergence_criteria":["make test passes"]}' $n $n $n > "$session/plan/TASK-00$n.json"
done
echo '{"complexity":"Low","tasks":["TASK-001","TASK-002"]}' > "$session/plan/plan.json"
report planned"#;
    lab.answer("PLAN-001.2.1", plan).answer(
        "PLAN-001.2.2",
        &format!("rm \"$session/plan/TASK-003.json\"\n{plan}"),
    );
    lab.run("impl-only", &[]).exits(0);
    let told = lab.prompt("PLAN-001.2.2");
    assert!(
        told.contains("there is a file of the task `TASK-003`, which `plan/plan.json` does not list"),
        "{told}"
    );
    assert_eq!(
        lab.statuses(),
        "PLAN-001 completed, CHECKPOINT-003 completed, IMPL-001 completed, TEST-001 completed, REVIEW-001 completed"
    );
    assert_eq!(lab.cell("TEST-001", "deps"), "IMPL-001");
}

#[test]
fn a_plan_that_cannot_be_followed_fails() {
    let lab = Lab::new();
    let circle = format!(
        "{}\nexit 0",
        r#"for n in 1 2; do
printf '{"id":"TASK-00%s","title":"t","description":"d","files":["a"],"depends_on":["TASK-00%s"],"convergence_criteria":["x"]}' $n $((3 - n)) > "$session/plan/TASK-00$n.json"
done
echo '{"complexity":"Low","tasks":["TASK-001","TASK-002"]}' > "$session/plan/plan.json"
report planned"#
    );
    lab.answer("PLAN-001", &circle);
    lab.run("impl-only", &["--no-supervision"]).exits(1);
    assert_eq!(
        lab.cell("PLAN-001", "error"),
        "tasks of the plan wait for each other: TASK-001, TASK-002"
    );
    assert_eq!(lab.ran("PLAN-001"), 3, "sent back twice");
    lab.answer(
        "PLAN-001",
        &circle.replace(r#""files":["a"]"#, r#""files":["../../etc/passwd"]"#),
    );
    lab.run("impl-only", &["--no-supervision"]).exits(1);
    let error = lab.cell("PLAN-001", "error");
    assert!(error.contains("no path from the project's root"), "{error}");
}
