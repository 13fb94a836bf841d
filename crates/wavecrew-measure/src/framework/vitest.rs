//! vitest of the project's own `node_modules`.

use std::ffi::OsString;
use std::path::Path;

use super::FrameworkFacts;
use super::node::{
    Arguments, FACTS, NodeFramework, bail_option, install_command, installed, progress_reporter, scope_globs,
    skip_option,
};
use crate::detect::settings::lists;
use crate::measurement::{NO_COVERAGE, Note};
use crate::run::canary::CanaryLanguage;
use crate::run::{TestOrder, TestRun, option, os_args};

pub static VITEST: NodeFramework = NodeFramework {
    facts: FrameworkFacts {
        name: "vitest",
        process_variables: &["VITEST", "VITEST_POOL_ID", "VITEST_WORKER_ID"],
        // Vite compiles the project's settings into it.
        package_folder: Some(".vite-temp"),
        ..FACTS
    },
    packages: "vitest @vitest/coverage-v8",
    settings: &["vitest.config", "vitest.workspace"],
    canaries: CanaryLanguage::Vitest,
    arguments,
    configured_globs,
};

fn configured_globs(root: &Path) -> Vec<String> {
    let mut globs = lists(root, "vitest", "include");
    globs.extend(lists(root, "vite", "include"));
    // Coverage and type checks have lists of that name, too.
    globs.retain(|glob| glob.contains("test") || glob.contains("spec"));
    globs
}

/// A reporter that counts test files.
const PROGRESS: &str = "import { appendFileSync } from 'node:fs';\n\
    const append = (text) => appendFileSync(FILE, text);\n\
    export default class {\n  \
    onTestRunStart(files) { append(`${files.length} files\\n`); }\n  \
    onTestModuleEnd() { append('.\\n'); }\n}\n";

fn arguments(run: &TestRun<'_>) -> Arguments {
    let related = run.focus.related.filter(|_| run.request.tests.is_empty());
    let mut args = match related {
        Some(file) => vec!["related".into(), file.into(), "--run".into()],
        None => os_args(["run"]),
    };
    args.push(bail_option(run));
    // Console output goes straight through: vitest would keep it for its report.
    args.extend(os_args([
        "--reporter=json",
        "--disable-console-intercept",
        "--no-cache",
    ]));
    let reporter = progress_reporter(run, "progress-reporter.mjs", PROGRESS);
    args.extend(reporter.map(|file| option("--reporter", &file)));
    if related.is_some() {
        args.push("--passWithNoTests".into());
    }
    args.push(option("--outputFile.json", &run.file("tests.json")));
    args.extend(skip_option(run));
    if let TestOrder::Shuffled { seed } = run.request.order {
        args.extend([
            "--sequence.shuffle".into(),
            format!("--sequence.seed={seed}").into(),
        ]);
    }
    let mut notes = Vec::new();
    let mut providers = vec!["v8", "istanbul"];
    providers.retain(|name| installed(run.root(), &format!("@vitest/coverage-{name}")).is_some());
    let covered = run.wants_coverage() && !providers.is_empty();
    if covered {
        args.extend(os_args([
            "--coverage.enabled",
            "--coverage.reporter=json",
            "--coverage.reportOnFailure",
        ]));
        args.push(option("--coverage.reportsDirectory", &run.file("coverage")));
        // With both installed the project's settings choose.
        if let [only] = providers[..] {
            args.push(format!("--coverage.provider={only}").into());
        }
        args.extend(scope_globs(run).map(|glob| OsString::from(format!("--coverage.include={glob}"))));
    } else {
        args.push("--coverage.enabled=false".into());
        if run.wants_coverage() {
            notes.push(Note::missing_tool(
                "vitest has no coverage provider",
                NO_COVERAGE,
                install_command(run.root(), "@vitest/coverage-v8"),
            ));
        }
    }
    args.extend(run.request.tests.iter().map(OsString::from));
    Arguments { args, covered, notes }
}
