//! What vitest and jest share: `package.json`, `node_modules`, istanbul's coverage report.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Framework, Language};
use crate::detect::{Certainty, Project};
use crate::measurement::Note;
use crate::report::{CoverageFormat, TestFormat};
use crate::run::scope::WhenMissing;
use crate::run::{Invocation, TestRun};

/// What a message says before the name of a missing package.
pub const MISSING_PACKAGE: &[&str] = &[
    "Cannot find module '",
    "Cannot find package '",
    "Failed to resolve import \"",
];

const ENDINGS: &[&str] = &["ts", "mts", "cts", "js", "mjs", "cjs", "json"];

/// The project of vitest or jest. In a workspace a package's own signs come first, then those of the folders above it.
pub fn find(folders: &[&Path]) -> Option<Project> {
    let packages = || {
        folders
            .iter()
            .filter(|folder| folder.join("package.json").is_file())
    };
    let found = packages().find_map(|root| {
        let (framework, evidence) = sign(root)?;
        Some(Project {
            root: (*root).to_owned(),
            framework,
            evidence,
            certainty: Certainty::Found,
        })
    });
    found.or_else(|| {
        packages().next().map(|root| Project {
            root: (*root).to_owned(),
            framework: Framework::Jest,
            evidence: "package.json names neither vitest nor jest".to_owned(),
            certainty: Certainty::Assumed,
        })
    })
}

/// The names that a settings file may have.
pub fn settings_files(name: &str) -> impl Iterator<Item = String> {
    ENDINGS.iter().map(move |ending| format!("{name}.{ending}"))
}

fn sign(folder: &Path) -> Option<(Framework, String)> {
    let settings = |name: &str| settings_files(name).find(|file| folder.join(file).is_file());
    if let Some(file) = settings("vitest.config").or_else(|| settings("vitest.workspace")) {
        return Some((Framework::Vitest, file));
    }
    if let Some(file) = settings("jest.config") {
        return Some((Framework::Jest, file));
    }
    let text = fs::read(folder.join("package.json")).unwrap_or_default();
    let package: Value = serde_json::from_slice(&text).unwrap_or_default();
    if package.get("jest").is_some() {
        return Some((Framework::Jest, "`jest` in package.json".to_owned()));
    }
    let script = package["scripts"]["test"].as_str().unwrap_or_default();
    let depends = |name: &str| {
        let lists = ["devDependencies", "dependencies", "peerDependencies"];
        lists.iter().any(|list| package[list].get(name).is_some())
    };
    // While a project moves from one to the other it has both; its test script says which is in use.
    for (framework, name) in [(Framework::Vitest, "vitest"), (Framework::Jest, "jest")] {
        if script.contains(name) {
            return Some((framework, format!("the test script in package.json: `{script}`")));
        }
    }
    [(Framework::Vitest, "vitest"), (Framework::Jest, "jest")]
        .into_iter()
        .find(|(_, name)| depends(name))
        .map(|(framework, name)| (framework, format!("`{name}` in the dependencies of package.json")))
}

pub fn invocation(
    run: &TestRun<'_>,
    program: &Path,
    args: Vec<OsString>,
    covered: bool,
    notes: Vec<Note>,
) -> Invocation {
    Invocation {
        tests: run.step(program, args),
        test_report: (TestFormat::Jest, run.file("tests.json")),
        then: Vec::new(),
        coverage: covered.then(|| {
            (
                CoverageFormat::Istanbul,
                run.file("coverage").join("coverage-final.json"),
            )
        }),
        when_missing: WhenMissing::Excluded,
        notes,
    }
}

/// Something in the nearest `node_modules` that has it.
pub fn installed(root: &Path, what: &str) -> Option<PathBuf> {
    let found = root
        .ancestors()
        .map(|folder| folder.join("node_modules").join(what));
    found.into_iter().find(|path| path.exists())
}

pub fn skipped(run: &TestRun<'_>) -> Option<OsString> {
    let pattern = run.skip_pattern()?;
    Some(format!("--testNamePattern={pattern}").into())
}

/// The files in scope as patterns that match just them.
pub fn globs(run: &TestRun<'_>) -> impl Iterator<Item = String> {
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

/// `cart.test.ts`, `cart.spec.js`
pub fn is_test_file(file: &Path) -> bool {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    Language::of(file) == Some(Language::JavaScript)
        && [".test", ".spec"].iter().any(|end| stem.ends_with(end))
}

pub fn install_hint(name: &str) -> String {
    format!("npm install --save-dev {}", npm_package(name))
}

/// `@scope/name/file` and `name/file` are files of a package.
fn npm_package(name: &str) -> String {
    let parts = if name.starts_with('@') { 2 } else { 1 };
    name.split('/').take(parts).collect::<Vec<_>>().join("/")
}

/// The version of an installed package.
pub fn version(package: &str, root: &Path, top: &Path) -> Option<String> {
    let mut above = root.ancestors().take_while(|folder| folder.starts_with(top));
    above.find_map(|folder| {
        let manifest = folder.join("node_modules").join(package).join("package.json");
        let manifest: Value = serde_json::from_slice(&fs::read(manifest).ok()?).ok()?;
        Some(manifest["version"].as_str()?.to_owned())
    })
}
