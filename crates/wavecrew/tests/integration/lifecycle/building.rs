//! From a plan to code.

use crate::lifecycle::team_sandbox::TeamSandbox;

#[test]
fn a_plan_of_three_modules_is_built_by_three() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox
        .run_pipeline("full-lifecycle")
        .expect_exit(0)
        .expect_output("complexity Medium: 3 modules (cli, search, store)");
    let statuses = sandbox.statuses();
    for task in [
        "PLAN-001",
        "CHECKPOINT-003",
        "IMPL-001",
        "IMPL-002",
        "IMPL-003",
        "TEST-001",
        "REVIEW-001",
    ] {
        assert!(
            statuses.contains(&format!("{task} completed")),
            "{task}: {statuses}"
        );
    }
    assert_eq!(sandbox.cell("IMPL-001", "wave"), sandbox.cell("IMPL-002", "wave"));
    assert_eq!(
        sandbox.cell("IMPL-003", "deps"),
        "CHECKPOINT-003;IMPL-001;IMPL-002"
    );
    assert_eq!(sandbox.cell("TEST-001", "deps"), "IMPL-001;IMPL-002;IMPL-003");
    assert_eq!(sandbox.cell("IMPL-002", "title"), "Find by tag");
    for file in [
        "app/store/tags.py",
        "app/search/by_tag.py",
        "app/cli/tags.py",
        "tests/test_tags.py",
    ] {
        assert!(sandbox.path(file).exists(), "{file}");
    }
    sandbox.expect_read("context.md", "| FR-002 | Must | EPIC-002 | TASK-002, TASK-003 |");
}

#[test]
fn a_retry_after_a_failure_repeats_nothing() {
    let sandbox = TeamSandbox::lifecycle();
    sandbox.worker("IMPL-002", "exit 7");
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(1);
    assert_eq!(
        sandbox.statuses(),
        "PLAN-001 completed, IMPL-001 completed, IMPL-002 failed, IMPL-003 skipped, TEST-001 skipped, REVIEW-001 skipped"
    );
    sandbox.example_worker("IMPL-002");
    sandbox
        .wavecrew(&format!("retry {} -y", sandbox.session_id()))
        .expect_exit(0);
    assert_eq!(
        (
            sandbox.turns("PLAN-001"),
            sandbox.turns("IMPL-001"),
            sandbox.turns("IMPL-002")
        ),
        (1, 1, 2)
    );
}

#[test]
fn implementers_that_change_the_same_file_conflict_in_the_merge() {
    let sandbox = TeamSandbox::lifecycle();
    for task in ["IMPL-001", "IMPL-002"] {
        sandbox.worker(
            task,
            r#"echo "BY = '$task'" >> app/cli/__init__.py; echo done > "$session/artifacts/$task-report.md"; report done"#,
        );
    }
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(1);
    assert_eq!(sandbox.cell("IMPL-001", "status"), "completed");
    sandbox.expect_cell("IMPL-002", "error", "merge conflict in app/cli/__init__.py");
    assert_eq!(sandbox.cell("IMPL-003", "status"), "skipped");
    let text = sandbox.text("app/cli/__init__.py");
    assert!(text.ends_with("BY = 'IMPL-001'\n"), "{text}");
}

#[test]
fn a_tester_repairs_until_the_tests_pass() {
    let sandbox = TeamSandbox::lifecycle();
    // What the implementer broke was red at the end of its own work only by the name of a test.
    sandbox.worker(
        "TEST-001.1.1",
        r#"sed -i 's/added/put/' app/cli/__init__.py; echo 'The tests of the notes store were run once.' > "$session/artifacts/$task-report.md"; report broke"#,
    )
    .worker("TEST-001.1.2", "sed -i 's/put/added/' app/cli/__init__.py; report repaired");
    sandbox.run_pipeline("impl-only --no-supervision").expect_exit(0);
    sandbox.expect_prompt("TEST-001.1.2", &["0 % of the tests pass, 95 % have to"]);
}
