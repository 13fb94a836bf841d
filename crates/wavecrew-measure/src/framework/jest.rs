//! jest of the project's own `node_modules`.

use std::ffi::OsString;
use std::path::Path;

use super::node::{self, globs, installed, skipped};
use super::{
    CoverageByTest, Framework, FrameworkFacts, Language, MutantRuns, TestFolder, TestFramework, TestNames,
};
use crate::detect::Project;
use crate::detect::settings::{ConfiguredTests, lists, of_globs};
use crate::run::{Invocation, MeasureError, TestOrder, TestRun, option, words};

const FACTS: FrameworkFacts = FrameworkFacts {
    name: "jest",
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

pub struct Jest;

impl TestFramework for Jest {
    fn facts(&self) -> &'static FrameworkFacts {
        &FACTS
    }

    fn detect(&self, folders: &[&Path]) -> Option<Project> {
        node::find(folders).filter(|project| project.framework == Framework::Jest)
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
        of_globs(&[lists(root, "jest", "testMatch"), lists(root, "jest", "roots")].concat())
    }

    fn version(&self, root: &Path, top: &Path) -> Option<String> {
        node::version("jest", root, top)
    }
}

fn invocation(run: &TestRun<'_>) -> Result<Invocation, MeasureError> {
    let program = installed(run.root(), ".bin/jest").ok_or_else(|| MeasureError::NotInstalled {
        what: "jest",
        fix: "npm install --save-dev jest".to_owned(),
    })?;
    // Silent: jest would keep console output in memory. Only its own reporter: others write files into the project.
    let mut args = words([
        "--ci",
        "--json",
        "--silent",
        "--watchAll=false",
        "--reporters=default",
    ]);
    args.push(option("--outputFile", &run.file("tests.json")));
    let own = run.file("cache");
    args.push(option("--cacheDirectory", run.focus.cache.unwrap_or(&own)));
    if run.focus.stop_early {
        args.push("--bail".into());
    }
    args.extend(skipped(run));
    if let TestOrder::Shuffled { seed } = run.request.order {
        args.extend(["--randomize".into(), format!("--seed={seed}").into()]);
    }
    let covered = run.wants_coverage();
    if covered {
        args.extend(words([
            "--coverage",
            "--coverageReporters=json",
            "--coverageThreshold={}",
        ]));
        args.push(option("--coverageDirectory", &run.file("coverage")));
        args.extend(globs(run).map(|glob| OsString::from(format!("--collectCoverageFrom={glob}"))));
    } else {
        args.push("--coverage=false".into());
    }
    if !run.request.tests.is_empty() {
        args.push("--runTestsByPath".into());
        args.extend(run.request.tests.iter().map(OsString::from));
    } else if let Some(file) = run.focus.related {
        args.extend([
            "--passWithNoTests".into(),
            "--findRelatedTests".into(),
            file.into(),
        ]);
    }
    Ok(node::invocation(run, &program, args, covered, Vec::new()))
}
