//! Canaries: tests beside those that are measured, and source, whose outcomes are known beforehand. If one
//! has another outcome, something acts on the measurement. pytest also sends every outcome through a pipe
//! that tests cannot read or undo, for comparison with its report.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use super::{MeasureError, TestRun};
use crate::measurement::{TestCase, TestOutcome};
use crate::report::HitsByFile;
use crate::run::process::{Ended, Ran};

/// The canaries of one run. Dropping them removes their files.
pub struct Canaries {
    /// Random, so that nothing can be prepared for it.
    nonce: String,
    files: Vec<PathBuf>,
    /// A module with a function that the canaries call and one that they do not.
    pub source: Option<PathBuf>,
    language: CanaryLanguage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CanaryLanguage {
    Pytest,
    Vitest,
    Jest,
}

/// Lines of the source: the first must be covered, the second must not.
const SOURCE: &str = "def ran():\n    return 1\n\n\ndef idle():\n    return 2\n";
const COVERED: u32 = 2;
const IDLE: u32 = 6;

impl Canaries {
    /// Puts canaries beside the tests of a request; `None` when it names no tests, or does not ask for them.
    pub fn place(run: &TestRun<'_>, language: CanaryLanguage) -> Result<Option<Self>, MeasureError> {
        if !run.request.canaries || run.request.tests.is_empty() {
            return Ok(None);
        }
        let mut canaries = Self {
            nonce: nonce(),
            files: Vec::new(),
            source: None,
            language,
        };
        if language == CanaryLanguage::Pytest {
            let folder = run.file("source");
            fs::create_dir_all(&folder)?;
            let source = folder.join(format!("{}.py", canaries.nonce));
            fs::write(&source, SOURCE)?;
            canaries.source = Some(source);
        }
        let text = canaries.text();
        let mut folders = BTreeSet::new();
        for test in run.request.tests {
            let Some((folder, name)) = test.parent().zip(test.file_name()) else {
                continue;
            };
            // Settings of the folder act on all its tests.
            if folders.insert(folder) && folder.is_dir() {
                let path = folder.join(canaries.file_name(folders.len(), &name.to_string_lossy()));
                canaries.files.push(path.clone());
                fs::write(path, &text)?;
            }
        }
        Ok(Some(canaries))
    }

    /// They run after all others.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Begins the lines of the pipe.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }

    fn file_name(&self, number: usize, neighbour: &str) -> String {
        match self.language {
            CanaryLanguage::Pytest => format!("test_{}{number}.py", self.nonce),
            CanaryLanguage::Vitest | CanaryLanguage::Jest => format!("{}-{neighbour}", self.nonce),
        }
    }

    fn text(&self) -> String {
        let nonce = &self.nonce;
        let source = self.source.as_deref().unwrap_or(Path::new("")).display();
        match self.language {
            CanaryLanguage::Pytest => format!(
                "import importlib.util\nimport unittest\n\nimport pytest\n\n\n\
                 def number():\n    spec = importlib.util.spec_from_file_location('m{nonce}', {source:?})\n    \
                 module = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(module)\n    \
                 return module.ran()\n\n\n\
                 def test_{nonce}_fails():\n    assert number() == 2\n\n\n\
                 def test_{nonce}_raises_fails():\n    with pytest.raises(ValueError):\n        number()\n\n\n\
                 def test_{nonce}_passes():\n    assert number() == 1\n\n\n\
                 @pytest.mark.skip(reason='canary')\ndef test_{nonce}_skipped():\n    assert number() == 1\n\n\n\
                 class Test{nonce}(unittest.TestCase):\n    def test_{nonce}_unit_fails(self):\n        \
                 self.assertEqual(number(), 2)\n",
                source = source.to_string()
            ),
            CanaryLanguage::Vitest | CanaryLanguage::Jest => {
                let import = if self.language == CanaryLanguage::Vitest {
                    "import { expect, test } from 'vitest';\n"
                } else {
                    ""
                };
                format!(
                    "// @ts-nocheck\n{import}\
                     test('{nonce}_fails', () => {{\n  expect([1].length).toBe(2);\n}});\n\
                     test('{nonce}_equal_fails', async () => {{\n  expect(await Promise.resolve({{ a: 1 }})).toEqual({{ a: 2 }});\n}});\n\
                     test('{nonce}_passes', () => {{\n  expect([1].length).toBe(1);\n}});\n\
                     test.skip('{nonce}_skipped', () => {{\n  expect([1].length).toBe(1);\n}});\n"
                )
            }
        }
    }

