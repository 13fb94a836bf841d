//! pytest under coverage.py. Runs `python -m pytest` of the project's own interpreter; its settings stay in force but for
//! plugins that would measure or report a second time.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::MeasureError;
use super::process::Step;
use super::scope::WhenMissing;
use super::{Bench, Invocation, Order, option, words};
use crate::measurement::{NO_COVERAGE, Note};
use crate::report::{CoverageFormat, TestFormat};

/// Which of the modules that matter the interpreter has.
pub struct Installed(Vec<String>);

impl Installed {
    pub fn has(&self, module: &str) -> bool {
        self.0.iter().any(|name| name == module)
    }
}

const PROBE: &str = "import importlib.util as u, json\n\
    print(json.dumps([m for m in ('pytest', 'coverage', 'pytest_cov', 'xdist') if u.find_spec(m)]))";

/// Prints those of its arguments that are no Python, each with a zero byte after it.
const UNPARSABLE: &str = "import ast, sys\n\
    for path in sys.argv[1:]:\n\
    \x20   try:\n\
    \x20       with open(path, 'rb') as file:\n\
    \x20           ast.parse(file.read())\n\
    \x20   except (SyntaxError, ValueError):\n\
    \x20       sys.stdout.buffer.write(path.encode('utf-8', 'surrogateescape') + b'\\0')";

/// A plugin, because pytest itself cannot shuffle.
const SHUFFLE: &str = "import os, random\n\n\ndef pytest_collection_modifyitems(items):\n    \
    random.Random(int(os.environ['PYTHONHASHSEED'])).shuffle(items)\n";

/// Another one, because `--deselect` leaves out whole families of names.
const WITHOUT: &str = "import json, os\n\n\ndef pytest_collection_modifyitems(items):\n    \
    with open(os.environ['WAVECREW_WITHOUT'], encoding='utf-8') as file:\n        \
    left_out = set(json.load(file))\n    items[:] = [item for item in items if item.nodeid not in left_out]\n";

pub fn invocation(bench: &Bench<'_>) -> Result<Invocation, MeasureError> {
    let python = interpreter(bench.root());
    let shown = python.display();
    let installed = probe(bench, &python)?;
    let mut notes = Vec::new();
    let covered = bench.wants_coverage() && installed.has("coverage");
    if bench.wants_coverage() && !installed.has("coverage") {
        notes.push(Note::missing_tool(
            "coverage.py is not installed",
            NO_COVERAGE,
            format!("{shown} -m pip install coverage"),
        ));
    }
    let mut args = Vec::new();
    if covered {
        args.extend(words(["-m", "coverage", "run", "--branch"]));
        args.push(sources(bench));
    }
    args.extend(words(["-m", "pytest"]));
    args.extend(pytest_args(bench, &installed)?);
    args.push(option("--junitxml", &bench.file("junit.xml")));
    args.extend(words(["-o", "junit_family=xunit1"]));
    args.extend(bench.request.tests.iter().map(OsString::from));
    let report = bench.file("coverage.json");
    let mut json = words(["-m", "coverage", "json", "-q", "-i", "-o"]);
    json.push(report.clone().into());
    Ok(Invocation {
        tests: python_step(bench, &python, args),
        test_report: (TestFormat::JUnit, bench.file("junit.xml")),
        then: if covered {
            [combine(), json]
                .map(|args| python_step(bench, &python, args))
                .into()
        } else {
            Vec::new()
        },
        coverage: covered.then_some((CoverageFormat::CoveragePy, report)),
        when_missing: WhenMissing::Excluded,
        notes,
    })
}

/// Settings may ask for a data file per process; without such files this step does nothing.
pub fn combine() -> Vec<OsString> {
    words(["-m", "coverage", "combine", "-q", "--append"])
}

/// What the interpreter has; an error without pytest.
pub fn probe(bench: &Bench<'_>, python: &Path) -> Result<Installed, MeasureError> {
    let shown = python.display();
    let probed = bench.run(&bench.step(python, words(["-c", PROBE])))?;
    let line = probed.output.lines().last().unwrap_or_default();
    let modules = serde_json::from_str(line).map_err(|_| MeasureError::NoReport {
        code: 0,
        why: format!("the interpreter `{shown}` does not work"),
        fix: format!("try `{shown} --version`, or make the virtual environment anew"),
        output: probed.output.clone(),
    })?;
    let installed = Installed(modules);
    if !installed.has("pytest") {
        return Err(MeasureError::NotInstalled {
            what: "pytest",
            fix: format!("{shown} -m pip install pytest coverage"),
        });
    }
    Ok(installed)
}

