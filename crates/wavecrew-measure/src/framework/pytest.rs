//! pytest under coverage.py. Runs `python -m pytest` of the project's own interpreter; its settings apply, except for
//! plugins that would measure or report a second time.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use wavecrew_process::LockAnyway;

pub use super::python_environment::{install_command, interpreter};
use super::{Evidence, FrameworkFacts, Language, Strength, TestFramework};
use crate::detect::settings::{ConfiguredTests, testpaths};
use crate::measurement::{Measurement, NO_COVERAGE, Note, TestId};
use crate::mutation::{MutationReport, MutationRun, warm_pytest};
use crate::report::{CoverageFormat, TestFormat};
use crate::run::canary::{Canaries, CanaryLanguage};
use crate::run::process::{Ran, Step};
use crate::run::scope::WhenMissing;
use crate::run::{
    Invocation, MeasureError, PROGRESS_FILE, Request, Runner, TestCoverage, TestOrder, TestRun,
    coverage_by_test, option, os_args,
};

const FACTS: FrameworkFacts = FrameworkFacts {
    name: "pytest",
    language: Some(Language::Python),
    is_language_default: true,
    test_pattern: "test_*.py",
    unique_file_names: true,
    measures_without_tests: true,
    warm_mutants: true,
    mutants_without_coverage: true,
    generates_tests: true,
    can_skip_tests: true,
    missing_package_prefixes: &["No module named '"],
    syntax_error_marks: &["SyntaxError: ", "IndentationError: ", "TabError: "],
    process_variables: &[
        "COVERAGE_PROCESS_START",
        "PYTEST_CURRENT_TEST",
        "PYTEST_XDIST_WORKER",
    ],
    ..FrameworkFacts::DEFAULT
};

pub struct Pytest;

impl TestFramework for Pytest {
    fn facts(&self) -> &FrameworkFacts {
        &FACTS
    }

    fn evidence(&self, folder: &Path) -> Option<Evidence> {
        evidence(folder)
    }

    fn is_test_file(&self, file: &Path) -> bool {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        file.extension().is_some_and(|ending| ending == "py")
            && (stem.starts_with("test_") || stem.ends_with("_test"))
    }

    fn measure(&self, run: &TestRun<'_>) -> Result<Measurement, MeasureError> {
        run.perform(invocation(run)?)
    }

    fn coverage_by_test(
        &self,
        runner: &Runner,
        request: &Request<'_>,
        tests: &[TestId],
        _max_runs: usize,
    ) -> Result<Option<Vec<TestCoverage>>, MeasureError> {
        coverage_by_test::pytest_contexts(runner, request, tests)
    }

    fn mutate(&self, run: &MutationRun<'_>) -> Result<MutationReport, MeasureError> {
        warm_pytest::mutate(run)
    }

    fn install_hint(&self, root: &Path, package: &str) -> String {
        let top = package.split('.').next().unwrap_or(package);
        let own = ["", "src"].iter().any(|folder| {
            let base = root.join(folder).join(top);
            base.is_dir() || base.with_extension("py").is_file()
        });
        if own {
            format!(
                "`{top}` is in the project, but `{package}` is not in it: check the import, or `pythonpath` in the settings of pytest"
            )
        } else {
            install_command(root, &[top])
        }
    }

    fn configured_tests(&self, root: &Path) -> ConfiguredTests {
        ConfiguredTests {
            folder: testpaths(root),
            naming: None,
        }
    }

    fn version(&self, root: &Path, top: &Path) -> Option<String> {
        let mut above = root.ancestors().take_while(|folder| folder.starts_with(top));
        above.find_map(|folder| {
            [".venv", "venv"].iter().find_map(|venv| {
                let mut versions = fs::read_dir(folder.join(venv).join("lib")).ok()?.flatten();
                versions.find_map(|python| {
                    let mut packages = fs::read_dir(python.path().join("site-packages")).ok()?.flatten();
                    packages.find_map(|package| {
                        let name = package.file_name().to_string_lossy().into_owned();
                        let version = name.strip_prefix("pytest-")?.strip_suffix(".dist-info")?;
                        Some(version.to_owned())
                    })
                })
            })
        })
    }

    fn unparsable(
        &self,
        run: &TestRun<'_>,
        files: &[PathBuf],
        _ran: &Ran,
    ) -> Result<Vec<PathBuf>, MeasureError> {
        unparsable(run, files)
    }
}

