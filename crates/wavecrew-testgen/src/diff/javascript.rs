//! JavaScript and TypeScript: one helper process per module, which starts both versions. Plain node loads what it can, because
//! it starts many times faster; the project's own vitest or jest load the rest: TypeScript, aliases, modules of a browser.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use wavecrew_measure::framework::{Framework, node_program};
use wavecrew_measure::report::json;
use wavecrew_process::sandbox::spawn_confined;
use wavecrew_syntax::{Grammar, outline};

use super::{CompareProgress, ComparedModule, HelperOutput, ModuleTime, TestFile, Versions, helper_request};
use crate::helper_files::unpack;
use crate::javascript::project::Project;
use crate::javascript::report;
use crate::javascript::runner::Runner;
use crate::javascript::source::{SourceModule, import_path, quoted};
use crate::javascript::supervised::{Limits, node_environment};
use crate::javascript::temporary_files::TemporaryFiles;
use crate::javascript::test_file::{self, Test};
use crate::javascript::{HELPER, PACKAGE, helper_folder};
use crate::process_tree::ProcessTree;
use crate::python::helper_process::{Continuation, Ended, listen};
use crate::{GenerateError, Imports, Priorities, Request};

/// What a helper that stops in time may still need to end.
const GRACE: Duration = Duration::from_secs(3);
/// Running the tests in both versions takes this share of a module's time, but at least some seconds.
const VERIFY_SHARE: f64 = 0.25;
const LEAST_RUN: Duration = Duration::from_secs(5);
/// Where projects keep tests, in the order in which folders are preferred.
const TEST_FOLDERS: [&str; 5] = ["test", "tests", "__tests__", "spec", "specs"];
/// Lines that only tests with `require` need.
const REQUIRE: [&str; 2] = [
    "import { createRequire } from 'node:module';",
    "const require = createRequire(import.meta.url);",
];
/// Not known to plain node.
const TRANSFORMED: [&str; 5] = ["ts", "tsx", "mts", "cts", "jsx"];

