//! Test frameworks, one file each behind [`TestFramework`]: how a framework is detected, run, mutated and installed.
//! To add one: write its file, and add its `mod` line and its line in `frameworks!`.

mod cargo;
mod command;
mod go;
mod jest;
pub(crate) mod language;
mod node;
pub(crate) mod pytest;
pub mod python_environment;
mod vitest;

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use crate::detect::settings::ConfiguredTests;
use crate::detect::{Certainty, Project};
use crate::measurement::{Measurement, Note, TestId};
use crate::mutation::{MutationReport, MutationRun};
use crate::run::process::Ran;
use crate::run::{MeasureError, Request, Runner, TestCoverage, TestRun, diagnose};

pub(crate) use cargo::on_path;
pub use language::Language;
pub use node::node_program;
pub(crate) use node::settings_files;

/// Declares [`Framework`] and its adapters from one table.
macro_rules! frameworks {
    ($($framework:ident => $adapter:expr,)*) => {
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Framework {
            $($framework,)*
            /// A command line that writes JUnit XML and a coverage report into `$WAVECREW_REPORTS`. Only a person names it.
            Command { line: String },
        }

        static DETECTABLE: &[Framework] = &[$(Framework::$framework,)*];

        impl Framework {
            pub(crate) fn adapter(&self) -> &'static dyn TestFramework {
                match self {
                    $(Self::$framework => &$adapter,)*
                    Self::Command { .. } => &command::UserCommand,
                }
            }
        }
    };
}

// When two frameworks of a language are equally likely, the first one wins.
frameworks! {
    Pytest => pytest::Pytest,
    Vitest => vitest::VITEST,
    Jest => jest::JEST,
    Cargo => cargo::Cargo,
    Go => go::Go,
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
    /// Assumed for projects of its language that name no framework.
    pub(crate) is_language_default: bool,
    /// Names of test files, where the project has none yet.
    pub test_pattern: &'static str,
    pub test_folder: TestFolder,
    pub test_names: TestNames,
    /// Two test files of the same name cannot run together.
    pub unique_file_names: bool,
    /// Tests of a package are in its folder and need not name what they test.
    pub(crate) tests_beside_source: bool,
    /// A line of a source file that holds tests itself.
    pub(crate) inline_tests: Option<&'static str>,
    /// Reports coverage also without any test.
    pub measures_without_tests: bool,
    /// Mutants run in a warm process and are cheap.
    pub warm_mutants: bool,
    pub mutants_without_coverage: bool,
    /// Tests can be generated for it without a model.
    pub generates_tests: bool,
    pub(crate) can_skip_tests: bool,
    /// The project file that this command builds.
    pub(crate) build: Option<(&'static str, &'static str)>,
    /// The text of a message before the name of a missing package.
    pub(crate) missing_package_prefixes: &'static [&'static str],
    /// What a message about a syntax error contains.
    pub(crate) syntax_error_marks: &'static [&'static str],
    /// Environment variables that it sets for its own processes.
    pub(crate) process_variables: &'static [&'static str],
    /// A folder beside the installed packages that it cannot do without writing to.
    pub(crate) package_folder: Option<&'static str>,
}

impl FrameworkFacts {
    /// The folder beside the packages of a project that its tests may write to. Creates it, because rules can
    /// only name folders that exist.
    pub fn writable_package_folder(&self, root: &Path) -> Option<PathBuf> {
        let name = self.package_folder?;
        let packages = root.ancestors().map(|folder| folder.join("node_modules"));
        let folder = packages.into_iter().find(|folder| folder.is_dir())?.join(name);
        fs::create_dir_all(&folder).ok()?;
        Some(folder)
    }

    const DEFAULT: Self = Self {
        name: "",
        language: None,
        is_language_default: false,
        test_pattern: "*",
        test_folder: TestFolder::ByConvention,
        test_names: TestNames::File,
        unique_file_names: false,
        tests_beside_source: false,
        inline_tests: None,
        measures_without_tests: false,
        warm_mutants: false,
        mutants_without_coverage: false,
        generates_tests: false,
        can_skip_tests: false,
        build: None,
        missing_package_prefixes: &[],
        syntax_error_marks: &[],
        process_variables: &[],
        package_folder: None,
    };
}

/// Where new tests go, below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestFolder {
    /// A folder beside the existing tests.
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

