//! Checks that a worker's files contain only tests, fixtures and helpers: nothing that acts on the framework,
//! and no settings of the framework.

use std::fs;
use std::io;
use std::path::Path;

use wavecrew_syntax::{Grammar, interferences};

use super::{integrity::read, listed};
use crate::layer;

/// Files that pytest, coverage.py, vitest, jest or Python itself read as settings.
const SETTINGS: &[&str] = &[
    "pytest.ini",
    "pytest.toml",
    "tox.ini",
    "setup.cfg",
    "setup.py",
    "pyproject.toml",
    "sitecustomize.py",
    "usercustomize.py",
];
/// Settings of JavaScript tools, whatever their ending.
const SETTINGS_STEMS: &[&str] = &[
    "vitest.config",
    "vitest.workspace",
    "vitest.setup",
    "vite.config",
    "jest.config",
    "jest.setup",
    "babel.config",
];
/// Modules with these names would replace those of the framework.
const FRAMEWORK_MODULES: &[&str] = &["pytest", "_pytest", "pluggy", "coverage", "unittest"];

/// Code that acts on the framework, with its lines, if there is any.
pub fn interference(folder: &Path) -> io::Result<Option<String>> {
    let mut found = Vec::new();
    for file in layer::files(folder)? {
        if let Some(what) = by_name(&file, &folder.join(&file)) {
            found.push(format!("{} {what}", file.display()));
            continue;
        }
        if let Some(language) = Grammar::of(&file) {
            let source = read(&folder.join(&file));
            let all = interferences(language, &source).into_iter();
            found.extend(all.map(|one| format!("{}:{} {}", file.display(), one.line, one.what)));
        }
    }
    Ok((!found.is_empty()).then(|| {
        format!(
            "only tests, fixtures and helpers may be written, and this acts on the framework: {}",
            listed(&found)
        )
    }))
}

/// Describes a file whose name gives it an effect on the framework.
fn by_name(file: &Path, path: &Path) -> Option<&'static str> {
    let name = file.file_name()?.to_str()?;
    let stem = file.file_stem()?.to_str()?;
    if SETTINGS.contains(&name) || SETTINGS_STEMS.contains(&stem) || has_extension(name, "pth") {
        return Some("is a settings file");
    }
    let python = has_extension(name, "py");
    let top = file.components().next()?.as_os_str().to_str()?;
    if python && (FRAMEWORK_MODULES.contains(&stem) || FRAMEWORK_MODULES.contains(&top)) {
        return Some("has the name of a module of the framework");
    }
    (name == "package.json" && !is_plain_package(path)).then_some("is a settings file")
}

/// Whether a `package.json` only sets the kind of modules in the folder.
fn is_plain_package(path: &Path) -> bool {
    let text = fs::read(path).unwrap_or_default();
    let fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&text).unwrap_or_default();
    let plain = ["type", "name", "private", "version"];
    fields.keys().all(|field| plain.contains(&field.as_str()))
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|found| found == extension)
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn settings_and_hooks_are_named_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "test_a.py",
            "import pytest\n\n\n@pytest.fixture\ndef x():\n    return 1\n",
        );
        write("package.json", "{\"type\":\"module\"}");
        assert_eq!(interference(folder.path()).unwrap(), None);
        write(
            "conftest.py",
            "def x():\n    pass\n\n\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n",
        );
        write("pytest.ini", "[pytest]\n");
        write("package.json", "{\"jest\":{}}");
        let found = interference(folder.path()).unwrap().unwrap();
        let list = found.split_once("framework: ").unwrap().1;
        assert_eq!(
            list,
            "conftest.py:5 defines the hook `pytest_pyfunc_call`, package.json is a settings file, pytest.ini is a settings file"
        );
    }
}
