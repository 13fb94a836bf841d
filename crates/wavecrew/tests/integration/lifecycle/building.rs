//! From a plan to code.

use crate::lifecycle::lab::Lab;

#[test]
fn a_plan_of_three_modules_is_built_by_three() {
    let lab = Lab::new();
    lab.run("full-lifecycle", &[])
        .exits(0)
        .says("complexity Medium: 3 modules in cli, search, store");
    let statuses = lab.statuses();
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
    assert_eq!(lab.cell("IMPL-001", "wave"), lab.cell("IMPL-002", "wave"));
    assert_eq!(lab.cell("IMPL-003", "deps"), "CHECKPOINT-003;IMPL-001;IMPL-002");
    assert_eq!(lab.cell("TEST-001", "deps"), "IMPL-001;IMPL-002;IMPL-003");
    assert_eq!(lab.cell("IMPL-002", "title"), "Find by tag");
    for file in [
        "app/store/tags.py",
        "app/search/by_tag.py",
        "app/cli/tags.py",
        "tests/test_tags.py",
    ] {
        assert!(lab.project().join(file).exists(), "{file}");
    }
    let report = lab.read("context.md");
    assert!(
        report.contains("| FR-002 | Must | EPIC-002 | TASK-002, TASK-003 |"),
        "{report}"
    );
}

#[test]
fn a_run_goes_on_after_a_failure_without_doing_anything_twice() {
    let lab = Lab::new();
    lab.answer("IMPL-002", "exit 7");
    lab.run("impl-only", &["--no-supervision"]).exits(1);
    assert_eq!(
        lab.statuses(),
        "PLAN-001 completed, IMPL-001 completed, IMPL-002 failed, IMPL-003 skipped, TEST-001 skipped, REVIEW-001 skipped"
    );
    lab.no_answer("IMPL-002");
    lab.wavecrew(&["retry", &lab.session_id(), "-y"]).exits(0);
    assert_eq!(
        (lab.ran("PLAN-001"), lab.ran("IMPL-001"), lab.ran("IMPL-002")),
        (1, 1, 2)
    );
}

#[test]
fn implementers_that_change_the_same_file_after_all_are_told_apart_by_the_merge() {
    let lab = Lab::new();
    for task in ["IMPL-001", "IMPL-002"] {
        lab.answer(
            task,
            r##"echo "# by $task" >> app/cli/__init__.py; echo done > "$session/artifacts/$task-report.md"; report done"##,
        );
    }
    lab.run("impl-only", &["--no-supervision"]).exits(1);
    assert_eq!(lab.cell("IMPL-001", "status"), "completed");
    let error = lab.cell("IMPL-002", "error");
    assert!(error.contains("merge conflict in app/cli/__init__.py"), "{error}");
    assert_eq!(lab.cell("IMPL-003", "status"), "skipped");
    let text = std::fs::read_to_string(lab.project().join("app/cli/__init__.py")).unwrap();
    assert!(text.ends_with("# by IMPL-001\n"), "{text}");
}

#[test]
fn a_tester_repairs_until_the_tests_pass() {
    let lab = Lab::new();
    // What the implementer broke was red at the end of its own work only by the name of a test.
    lab.answer(
        "TEST-001.1.1",
        r#"sed -i 's/added/put/' app/cli/__init__.py; echo seen > "$session/artifacts/$task-report.md"; report broke"#,
    )
    .answer("TEST-001.1.2", "sed -i 's/put/added/' app/cli/__init__.py; report repaired");
    lab.run("impl-only", &["--no-supervision"]).exits(0);
    let told = lab.prompt("TEST-001.1.2");
    assert!(told.contains("0 % of the tests pass, 95 % have to"), "{told}");
}