/// Settings of pytest, or at least a Python project.
fn evidence(folder: &Path) -> Option<Evidence> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let has = |name: &str| folder.join(name).is_file();
    let settings = |name: &str| Some(Evidence::new(Strength::Settings, name));
    if has("pytest.ini") || has(".pytest.ini") || has("pytest.toml") {
        return settings("pytest.ini");
    }
    if !has("pyproject.toml") {
        for (name, section) in [("tox.ini", "[pytest]"), ("setup.cfg", "[tool:pytest]")] {
            if text(name).contains(section) {
                return settings(name);
            }
        }
    }
    let mut manifests = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"].into_iter();
    let name = manifests.find(|name| has(name))?;
    if text(name).contains("pytest") {
        settings(name)
    } else {
        Some(Evidence::new(Strength::Assumed, name))
    }
}

/// The installed Python modules that matter here.
pub struct Installed(Vec<String>);

impl Installed {
    pub fn has(&self, module: &str) -> bool {
        self.0.iter().any(|name| name == module)
    }
}

const PROBE: &str = "import importlib.util as u, json\n\
    print(json.dumps([m for m in ('pytest', 'coverage', 'pytest_cov', 'xdist') if u.find_spec(m)]))";

/// Prints those of its arguments that are not valid Python, each followed by a zero byte.
const UNPARSABLE: &str = "import ast, sys\n\
    for path in sys.argv[1:]:\n\
    \x20   try:\n\
    \x20       with open(path, 'rb') as file:\n\
    \x20           ast.parse(file.read())\n\
    \x20   except (SyntaxError, ValueError):\n\
    \x20       sys.stdout.buffer.write(path.encode('utf-8', 'surrogateescape') + b'\\0')";

/// A plugin, because pytest itself cannot shuffle tests.
const SHUFFLE: &str = "import os, random\n\nmark = os.environ.pop('WAVECREW_CANARY', None)\n\n\ndef pytest_collection_modifyitems(items):\n    \
    random.Random(int(os.environ['PYTHONHASHSEED'])).shuffle(items)\n    \
    items.sort(key=lambda item: bool(mark) and mark in item.nodeid)\n";

/// A plugin, because `--deselect` skips every test whose name starts like that.
const SKIP: &str = "import json, os\n\n\ndef pytest_collection_modifyitems(items):\n    \
    with open(os.environ['WAVECREW_WITHOUT'], encoding='utf-8') as file:\n        \
    left_out = set(json.load(file))\n    items[:] = [item for item in items if item.nodeid not in left_out]\n";

/// A plugin that drops options and settings which belong to plugins that are not installed, such as `--cov` in `addopts`.
/// pytest refuses to start with them, although the tests do not need them.
const OPTIONS: &str = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\n\
    def pytest_load_initial_conftests(early_config, parser, args):\n    yield\n    \
    unknown = set(parser.parse_known_and_unknown_args(list(args))[1])\n    kept, value = [], False\n    \
    for arg in args:\n        \
    if arg in unknown:\n            value = '=' not in arg\n            continue\n        \
    if not value or arg.startswith('-'):\n            kept.append(arg)\n        \
    value = False\n    args[:] = kept\n    \
    for name in list(getattr(early_config, '_get_unknown_ini_keys', list)()):\n        \
    parser.addini(name, 'of a plugin that is not installed')\n";

/// A plugin that writes down how far the run is: the number of tests, then a line for each that has ended.
const PROGRESS: &str = "import os\n\n\ndef _append(text):\n    \
    with open(os.environ['WAVECREW_PROGRESS'], 'a') as file:\n        file.write(text)\n\n\n\
    def pytest_collection_finish(session):\n    _append('%d\\n' % len(session.items))\n\n\n\
    def pytest_runtest_logfinish(nodeid, location):\n    _append('.\\n')\n";

/// A plugin that reports the real outcome of each test before anything can change it: through a copy of
/// standard output, from which nothing can be withdrawn.
const OUTCOMES: &str = "import os\n\nimport pytest\n\n_out = os.dup(1)\n_write = os.write\n\
    _mark = os.environ.pop('WAVECREW_MARK', '')\n\n\n\
    @pytest.hookimpl(hookwrapper=True, trylast=True)\ndef pytest_runtest_call(item):\n    \
    outcome = yield\n    raised = outcome.excinfo[0].__name__ if outcome.excinfo else '-'\n    \
    _write(_out, ('\\n%s %s %s\\n' % (_mark, raised, item.nodeid)).encode('utf-8', 'replace'))\n";

