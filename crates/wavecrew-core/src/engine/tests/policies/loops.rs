//! Work that goes round between a generator and its critic.

use super::*;

fn testing() -> Run {
    let mut run = Run::new("testing", "targeted", Options::default());
    run.does("STRATEGY-001", "").does("TESTGEN-001", "");
    assert_eq!(
        run.story(),
        "spawn STRATEGY-001#1, spawn TESTGEN-001#1, examine #1"
    );
    run
}

#[test]
fn a_critic_is_not_needed_when_all_is_well() {
    let mut run = testing();
    run.measures("1.00", "85.5");
    assert_eq!(run.story(), "finish completed");
    assert_eq!(run.outcomes(), "TESTRUN-001 pass");
    assert_eq!(run.cell("TESTRUN-001", "coverage_achieved"), "85.5");
}

#[test]
fn the_generator_works_again_until_coverage_is_reached() {
    let mut run = testing();
    run.measures("1.00", "60");
    assert_eq!(run.story(), "spawn TESTGEN-001#2");
    run.does("TESTGEN-001", "").measures("1.00", "81");
    assert_eq!(run.story(), "examine #2, finish completed");
    assert_eq!(run.outcomes(), "TESTRUN-001 revise, TESTRUN-001 pass");
    assert_eq!(run.cell("TESTRUN-001", "coverage_achieved"), "81");
}

#[test]
fn after_three_rounds_what_there_is_is_accepted_with_a_warning() {
    let mut run = testing();
    run.measures("1.00", "10");
    for coverage in ["20", "30", "40"] {
        run.does("TESTGEN-001", "").measures("1.00", coverage);
    }
    assert!(run.story().ends_with("examine #4, finish completed"));
    assert_eq!(
        run.outcomes(),
        "TESTRUN-001 revise, TESTRUN-001 revise, TESTRUN-001 revise, TESTRUN-001 accepted"
    );
    let last = run.rig.engine.ledger().decisions.last().expect("judged");
    assert_eq!(
        last.why,
        "pass rate 1, coverage 40 % (target 80 %); limit of 3 rounds reached: accepted with a warning"
    );
}

#[test]
fn an_exhausted_generator_gets_no_further_round() {
    let mut run = testing();
    run.measures("1.00", "60").does("TESTGEN-001", "");
    run.measures_with(
        "1.00",
        "60.4",
        &[("exhausted", "the last round gained 0.4 points")],
    );
    assert!(run.story().ends_with("examine #2, finish completed"));
    assert_eq!(run.outcomes(), "TESTRUN-001 revise, TESTRUN-001 accepted");
    let last = run.rig.engine.ledger().decisions.last().expect("judged");
    assert_eq!(
        last.why,
        "pass rate 1, coverage 60.4 % (target 80 %), the last round gained 0.4 points: accepted with a warning"
    );
}

#[test]
fn a_round_that_is_worse_is_rolled_back() {
    let mut run = testing();
    run.measures("1.00", "60").does("TESTGEN-001", "");
    run.story();
    run.measures("0.50", "70");
    assert_eq!(run.story(), "restore #1, spawn TESTGEN-001#3");
    run.does("TESTGEN-001", "").measures("1.00", "50");
    assert_eq!(run.story(), "examine #3, restore #1, spawn TESTGEN-001#4");
    run.does("TESTGEN-001", "").measures("1.00", "20");
    assert_eq!(run.story(), "examine #4, restore #1, finish completed");
    assert_eq!(run.cell("TESTRUN-001", "coverage_achieved"), "60");
    assert_eq!(run.cell("TESTRUN-001", "pass_rate"), "1.00");
}

#[test]
fn a_revision_that_fails_takes_nothing_away() {
    let mut run = testing();
    run.measures("1.00", "60");
    for _ in 0..3 {
        run.worker += 1;
        let worker = run.worker;
        run.rig.spawned(worker);
        run.rig.ends(
            worker,
            TurnExit::Code(0),
            r#"{"id":"TESTGEN-001","status":"failed","error":"no idea"}"#,
        );
        run.rig.closed(worker);
    }
    assert_eq!(
        run.story(),
        "spawn TESTGEN-001#2, restore #1, spawn TESTGEN-001#3, restore #1, spawn TESTGEN-001#4, restore #1, finish completed"
    );
    assert_eq!(run.cell("TESTGEN-001", "status"), "completed");
    assert_eq!(run.cell("TESTRUN-001", "coverage_achieved"), "60");
}

#[test]
fn a_worker_repairs_what_an_earlier_task_measured_at_most_three_times() {
    let mut run = testing();
    run.worker += 1;
    let worker = run.worker;
    let short = |pass_rate: &str| {
        CheckOutcome::Measured(CheckFindings {
            measured: vec![("pass_rate".to_owned(), pass_rate.to_owned())],
            shortfall: Some("a test fails".to_owned()),
            ..CheckFindings::default()
        })
    };
    let put = |run: &mut Run, pass_rate: &str| {
        let outcome = short(pass_rate);
        let worker = WorkerId(worker);
        run.rig.put(Input::ClaimChecked { worker, outcome });
    };
    put(&mut run, "0.50");
    assert_eq!(run.story(), "spawn TESTRUN-001#1");
    let report = r#"{"id":"TESTRUN-001","status":"completed"}"#;
    for _ in 0..3 {
        run.rig.spawned(worker).ends(worker, TurnExit::Code(0), report);
        put(&mut run, "0.50");
        assert!(run.rig.actions().contains("send"));
    }
    run.rig.spawned(worker).ends(worker, TurnExit::Code(0), report);
    put(&mut run, "0.50");
    assert!(!run.rig.actions().contains("send"));
    run.rig.closed(worker);
    assert_eq!(run.outcomes(), "TESTRUN-001 revise");
}

#[test]
fn from_the_second_measurement_on_nearly_all_is_enough() {
    let mut run = testing();
    run.worker += 1;
    let worker = run.worker;
    for (pass_rate, goes_on) in [("0.96", true), ("0.96", false)] {
        let outcome = CheckOutcome::Measured(CheckFindings {
            measured: vec![("pass_rate".to_owned(), pass_rate.to_owned())],
            shortfall: Some("a test fails".to_owned()),
            ..CheckFindings::default()
        });
        let claimed = WorkerId(worker);
        run.rig.put(Input::ClaimChecked {
            worker: claimed,
            outcome,
        });
        if goes_on {
            let report = r#"{"id":"TESTRUN-001","status":"completed"}"#;
            run.rig.spawned(worker).ends(worker, TurnExit::Code(0), report);
        }
    }
    run.rig.closed(worker);
    assert_eq!(run.story(), "spawn TESTRUN-001#1, finish completed");
}
