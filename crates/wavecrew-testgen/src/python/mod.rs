//! Python: one helper process per module, several at a time. The helper is the Python package in `helpers/python`.

pub mod helper_process;

use wavecrew_measure::framework::python_environment::interpreter;

use crate::helper_files::{SourceFiles, source_files, unpack};
use crate::{GenerateError, Module, Progress, Request, module_pool};

pub const HELPER: SourceFiles = source_files![
    "python/wavecrew_testgen":
    "__init__.py",
    "__main__.py",
    "annotations.py",
    "argument_checks.py",
    "assertions.py",
    "cases.py",
    "child_process.py",
    "classes.py",
    "clock.py",
    "closures.py",
    "code_replacement.py",
    "comparisons.py",
    "defects.py",
    "diff_compare.py",
    "diff_driver.py",
    "diff_edges.py",
    "diff_search.py",
    "diff_session.py",
    "diff_suite.py",
    "diff_tests.py",
    "doctests.py",
    "driver.py",
    "examples.py",
    "expected_errors.py",
    "fixture_values.py",
    "fixtures.py",
    "formatting.py",
    "import_help.py",
    "import_paths.py",
    "literals.py",
    "module_mutants.py",
    "mutants.py",
    "names.py",
    "naming.py",
    "observe.py",
    "patterns.py",
    "peer.py",
    "plausibility.py",
    "probes.py",
    "process_state.py",
    "pytest_run.py",
    "quarantine.py",
    "render.py",
    "run.py",
    "sandbox.py",
    "search.py",
    "selection.py",
    "session.py",
    "simplify.py",
    "snapshot.py",
    "snippet_fixtures.py",
    "snippet_options.py",
    "snippets.py",
    "stability.py",
    "stubs.py",
    "style.py",
    "suite_run.py",
    "targets.py",
    "test_copies.py",
    "test_files.py",
    "tracing.py",
    "type_hints.py",
    "uncovered.py",
    "usage.py",
    "values.py",
    "variation.py",
    "worker.py",
    "written_files.py",
];

pub fn generate(request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Module>, GenerateError> {
    let python = request
        .imports
        .interpreter
        .clone()
        .unwrap_or_else(|| interpreter(&request.root));
    let helper = unpack(HELPER, helper_process::PACKAGE)?;
    module_pool::for_each_module(request, progress, |file, share, on_step| {
        let job = helper_process::Job {
            request,
            file,
            share,
            python: &python,
            helper: helper.path(),
        };
        helper_process::run(&job, on_step)
    })
}