fn invocation(run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
    let python = interpreter(run.root());
    let installed = probe(run, &python)?;
    let mut notes = Vec::new();
    let covered = run.wants_coverage() && installed.has("coverage");
    if run.wants_coverage() && !installed.has("coverage") {
        notes.push(Note::missing_tool(
            "coverage.py is not installed",
            NO_COVERAGE,
            install_command(run.root(), &["coverage"]),
        ));
    }
    let canaries = Canaries::place(run, CanaryLanguage::Pytest)?;
    let mut args = Vec::new();
    if covered {
        args.extend(os_args(["-m", "coverage", "run", "--branch"]));
        let mut sources = source_option(run);
        if let Some(folder) = canaries.as_ref().and_then(|c| c.source.as_ref()?.parent()) {
            sources.push(",");
            sources.push(folder);
        }
        args.push(sources);
    }
    args.extend(os_args(["-m", "pytest"]));
    args.extend(pytest_args(run, &installed)?);
    if canaries.is_some() {
        fs::write(run.file("plugin").join("wavecrew_outcomes.py"), OUTCOMES)?;
        args.extend(os_args(["-p", "wavecrew_outcomes"]));
    }
    args.push(option("--junitxml", &run.file("junit.xml")));
    args.extend(os_args(["-o", "junit_family=xunit1"]));
    args.extend(run.request.tests.iter().map(OsString::from));
    args.extend(canaries.iter().flat_map(Canaries::files).map(OsString::from));
    let report = run.file("coverage.json");
    let mut tests = python_step(run, &python, args);
    if let Some(canaries) = &canaries {
        tests.mark = Some(canaries.nonce().to_owned());
        tests.env.push(("WAVECREW_MARK", canaries.nonce().into()));
        // A shuffled run keeps canaries last.
        if run.request.order != TestOrder::Default {
            tests.env.push(("WAVECREW_CANARY", canaries.nonce().into()));
        }
    }
    Ok(Invocation {
        tests,
        test_report: (TestFormat::JUnit, run.file("junit.xml")),
        then: if covered {
            let mut json = os_args(["-c", COVERAGE_JSON]);
            json.push(report.clone().into());
            vec![python_step(run, &python, json)]
        } else {
            Vec::new()
        },
        coverage: covered.then_some((CoverageFormat::CoveragePy, report)),
        when_missing: WhenMissing::Excluded,
        notes,
        canaries,
    })
}

/// Writes the coverage report. Settings may ask for a data file per process; without such files the first part does
/// nothing.
const COVERAGE_JSON: &str = "import sys\nfrom coverage.cmdline import main\n\
    main(['combine', '-q', '--append'])\nsys.exit(main(['json', '-q', '-i', '-o', sys.argv[1]]))";

/// Settings may ask for a data file per process; without such files this step does nothing.
pub fn combine_args() -> Vec<OsString> {
    os_args(["-m", "coverage", "combine", "-q", "--append"])
}

/// Finds out what is installed; an error without pytest.
pub fn probe(run: &TestRun<'_>, python: &Path) -> Result<Installed, MeasureError> {
    static KNOWN: Mutex<Vec<(PathBuf, Vec<String>)>> = Mutex::new(Vec::new());
    let shown = python.display();
    let known = || KNOWN.lock_anyway();
    if let Some((_, modules)) = known().iter().find(|(known, _)| known == python) {
        return Ok(Installed(modules.clone()));
    }
    let probed = run.run(&run.step(python, os_args(["-c", PROBE])))?;
    let line = probed.output.lines().last().unwrap_or_default();
    let modules: Vec<String> = serde_json::from_str(line).map_err(|_| MeasureError::NoReport {
        code: 0,
        why: format!("the interpreter `{shown}` does not work"),
        fix: format!("try `{shown} --version`, or recreate the virtual environment"),
        output: probed.output.clone(),
    })?;
    let installed = Installed(modules);
    if !installed.has("pytest") {
        return Err(MeasureError::NotInstalled {
            what: "pytest",
            fix: install_command(run.root(), &["pytest", "coverage"]),
        });
    }
    // What is missing may be installed meanwhile.
    if installed.has("coverage") {
        known().push((python.to_owned(), installed.0.clone()));
    }
    Ok(installed)
}

