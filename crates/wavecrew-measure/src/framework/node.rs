//! What vitest and jest share: `package.json`, `node_modules`, istanbul's coverage report.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Evidence, FrameworkFacts, Language, MissingTool, Strength, TestFramework};
use crate::detect::settings::{ConfiguredTests, of_globs};
use crate::measurement::{Measurement, Note, TestId};
use crate::mutation::{MutationReport, MutationRun, separate_runs};
use crate::report::{CoverageFormat, TestFormat};
use crate::run::canary::{Canaries, CanaryLanguage};
use crate::run::scope::WhenMissing;
use crate::run::{Invocation, MeasureError, PROGRESS_FILE, Request, Runner, TestCoverage, TestRun};

/// A test framework that is installed in the project's own `node_modules`.
pub struct NodeFramework {
    pub facts: FrameworkFacts,
    /// What `npm install` needs for tests and coverage.
    pub packages: &'static str,
    /// Names of its settings files, without their endings.
    pub settings: &'static [&'static str],
    pub canaries: CanaryLanguage,
    pub arguments: fn(&TestRun<'_>) -> Arguments,
    /// The patterns of test files in its settings.
    pub configured_globs: fn(&Path) -> Vec<String>,
}

/// The command line of a test run.
pub struct Arguments {
    pub args: Vec<OsString>,
    /// Whether coverage is collected.
    pub covered: bool,
    pub notes: Vec<Note>,
}

pub const FACTS: FrameworkFacts = FrameworkFacts {
    language: Some(Language::JavaScript),
    test_pattern: "*.test.ts",
    generates_tests: true,
    can_skip_tests: true,
    missing_package_prefixes: &[
        "Cannot find module '",
        "Cannot find package '",
        "Failed to resolve import \"",
    ],
    syntax_error_marks: &["SyntaxError: ", "Transform failed with", "PARSE_ERROR"],
    ..FrameworkFacts::DEFAULT
};

/// The command that installs packages for tests of a project, with its package manager.
pub fn install_command(root: &Path, packages: &str) -> String {
    let managers = [
        ("pnpm-lock.yaml", "pnpm add --save-dev"),
        ("yarn.lock", "yarn add --dev"),
        ("bun.lock", "bun add --dev"),
        ("package-lock.json", "npm install --save-dev"),
    ];
    let is_without_folder = |folder: &Path| {
        [".pnp.cjs", ".pnp.js"]
            .iter()
            .any(|name| folder.join(name).is_file())
    };
    if root.ancestors().any(is_without_folder) {
        // Frameworks are started from `node_modules`, which Plug'n'Play does not make.
        return "yarn config set nodeLinker node-modules && yarn install".to_owned();
    }
    let of_folder = |folder: &Path| managers.iter().find(|(lock, _)| folder.join(lock).is_file());
    let manager = root.ancestors().find_map(of_folder);
    let command = manager.map_or("npm install --save-dev", |(_, command)| command);
    format!("{command} {packages}")
}

impl NodeFramework {
    fn missing_tool(&self, root: &Path) -> MissingTool {
        MissingTool {
            what: self.facts.name,
            fix: install_command(root, self.packages),
        }
    }

    fn invocation(&self, run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
        let name = self.facts.name;
        let program = node_program(run.root(), name);
        let program = program.ok_or_else(|| self.missing_tool(run.root()))?;
        let canaries = Canaries::place(run, self.canaries)?;
        let Arguments {
            mut args,
            covered,
            notes,
        } = (self.arguments)(run);
        args.extend(canaries.iter().flat_map(Canaries::files).map(OsString::from));
        let coverage = run.file("coverage").join("coverage-final.json");
        Ok(Invocation {
            tests: run.step(program, args),
            test_report: (TestFormat::Jest, run.file("tests.json")),
            then: Vec::new(),
            coverage: covered.then_some((CoverageFormat::Istanbul, coverage)),
            when_missing: WhenMissing::Excluded,
            notes,
            canaries,
        })
    }
}

impl TestFramework for NodeFramework {
    fn facts(&self) -> &FrameworkFacts {
        &self.facts
    }

    fn evidence(&self, folder: &Path) -> Option<Evidence> {
        let name = self.facts.name;
        let manifest = fs::read(folder.join("package.json")).ok()?;
        let package: Value = serde_json::from_slice(&manifest).unwrap_or_default();
        let mut settings = self.settings.iter().flat_map(|name| settings_files(name));
        if let Some(file) = settings.find(|file| folder.join(file).is_file()) {
            return Some(Evidence::new(Strength::Settings, file));
        }
        if package.get(name).is_some() {
            return Some(Evidence::new(
                Strength::Settings,
                format!("`{name}` in package.json"),
            ));
        }
        // While a project moves from one framework to another it depends on both: its test script shows which is in use.
        let script = package["scripts"]["test"].as_str().unwrap_or_default();
        if script.contains(name) {
            let what = format!("the test script in package.json: `{script}`");
            return Some(Evidence::new(Strength::TestScript, what));
        }
        let lists = ["devDependencies", "dependencies", "peerDependencies"];
        if lists.iter().any(|list| package[list].get(name).is_some()) {
            let what = format!("`{name}` in the dependencies of package.json");
            return Some(Evidence::new(Strength::Dependency, what));
        }
        let what = "package.json names neither vitest nor jest";
        let is_assumed = self.facts.is_language_default;
        is_assumed.then(|| Evidence::new(Strength::Assumed, what))
    }

