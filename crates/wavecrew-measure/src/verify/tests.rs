//! Commands that are found, states that are compared, and real runs of small projects.

use super::*;
use crate::measurement::TestId;
use std::fs;
use std::time::Duration;

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn runner(cache: &Path) -> Runner {
    Runner {
        progress: None,
        python_path: Vec::new(),
        cache: cache.to_owned(),
        writable: Vec::new(),
        timeout: Duration::from_mins(1),
        stop: None,
    }
}

fn shown(files: &[(&str, &str)], settings: &CommandSettings) -> String {
    let folder = project(files);
    let Commands { build, tests, .. } = find_commands(folder.path(), settings);
    let tests = match tests {
        TestMethod::None => "-".to_owned(),
        TestMethod::Command { line } => line,
        TestMethod::Measured { projects, otherwise } => {
            let names: Vec<&str> = projects.iter().map(|p| p.framework.name()).collect();
            format!("[{}] {}", names.join(" "), otherwise.unwrap_or_default())
        }
    };
    format!("{} | {}", build.unwrap_or("-".to_owned()), tests.trim_end())
}

#[test]
fn commands_are_found_in_project_files() {
    let none = CommandSettings::default();
    let own = CommandSettings {
        build: Some("./b".to_owned()),
        test: Some("./t".to_owned()),
        setup: None,
    };
    let package = r#"{"scripts":{"build":"tsc","test":"node --test"}}"#;
    let fresh = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
    let vitest = r#"{"scripts":{"test":"vitest run"},"devDependencies":{"vitest":"3"}}"#;
    for (files, settings, wanted) in [
        (&[("readme.md", "")][..], &none, "- | -"),
        (
            &[("package.json", package)],
            &none,
            "npm run build | npm run test",
        ),
        (
            &[("package.json", package), ("pnpm-lock.yaml", "")],
            &none,
            "pnpm run build | pnpm run test",
        ),
        (&[("package.json", fresh)], &none, "- | -"),
        (
            &[("package.json", vitest), ("src/a.ts", "")],
            &none,
            "- | [vitest] npm run test",
        ),
        (
            &[("pytest.ini", "[pytest]\n"), ("a.py", "")],
            &none,
            "- | [pytest]",
        ),
        (
            &[("Cargo.toml", "[package]\nname = \"x\"\n"), ("src/lib.rs", "")],
            &none,
            "cargo build --all-targets | [cargo]",
        ),
        (
            &[("go.mod", "module x\n"), ("a.go", "")],
            &none,
            "go build ./... | [go]",
        ),
        (
            &[("Makefile", "CC := x\nall build: a\n\tx\ntest:\n\ty\n")],
            &none,
            "make build | make test",
        ),
        (&[("Makefile", "check: a\n")], &none, "- | make check"),
        (&[("package.json", package)], &own, "./b | ./t"),
    ] {
        assert_eq!(shown(files, settings), wanted, "{files:?}");
    }
}

fn measured(tests: &[(&str, TestResult)]) -> ProjectState {
    let id = |name: &str| TestId {
        file: String::new(),
        name: name.to_owned(),
    };
    ProjectState {
        setup: None,
        build: Some(CommandOutcome::Passed),
        tests: SuiteResult::Measured {
            tests: tests
                .iter()
                .map(|(name, result)| (id(name), result.clone()))
                .collect(),
        },
    }
}

fn failing() -> TestResult {
    TestResult::Failed {
        message: "boom".to_owned(),
    }
}

