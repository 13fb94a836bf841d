//! Test frameworks, one file each behind [`TestFramework`]: how a framework is detected, started, reported, mutated and
//! installed. To add one: write its file, add a variant of [`Framework`], and a line in [`ALL`] and in `adapter`.

pub(crate) mod cargo;
mod command;
mod go;
mod jest;
mod node;
pub(crate) mod pytest;
pub mod python_environment;
mod vitest;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::detect::Project;
use crate::detect::settings::ConfiguredTests;
use crate::measurement::Measurement;
use crate::run::process::Ran;
use crate::run::{Invocation, MeasureError, TestRun, diagnose};

pub(crate) use node::settings_files;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framework {
    Pytest,
    Vitest,
    Jest,
    Cargo,
    Go,
    /// A command line of the user's that writes JUnit XML and a coverage report into `$WAVECREW_REPORTS`.
    Command {
        line: String,
    },
}

/// All frameworks that can be detected.
const ALL: [&dyn TestFramework; 5] = [
    &pytest::Pytest,
    &vitest::Vitest,
    &jest::Jest,
    &cargo::Cargo,
    &go::Go,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Python,
    /// TypeScript too.
    JavaScript,
    Rust,
    Go,
}

impl Language {
    pub fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "py" => Some(Self::Python),
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => {
                Some(Self::JavaScript)
            }
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            _ => None,
        }
    }
}

/// A program that a framework needs and the project does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTool {
    pub what: &'static str,
    /// The command that installs it.
    pub fix: String,
}

impl From<MissingTool> for MeasureError {
    fn from(MissingTool { what, fix }: MissingTool) -> Self {
        Self::NotInstalled { what, fix }
    }
}

/// What is known about a framework without running it.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table of yes and no")]
pub struct FrameworkFacts {
    pub name: &'static str,
    /// `None`: any.
    pub language: Option<Language>,
    /// Names of test files, where the project has none yet.
    pub test_pattern: &'static str,
    pub test_folder: TestFolder,
    pub test_names: TestNames,
    /// Two test files of the same name cannot run together.
    pub unique_file_names: bool,
    /// Reports coverage also without any test.
    pub measures_without_tests: bool,
    /// Mutants run in a warm process and are cheap.
    pub warm_mutants: bool,
    pub mutants_without_coverage: bool,
    pub(crate) mutants: MutantRuns,
    pub(crate) coverage_by_test: CoverageByTest,
    /// Chosen tests can be skipped.
    pub(crate) can_skip_tests: bool,
    /// What a message says before the name of a missing package.
    pub(crate) missing_package_openings: &'static [&'static str],
}

/// Where new tests go, below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestFolder {
    /// A folder beside the tests that are there already.
    ByConvention,
    /// Directly in this folder; subfolders hold no tests.
    Flat(&'static str),
}

/// How reports name the file of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestNames {
    /// By its path.
    File,
    /// By the binary: `package::binary::module::name`.
    CargoBinary,
    /// By the import path of its package.
    GoPackage,
}

/// How mutants are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MutantRuns {
    WarmPytest,
    FreshRuns,
    CargoMutants,
    Unsupported,
}

/// How it is found out what a single test covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CoverageByTest {
    Contexts,
    OneRunEach,
    Unknown,
}

pub(crate) trait TestFramework: Sync {
    fn facts(&self) -> &'static FrameworkFacts;

    /// The project that uses this framework, in the first of the folders that shows it.
    fn detect(&self, folders: &[&Path]) -> Option<Project>;

    /// Whether a file of this name is collected as tests.
    fn is_test_file(&self, file: &Path) -> bool;

    /// The programs of a test run and the reports that they write.
    fn invocation(&self, run: &TestRun<'_>) -> Result<Invocation, MeasureError>;

    /// Runs the tests and reads the reports.
    fn measure(&self, run: &TestRun<'_>) -> Result<Measurement, MeasureError> {
        run.perform(self.invocation(run)?)
    }

    /// What has to be installed before it can run, as far as files show.
    fn missing(&self, _root: &Path) -> Option<MissingTool> {
        None
    }

    /// How a missing package is installed.
    fn install_hint(&self, root: &Path, package: &str) -> String;

    /// Where the project's settings let its tests be.
    fn configured_tests(&self, _root: &Path) -> ConfiguredTests {
        ConfiguredTests::default()
    }

    /// The installed version, from files in `root` and the folders above it up to `top`.
    fn version(&self, _root: &Path, _top: &Path) -> Option<String> {
        None
    }

    /// Files without coverage that cannot be parsed.
    fn unparsable(
        &self,
        run: &TestRun<'_>,
        files: &[PathBuf],
        ran: &Ran,
    ) -> Result<Vec<PathBuf>, MeasureError> {
        Ok(diagnose::unparsable(files, run.root(), ran))
    }
}

impl Framework {
    pub(crate) fn adapter(&self) -> &dyn TestFramework {
        match self {
            Self::Pytest => &pytest::Pytest,
            Self::Vitest => &vitest::Vitest,
            Self::Jest => &jest::Jest,
            Self::Cargo => &cargo::Cargo,
            Self::Go => &go::Go,
            Self::Command { .. } => &command::UserCommand,
        }
    }

    pub fn facts(&self) -> &'static FrameworkFacts {
        self.adapter().facts()
    }

    pub fn name(&self) -> &'static str {
        self.facts().name
    }

    pub fn language(&self) -> Option<Language> {
        self.facts().language
    }

    /// Whether the framework collects a file of this name as tests.
    pub fn is_test_file(&self, file: &Path) -> bool {
        self.adapter().is_test_file(file)
    }

    /// What has to be installed before it can run in this folder, as far as files show.
    pub fn missing(&self, root: &Path) -> Option<MissingTool> {
        self.adapter().missing(root)
    }

    /// The installed version, from what is on disk.
    pub fn version(&self, root: &Path, top: &Path) -> Option<String> {
        self.adapter().version(root, top)
    }
}

/// The project of the first framework of a language that shows in the folders.
pub(crate) fn detect(language: Language, folders: &[&Path]) -> Option<Project> {
    of_language(language).find_map(|framework| framework.detect(folders))
}

/// The framework of a language that is assumed when nothing names one.
pub(crate) fn assumed(language: Language) -> Framework {
    match language {
        Language::Python => Framework::Pytest,
        Language::JavaScript => Framework::Jest,
        Language::Rust => Framework::Cargo,
        Language::Go => Framework::Go,
    }
}

fn of_language(language: Language) -> impl Iterator<Item = &'static dyn TestFramework> {
    ALL.into_iter()
        .filter(move |framework| framework.facts().language == Some(language))
}