/// Arguments that every run of pytest needs, besides reports and test files: leave nothing behind, and continue after errors.
pub fn pytest_args(run: &TestRun<'_>, installed: &Installed) -> Result<Vec<OsString>, MeasureError> {
    // `-s`: otherwise pytest keeps all output of a test, in a file and then in memory.
    let mut args = os_args(["-s", "-q", "--continue-on-collection-errors", "--color=no"]);
    args.push(option("--basetemp", &run.file("basetemp")));
    // Not `-p no:cacheprovider`: settings such as `--ff` would then be unknown options.
    args.push("-o".into());
    args.push(option("cache_dir", &run.file("cache")));
    if run.focus.stop_early {
        args.push("-x".into());
    }
    if installed.has("pytest_cov") {
        args.push("--no-cov".into());
    }
    if installed.has("xdist") {
        args.extend(os_args(["-n", "0"]));
    }
    fs::create_dir_all(run.file("plugin"))?;
    fs::write(run.file("plugin").join("wavecrew_options.py"), OPTIONS)?;
    args.extend(os_args(["-p", "wavecrew_options", "-o", "required_plugins="]));
    if let TestOrder::Shuffled { .. } = run.request.order {
        fs::write(run.file("plugin").join("wavecrew_shuffle.py"), SHUFFLE)?;
        args.extend(os_args(["-p", "wavecrew_shuffle"]));
    }
    if run.runner.progress.is_some() {
        fs::write(run.file("plugin").join("wavecrew_progress.py"), PROGRESS)?;
        args.extend(os_args(["-p", "wavecrew_progress"]));
    }
    if !run.focus.skip.is_empty() {
        fs::write(run.file("plugin").join("wavecrew_without.py"), SKIP)?;
        let names = serde_json::to_vec(&run.skipped_ids()).map_err(std::io::Error::other)?;
        fs::write(run.file("without.json"), names)?;
        args.extend(os_args(["-p", "wavecrew_without"]));
        args.extend(
            run.skipped_files()
                .map(|file| option("--ignore", Path::new(file))),
        );
    }
    Ok(args)
}

pub fn python_step(run: &TestRun<'_>, python: &Path, args: Vec<OsString>) -> Step {
    let mut step = run.step(python, args);
    step.env.extend([
        ("PYTHONDONTWRITEBYTECODE", "1".into()),
        ("COVERAGE_FILE", run.file("coverage.data").into()),
        ("HYPOTHESIS_STORAGE_DIRECTORY", run.file("hypothesis").into()),
    ]);
    step.env.extend([
        ("WAVECREW_WITHOUT", run.file("without.json").into()),
        ("WAVECREW_PROGRESS", run.file(PROGRESS_FILE).into()),
    ]);
    let mut path = run.runner.python_path.clone();
    path.push(run.file("plugin"));
    path.extend(env::var_os("PYTHONPATH").iter().flat_map(env::split_paths));
    // `PYTHONPATH` cannot hold a folder with a colon in its name.
    step.env
        .extend(env::join_paths(path).ok().map(|path| ("PYTHONPATH", path)));
    step
}

/// The folders of the files in scope: coverage.py lists what no test imports only directly in a source folder and in
/// packages below it.
pub fn source_option(run: &TestRun<'_>) -> OsString {
    let mut folders: Vec<&Path> = run
        .request
        .scope
        .iter()
        .filter_map(|file| file.parent())
        .collect();
    folders.sort_unstable();
    folders.dedup();
    let mut option = OsString::from("--source=");
    for (n, folder) in folders.into_iter().enumerate() {
        if n > 0 {
            option.push(",");
        }
        option.push(folder);
    }
    option
}

/// The files that are not valid Python.
fn unparsable(run: &TestRun<'_>, files: &[PathBuf]) -> Result<Vec<PathBuf>, MeasureError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = os_args(["-c", UNPARSABLE]);
    args.extend(files.iter().map(OsString::from));
    let ran = run.run(&run.step(interpreter(run.root()), args))?;
    Ok(ran.output.split_terminator('\0').map(PathBuf::from).collect())
}
