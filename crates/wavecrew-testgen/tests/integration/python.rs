//! Tests for Python: the helper's own tests under pytest, and whole runs through the library.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use wavecrew_syntax::{Grammar, tests};
use wavecrew_test_support::frameworks::installed;
use wavecrew_testgen::{
    Feedback, Framework, GenerateError, Imports, NOT_REACHED, Outcome, Priorities, Progress, Request,
    generate,
};

fn python() -> Option<PathBuf> {
    Some(installed()?.join("venv/bin/python"))
}

/// Runs the helper's tests whose names match.
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
fn values_and_types() {
    helper_tests("test_values.py", "test");
}

#[test]
fn assertions() {
    helper_tests("test_assertions.py", "test");
}

#[test]
fn formatting() {
    helper_tests("test_formatting.py", "test");
}

#[test]
fn mutants() {
    helper_tests("test_mutants.py", "test");
}

#[test]
fn fixtures_and_written_files() {
    helper_tests("test_fixtures.py", "test");
}

#[test]
fn shared_and_autouse_fixtures() {
    helper_tests("test_fixture_values.py", "test");
}

#[test]
fn stability() {
    helper_tests("test_stability.py", "test");
}

#[test]
fn suspected_defects() {
    helper_tests("test_suspected_defects.py", "test");
}

#[test]
fn whole_modules() {
    helper_tests(
        "test_end_to_end.py",
        "not misbehaving and not cannot_be_tested and not syntax",
    );
}

#[test]
fn every_installed_python() {
    helper_tests("test_end_to_end.py", "syntax");
}

#[test]
fn modules_that_cannot_be_tested() {
    helper_tests("test_end_to_end.py", "cannot_be_tested");
}

#[test]
fn defects_and_false_alarms() {
    helper_tests("test_defects.py", "test");
}

#[test]
fn modules_that_misbehave() {
    helper_tests("test_bad_input.py", "test");
}

#[test]
fn one_misbehaving_function() {
    helper_tests("test_end_to_end.py", "misbehaving");
}

struct TestProject {
    dir: tempfile::TempDir,
    python: PathBuf,
}

impl TestProject {
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
            run_folder: PathBuf::from("tests"),
            imports: Imports {
                interpreter: Some(self.python.clone()),
                search_path: Vec::new(),
            },
            feedback: None,
            commit: Some("abc1234".to_owned()),
            seed: 7,
            budget_per_module: Duration::from_secs(2),
            deadline: None,
            priorities: Priorities::default(),
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
fn a_broken_module_does_not_stop_the_others() {
    let Some(project) = TestProject::of(&[
        ("pkg/__init__.py", ""),
        ("pkg/sign.py", SIGN),
        ("broken.py", "def f(:\n"),
    ]) else {
        return;
    };
    let (outcome, seen) = run(&project.request(&["pkg/sign.py", "broken.py"]));
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
    assert!(broken.dropped[0].why.contains("does not parse"), "{broken:?}");
    let finished = |p: &&Progress| matches!(p, Progress::Finished(_));
    assert_eq!(seen.iter().filter(finished).count(), 2);
    assert!(
        !project.file("pkg/__pycache__").exists(),
        "the project was changed"
    );
}

#[test]
fn a_later_round_adds_a_file_for_what_is_open() {
    let source = "def pick(word: str) -> int:\n    if word == 'needle':\n        return 1\n    return 0\n";
    let Some(project) = TestProject::of(&[("pick.py", source)]) else {
        return;
    };
    let mut request = project.request(&["pick.py"]);
    let (first, _) = run(&request);
    request.feedback = Some(Feedback {
        uncovered: BTreeMap::from([(project.file("pick.py"), vec![(3, 3)])]),
        ..Feedback::default()
    });
    let (second, _) = run(&request);
    let written = &second.modules[0].written[0];
    assert_ne!(written.path, first.modules[0].written[0].path);
    let text = fs::read_to_string(&written.path).unwrap();
    assert!(text.contains("needle") && written.tests.len() == 1, "{text}");
}

#[test]
fn a_missing_interpreter_is_named() {
    let Some(project) = TestProject::of(&[("sign.py", SIGN)]) else {
        return;
    };
    let mut request = project.request(&["sign.py"]);
    request.imports.interpreter = Some("/nowhere/python".into());
    let error = generate(&request, &mut |_| {}).unwrap_err();
    assert!(matches!(error, GenerateError::Interpreter { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/python"));
}

/// The helper's tests read the same file.
#[test]
fn the_check_and_the_generator_agree_on_what_asserts_something() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assertions/bodies.py");
    let shapes = tests(Grammar::of(&file).unwrap(), &fs::read_to_string(&file).unwrap());
    assert!(shapes.len() > 20);
    for shape in shapes {
        let asserts = shape.name.starts_with("test_asserts_");
        assert_eq!(!shape.assertions.is_empty(), asserts, "{}", shape.name);
    }
}

const CACHE: &str = "
class Cache:
    def __init__(self, size: int = 2):
        self.size = size
        self._items = {}

    def __setitem__(self, key: str, value: int):
        if len(self._items) >= self.size:
            raise ValueError('full')
        self._items[key] = value

    def __delitem__(self, key: str):
        del self._items[key]

    def forget(self, key: str) -> None:
        self._items.pop(key, None)

    @property
    def limit(self):
        return self.size

    @limit.setter
    def limit(self, value: int):
        self._size = value


class Quiet:
    def __setitem__(self, key: str, value: int):
        self._last = value

    def hush(self):
        pass
";

#[test]
fn every_written_test_passes_the_check_of_assertions() {
    let Some(project) = TestProject::of(&[("cache.py", CACHE), ("sign.py", SIGN)]) else {
        return;
    };
    let (outcome, _) = run(&project.request(&["cache.py", "sign.py"]));
    assert!(outcome.tests() > 3);
    for written in outcome.modules.iter().flat_map(|module| &module.written) {
        let text = fs::read_to_string(&written.path).unwrap();
        for shape in tests(Grammar::of(&written.path).unwrap(), &text) {
            assert!(!shape.assertions.is_empty(), "{}\n{text}", shape.name);
        }
    }
}

#[test]
fn what_the_deadline_leaves_no_time_for_is_reported() {
    let Some(project) = TestProject::of(&[("sign.py", SIGN), ("later.py", SIGN)]) else {
        return;
    };
    let mut request = project.request(&["sign.py", "later.py"]);
    request.deadline = Some(Instant::now());
    let (outcome, seen) = run(&request);
    for module in &outcome.modules {
        assert_eq!(module.dropped[0].why, NOT_REACHED);
    }
    assert_eq!(seen.len(), 2, "each module has its report: {seen:?}");
}
