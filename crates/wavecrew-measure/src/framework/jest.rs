//! jest of the project's own `node_modules`.

use std::ffi::OsString;
use std::path::Path;

use super::FrameworkFacts;
use super::node::{
    Arguments, FACTS, NodeFramework, bail_option, progress_reporter, scope_globs, skip_option,
};
use crate::detect::settings::lists;
use crate::run::canary::CanaryLanguage;
use crate::run::{TestOrder, TestRun, option, os_args};

pub static JEST: NodeFramework = NodeFramework {
    facts: FrameworkFacts {
        name: "jest",
        is_language_default: true,
        process_variables: &["JEST_WORKER_ID", "NODE_V8_COVERAGE"],
        ..FACTS
    },
    packages: "jest",
    settings: &["jest.config"],
    canaries: CanaryLanguage::Jest,
    arguments,
    configured_globs,
};

fn configured_globs(root: &Path) -> Vec<String> {
    [lists(root, "jest", "testMatch"), lists(root, "jest", "roots")].concat()
}

/// A reporter that counts test files.
const PROGRESS: &str = "const { appendFileSync } = require('node:fs');\n\
    const append = (text) => appendFileSync(FILE, text);\n\
    module.exports = class {\n  \
    onRunStart(results) { append(`${results.numTotalTestSuites} files\\n`); }\n  \
    onTestResult() { append('.\\n'); }\n};\n";

fn arguments(run: &TestRun<'_>) -> Arguments {
    // Silent: jest would keep console output in memory. No reporters of the project: some write files into it.
    let mut args = os_args([
        "--ci",
        "--json",
        "--silent",
        "--watchAll=false",
        "--reporters=default",
    ]);
    let reporter = progress_reporter(run, "progress-reporter.cjs", PROGRESS);
    args.extend(reporter.map(|file| option("--reporters", &file)));
    args.push(option("--outputFile", &run.file("tests.json")));
    let own_cache = run.file("cache");
    args.push(option("--cacheDirectory", run.focus.cache.unwrap_or(&own_cache)));
    args.push(bail_option(run));
    args.extend(skip_option(run));
    if let TestOrder::Shuffled { seed } = run.request.order {
        args.extend(["--randomize".into(), format!("--seed={seed}").into()]);
    }
    let covered = run.wants_coverage();
    if covered {
        args.extend(os_args([
            "--coverage",
            "--coverageReporters=json",
            "--coverageThreshold={}",
        ]));
        args.push(option("--coverageDirectory", &run.file("coverage")));
        args.extend(scope_globs(run).map(|glob| OsString::from(format!("--collectCoverageFrom={glob}"))));
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
    Arguments {
        args,
        covered,
        notes: Vec::new(),
    }
}
