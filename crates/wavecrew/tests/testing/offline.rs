//! The built-in agent: real tests with no model and no network.

use super::lab::Lab;

#[test]
fn a_python_project_reaches_its_target() {
    let Some(lab) = Lab::example("python-shop") else {
        return;
    };
    let ran = lab.wavecrew(&[
        "testing",
        "-y",
        "--agent",
        "offline",
        "--seed",
        "1",
        "--offline-budget",
        "3",
    ]);
    ran.exits(0).says("Agent   offline");
    let row = lab.row("TESTRUN-001");
    let coverage: f64 = row["coverage_achieved"].parse().unwrap();
    assert!(coverage >= 80.0 && row["pass_rate"] == "1.00", "{row:?}");
    let strategy = lab.read("strategy/test-strategy.md");
    assert!(
        strategy.contains("## Priorities") && strategy.contains("shop/"),
        "{strategy}"
    );
}

#[test]
fn a_typescript_project_reaches_its_target() {
    let Some(lab) = Lab::example("ts-cart") else {
        return;
    };
    let words = [
        "testing",
        "-y",
        "--pipeline",
        "standard",
        "--agent",
        "offline",
        "--seed",
        "1",
        "--offline-budget",
        "4",
    ];
    lab.wavecrew(&words).exits(0);
    for id in ["TESTRUN-001", "TESTRUN-002"] {
        let row = lab.row(id);
        let coverage: f64 = row["coverage_achieved"].parse().unwrap();
        assert!(coverage >= 60.0 && row["pass_rate"] == "1.00", "{row:?}");
    }
    let report = lab.read("analysis/quality-report.md");
    assert!(report.contains("## Recommendations"), "{report}");
}

#[test]
fn other_teams_are_not_its_work() {
    let Some(lab) = Lab::shop() else { return };
    lab.write("tasks.csv", "id,description\na,do it\n");
    lab.wavecrew(&["run", "tasks.csv", "-y", "--agent", "offline"])
        .exits(1)
        .says("scope.json");
}