    /// Removes the canaries from the tests, and returns what is wrong with the measurement.
    pub fn check(&self, run: &TestRun<'_>, tests: &mut Vec<TestCase>, ran: &Ran) -> Vec<String> {
        let is_own =
            |test: &TestCase| test.id.file.contains(&self.nonce) || test.id.name.contains(&self.nonce);
        let own: Vec<TestCase> = tests.iter().filter(|test| is_own(test)).cloned().collect();
        tests.retain(|test| !is_own(test));
        let mut wrong = Vec::new();
        if own.is_empty() {
            // Settings may choose tests by names that canaries do not have.
            if !tests.is_empty() && !chooses_tests(run.root()) {
                wrong.push("a canary that runs after all tests did not run".to_owned());
            }
            return wrong;
        }
        // A canary that does not load proves nothing: the tests beside it may have the same problem.
        for test in own
            .iter()
            .filter(|test| !matches!(test.outcome, TestOutcome::Unloaded { .. }))
        {
            let expected = if test.id.name.contains("_fails") {
                matches!(
                    test.outcome,
                    TestOutcome::Failed { .. } | TestOutcome::Error { .. }
                )
            } else if test.id.name.contains("_passes") {
                test.outcome == TestOutcome::Passed
            } else if test.id.name.contains("_skipped") {
                matches!(test.outcome, TestOutcome::Skipped { .. })
            } else {
                false
            };
            if !expected {
                wrong.push(format!(
                    "a canary that must {} came out as {}",
                    must(&test.id.name),
                    test.outcome.kind_name()
                ));
            }
        }
        if self.language == CanaryLanguage::Pytest {
            wrong.extend(self.disagreements(tests, ran));
        } else if ran.ended == Ended::Code(0) {
            wrong.push("the framework ended with exit code 0 although a canary failed".to_owned());
        }
        wrong.sort();
        wrong.dedup();
        wrong
    }

    /// Outcomes that differ between the report and the pipe.
    fn disagreements(&self, tests: &[TestCase], ran: &Ran) -> Vec<String> {
        let outcomes: BTreeMap<&str, &str> = ran
            .marked
            .iter()
            .filter_map(|line| {
                let (kind, id) = line.split_once(' ')?;
                Some((id, kind))
            })
            .collect();
        if outcomes.is_empty() {
            return vec!["no outcome came through the pipe".to_owned()];
        }
        let passed = || tests.iter().filter(|test| test.outcome == TestOutcome::Passed);
        let mut wrong = Vec::new();
        for test in passed() {
            let raised = outcomes.get(test.id.node_id().as_str()).copied().unwrap_or("-");
            if !matches!(raised, "-" | "Skipped" | "XFailed") {
                wrong.push(format!("`{}` is reported as passed and raised {raised}", test.id));
            }
        }
        let others = outcomes.keys().filter(|id| !id.contains(&self.nonce)).count();
        if passed().count() > others {
            wrong.push("more tests are reported as passed than were run".to_owned());
        }
        wrong
    }

    /// Removes the canary's source from the coverage, and returns what is wrong with it.
    pub fn check_coverage(&self, hits: &mut HitsByFile) -> Option<String> {
        let name = hits.keys().find(|name| name.contains(&self.nonce))?.clone();
        let file = hits.remove(&name)?.into_coverage(name);
        let missed = |line: u32| file.missed.contains(&line);
        if missed(COVERED) {
            Some("a line that a canary runs is not covered".to_owned())
        } else if !missed(IDLE) {
            Some("a line that nothing runs is covered".to_owned())
        } else {
            None
        }
    }
}

impl Drop for Canaries {
    fn drop(&mut self) {
        for file in &self.files {
            // A file that stays is in a copy of the project.
            let _ = fs::remove_file(file);
        }
    }
}

fn must(name: &str) -> &'static str {
    if name.contains("_fails") {
        "fail"
    } else if name.contains("_passes") {
        "pass"
    } else {
        "be skipped"
    }
}

fn nonce() -> String {
    // Hexadecimal digits only look like numbers when they begin with one.
    format!("w{:012x}", RandomState::new().hash_one(std::process::id()) >> 16)
}

/// Whether settings of pytest choose tests by something other than their place.
fn chooses_tests(root: &Path) -> bool {
    let files = [
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        "pyproject.toml",
        "tox.ini",
        "setup.cfg",
        "package.json",
    ];
    let text = |name: &&str| fs::read_to_string(root.join(name)).unwrap_or_default();
    let words = [
        "python_functions",
        "python_classes",
        "-k ",
        "-m ",
        "testNamePattern",
    ];
    files
        .iter()
        .map(text)
        .any(|text| words.iter().any(|word| text.contains(word)))
}
