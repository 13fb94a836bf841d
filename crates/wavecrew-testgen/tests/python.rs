//! The Python half: the helper's own tests under pytest, and whole runs through the library.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` passes these tests over.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use wavecrew_testgen::{Feedback, Framework, Imports, OfflineError, Outcome, Progress, Request, generate};

fn python() -> Option<PathBuf> {
    Some(wavecrew_test_support::frameworks::installed()?.join("venv/bin/python"))
}

/// Runs those tests of the helper whose names fit.
fn helper_tests(file: &str, names: &str) {
    let Some(python) = python() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("helpers/python");
    let ran = Command::new(python)
        .args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", names])
        .arg(folder.join("tests").join(file))
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

#[test]
fn values_and_kinds_of_the_helper() {
    helper_tests("test_values.py", "test");
}

#[test]
fn format_of_test_files() {
    helper_tests("test_formatting.py", "test");
}

#[test]
fn faults_of_the_helper() {
    helper_tests("test_mutants.py", "test");
}

#[test]
fn fixtures_and_files_of_the_helper() {
    helper_tests("test_fixtures.py", "test");
}

#[test]
fn shared_and_automatic_fixtures_of_the_helper() {
    helper_tests("test_fixture_values.py", "test");
}

#[test]
fn steadiness_of_the_helper() {
    helper_tests("test_stability.py", "test");
}

#[test]
fn suspected_defects_of_the_helper() {
    helper_tests("test_suspected_defects.py", "test");
}

#[test]
fn whole_modules_through_the_helper() {
    helper_tests(
        "test_end_to_end.py",
        "not trouble and not cannot_be_tested and not syntax",
    );
}

#[test]
fn every_python_of_this_machine() {
    helper_tests("test_end_to_end.py", "syntax");
}

#[test]
fn modules_that_cannot_be_tested() {
    helper_tests("test_end_to_end.py", "cannot_be_tested");
}

#[test]
fn defects_and_false_alarms_of_the_helper() {
    helper_tests("test_defects.py", "test");
}

#[test]
fn modules_that_misbehave() {
    helper_tests("test_bad_input.py", "test");
}

#[test]
fn trouble_in_a_function() {
    helper_tests("test_end_to_end.py", "trouble");
}

struct Lab {
    dir: tempfile::TempDir,
    python: PathBuf,
}

impl Lab {
    fn of(files: &[(&str, &str)]) -> Option<Self> {
        let python = python()?;
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join("project").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Some(Self { dir, python })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("project").join(name)
    }

    fn request(&self, names: &[&str]) -> Request {
        Request {
            root: self.dir.path().join("project"),
            files: names.iter().map(|name| self.file(name)).collect(),
            framework: Framework::Pytest,
            layer_folder: self.dir.path().join("out"),
            laid_in: PathBuf::from("tests"),
            imports: Imports {
                interpreter: Some(self.python.clone()),
                search_path: Vec::new(),
            },
            round: None,
            commit: Some("abc1234".to_owned()),
            seed: 7,
            budget_per_module: Duration::from_secs(2),
            jobs: 2,
        }
    }
}

const SIGN: &str =
    "def sign(n: int) -> int:\n    if n > 0:\n        return 1\n    return -1 if n < 0 else 0\n";

fn run(request: &Request) -> (Outcome, Vec<Progress>) {
    let mut seen = Vec::new();
    let outcome = generate(request, &mut |progress| seen.push(progress)).unwrap();
    (outcome, seen)
}

#[test]
fn modules_side_by_side_and_a_broken_one_among_them() {
    let Some(lab) = Lab::of(&[
        ("pkg/__init__.py", ""),
        ("pkg/sign.py", SIGN),
        ("broken.py", "def f(:\n"),
    ]) else {
        return;
    };
    let (outcome, seen) = run(&lab.request(&["pkg/sign.py", "broken.py"]));
    let [sign, broken] = outcome.modules.as_slice() else {
        panic!("{outcome:?}")
    };
    assert_eq!((sign.module.as_str(), sign.lines), ("pkg.sign", Some((3, 3))));
    let text = fs::read_to_string(&sign.written[0].path).unwrap();
    assert!(
        text.contains("as of commit abc1234") && text.contains("from pkg.sign import sign"),
        "{text}"
    );
    assert_eq!(sign.written[0].covers, ["sign"]);
    assert!(broken.left_out[0].why.contains("does not parse"), "{broken:?}");
    let finished = |p: &&Progress| matches!(p, Progress::Finished(_));
    assert_eq!(seen.iter().filter(finished).count(), 2);
    assert!(!lab.file("pkg/__pycache__").exists(), "the project was changed");
}

#[test]
fn a_later_round_adds_a_file_that_aims_at_what_is_open() {
    let source = "def pick(word: str) -> int:\n    if word == 'needle':\n        return 1\n    return 0\n";
    let Some(lab) = Lab::of(&[("pick.py", source)]) else {
        return;
    };
    let mut request = lab.request(&["pick.py"]);
    let (first, _) = run(&request);
    request.round = Some(Feedback {
        uncovered: BTreeMap::from([(lab.file("pick.py"), vec![(3, 3)])]),
        ..Feedback::default()
    });
    let (second, _) = run(&request);
    let written = &second.modules[0].written[0];
    assert_ne!(written.path, first.modules[0].written[0].path);
    let text = fs::read_to_string(&written.path).unwrap();
    assert!(text.contains("needle") && written.tests.len() == 1, "{text}");
}

#[test]
fn an_interpreter_that_is_not_there_is_named() {
    let Some(lab) = Lab::of(&[("sign.py", SIGN)]) else {
        return;
    };
    let mut request = lab.request(&["sign.py"]);
    request.imports.interpreter = Some("/nowhere/python".into());
    let error = generate(&request, &mut |_| {}).unwrap_err();
    assert!(matches!(error, OfflineError::Interpreter { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/python"));
}
