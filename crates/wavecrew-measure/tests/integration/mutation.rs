//! Mutants against real frameworks.

use std::path::PathBuf;
use std::time::Duration;

use wavecrew_measure::mutation::{
    KillingTests, MutantOutcome, MutationBudget, MutationReport, MutationRequest, MutationTarget,
};
use wavecrew_syntax::LineSet;

use crate::measured::MeasureSandbox;

/// All mutants of one file on some of its lines.
fn mutate(sandbox: &MeasureSandbox, file: &str, lines: LineSet, budget: MutationBudget) -> MutationReport {
    let before = sandbox.files();
    let project = sandbox.project_of(file);
    let report = sandbox.runner().mutate(&MutationRequest {
        control_files: 0,
        project: &project,
        top: sandbox.root(),
        targets: &[MutationTarget {
            file: sandbox.path(file),
            lines,
            extra: Vec::new(),
        }],
        tests: &[],
        budget,
        killing_tests: KillingTests::First,
    });
    assert_eq!(sandbox.files(), before, "the project stays as it was");
    report.unwrap()
}

/// `line what: outcome` of every mutant.
fn outcomes(report: &MutationReport) -> Vec<String> {
    let line = |tried: &wavecrew_measure::mutation::TestedMutant| {
        let outcome = match &tried.outcome {
            MutantOutcome::Killed { by } => format!("killed by {}", by.first().map_or("?", String::as_str)),
            MutantOutcome::Survived => "survived".to_owned(),
            MutantOutcome::TimedOut => "timed out".to_owned(),
        };
        format!("{} {}: {outcome}", tried.line, tried.what)
    };
    report.tested.iter().map(line).collect()
}

const STOCK: &str = "\
LIMIT = 3


def fits(count, limit=LIMIT):
    return count <= limit


def lowest(values):
    best = None
    for value in values:
        if best is None or value < best:
            best = value
    return best


def wait(count):
    while count > 0:
        count -= 1
    return True


def unused(a):
    return a + 1
";

const STOCK_TESTS: &str = "\
import stock


def test_fits():
    assert stock.fits(1)
    assert not stock.fits(4)


def test_lowest():
    assert stock.lowest([2, 1, 3]) == 1


def test_wait():
    assert stock.wait(2)


def test_red():
    assert stock.fits(1) == 'no'
";

#[test]
fn pytest_is_kept_warm() {
    let Some(sandbox) = MeasureSandbox::python(&[("stock.py", STOCK), ("test_stock.py", STOCK_TESTS)]) else {
        return;
    };
    let report = mutate(&sandbox, "stock.py", LineSet::All, MutationBudget::full(1));
    assert_eq!(report.notes, []);
    assert_eq!(report.untested, 0);
    assert_eq!(
        outcomes(&report),
        [
            // Loaded with the module: tried from scratch.
            "1 `3` became `4`: killed by test_stock.py::test_fits",
            "1 `3` became `2`: survived",
            "5 `count <= limit` became `None`: killed by test_stock.py::test_fits",
            "5 `<=` became `<`: survived",
            "5 `<=` became `>`: killed by test_stock.py::test_fits",
            "11 `best is None or value < best` became `not (best is None or value < best)`: killed by \
             test_stock.py::test_lowest",
            "11 `is` became `is not`: killed by test_stock.py::test_lowest",
            "11 `or` became `and`: killed by test_stock.py::test_lowest",
            "11 `<` became `<=`: survived",
            "11 `<` became `>=`: killed by test_stock.py::test_lowest",
            "13 `best` became `None`: killed by test_stock.py::test_lowest",
            "17 `>` became `>=`: survived",
            "17 `>` became `<=`: survived",
            "17 `0` became `1`: survived",
            "18 `-=` became `+=`: timed out",
            "18 `-=` became `=`: timed out",
            "18 `1` became `2`: survived",
            "18 `1` became `0`: timed out",
            "19 `True` became `None`: killed by test_stock.py::test_wait",
            "19 `True` became `False`: killed by test_stock.py::test_wait",
        ]
    );
    let rate = report.rate().unwrap();
    assert_eq!((rate.covered, rate.total), (13, 20));
}