/// How pytest is told to leave nothing behind and to go on; what it reports and which tests it runs is not among it.
pub fn pytest_args(bench: &Bench<'_>, installed: &Installed) -> Result<Vec<OsString>, MeasureError> {
    // `-s`: pytest would keep all that a test prints, in a file and then in memory.
    let mut args = words(["-s", "-q", "--continue-on-collection-errors", "--color=no"]);
    args.push(option("--basetemp", &bench.file("basetemp")));
    // Not `-p no:cacheprovider`: settings such as `--ff` would then be unknown options.
    args.push("-o".into());
    args.push(option("cache_dir", &bench.file("cache")));
    if bench.focus.stop_early {
        args.push("-x".into());
    }
    if installed.has("pytest_cov") {
        args.push("--no-cov".into());
    }
    if installed.has("xdist") {
        args.extend(words(["-n", "0"]));
    }
    if has_plugin(bench) {
        fs::create_dir_all(bench.file("plugin"))?;
    }
    if let Order::Shuffled { .. } = bench.request.order {
        fs::write(bench.file("plugin").join("wavecrew_shuffle.py"), SHUFFLE)?;
        args.extend(words(["-p", "wavecrew_shuffle"]));
    }
    if !bench.focus.without.is_empty() {
        fs::write(bench.file("plugin").join("wavecrew_without.py"), WITHOUT)?;
        let names = serde_json::to_vec(&bench.left_out_ids()).map_err(std::io::Error::other)?;
        fs::write(bench.file("without.json"), names)?;
        args.extend(words(["-p", "wavecrew_without"]));
        args.extend(
            bench
                .left_out_files()
                .map(|file| option("--ignore", Path::new(file))),
        );
    }
    Ok(args)
}

pub fn python_step(bench: &Bench<'_>, python: &Path, args: Vec<OsString>) -> Step {
    let mut step = bench.step(python, args);
    step.env.extend([
        ("PYTHONDONTWRITEBYTECODE", "1".into()),
        ("COVERAGE_FILE", bench.file("coverage.data").into()),
        ("HYPOTHESIS_STORAGE_DIRECTORY", bench.file("hypothesis").into()),
    ]);
    step.env
        .push(("WAVECREW_WITHOUT", bench.file("without.json").into()));
    let mut path = bench.runner.python_path.clone();
    if has_plugin(bench) {
        path.push(bench.file("plugin"));
    }
    if !path.is_empty() {
        path.extend(env::var_os("PYTHONPATH").iter().flat_map(env::split_paths));
        // A folder with a colon in its name cannot be named there.
        step.env
            .extend(env::join_paths(path).ok().map(|path| ("PYTHONPATH", path)));
    }
    step
}

fn has_plugin(bench: &Bench<'_>) -> bool {
    bench.request.order != Order::Usual || !bench.focus.without.is_empty()
}

/// The folders of the files in scope: coverage.py lists what no test imports only directly in a source folder and in
/// packages below it.
pub fn sources(bench: &Bench<'_>) -> OsString {
    let mut folders: Vec<&Path> = bench
        .request
        .scope
        .iter()
        .filter_map(|file| file.parent())
        .collect();
    folders.sort_unstable();
    folders.dedup();
    let mut word = OsString::from("--source=");
    for (n, folder) in folders.into_iter().enumerate() {
        if n > 0 {
            word.push(",");
        }
        word.push(folder);
    }
    word
}

/// Which of these files are no Python.
pub fn unparsable(bench: &Bench<'_>, files: &[PathBuf]) -> Result<Vec<PathBuf>, MeasureError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = words(["-c", UNPARSABLE]);
    args.extend(files.iter().map(OsString::from));
    let ran = bench.run(&bench.step(interpreter(bench.root()), args))?;
    Ok(ran.output.split_terminator('\0').map(PathBuf::from).collect())
}

/// The project's virtual environment, the active one, else the one on `PATH`.
pub fn interpreter(root: &Path) -> PathBuf {
    let own = root
        .ancestors()
        .flat_map(|folder| [folder.join(".venv"), folder.join("venv")]);
    own.chain(env::var_os("VIRTUAL_ENV").map(PathBuf::from))
        .map(|venv| venv.join("bin/python"))
        .find(|python| python.exists())
        .unwrap_or_else(|| PathBuf::from("python3"))
}
