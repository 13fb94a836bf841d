//! vitest of the project's own `node_modules`.

use std::ffi::OsString;
use std::path::Path;

use super::node::{self, globs, installed, skipped};
use super::{
    CoverageByTest, Framework, FrameworkFacts, Language, MutantRuns, TestFolder, TestFramework, TestNames,
};
use crate::detect::Project;
use crate::detect::settings::{ConfiguredTests, lists, of_globs};
use crate::measurement::{NO_COVERAGE, Note};
use crate::run::{Invocation, MeasureError, TestOrder, TestRun, option, words};

const FACTS: FrameworkFacts = FrameworkFacts {
    name: "vitest",
    language: Some(Language::JavaScript),
    test_pattern: "*.test.ts",
    test_folder: TestFolder::ByConvention,
    test_names: TestNames::File,
    unique_file_names: false,
    measures_without_tests: false,
    warm_mutants: false,
    mutants_without_coverage: false,
    mutants: MutantRuns::FreshRuns,
    coverage_by_test: CoverageByTest::OneRunEach,
    can_skip_tests: true,
    missing_package_openings: node::MISSING_PACKAGE,
};

pub struct Vitest;

impl TestFramework for Vitest {
    fn facts(&self) -> &'static FrameworkFacts {
        &FACTS
    }

    fn detect(&self, folders: &[&Path]) -> Option<Project> {
        node::find(folders).filter(|project| project.framework == Framework::Vitest)
    }

    fn is_test_file(&self, file: &Path) -> bool {
        node::is_test_file(file)
    }

    fn invocation(&self, run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
        invocation(run)
    }

    fn install_hint(&self, _root: &Path, package: &str) -> String {
        node::install_hint(package)
    }

    fn configured_tests(&self, root: &Path) -> ConfiguredTests {
        let mut globs = lists(root, "vitest", "include");
        globs.extend(lists(root, "vite", "include"));
        // Coverage and type checks have lists of that name, too.
        globs.retain(|glob| glob.contains("test") || glob.contains("spec"));
        of_globs(&globs)
    }

    fn version(&self, root: &Path, top: &Path) -> Option<String> {
        node::version("vitest", root, top)
    }
}

fn invocation(run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
    let program = installed(run.root(), ".bin/vitest").ok_or_else(|| MeasureError::NotInstalled {
        what: "vitest",
        fix: "npm install --save-dev vitest @vitest/coverage-v8".to_owned(),
    })?;
    let report = run.file("tests.json");
    // Console output goes straight through: vitest would keep it for its report.
    let related = run.focus.related.filter(|_| run.request.tests.is_empty());
    let mut args = match related {
        Some(file) => vec!["related".into(), file.into(), "--run".into()],
        None => words(["run"]),
    };
    if run.focus.stop_early {
        args.push("--bail=1".into());
    }
    args.extend(words([
        "--reporter=json",
        "--disable-console-intercept",
        "--no-cache",
    ]));
    if related.is_some() {
        args.push("--passWithNoTests".into());
    }
    args.push(option("--outputFile.json", &report));
    args.extend(skipped(run));
    if let TestOrder::Shuffled { seed } = run.request.order {
        args.extend([
            "--sequence.shuffle".into(),
            format!("--sequence.seed={seed}").into(),
        ]);
    }
    let mut notes = Vec::new();
    let providers: Vec<&str> = ["v8", "istanbul"]
        .into_iter()
        .filter(|name| installed(run.root(), &format!("@vitest/coverage-{name}")).is_some())
        .collect();
    let covered = run.wants_coverage() && !providers.is_empty();
    if covered {
        args.extend(words([
            "--coverage.enabled",
            "--coverage.reporter=json",
            "--coverage.reportOnFailure",
        ]));
        args.push(option("--coverage.reportsDirectory", &run.file("coverage")));
        // With both installed the project's settings choose.
        if let [only] = providers[..] {
            args.push(format!("--coverage.provider={only}").into());
        }
        args.extend(globs(run).map(|glob| OsString::from(format!("--coverage.include={glob}"))));
    } else {
        args.push("--coverage.enabled=false".into());
        if run.wants_coverage() {
            notes.push(Note::missing_tool(
                "vitest has no coverage provider",
                NO_COVERAGE,
                "npm install --save-dev @vitest/coverage-v8".to_owned(),
            ));
        }
    }
    args.extend(run.request.tests.iter().map(OsString::from));
    Ok(node::invocation(run, &program, args, covered, notes))
}