    /// In a workspace, a package that names no framework uses that of a folder above it.
    fn detect(&self, folders: &[&Path]) -> Option<(usize, Evidence)> {
        let evidence = || {
            let found = folders.iter().map(|folder| self.evidence(folder));
            found.enumerate().filter_map(|(n, found)| Some((n, found?)))
        };
        let named = evidence().find(|(_, found)| found.strength > Strength::Assumed);
        named.or_else(|| evidence().next())
    }

    /// `cart.test.ts`, `cart.spec.js`
    fn is_test_file(&self, file: &Path) -> bool {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        Language::of(file) == Some(Language::JavaScript)
            && [".test", ".spec"].iter().any(|end| stem.ends_with(end))
    }

    fn measure(&self, run: &TestRun<'_>) -> Result<Measurement, MeasureError> {
        run.perform(self.invocation(run)?)
    }

    fn coverage_by_test(
        &self,
        runner: &Runner,
        request: &Request<'_>,
        tests: &[TestId],
        max_runs: usize,
    ) -> Result<Option<Vec<TestCoverage>>, MeasureError> {
        let invocation = |run: &TestRun<'_>| self.invocation(run);
        runner.coverage_by_separate_runs(request, tests, max_runs, invocation)
    }

    fn mutate(&self, run: &MutationRun<'_>) -> Result<MutationReport, MeasureError> {
        separate_runs::mutate(run)
    }

    fn missing(&self, root: &Path) -> Option<MissingTool> {
        let program = node_program(root, self.facts.name);
        program.is_none().then(|| self.missing_tool(root))
    }

    /// `@scope/name/file` and `name/file` are files of a package.
    fn install_hint(&self, root: &Path, package: &str) -> String {
        let parts = if package.starts_with('@') { 2 } else { 1 };
        let package: Vec<&str> = package.split('/').take(parts).collect();
        install_command(root, &package.join("/"))
    }

    fn configured_tests(&self, root: &Path) -> ConfiguredTests {
        of_globs(&(self.configured_globs)(root))
    }

    fn version(&self, root: &Path, top: &Path) -> Option<String> {
        let mut above = root.ancestors().take_while(|folder| folder.starts_with(top));
        above.find_map(|folder| {
            let package = folder.join("node_modules").join(self.facts.name);
            let manifest = fs::read(package.join("package.json")).ok()?;
            let manifest: Value = serde_json::from_slice(&manifest).ok()?;
            Some(manifest["version"].as_str()?.to_owned())
        })
    }
}

/// The names that a settings file may have.
pub fn settings_files(name: &str) -> impl Iterator<Item = String> {
    let endings = ["ts", "mts", "cts", "js", "mjs", "cjs", "json"];
    endings.into_iter().map(move |ending| format!("{name}.{ending}"))
}

/// The path of something in the nearest `node_modules` that has it.
pub fn installed(root: &Path, what: &str) -> Option<PathBuf> {
    let mut candidates = root
        .ancestors()
        .map(|folder| folder.join("node_modules").join(what));
    candidates.find(|path| path.exists())
}

/// The program of this name that the nearest `node_modules` has.
pub fn node_program(root: &Path, name: &str) -> Option<PathBuf> {
    installed(root, &format!(".bin/{name}"))
}

/// Whether the run ends at the first failure, whatever the project's settings are.
pub fn bail_option(run: &TestRun<'_>) -> OsString {
    format!("--bail={}", u8::from(run.focus.stop_early)).into()
}

/// The option that skips tests, if any.
pub fn skip_option(run: &TestRun<'_>) -> Option<OsString> {
    let pattern = run.skip_pattern()?;
    Some(format!("--testNamePattern={pattern}").into())
}

/// The files in scope as patterns that match only them.
pub fn scope_globs(run: &TestRun<'_>) -> impl Iterator<Item = String> {
    run.request.scope.iter().map(|file| {
        let path = file.strip_prefix(run.root()).unwrap_or(file).to_string_lossy();
        let mut glob = String::with_capacity(path.len());
        for c in path.chars() {
            if "[]{}()*?!+@\\".contains(c) {
                glob.push('\\');
            }
            glob.push(c);
        }
        glob
    })
}

/// Writes a reporter that appends to the progress file; FILE in its source is that file. None if nobody reads
/// the progress, or it cannot be written: it is only for the display.
pub fn progress_reporter(run: &TestRun<'_>, name: &str, source: &str) -> Option<PathBuf> {
    run.runner.progress.as_ref()?;
    let file = serde_json::to_string(&run.file(PROGRESS_FILE)).ok()?;
    let reporter = run.file(name);
    fs::write(&reporter, source.replace("FILE", &file)).ok()?;
    Some(reporter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_installed_with_the_manager_of_the_project() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("packages/a");
        fs::create_dir_all(&root).unwrap();
        assert_eq!(install_command(&root, "vitest"), "npm install --save-dev vitest");
        for (file, expected) in [
            ("yarn.lock", "yarn add --dev vitest"),
            ("pnpm-lock.yaml", "pnpm add --save-dev vitest"),
            (
                ".pnp.cjs",
                "yarn config set nodeLinker node-modules && yarn install",
            ),
        ] {
            fs::write(top.path().join(file), "").unwrap();
            assert_eq!(install_command(&root, "vitest"), expected);
        }
    }
}