#[test]
fn packages_installed_elsewhere_are_not_mistaken_for_the_copy() {
    let files = [
        ("src/shop/__init__.py", "from .tax import tax as tax\n"),
        (
            "src/shop/tax.py",
            "def tax(cents):\n    return cents * 19 // 100\n",
        ),
        (
            "tests/test_tax.py",
            "import shop\n\n\ndef test_tax():\n    assert shop.tax(1000) == 190\n",
        ),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let installed = format!("import sys\nsys.path.append({:?})\n", sandbox.path("src"));
    sandbox.write("conftest.py", &installed);
    let report = mutate(&sandbox, "src/shop/tax.py", LineSet::All, MutationBudget::full(1));
    assert_eq!(report.survivors().count(), 0, "{:?}", outcomes(&report));
    assert!(report.killed() >= 5, "{:?}", outcomes(&report));
}

#[test]
fn a_mutant_that_crashes_the_process_is_killed() {
    let files = [
        (
            "a.py",
            "import os\n\n\ndef f(x):\n    if x > 10:\n        os._exit(3)\n    y = [0]\n    while len(y) < x:\n        \
             y.append(1)\n    return len(y)\n",
        ),
        (
            "test_a.py",
            "import a\n\n\ndef test_f():\n    assert a.f(3) == 3\n",
        ),
    ];
    let Some(sandbox) = MeasureSandbox::python(&files) else {
        return;
    };
    let report = mutate(
        &sandbox,
        "a.py",
        [5].into_iter().collect(),
        MutationBudget::full(1),
    );
    let exits = "5 `>` became `<=`: killed by ?".to_owned();
    assert!(outcomes(&report).contains(&exits), "{:?}", outcomes(&report));
}

#[test]
fn a_budget_bounds_the_number_and_the_time() {
    let Some(sandbox) = MeasureSandbox::python(&[("stock.py", STOCK), ("test_stock.py", STOCK_TESTS)]) else {
        return;
    };
    let few = mutate(&sandbox, "stock.py", LineSet::All, MutationBudget::quick(1));
    assert_eq!(few.tested.len() + few.untested, 8);
    let none = MutationBudget {
        time: Some(Duration::ZERO),
        ..MutationBudget::quick(1)
    };
    let none = mutate(&sandbox, "stock.py", LineSet::All, none);
    assert_eq!((none.tested.len(), none.untested), (0, 8));
    assert_eq!(none.rate(), None);
}

#[test]
fn vitest_runs_each_mutant_separately() {
    node("vitest", "src/cart.ts", "test/cart.test.ts");
}

#[test]
fn jest_runs_each_mutant_separately() {
    node("jest", "src/cart.js", "src/__tests__/cart.test.js");
}

fn node(framework: &str, file: &str, test: &str) {
    let sandbox = MeasureSandbox::of(framework);
    if !sandbox.link("node_modules", "node_modules") {
        return;
    }
    let source = std::fs::read_to_string(sandbox.path(file)).unwrap();
    let line = 1 + source.lines().position(|line| line.contains("reduce")).unwrap();
    let lines: LineSet = [u32::try_from(line).unwrap()].into_iter().collect();
    let report = mutate(&sandbox, file, lines, MutationBudget::full(1));
    assert_eq!(report.notes, []);
    assert!(report.killed() > 0, "{:?}", outcomes(&report));
    let killer = format!("killed by {test}::");
    assert!(
        outcomes(&report).iter().any(|outcome| outcome.contains(&killer)),
        "{:?}",
        outcomes(&report)
    );
    // No test can kill a mutant of a file that no test loads.
    let unused: PathBuf = PathBuf::from(file)
        .with_file_name("unused")
        .with_extension(PathBuf::from(file).extension().unwrap());
    let budget = MutationBudget {
        per_file: 1,
        ..MutationBudget::full(1)
    };
    let report = mutate(&sandbox, unused.to_str().unwrap(), LineSet::All, budget);
    assert_eq!(report.survivors().count(), 1, "{:?}", outcomes(&report));
}
