//! The purpose of a file of a project, by its path: source, tests, settings of builds and tests, documents,
//! data.

use std::path::Path;
use wavecrew_measure::detect::is_test;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Source,
    Test,
    /// Determines what builds and tests run, or affects them.
    Settings,
    Document,
    Data,
}

/// Names of files that determine what builds and tests run.
const SETTINGS: [&str; 38] = [
    "makefile",
    "gnumakefile",
    "justfile",
    "taskfile.yml",
    "tox.ini",
    "noxfile.py",
    "pytest.ini",
    ".pytest.ini",
    "conftest.py",
    "setup.cfg",
    "pyproject.toml",
    "package.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".env",
    ".babelrc",
    ".coveragerc",
    "sitecustomize.py",
    "usercustomize.py",
    ".gitlab-ci.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "jenkinsfile",
    "rakefile",
    "phpunit.xml",
    "phpunit.xml.dist",
    "build.gradle",
    "build.gradle.kts",
    "pom.xml",
    "cmakelists.txt",
    "build.rs",
    "wavecrew.toml",
    "runtests.sh",
    "run_tests.sh",
    "run_tests.py",
    "test.sh",
    "tests.sh",
];
/// How such names begin.
const SETTINGS_BEGIN: [&str; 11] = [
    ".mocharc",
    "jest.config",
    "jest.setup",
    "vitest.config",
    "vitest.setup",
    "vitest.workspace",
    "vite.config",
    "babel.config",
    "karma.conf",
    ".nycrc",
    "playwright.config",
];
const SETTINGS_FOLDERS: [&str; 3] = [".github/workflows/", ".circleci/", ".cargo/"];
const DOCUMENTS: [&str; 9] = [
    "md", "markdown", "txt", "rst", "adoc", "patch", "diff", "org", "log",
];
const SOURCES: [&str; 34] = [
    "py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "rs", "go", "java", "kt", "c", "h",
    "cc", "cpp", "hpp", "cs", "rb", "php", "swift", "scala", "sh", "pl", "lua", "ex", "exs", "hs", "ml",
    "vue", "svelte", "sql",
];

pub fn kind_of(path: &str) -> FileKind {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let extension = Path::new(&name)
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    let is_settings = SETTINGS.contains(&name.as_str())
        || SETTINGS_BEGIN.iter().any(|begin| name.starts_with(begin))
        || SETTINGS_FOLDERS.iter().any(|folder| path.starts_with(folder))
        || matches!(extension, "mk" | "pth");
    if is_settings {
        FileKind::Settings
    } else if is_test(Path::new(path), Path::new("")) {
        FileKind::Test
    } else if DOCUMENTS.contains(&extension) {
        FileKind::Document
    } else if SOURCES.contains(&extension) {
        FileKind::Source
    } else {
        FileKind::Data
    }
}

/// Whether a file has a name by which frameworks find tests, wherever it is.
pub fn has_test_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_test(Path::new(name), Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_paths() {
        for (path, kind) in [
            ("Makefile", FileKind::Settings),
            ("tests/conftest.py", FileKind::Settings),
            (".github/workflows/ci.yml", FileKind::Settings),
            ("vitest.config.ts", FileKind::Settings),
            ("tests/test_a.py", FileKind::Test),
            ("src/a.test.ts", FileKind::Test),
            ("tests/__init__.py", FileKind::Test),
            ("docs/a.md", FileKind::Document),
            ("count.patch", FileKind::Document),
            ("app/a.py", FileKind::Source),
            ("app/logo.png", FileKind::Data),
        ] {
            assert_eq!(kind_of(path), kind, "{path}");
        }
        assert!(has_test_name("x/test_a.py") && !has_test_name("tests/old_notes.py"));
    }
}
