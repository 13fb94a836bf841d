//! Any command that writes known reports, and the end of whatever a run started.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use wavecrew_measure::Measurement;
use wavecrew_measure::detect::{Certainty, Framework, Project};
use wavecrew_measure::run::{Collect, MeasureError, Request, Runner, TestOrder};

use crate::measured::{MeasureSandbox, figures, fixes, rate};
use wavecrew_test_support::sandbox::Sandbox;

fn run(runner: &Runner, sandbox: &MeasureSandbox, line: &str) -> Result<Measurement, MeasureError> {
    let project = Project {
        root: sandbox.root().to_owned(),
        framework: Framework::Command {
            line: line.to_owned(),
        },
        evidence: "the command".to_owned(),
        certainty: Certainty::Found,
    };
    let scope = ["shop/price.py", "shop/new.py"].map(|file| sandbox.path(file));
    runner.measure(&Request {
        project: &project,
        scope: &scope,
        tests: &[],
        coverage: Collect::TestsAndCoverage,
        order: TestOrder::Default,
        canaries: false,
    })
}

fn samples() -> String {
    format!("{}/tests/samples", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn junit_and_lcov_of_any_command() {
    let sandbox = MeasureSandbox::of("python");
    sandbox.write("shop/new.py", "# new\nA = 1\n\nB = 2\n");
    let line = format!(
        "cd '{}' && cp pytest.xml coverage-py.lcov \"$WAVECREW_REPORTS\"",
        samples()
    );
    let measured = run(&sandbox.runner(), &sandbox, &line).unwrap();
    assert_eq!(rate(&measured), (5, 9));
    assert_eq!(
        figures(&measured),
        ["shop/price.py 6/11 3/6", "shop/new.py not loaded 0/2"]
    );
}

#[test]
fn a_missing_coverage_report_is_reported() {
    let sandbox = MeasureSandbox::of("python");
    let line = format!("cp '{}/nextest.xml' \"$WAVECREW_REPORTS\"", samples());
    let measured = run(&sandbox.runner(), &sandbox, &line).unwrap();
    assert_eq!(rate(&measured), (1, 2));
    assert!(fixes(&measured).contains("LCOV or Cobertura"));
}

#[test]
fn a_command_without_reports_shows_its_last_output() {
    let sandbox = MeasureSandbox::new(Sandbox::new());
    let error = run(&sandbox.runner(), &sandbox, "echo no such tool; exit 127").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the test run ended with exit code 127 and without a report: no such tool"
    );
}

/// Hangs, with a child in a session of its own that writes its pid into the project.
const HANG: &str = "setsid sh -c 'echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000' & sleep 1000";

fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    stat.map_or(true, |stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim().starts_with('Z'))
    })
}

#[test]
fn a_hanging_run_ends_with_all_its_processes() {
    let mut sandbox = MeasureSandbox::new(Sandbox::new());
    sandbox.timeout = Duration::from_secs(2);
    let error = run(&sandbox.runner(), &sandbox, HANG).unwrap_err();
    assert!(matches!(error, MeasureError::TimedOut { .. }), "{error}");
    // On a machine so slow that the child did not even start, there is nothing to look for.
    if let Ok(pid) = fs::read_to_string(sandbox.path("pid")) {
        assert!(is_gone(&pid));
    }
}

#[test]
fn a_stopped_run_ends_with_all_its_processes() {
    let sandbox = MeasureSandbox::new(Sandbox::new());
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let runner = Runner {
        progress: None,
        python_path: Vec::new(),
        stop: Some(theirs.into()),
        ..sandbox.runner()
    };
    let pid_file = sandbox.path("pid");
    let stopper = thread::spawn(move || {
        while !pid_file.exists() {
            thread::yield_now();
        }
        ours.write_all(b"!").unwrap();
        fs::read_to_string(pid_file).unwrap()
    });
    let error = run(&runner, &sandbox, HANG).unwrap_err();
    assert!(matches!(error, MeasureError::Stopped), "{error}");
    assert!(is_gone(&stopper.join().unwrap()));
}

#[test]
fn processes_that_outlive_a_run_are_ended() {
    let sandbox = MeasureSandbox::new(Sandbox::new());
    let line = "setsid sleep 1000 >/dev/null 2>&1 & echo $! > pid";
    let error = run(&sandbox.runner(), &sandbox, line).unwrap_err();
    assert!(matches!(error, MeasureError::NoReport { code: 0, .. }), "{error}");
    assert!(is_gone(&fs::read_to_string(sandbox.path("pid")).unwrap()));
}
