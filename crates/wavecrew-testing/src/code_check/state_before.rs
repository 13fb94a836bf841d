//! The state of a project before the work: its build and tests, run once in a copy of the commit and stored in the session.

use super::CodeAttempt;
use super::git_changes::{FileChange, git};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wavecrew_core::claim::content_hash;
use wavecrew_measure::run::{MeasureError, Runner};
use wavecrew_measure::verify::{self, ProjectState};
use wavecrew_session::atomic;

/// A state as it is stored.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The commands that gave this result; with other commands it may differ.
    #[serde(default)]
    given: [Option<String>; 3],
    #[serde(flatten)]
    state: ProjectState,
}

/// The state at a commit, and the hash of the file that keeps it.
pub struct StateBefore {
    pub state: ProjectState,
    pub hash: String,
}

/// The state at a commit; unknown if no copy can be made. A stored state counts only if the run knows its
/// hash, because workers can write where the file is.
pub fn at(case: &CodeAttempt<'_>, base: &str, runner: &Runner) -> Result<Option<StateBefore>, MeasureError> {
    let settings = case.settings;
    let file = case.session.state_at_commit(base);
    let given = [&settings.setup, &settings.build, &settings.test].map(Clone::clone);
    let bytes = fs::read(&file).unwrap_or_default();
    let hash = content_hash(&bytes);
    if case.known_states.contains(&hash)
        && let Ok(kept) = serde_json::from_slice::<Kept>(&bytes)
        && kept.given == given
    {
        return Ok(Some(StateBefore {
            state: kept.state,
            hash,
        }));
    }
    let Some(copy) = Copy::of(case, base) else {
        return Ok(None);
    };
    let folder = copy.project_folder();
    let state = verify::run(&verify::find_commands(&folder, settings), &folder, runner)?;
    let kept = Kept { given, state };
    let text = serde_json::to_vec(&kept).expect("plain data");
    // Without the file, the next check measures the state again.
    let _ = atomic::write_volatile(&file, &text);
    let hash = content_hash(&text);
    Ok(Some(StateBefore {
        state: kept.state,
        hash,
    }))
}

/// The state of the base commit with these files of the worker, or with another text in place of some of them: the old
/// commands and tests on the new code.
pub fn with_files(
    case: &CodeAttempt<'_>,
    base: &str,
    files: &[&FileChange],
    instead: &BTreeMap<&str, String>,
    runner: &Runner,
) -> Result<Option<ProjectState>, MeasureError> {
    let Some(copy) = Copy::of(case, base) else {
        return Ok(None);
    };
    let folder = copy.project_folder();
    for change in files {
        let target = folder.join(&change.path);
        let text = match instead.get(change.path.as_str()) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => fs::read(case.folder.join(&change.path)),
        };
        let done = match text {
            Ok(bytes) => {
                let parent = target.parent().map_or(Ok(()), fs::create_dir_all);
                parent.and_then(|()| fs::write(&target, bytes))
            }
            Err(_) => fs::remove_file(&target),
        };
        if done.is_err() && change.after.is_some() {
            return Ok(None);
        }
    }
    Ok(Some(verify::run(
        &verify::find_commands(&folder, case.settings),
        &folder,
        runner,
    )?))
}

/// A copy of a commit, removed on drop.
struct Copy<'a> {
    project: &'a Path,
    folder: PathBuf,
}

impl<'a> Copy<'a> {
    fn of(case: &CodeAttempt<'a>, base: &str) -> Option<Self> {
        let task = case.ledger.plan().id(case.task);
        let copy = Self {
            project: case.project,
            folder: case.session.base_copy(task),
        };
        // Left by a run that was killed.
        copy.remove();
        let folder = copy.folder.to_str()?;
        git(
            copy.project,
            &["worktree", "add", "--detach", "--force", folder, base],
        )?;
        Some(copy)
    }

    /// The project may lie below the root of its repository.
    fn project_folder(&self) -> PathBuf {
        let below = git(self.project, &["rev-parse", "--show-prefix"]).unwrap_or_default();
        self.folder.join(below.trim_end())
    }

    fn remove(&self) {
        if let Some(folder) = self.folder.to_str() {
            git(self.project, &["worktree", "remove", "--force", folder]);
        }
    }
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavecrew_measure::TestId;
    use wavecrew_measure::verify::{CommandOutcome, SuiteResult, TestResult};

    #[test]
    fn a_state_that_was_kept_is_the_same() {
        let failed = CommandOutcome::Failed {
            how: "exit code 2".into(),
            output: "no rule".into(),
        };
        let id = |name: &str| TestId {
            file: "a.py".into(),
            name: name.into(),
        };
        let red = TestResult::Failed {
            message: "3 != 4".into(),
        };
        let tests = BTreeMap::from([
            (id("x"), TestResult::Passed),
            (id("y"), red),
            (id("z"), TestResult::NotCounted),
        ]);
        let command = SuiteResult::Command {
            line: "make test".into(),
            outcome: failed.clone(),
        };
        for tests in [
            SuiteResult::None,
            SuiteResult::NotRun,
            command,
            SuiteResult::Measured { tests },
        ] {
            let state = ProjectState {
                setup: None,
                build: Some(failed.clone()),
                tests,
            };
            let given = [None, None, Some("make test".to_owned())];
            let text = serde_json::to_vec(&Kept {
                given,
                state: state.clone(),
            })
            .unwrap();
            let again: Kept = serde_json::from_slice(&text).unwrap();
            assert_eq!(again.state, state);
        }
    }
}
