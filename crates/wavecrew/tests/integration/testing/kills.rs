//! A run whose coordinator is killed at every step, one after the other: nothing of what was done is done
//! again, nothing is left running, and its result is that of an undisturbed run.

use std::fs;
use std::path::PathBuf;

use crate::testing::testing_sandbox::TestingSandbox;
use wavecrew_test_support::depth;
use wavecrew_test_support::sandbox::wait_until;

/// Steps that the default depth kills at.
const SAMPLED: usize = 3;

/// Where the run is held, in the order in which it gets there.
const STEPS: [&str; 9] = [
    "own tests",
    "STRATEGY-001",
    "TESTGEN-001",
    "loading of L1",
    "measuring of L1",
    "TESTRUN-001",
    "round 2 of TESTGEN-001",
    "measuring of L1 in round 2",
    "TESTANA-001",
];

/// A process that reaches a closed gate reports it, and waits there until it is killed. The check
/// of the generator's work runs tests too: the gate holds only the runs for the executor's row.
const GATE: &str = r#"
import pathlib, time

def gate(name):
    place = pathlib.Path(__file__).parent
    if name.startswith("measuring"):
        [journal] = place.parent.parent.glob("project/.workflow/.csv-wave/*/journal.ndjson")
        starts = [line for line in journal.read_text().splitlines() if '"e":"attempt_started"' in line]
        if '"task":"TESTRUN-001"' not in starts[-1]:
            return
    if (place / "shut" / name).exists():
        (place / "reached" / name).touch()
        while True:
            time.sleep(60)
"#;

/// A project with gates in its own test, in every worker and in the tests that they write.
struct Gated {
    sandbox: TestingSandbox,
    gates: PathBuf,
}

impl Gated {
    fn new() -> Option<Self> {
        let sandbox = TestingSandbox::shop()?;
        let gates = sandbox.beside("traces/gates");
        for folder in ["shut", "reached"] {
            fs::create_dir_all(gates.join(folder)).unwrap();
        }
        fs::write(gates.join("gate.py"), GATE).unwrap();
        let import = format!(
            "import sys\nsys.path.insert(0, {:?})\nfrom gate import gate\n",
            gates.display().to_string()
        );
        sandbox.write(
            "tests/test_own.py",
            format!("{import}\n\ndef test_own():\n    gate('own tests')\n    assert 1 + 1 == 2\n"),
        );
        sandbox.workers(&format!(
            r#"{import}
again = json.loads((session / "gc-state.json").read_text())["rounds"].get("L1", 0)
gate(f"round {{again + 1}} of {{task}}" if again and task.startswith("TESTGEN-001") else task)
head = {import:?} + "from shop.price import is_cheap, total\n\n"
held = f"measuring of L1 in round {{again + 1}}" if again else "measuring of L1"
good = f"gate('loading of L1')\n\n\ndef test_total():\n    gate({{held!r}})\n    assert total([1, 2]) == 3\n"
more = "\n\ndef test_cheap():\n    assert is_cheap(9) is True\n    assert is_cheap(10) is False\n    assert total([10], 50) == 5\n"
if task == "TESTGEN-001":
    text(layer / "test_price.py", head + good + (more if again else ""))
if task == "TESTGEN-002":
    text(session / "tests/L2-integration/test_both.py", "from shop.price import is_cheap, total\n\n\ndef test_both():\n    assert is_cheap(total([4, 5])) is True\n    assert is_cheap(total([4, 6])) is False\n")
"#
        ));
        Some(Self { sandbox, gates })
    }

    /// What came of it, but for the numbers of attempts.
    fn outcome(&self) -> String {
        let mut text = String::new();
        for id in [
            "STRATEGY-001",
            "TESTGEN-001",
            "TESTRUN-001",
            "TESTGEN-002",
            "TESTRUN-002",
            "TESTANA-001",
        ] {
            text += &format!("{id} {:?}\n", self.sandbox.row(id));
        }
        let mut state = self.sandbox.json("gc-state.json");
        for round in state["coverage_history"].as_array_mut().unwrap() {
            round.as_object_mut().unwrap().remove("attempt");
        }
        text += &format!("{state:#}\n");
        for file in [
            "analysis/quality-report.md",
            "tests/L1-unit/test_price.py",
            "tests/L2-integration/test_both.py",
        ] {
            text += &self.sandbox.read(file);
        }
        text.replace(&*self.gates.to_string_lossy(), "GATES")
    }
}

#[test]
fn a_run_killed_at_every_step_ends_like_an_undisturbed_one() {
    let flags = "--pipeline standard --mutation off --seed 1 prices";
    let Some(undisturbed) = Gated::new() else { return };
    undisturbed.sandbox.test(flags).expect_exit(0);
    assert_eq!(undisturbed.sandbox.figures("TESTRUN-001"), "1.00 88.88");

    let Some(Gated { sandbox, gates }) = Gated::new() else {
        return;
    };
    let before = sandbox.files();
    let steps = depth::sample("kill steps of team Testing", STEPS, SAMPLED);
    for step in &steps {
        fs::write(gates.join("shut").join(step), "").unwrap();
    }
    for (nth, &step) in steps.iter().enumerate() {
        let mut run = sandbox.start_test(if nth == 0 { flags } else { "--continue" });
        wait_until(step, || {
            let is_reached = gates.join("reached").join(step).exists();
            assert!(is_reached || run.is_running(), "it ended before {step}");
            is_reached
        });
        run.kill();
        wait_until("everything to end", || sandbox.processes().is_empty());
        fs::remove_file(gates.join("shut").join(step)).unwrap();
    }
    sandbox.test("--continue").expect_exit(0);
    wait_until("everything to end", || sandbox.processes().is_empty());
    let killed = Gated { sandbox, gates };
    assert_eq!(killed.outcome(), undisturbed.outcome());
    let sandbox = killed.sandbox;
    assert_eq!(sandbox.files(), before, "the project is as it was");

    // Workers were started once more where they were killed at work, and nowhere else.
    let starts = |sandbox: &TestingSandbox, task: &str| {
        let starts = sandbox.started();
        starts.iter().filter(|start| start.starts_with(task)).count()
    };
    for (task, killed_at) in [
        ("STRATEGY-001", &["STRATEGY-001"][..]),
        // At work in both rounds; while its tests load, the work is done but not yet checked.
        (
            "TESTGEN-001",
            &["TESTGEN-001", "loading of L1", "round 2 of TESTGEN-001"][..],
        ),
        ("TESTRUN-001", &["TESTRUN-001"][..]),
        ("TESTGEN-002", &[][..]),
        ("TESTRUN-002", &[][..]),
        ("TESTANA-001", &["TESTANA-001"][..]),
    ] {
        let kills = steps.iter().filter(|step| killed_at.contains(step)).count();
        assert_eq!(
            starts(&sandbox, task),
            starts(&undisturbed.sandbox, task) + kills,
            "{task}: {:?}, undisturbed {:?}",
            sandbox.started(),
            undisturbed.sandbox.started()
        );
    }
}
