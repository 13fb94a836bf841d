//! Runs the commands and tests of the base commit on the new code, when the change touches tests or the files
//! that run them.

use super::announced::AnnouncedChanges;
use super::file_kind::FileKind;
use super::git_changes::{Changes, FileChange};
use super::{CodeAttempt, CodeCheckError, commands, effect, state_before, test_changes};
use std::collections::BTreeMap;
use std::path::Path;
use wavecrew_core::claim::{Problem, Rule};
use wavecrew_measure::run::Runner;
use wavecrew_measure::verify::{self, ProjectState};

/// A run of the base commit's commands and tests on the new code.
pub struct BaseRun {
    /// Changed files that the plan does not name, and that may be the reason why only the new tests pass.
    settings: Vec<String>,
    tests: Vec<String>,
    is_weaker: bool,
}

impl BaseRun {
    /// Needed if the tests, or the files that run them, have changed.
    pub fn needed(
        changes: &Changes,
        announced: &AnnouncedChanges,
        folder: &Path,
        base: &str,
        problems: &[Problem],
    ) -> Option<Self> {
        let settings = commands::unplanned(changes, announced, folder, base);
        let run = Self {
            settings: settings.into_iter().map(|change| change.path.clone()).collect(),
            tests: test_changes::rewritten(changes, announced)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            is_weaker: problems.iter().any(|problem| problem.rule == Rule::Weakened),
        };
        let steered = problems
            .iter()
            .any(|problem| [Rule::Steered, Rule::Disarmed].contains(&problem.rule));
        (steered || !run.settings.is_empty() || !run.tests.is_empty()).then_some(run)
    }

    /// The problems that the run shows.
    #[expect(clippy::too_many_arguments, reason = "all of it is compared")]
    pub fn problem(
        &self,
        case: &CodeAttempt<'_>,
        base: &str,
        changes: &Changes,
        announced: &AnnouncedChanges,
        before: &ProjectState,
        after: &ProjectState,
        runner: &Runner,
    ) -> Result<Option<Problem>, CodeCheckError> {
        let selected = changes.files.iter().filter(|change| match change.kind {
            FileKind::Source | FileKind::Document | FileKind::Data => !self.settings.contains(&change.path),
            FileKind::Test | FileKind::Settings => !change.is_new() && announced.names(&change.path),
        });
        let selected: Vec<&FileChange> = selected.collect();
        let Some(state) = state_before::with_files(case, base, &selected, &BTreeMap::new(), runner)? else {
            return Ok(None);
        };
        let mut compared = verify::compare(before, &state);
        // If only the new version of a test passes, the old one counts as newly failing, even if it failed
        // before.
        let greener = verify::compare(&state, after);
        if !greener.fixed.is_empty() {
            compared.newly_failing.append(&mut compared.still_failing);
        }
        let Some(complaint) = compared.complaint() else {
            return Ok(None);
        };
        let files: Vec<&String> = self.settings.iter().chain(&self.tests).collect();
        let text = format!(
            "with the commands and tests of the base commit, the new code fails ({} changed): {complaint}",
            if files.is_empty() {
                "tests".to_owned()
            } else {
                effect::listed(&files)
            }
        );
        let only_rewritten = self.settings.is_empty() && !self.tests.is_empty() && !self.is_weaker;
        let rule = if only_rewritten {
            Rule::Rewritten
        } else {
            Rule::Regressed
        };
        Ok(Some(Problem::new(rule, text)))
    }
}
