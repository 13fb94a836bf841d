use super::*;
use crate::plan::seal;
use crate::sheet::{Origin, Sheet};

fn plan(team: &Team, csv: &str) -> Plan {
    let sheet = Sheet::read(csv.as_bytes(), Origin::User).expect("a table");
    seal(sheet, team).expect("a plan").0
}

#[test]
fn debts_of_rows() {
    for (team, csv, of_worker, of_engine) in [
        (
            "planex",
            "id,title,description,role,issue_ids,exec_mode\nPLAN-1,p,d,planner,ISS-2; ISS-1,csv-wave\n",
            &["artifacts/solutions/ISS-1.json", "artifacts/solutions/ISS-2.json"][..],
            &[][..],
        ),
        (
            "testing",
            "id,title,description,role,layer,coverage_target,exec_mode\nTESTGEN-1,t,d,generator,L1,80,csv-wave\n",
            &["tests/L1-*/**"],
            &[],
        ),
        (
            "testing",
            "id,title,description,role,layer,coverage_target,exec_mode\nTESTRUN-1,t,d,executor,L1,80,interactive\n",
            &[],
            &["results/run-L1.json"],
        ),
        (
            "lifecycle",
            "id,title,description,role,pipeline_phase,exec_mode\nDRAFT-1,t,d,writer,epics,csv-wave\n",
            &["spec/epics.md"],
            &[],
        ),
        ("generic", "id,description,role\nA,d,anybody\n", &[], &[]),
    ] {
        let team = Team::builtin(team).expect("built in");
        let plan = plan(&team, csv);
        let owed_paths = owed_paths(&team, &plan, TaskIx(0));
        let paths = |debts: &[OwedPath<'_>]| -> Vec<String> {
            debts
                .iter()
                .map(|debt| debt.pattern.as_str().to_owned())
                .collect()
        };
        assert_eq!(paths(&owed_paths.by_worker), of_worker, "{csv}");
        assert_eq!(paths(&owed_paths.by_engine), of_engine, "{csv}");
        assert_eq!(owed_paths.escaping, [], "{csv}");
    }
}

#[test]
fn a_value_that_leads_out_of_the_session() {
    let team = Team::builtin("planex").expect("built in");
    let csv = "id,title,description,role,issue_ids,exec_mode\nPLAN-1,p,d,planner,../../x,csv-wave\n";
    let plan = plan(&team, csv);
    let owed_paths = owed_paths(&team, &plan, TaskIx(0));
    assert_eq!(
        owed_paths.escaping,
        [PathEscape("artifacts/solutions/../../x.json".to_owned())]
    );
    assert!(owed_paths.by_worker.is_empty());
}

#[test]
fn what_tools_leave_among_tests_pays_nothing() {
    let team = Team::builtin("testing").expect("built in");
    let csv =
        "id,title,description,role,layer,coverage_target,exec_mode\nTESTGEN-1,t,d,generator,L1,80,csv-wave\n";
    let plan = plan(&team, csv);
    let owed_paths = owed_paths(&team, &plan, TaskIx(0));
    let debt = &owed_paths.by_worker[0];
    assert!(debt.is_satisfied_by("tests/L1-unit/test_a.py"));
    assert!(!debt.is_satisfied_by("tests/L1-unit/__init__.py"));
    assert!(debt.leads_into("tests/L1-unit/sub") && !debt.leads_into("tests/L1-unit/node_modules"));
}

#[test]
fn only_paths_of_path_columns_are_reported_paths() {
    let team = Team::builtin("testing").expect("built in");
    let outputs = [
        ("pass_rate", "0.9"),
        ("test_files", " tests/a b.py ;; tests/ü.py;"),
        ("strange", "x"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let paths: Vec<_> = reported_paths(&team, &outputs).collect();
    assert_eq!(
        paths,
        [("test_files", "tests/a b.py"), ("test_files", "tests/ü.py")]
    );
}

#[test]
fn numbers_of_files() {
    let team = Team::builtin("lifecycle").expect("built in");
    let csv = "id,title,description,role,pipeline_phase,exec_mode\nPLAN-1,t,d,planner,planning,csv-wave\n";
    let plan = plan(&team, csv);
    let owed_paths = owed_paths(&team, &plan, TaskIx(0));
    let problem = |path: &str, found: usize| {
        let mut of_path = owed_paths
            .by_worker
            .iter()
            .filter(|debt| debt.pattern.as_str() == path);
        of_path.next().expect("owed").count_problem(found)
    };
    for (path, found, expected) in [
        (
            "plan/plan.json",
            0,
            Some("`plan/plan.json` is missing: write it into the session folder"),
        ),
        ("plan/plan.json", 1, None),
        (
            "plan/TASK-*.json",
            0,
            Some("no file matches `plan/TASK-*.json`: write at least 2 into the session folder"),
        ),
        (
            "plan/TASK-*.json",
            1,
            Some("too few files match `plan/TASK-*.json`: 1, at least 2 are needed"),
        ),
        ("plan/TASK-*.json", 2, None),
        ("plan/TASK-*.json", 7, None),
        (
            "plan/TASK-*.json",
            8,
            Some("too many files match `plan/TASK-*.json`: 8, at most 7 are allowed"),
        ),
    ] {
        assert_eq!(problem(path, found).as_deref(), expected, "{path} {found}");
    }
}