pub(crate) trait TestFramework: Sync {
    fn facts(&self) -> &FrameworkFacts;

    /// What in a folder shows that it uses this framework.
    fn evidence(&self, folder: &Path) -> Option<Evidence>;

    /// The number of the folder that is the root of a project with this framework.
    fn detect(&self, folders: &[&Path]) -> Option<(usize, Evidence)> {
        let evidence = folders.iter().map(|folder| self.evidence(folder));
        evidence.enumerate().find_map(|(n, found)| Some((n, found?)))
    }

    /// What must be installed before it can run, judging by the project's files.
    fn missing(&self, _root: &Path) -> Option<MissingTool> {
        None
    }

    /// Whether the framework collects a file of this name as tests.
    fn is_test_file(&self, file: &Path) -> bool;

    /// Runs the tests and reads the reports.
    fn measure(&self, run: &TestRun<'_>) -> Result<Measurement, MeasureError>;

    /// What each of these tests covers; `None` if the framework cannot report it or a tool is missing. Starts
    /// the framework at most `max_runs` times.
    fn coverage_by_test(
        &self,
        _runner: &Runner,
        _request: &Request<'_>,
        _tests: &[TestId],
        _max_runs: usize,
    ) -> Result<Option<Vec<TestCoverage>>, MeasureError> {
        Ok(None)
    }

    /// Runs the tests against mutants.
    fn mutate(&self, _run: &MutationRun<'_>) -> Result<MutationReport, MeasureError> {
        let what = format!("no mutants for {}", self.facts().name);
        Ok(MutationReport::only_note(Note { what, fix: None }))
    }

    /// How to install a missing package.
    fn install_hint(&self, root: &Path, package: &str) -> String;

    /// Where the project's settings expect tests.
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

/// What shows that a folder uses a framework: a file, or a line in one.
pub(crate) struct Evidence {
    pub strength: Strength,
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// A project of the language, which does not name the framework.
    Assumed,
    Dependency,
    TestScript,
    Settings,
}

impl Evidence {
    fn new(strength: Strength, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { strength, what }
    }
}

impl Framework {
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

    /// What must be installed before it can run in this folder, judging by the project's files.
    pub fn missing(&self, root: &Path) -> Option<MissingTool> {
        self.adapter().missing(root)
    }

    /// The command that installs the package whose absence an error reports.
    pub fn fix_for(&self, error: &str, root: &Path) -> Option<String> {
        let missing = diagnose::missing_packages(self, error).into_iter().next()?;
        Some(self.adapter().install_hint(root, &missing))
    }

    /// The installed version, from what is on disk.
    pub fn version(&self, root: &Path, top: &Path) -> Option<String> {
        self.adapter().version(root, top)
    }
}

/// The project of a language that the folders show, nearest first.
pub(crate) fn detect(language: Language, folders: &[&Path]) -> Option<Project> {
    let candidates = of_language(language).filter_map(|framework| {
        let (depth, evidence) = framework.adapter().detect(folders)?;
        Some((framework, depth, evidence))
    });
    let (framework, depth, evidence) = candidates.min_by_key(|(_, depth, evidence)| {
        let is_assumed = evidence.strength == Strength::Assumed;
        (is_assumed, *depth, Reverse(evidence.strength))
    })?;
    Some(Project {
        root: folders[depth].to_owned(),
        framework: framework.clone(),
        evidence: evidence.what,
        certainty: match evidence.strength {
            Strength::Assumed => Certainty::Assumed,
            Strength::Dependency | Strength::TestScript | Strength::Settings => Certainty::Found,
        },
    })
}

/// The framework of a language that is assumed when nothing names one.
pub(crate) fn assumed(language: Language) -> Framework {
    let mut frameworks = of_language(language);
    let default = frameworks.find(|framework| framework.facts().is_language_default);
    default.expect("every language has a default framework").clone()
}

fn of_language(language: Language) -> impl Iterator<Item = &'static Framework> {
    DETECTABLE
        .iter()
        .filter(move |framework| framework.language() == Some(language))
}

/// The facts of all frameworks that can be detected.
pub(crate) fn all_facts() -> impl Iterator<Item = &'static FrameworkFacts> {
    DETECTABLE.iter().map(Framework::facts)
}
