//! The main command on whole packages, as the registry delivers them. `scripts/install-frameworks.sh` downloads them.

use crate::testing::testing_sandbox::TestingSandbox;
use serde_json::Value;
use std::fs;
use wavecrew_test_support::depth;

/// A package, and what a run on it must come to.
#[derive(Debug)]
struct Package {
    name: &'static str,
    /// Removed before the run, so that there is something to test.
    own_tests: Option<&'static str>,
    flags: &'static str,
    least_tests: u64,
    least_coverage: f64,
}

const PACKAGES: [Package; 4] = [
    // Calls that assert nothing cost only themselves.
    Package {
        name: "cachetools",
        own_tests: Some("tests"),
        flags: "",
        least_tests: 40,
        least_coverage: 50.0,
    },
    // Large test files are read in linear time, so that the first call is in time: no import hangs.
    Package {
        name: "tabulate",
        own_tests: None,
        flags: "--always",
        least_tests: 1,
        least_coverage: 80.0,
    },
    Package {
        name: "more-itertools",
        own_tests: None,
        flags: "--always more_itertools/recipes.py",
        least_tests: 1,
        least_coverage: 80.0,
    },
    // Examples such as `>>> print(f(x))` are no defects.
    Package {
        name: "boltons",
        own_tests: Some("tests"),
        flags: "boltons/strutils.py boltons/dictutils.py",
        least_tests: 40,
        least_coverage: 40.0,
    },
];

#[test]
fn whole_packages_get_tests() {
    for package in depth::sample("packages", &PACKAGES, 1) {
        let Some(sandbox) = TestingSandbox::package(package.name) else {
            return;
        };
        check(package, &sandbox);
    }
}

fn check(package: &Package, sandbox: &TestingSandbox) {
    if let Some(tests) = package.own_tests {
        fs::remove_dir_all(sandbox.path(tests)).unwrap();
    }
    let run = format!(
        "testing -y --agent offline --seed 1 --offline-budget 2 --mutation off {}",
        package.flags
    );
    let ran = sandbox.wavecrew(&run);
    ran.expect_exit(0);
    let summary: Value = serde_json::from_str(&sandbox.read("results/summary.json")).unwrap();
    let number = |name: &str| summary[name].as_f64().unwrap();
    assert!(
        summary["kept_tests"].as_u64().unwrap() >= package.least_tests
            && number("coverage_after") >= package.least_coverage,
        "{package:?}: {summary}"
    );
    assert_eq!(summary["suspected_defects"], 0, "{package:?}: {summary}");
    let findings = sandbox.row("TESTGEN-001")["findings"].clone();
    assert!(!findings.contains("hangs"), "{package:?}: {findings}");
}