#[test]
fn states_are_compared_test_by_test() {
    let before = measured(&[
        ("broken", failing()),
        ("deleted", TestResult::Passed),
        ("good", TestResult::Passed),
        ("fixed", failing()),
        ("skipped", TestResult::Passed),
        ("spoilt", TestResult::Passed),
    ]);
    let after = measured(&[
        ("broken", failing()),
        ("good", TestResult::Passed),
        ("fixed", TestResult::Passed),
        ("new", failing()),
        ("skipped", TestResult::NotCounted),
        ("spoilt", failing()),
    ]);
    let found = compare(&before, &after);
    let names = |failing: &[compare::Failing]| failing.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found.newly_failing), ["new", "spoilt"]);
    assert_eq!(names(&found.still_failing), ["broken"]);
    assert_eq!(
        (found.fixed.as_slice(), found.lost.as_slice()),
        (
            &["fixed".to_owned()][..],
            &["skipped".to_owned(), "deleted".to_owned()][..]
        )
    );
    assert_eq!(
        found.complaint().expect("a complaint"),
        "failing since the change: new, spoilt; tests that passed before are gone or skipped: skipped, deleted\n\
         new:\nboom"
    );
    assert_eq!(compare(&before, &before).complaint(), None);
}

#[test]
fn a_build_that_failed_before_is_not_newly_failing() {
    let state = |build: CommandOutcome| ProjectState {
        setup: None,
        build: Some(build),
        tests: SuiteResult::NotRun,
    };
    let broken = state(CommandOutcome::Failed {
        how: "exit code 1".to_owned(),
        output: "no".to_owned(),
    });
    let good = state(CommandOutcome::Passed);
    assert_eq!(compare(&broken, &broken).complaint(), None);
    assert_eq!(compare(&broken, &good).fixed, ["build"]);
    let complaint = compare(&good, &broken).complaint().expect("a complaint");
    assert_eq!(
        complaint,
        "failing since the change: build\nbuild:\nexit code 1\nno"
    );
}

#[test]
fn the_exit_code_of_a_command_is_its_result() {
    let folder = project(&[(
        "Makefile",
        "build:\n\ttest -f good\ntest:\n\techo tested; test -f green\n",
    )]);
    let cache = tempfile::tempdir().expect("a folder");
    let commands = find_commands(folder.path(), &CommandSettings::default());
    let state = || run(&commands, folder.path(), &runner(cache.path())).expect("it runs");
    let broken = state();
    assert!(!broken.build.as_ref().expect("built").is_good());
    assert_eq!(broken.tests, SuiteResult::NotRun);
    fs::write(folder.path().join("good"), "").expect("a file");
    let red = state();
    let SuiteResult::Command {
        outcome: CommandOutcome::Failed { how, output },
        ..
    } = &red.tests
    else {
        panic!("{red:?}")
    };
    assert!(
        how.starts_with("exit code") && output.contains("tested"),
        "{how}: {output}"
    );
    fs::write(folder.path().join("green"), "").expect("a file");
    assert_eq!(compare(&red, &state()).fixed, ["make test"]);
}

#[test]
fn a_command_that_hangs_is_ended_with_its_processes() {
    let folder = project(&[]);
    let settings = CommandSettings {
        test: Some("sleep 600 & echo $! > child; wait".to_owned()),
        ..CommandSettings::default()
    };
    let runner = Runner {
        progress: None,
        timeout: Duration::from_secs(1),
        ..runner(folder.path())
    };
    let state = run(&find_commands(folder.path(), &settings), folder.path(), &runner).expect("it runs");
    assert!(
        matches!(&state.tests, SuiteResult::Command { outcome: CommandOutcome::Failed { how, .. }, .. } if how == "timed out after 1 s")
    );
    let child = fs::read_to_string(folder.path().join("child")).expect("it was started");
    let alive = fs::read_to_string(format!("/proc/{}/stat", child.trim()));
    assert!(
        alive.is_err() || alive.is_ok_and(|stat| stat.contains(") Z ")),
        "left running"
    );
}

#[test]
fn a_project_without_commands_is_unverified() {
    let folder = project(&[("a.txt", "")]);
    let state = run(
        &find_commands(folder.path(), &CommandSettings::default()),
        folder.path(),
        &runner(folder.path()),
    )
    .expect("it runs");
    let found = compare(&state, &state);
    assert!(found.unverified && found.complaint().is_none());
}
