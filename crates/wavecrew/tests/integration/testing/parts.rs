//! A large scope with an agent: several tasks per layer, each with its own files, checks and rounds.

use crate::testing::testing_sandbox::TestingSandbox;
use serde_json::json;

/// A function of two branches.
fn module(number: usize) -> String {
    format!("def grade(points):\n    if points > {number}:\n        return 'pass'\n    return 'fail'\n")
}

/// Two packages of three modules; three files are one task.
fn school() -> Option<TestingSandbox> {
    let sandbox = TestingSandbox::new(&[
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("wavecrew.toml", "[testing]\nfiles_per_task = 3\n"),
    ])?;
    for package in ["exams", "sports"] {
        for number in 1..4 {
            sandbox.write(format!("{package}/part{number}.py"), module(number));
        }
    }
    Some(sandbox)
}

/// Tests of the part's own files; the second part tests only one branch until it is sent back.
const WORKERS: &str = r#"
if task.startswith("TESTGEN"):
    part = json.loads((session / "scope.json").read_text())["layers"][int(task[-1]) - 1]
    text(traces / f"prompt-{task}-{attempt}.txt", prompt)
    for file in part["files"]:
        package, name = file[:-3].split("/")
        limit = int(name[-1])
        test = f"from {package}.{name} import grade\n\n\ndef test_pass():\n    assert grade({limit + 1}) == 'pass'\n"
        if task == "TESTGEN-001.1" or attempt > 1:
            test += f"\n\ndef test_fail():\n    assert grade({limit}) == 'fail'\n"
        text(session / part["folder"] / f"test_{package}_{name}.py", test)
"#;

#[test]
fn each_part_of_a_large_scope_has_its_own_tasks_and_rounds() {
    let Some(sandbox) = school() else { return };
    sandbox.workers(WORKERS);
    sandbox
        .test("--pipeline targeted --mutation off --target L1=90 --apply")
        .expect_exit(0)
        .expect_output("TESTGEN-001.1: Generate L1.1 unit tests: exams")
        .expect_output("12 tests in 6 files kept · coverage 0 → 100 %")
        .expect_output("Apply   tests/test_sports_part3.py written");
    let mut started = sandbox.started();
    started.sort();
    assert_eq!(
        started,
        [
            "STRATEGY-001.1.1",
            "TESTGEN-001.1.1.1",
            "TESTGEN-001.2.1.1",
            // The part that missed its target, alone.
            "TESTGEN-001.2.2.1",
            "TESTRUN-001.2.1.1",
        ]
    );
    for part in ["1", "2"] {
        assert_eq!(sandbox.figures(&format!("TESTRUN-001.{part}")), "1.00 100.00");
    }
    assert_eq!(sandbox.row("TESTRUN-001.2")["layer"], "L1.2");
    assert_eq!(sandbox.row("TESTRUN-001.2")["deps"], "TESTGEN-001.2");
    assert_eq!(
        sandbox.json("gc-state.json")["rounds"],
        json!({ "L1.1": 0, "L1.2": 1 })
    );
    let files = |result: &str| {
        let result = sandbox.json(result);
        let files = result["coverage"]["files"].as_array().unwrap().clone();
        files.iter().map(|file| file["path"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        files("results/run-L1.2.json"),
        ["sports/part1.py", "sports/part2.py", "sports/part3.py"]
    );
    let prompt = sandbox.trace("prompt-TESTGEN-001.2-1.txt");
    assert!(
        prompt.contains("In scope are sports/part1.py, sports/part2.py, sports/part3.py.")
            && prompt.contains("tests/L1.2-unit/")
            && !prompt.contains("exams"),
        "{prompt}"
    );
    let brief = sandbox.trace("prompt-TESTGEN-001.2-2.txt");
    assert!(brief.contains("Measured run of L1.2"), "{brief}");
}

#[test]
fn a_part_that_fails_is_run_again_alone_when_the_session_continues() {
    let Some(sandbox) = school() else { return };
    sandbox.workers(&format!(
        "import sys\nif task == 'TESTGEN-001.2':\n    sys.exit('no model today')\n{WORKERS}"
    ));
    sandbox.test("--pipeline targeted --mutation off").expect_exit(1);
    assert_eq!(sandbox.figures("TESTRUN-001.1"), "1.00 100.00");
    sandbox.workers(WORKERS);
    let id = sandbox.session_id();
    sandbox
        .wavecrew(&format!("retry {id} -y"))
        .expect_exit(0)
        .expect_output("12 tests in 6 files kept");
    let first = sandbox
        .started()
        .iter()
        .filter(|worker| worker.starts_with("TESTGEN-001.1."))
        .count();
    assert_eq!(first, 1);
    // A higher target is for all parts of the layer.
    sandbox
        .test(&format!("--continue {id} --target L1=95"))
        .expect_exit(0);
    assert_eq!(sandbox.row("TESTRUN-001.1")["coverage_target"], "95");
}

#[test]
fn a_small_scope_and_the_offline_agent_have_one_task_per_layer() {
    let Some(sandbox) = school() else { return };
    sandbox.workers(WORKERS);
    let plan = |words: &str| sandbox.wavecrew(&format!("plan testing {words}")).ok();
    let agent = sandbox.agent();
    assert!(plan(&format!("--agent {agent}")).contains("TESTGEN-001.2"));
    for words in [format!("exams --agent {agent}"), "--agent offline".to_owned()] {
        let plan = plan(&words);
        assert!(
            plan.contains("TESTGEN-001 ") && !plan.contains("TESTGEN-001.1"),
            "{plan}"
        );
    }
}