pub fn compare(
    versions: &Versions,
    file: &Path,
    time: ModuleTime,
    on_progress: &mut dyn FnMut(CompareProgress<'_>) -> bool,
) -> Result<ComparedModule, GenerateError> {
    let helper = unpack(HELPER, PACKAGE)?;
    let package = package_of(&versions.new_root, file);
    let tests = own_test_folder(versions, &package, file);
    let sides = [&versions.old_root, &versions.new_root]
        .map(|root| Side::new(root, &package, tests.as_deref(), file));
    let [old, new] = match sides {
        [Ok(old), Ok(new)] => [old, new],
        [Err(why), _] | [_, Err(why)] => return Ok(ComparedModule::dropped(file, why)),
    };
    let mut files = Vec::new();
    let commands = match (&old.runner, &new.runner) {
        (Some(before), Some(after)) => Some([
            old.start_by(before, helper.path(), &mut files)?,
            new.start_by(after, helper.path(), &mut files)?,
        ]),
        _ => None,
    };
    let extension = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    if commands.is_none() && TRANSFORMED.contains(&extension) {
        let why = "needs vitest or jest to be loaded, and the project has neither installed";
        return Ok(ComparedModule::dropped(file, why.to_owned()));
    }
    let request = request(versions, file, time, helper.path(), [&old, &new], commands);
    let temp = tempfile::Builder::new().prefix("wavecrew-testgen-").tempdir()?;
    let request_file = temp.path().join("request.json");
    fs::write(&request_file, request.to_string())?;
    let mut command = Command::new("node");
    command
        .arg(helper_folder(helper.path()).join("compare.cjs"))
        .arg(&request_file)
        .current_dir(&versions.new_root);
    node_environment(&mut command, temp.path());
    let runners = [&old.runner, &new.runner].into_iter().flatten();
    let packages: Vec<PathBuf> = runners.filter_map(Runner::package_folder).collect();
    let places: Vec<&Path> = std::iter::once(temp.path())
        .chain(packages.iter().map(PathBuf::as_path))
        .collect();
    let child = spawn_confined(&mut command, &places).map_err(|why| GenerateError::Interpreter {
        program: PathBuf::from("node"),
        why,
    })?;
    let mut output = HelperOutput::default();
    let mut found = Vec::new();
    let ended = listen(ProcessTree(child), time.until + GRACE, |line| {
        match line.map(|line| json::from_slice::<TestsLine>(line.as_bytes())) {
            Some(Ok(line)) => {
                found = line.test_files;
                Continuation::Continue
            }
            Some(Err(_)) | None => output.take(line, on_progress),
        }
    });
    if output.is_stopped {
        found.clear();
    }
    let mut module = output.result(file, || match ended {
        Ended::TimedOut => "the time limit came before its search ended".to_owned(),
        Ended::Done(error) if error.is_empty() => "stopped before its search ended".to_owned(),
        Ended::Done(error) => format!("the JavaScript helper failed: {error}"),
    });
    drop(files);
    for tests in found {
        on_progress(CompareProgress::Step("running the tests in both versions"));
        module
            .tests
            .extend(tests.verified(&old, &new, time.until + GRACE)?);
    }
    Ok(module)
}

#[derive(Deserialize)]
struct TestsLine {
    test_files: Vec<FoundTests>,
}

/// Tests that the helper suggests.
#[derive(Deserialize)]
struct FoundTests {
    /// The path from the root.
    name: PathBuf,
    kind: String,
    header: Vec<String>,
    tests: Vec<Test>,
}

impl FoundTests {
    /// The tests that hold when the framework runs them: all pass in the new version, and those of changes fail in the old
    /// one.
    fn verified(mut self, old: &Side, new: &Side, until: Instant) -> Result<Option<TestFile>, GenerateError> {
        let mut kept = self.tests;
        for (side, passes) in [(new, true), (old, self.kind != "change")] {
            let Some(runner) = side.runner.as_ref().filter(|_| !kept.is_empty()) else {
                return Ok(None);
            };
            let name = self.name.file_name().unwrap_or_default().to_string_lossy();
            let report = tempfile::NamedTempFile::new()?;
            let limits = Limits {
                wall_time: until.saturating_duration_since(Instant::now()).max(LEAST_RUN),
                trace: None,
            };
            let text = test_file::text(&self.header, &kept);
            let folder = side.package.join(&side.test_folder);
            let named = (format!("wavecrew-{name}"), text);
            runner.run(
                &folder,
                (&named.0, &named.1),
                &[],
                "Pacific/Apia",
                &limits,
                Some(report.path()),
            )?;
            let (passed, failed) = (report::passed(report.path()), report::failed(report.path()));
            let expected = if passes { passed } else { failed };
            kept.retain(|test| expected.contains(&format!("{} {}", test.group, test.title)));
        }
        if !kept.iter().any(|test| test.text.contains("require(")) {
            self.header.retain(|line| !REQUIRE.contains(&line.as_str()));
            while self.header.last().is_some_and(String::is_empty) {
                self.header.pop();
            }
        }
        Ok((!kept.is_empty()).then(|| TestFile {
            name: self.name.to_string_lossy().into_owned(),
            text: test_file::text(&self.header, &kept),
            tests: kept
                .iter()
                .map(|test| format!("{} > {}", test.group, test.title))
                .collect(),
            kind: self.kind,
        }))
    }
}

/// One version of the module.
pub(super) struct Side {
    pub package: PathBuf,
    /// Where its tests lie, relative to the package.
    test_folder: PathBuf,
    source: SourceModule,
    /// `None` for plain node.
    pub runner: Option<Runner>,
}

impl Side {
    pub fn new(root: &Path, package: &Path, tests: Option<&Path>, file: &Path) -> Result<Self, String> {
        let package = root.join(package);
        let test_folder = tests.map_or_else(|| test_folder(&package), Path::to_owned);
        let framework = framework(&package);
        let request = Request {
            files: vec![root.join(file)],
            framework: framework.clone().unwrap_or(Framework::Vitest),
            layer_folder: package.join(&test_folder),
            run_folder: test_folder.clone(),
            root: package.clone(),
            imports: Imports::default(),
            feedback: None,
            commit: None,
            seed: 0,
            budget_per_module: Duration::ZERO,
            deadline: None,
            priorities: Priorities::default(),
            jobs: 1,
        };
        let source = SourceModule::read(&request, &Project::read(&package), &root.join(file))?;
        let runner = framework.and_then(|_| Runner::find(&request).ok());
        Ok(Self {
            package,
            test_folder,
            source,
            runner,
        })
    }

    /// The command that loads this version in the project's framework. Writes the test that does it.
    fn start_by(&self, runner: &Runner, helper: &Path, files: &mut Vec<TemporaryFiles>) -> io::Result<Value> {
        let folder = self.package.join(&self.test_folder);
        let mut made = TemporaryFiles::in_folder(&folder)?;
        let path = folder.join(self.source.search_test_name(runner));
        let worker = quoted(&helper_folder(helper).join("compare_worker.cjs").to_string_lossy());
        let module = quoted(&import_path(&folder, &self.source.file));
        let text = match runner {
            Runner::Vitest { .. } => format!(
                "import {{ it }} from 'vitest';\nimport {{ createRequire }} from 'node:module';\n\
                 const worker = createRequire(import.meta.url)({worker});\n\
                 it('compare', () => worker.serve(() => import({module})), 100000000);\n"
            ),
            Runner::Jest { .. } => {
                format!("it('compare', () => require({worker}).serve(() => require({module})), 100000000);\n")
            }
        };
        made.create(&path, &text)?;
        files.push(made);
        let command = runner.command(&path, None);
        let words: Vec<_> = std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(OsStr::to_string_lossy)
            .collect();
        Ok(json!(words))
    }
}

fn request(
    versions: &Versions,
    file: &Path,
    time: ModuleTime,
    helper: &Path,
    [old, new]: [&Side; 2],
    commands: Option<[Value; 2]>,
) -> Value {
    let worker = helper_folder(helper).join("compare_worker.cjs");
    let in_node = json!(["node", worker]);
    let extension = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    let in_node = (!TRANSFORMED.contains(&extension)).then(|| json!({"old": in_node, "new": in_node}));
    let in_framework = commands.map(|[old, new]| json!({"old": old, "new": new}));
    let (commands, fallback) = if needs_browser(&new.package) {
        (in_framework, in_node)
    } else {
        (in_node, in_framework)
    };
    let (commands, fallback) = if commands.is_none() {
        (fallback, None)
    } else {
        (commands, fallback)
    };
    let outline_of = |side: &Side| {
        let grammar = Grammar::of(&side.source.file);
        grammar
            .map(|grammar| outline(grammar, &side.source.text))
            .unwrap_or_default()
    };
    let changed_texts: Vec<Value> = versions
        .changed
        .iter()
        .flat_map(|changed| {
            [
                (&versions.old_root, &changed.old_lines),
                (&versions.new_root, &changed.new_lines),
            ]
            .map(|(root, lines)| (fs::read_to_string(root.join(&changed.file)), lines))
        })
        .filter_map(|(text, lines)| Some(json!({"text": text.ok()?, "lines": lines})))
        .collect();
    let (before, after) = (outline_of(old), outline_of(new));
    let is_tested = (versions.tests.change || versions.tests.guard) && new.runner.is_some();
    let reserve = if is_tested {
        time.until
            .saturating_duration_since(Instant::now())
            .mul_f64(VERIFY_SHARE)
    } else {
        Duration::ZERO
    };
    let search_time = ModuleTime {
        until: time.until.checked_sub(reserve).unwrap_or(time.until),
        ..time
    };
    let mut request = helper_request(versions, file, "diff", search_time);
    let more = json!({
        "commands": commands,
        "fallback": fallback,
        "packages": {"old": old.package, "new": new.package},
        "constants": [before.constants, after.constants],
        "outlines": {"old": before, "new": after},
        "identifier": new.source.identifier,
        "importPath": new.source.import_path,
        "shownPath": file,
        "style": new.source.style(),
        "typescript": new.source.is_typescript(),
        "framework": new.runner.as_ref().map_or("node", Runner::name),
        "texts": new.source.texts,
        "changed_texts": changed_texts,
        "testNames": new.runner.as_ref().map(|_| json!({
            "change": test_name(versions, new, "change"),
            "guard": test_name(versions, new, "unchanged"),
        })),
    });
    if let (Some(request), Value::Object(more)) = (request.as_object_mut(), more) {
        request.extend(more);
    }
    request
}

/// Whether the package's tests run in a simulated browser, which plain node has not.
fn needs_browser(package: &Path) -> bool {
    let settings = [
        "package.json",
        "vitest.config.ts",
        "vitest.config.js",
        "vite.config.ts",
        "vite.config.js",
        "jest.config.js",
        "jest.config.ts",
    ];
    settings
        .iter()
        .filter_map(|name| fs::read_to_string(package.join(name)).ok())
        .any(|text| text.contains("jsdom") || text.contains("happy-dom"))
}

/// The path of a test file from the root: its imports are relative.
fn test_name(versions: &Versions, side: &Side, what: &str) -> PathBuf {
    let folder = side.package.join(&side.test_folder);
    let folder = folder.strip_prefix(&versions.new_root).unwrap_or(&folder);
    side.source.named_test_file(folder, what)
}

/// The folder of the package that a file belongs to, relative to the root.
pub(super) fn package_of(root: &Path, file: &Path) -> PathBuf {
    let mut folders = file.ancestors().skip(1);
    let package = folders.find(|folder| root.join(folder).join("package.json").is_file());
    package.unwrap_or(Path::new("")).to_owned()
}

/// Where the tests of a module will lie, relative to its package, if the caller says so.
fn own_test_folder(versions: &Versions, package: &Path, file: &Path) -> Option<PathBuf> {
    let folders = versions.test_folders.iter();
    let nearest = folders
        .filter(|folder| file.starts_with(&folder.modules))
        .max_by_key(|folder| folder.modules.components().count())?;
    Some(nearest.tests.strip_prefix(package).ok()?.to_owned())
}

/// Where the package keeps its tests.
fn test_folder(package: &Path) -> PathBuf {
    let found = TEST_FOLDERS.iter().find(|name| package.join(name).is_dir());
    PathBuf::from(found.unwrap_or(&TEST_FOLDERS[0]))
}

/// The framework that is installed; the one that the package names if both are.
fn framework(package: &Path) -> Option<Framework> {
    let is_installed = |name: &str| node_program(package, name).is_some();
    let names_jest = fs::read_to_string(package.join("package.json"))
        .is_ok_and(|text| text.contains("\"jest\"") && !text.contains("\"vitest\""));
    match (is_installed("vitest"), is_installed("jest")) {
        (true, true) if names_jest => Some(Framework::Jest),
        (true, _) => Some(Framework::Vitest),
        (false, true) => Some(Framework::Jest),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_nearest_package() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["packages/a/src", "packages/a/tests"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for package in ["package.json", "packages/a/package.json"] {
            fs::write(root.path().join(package), "{}").unwrap();
        }
        for (file, package) in [("packages/a/src/x.js", "packages/a"), ("index.js", "")] {
            assert_eq!(package_of(root.path(), Path::new(file)), Path::new(package));
        }
        assert_eq!(test_folder(&root.path().join("packages/a")), Path::new("tests"));
        assert_eq!(test_folder(root.path()), Path::new("test"));
    }
}
