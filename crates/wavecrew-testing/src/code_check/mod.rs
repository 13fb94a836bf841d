//! Checks changed code: it has an effect, it is on the right branch, the project builds, and no test result
//! is worse than before, also with the commands and tests of the base commit. Runs the project's own build
//! and tests.

mod announced;
mod base_run;
mod behaviour;
mod commands;
mod effect;
mod emptied_code;
mod file_kind;
mod git_changes;
mod hard_coded;
mod state_before;
mod steered;
mod test_changes;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use wavecrew_core::claim::{ClaimCheck, Problem, Rule, TruthKind, owed_paths};
use wavecrew_core::engine::{CheckOutcome, Ledger};
use wavecrew_core::event::Verdict;
use wavecrew_core::id::TaskIx;
use wavecrew_core::team::LoopKind;
use wavecrew_measure::TestId;
use wavecrew_measure::detect::Project;
use wavecrew_measure::run::{MeasureError, Runner};
use wavecrew_measure::verify::{
    self, CommandOutcome, CommandSettings, Comparison, ProjectState, SuiteResult, TestMethod, TestResult,
};
use wavecrew_session::{SessionDir, atomic};

use announced::AnnouncedChanges;
use base_run::BaseRun;
use file_kind::FileKind;
use git_changes::Changes;
use wavecrew_core::check_report::{BASE_STATE, CheckDetails, CheckReport};
use wavecrew_syntax::Grammar;

/// The work of one attempt.
pub struct CodeAttempt<'a> {
    pub session: &'a SessionDir,
    pub project: &'a Path,
    /// Where the worker worked.
    pub folder: &'a Path,
    /// The commit that the session began with.
    pub base: Option<&'a str>,
    pub ledger: &'a Ledger,
    pub task: TaskIx,
    pub attempt: u32,
    /// The commands that the project's settings name.
    pub settings: &'a CommandSettings,
    /// For each command.
    pub timeout: Duration,
    /// For comparing the behaviour of the work with that of its base; `None` if it is not compared.
    pub behaviour: Option<Duration>,
    /// What the worker reported.
    pub claims: &'a [(String, String)],
    /// Hashes of states that this run has measured.
    pub known_states: &'a [String],
}

#[derive(Debug, thiserror::Error)]
pub enum CodeCheckError {
    #[error("the build and the tests could not be run: {0}")]
    Measure(#[from] MeasureError),
    #[error("the worker's folder cannot be read: {0}")]
    Folder(#[from] io::Error),
}

impl CodeAttempt<'_> {
    fn runner(&self) -> Runner {
        Runner {
            progress: None,
            python_path: Vec::new(),
            cache: self.session.cache_folder(),
            writable: Vec::new(),
            timeout: self.timeout,
            stop: None,
        }
    }
}

/// Checks code that a worker changed: no result may be worse than before.
pub fn check_code(case: &CodeAttempt<'_>) -> Result<CheckReport, CodeCheckError> {
    let mut found = match build_and_test(case)? {
        Ok(found) => found,
        Err(refused) => return Ok(refused),
    };
    // Work may be sent back because of another part of it.
    let again = case.ledger.task(case.task).rework.is_some();
    if found
        .changes
        .as_ref()
        .is_some_and(|changes| changes.files.is_empty())
        && !again
    {
        return Ok(CheckReport::contradicted(
            "Nothing was changed: there is no work to take over",
        ));
    }
    if let Some(changes) = found.changes.as_ref().filter(|_| !again) {
        let problems = effect::problems(changes, &found.announced);
        found.problems.extend(problems);
        found
            .problems
            .extend(hard_coded::only_mocked(changes, case.folder));
        found
            .problems
            .extend(hard_coded::hidden_absent(changes, case.folder));
        found
            .problems
            .extend(emptied_code::problem(case, &found, changes)?);
    }
    let complaint = found.complaint();
    let mut report = found.report(case, complaint);
    if let CheckReport::Confirmed(details) = &mut report
        && let Some(evidence) = behaviour::evidence(case, &found)
    {
        let facts = [
            ("behaviour_differences", evidence.differences.to_string()),
            ("behaviour_inputs", evidence.inputs.to_string()),
        ];
        details
            .facts
            .extend(facts.map(|(name, value)| (name.to_owned(), value)));
        report = report.with_remark(Some(evidence.remark));
    }
    Ok(report)
}

/// Checks that enough tests pass: first those that the session's changes affect, then all.
pub fn check_tests(case: &CodeAttempt<'_>) -> Result<CheckReport, CodeCheckError> {
    let role = case.ledger.plan().role(case.task);
    let wanted = case.ledger.team.loops.iter().find_map(|kind| match kind {
        LoopKind::FixVerify {
            fixer, min_pass_rate, ..
        } if fixer == role => Some(*min_pass_rate),
        LoopKind::FixVerify { .. } | LoopKind::GeneratorCritic { .. } => None,
    });
    let wanted = wanted.unwrap_or(1.0);
    if let Some(short) = check_affected(case, wanted)? {
        return Ok(CheckReport::Short(short));
    }
    let mut found = match build_and_test(case)? {
        Ok(found) => found,
        Err(refused) => return Ok(refused),
    };
    found
        .problems
        .extend(found.changes.as_ref().and_then(effect::tests_without_assertions));
    let complaint = match found.pass_rate() {
        Some(rate) if rate >= wanted && found.comparison.lost.is_empty() && found.builds() => None,
        Some(rate) if found.builds() => {
            let all = found
                .comparison
                .newly_failing
                .iter()
                .chain(&found.comparison.still_failing);
            let failing: Vec<String> = all
                .map(|failing| format!("{}: {}", failing.name, failing.message))
                .collect();
            let lost = found
                .comparison
                .lost
                .iter()
                .map(|name| format!("{name}: gone or skipped"));
            let named: Vec<String> = failing.into_iter().chain(lost).collect();
            Some(format!(
                "{:.0} % of the tests pass, {:.0} % have to:\n{}",
                rate * 100.0,
                wanted * 100.0,
                named.join("\n")
            ))
        }
        _ => found.complaint(),
    };
    Ok(found.report(case, complaint))
}

struct CodeState {
    base: Option<String>,
    branch: Option<String>,
    /// `None` if that is unknown.
    changes: Option<Changes>,
    announced: AnnouncedChanges,
    after: ProjectState,
    comparison: Comparison,
    problems: Vec<Problem>,
    /// The hash of the kept state before.
    before: Option<String>,
}

/// Builds and tests the work, unless it is on the wrong branch.
fn build_and_test(case: &CodeAttempt<'_>) -> Result<Result<CodeState, CheckReport>, CodeCheckError> {
    let tree = case.ledger.task(case.task).open_worktree();
    let base = tree.map(|tree| tree.base.as_str()).or(case.base);
    let changes = base.and_then(|base| git_changes::since(case.folder, base));
    if let (Some(tree), Some(changes)) = (tree, &changes)
        && changes.branch.as_deref() != Some(&tree.branch)
    {
        let on = changes.branch.as_deref().unwrap_or("no branch");
        let reason = format!(
            "the worktree is on {on}, but the work is merged from {}: check that out again and bring your commits there",
            tree.branch
        );
        return Ok(Err(CheckReport::send_back(reason)));
    }
    let runner = case.runner();
    let folder = case.folder.canonicalize()?;
    let commands = verify::find_commands(&folder, case.settings);
    let after = verify::run(&commands, &folder, &runner)?;
    let announced = AnnouncedChanges::of(case);
    let mut problems = Vec::new();
    let mut as_it_was = None;
    if let (Some(base), Some(changes)) = (base, &changes) {
        if !changes.continues {
            let text = format!(
                "the history of the worktree was rewritten: it does not contain its base commit {base} any more"
            );
            problems.push(Problem::new(Rule::History, text));
        }
        problems.extend(commands::problems(changes, &announced, &folder, base));
        problems.extend(effect::links(changes, &folder));
        problems.extend(test_changes::problems(changes, &announced));
        as_it_was = BaseRun::needed(changes, &announced, &folder, base, &problems);
    }
    problems.extend(test_changes::figures(&folder, case.claims, passed(&after)));
    let before = match base.filter(|_| needs_the_past(&after) || as_it_was.is_some()) {
        Some(base) => state_before::at(case, base, &runner)?,
        None => None,
    };
    let (before, hash) = match before {
        Some(before) => (before.state, Some(before.hash)),
        None => (NOTHING_KNOWN, None),
    };
    if let (Some(run), Some(base), Some(changes), true) = (as_it_was, base, &changes, hash.is_some()) {
        problems.extend(run.problem(case, base, changes, &announced, &before, &after, &runner)?);
    }
    let mut comparison = verify::compare(&before, &after);
    if let Some(changes) = &changes {
        // For these files, syntax trees show what happened to the tests.
        let is_read = |name: &String| {
            changes.files.iter().any(|change| {
                change.kind == FileKind::Test
                    && Grammar::of(Path::new(&change.path)).is_some()
                    && name.starts_with(&change.path)
            })
        };
        comparison.lost.retain(|name| !is_read(name));
    }
    Ok(Ok(CodeState {
        comparison,
        base: base.map(str::to_owned),
        branch: tree.map(|tree| tree.branch.clone()),
        changes,
        announced,
        after,
        problems,
        before: hash,
    }))
}

const NOTHING_KNOWN: ProjectState = ProjectState {
    setup: None,
    build: None,
    tests: SuiteResult::None,
};

fn passed(state: &ProjectState) -> Option<usize> {
    match &state.tests {
        SuiteResult::Measured { tests } => Some(tests.len()),
        SuiteResult::None | SuiteResult::NotRun | SuiteResult::Command { .. } => None,
    }
}

/// Runs the tests that the session's changes affect, where they can run alone. `None` when enough of them pass.
fn check_affected(case: &CodeAttempt<'_>, wanted: f64) -> Result<Option<CheckDetails>, CodeCheckError> {
    let folder = case.folder.canonicalize()?;
    let TestMethod::Measured { projects, .. } = verify::find_commands(&folder, case.settings).tests else {
        return Ok(None);
    };
    let Some((base, changes)) = case
        .base
        .and_then(|base| Some((base, git_changes::since(&folder, base)?)))
    else {
        return Ok(None);
    };
    let files: Vec<PathBuf> = changes.files.iter().map(|file| folder.join(&file.path)).collect();
    let concerned = |project: &Project| {
        let tests = verify::affected_tests(project, &files);
        (!tests.is_empty()).then_some(tests)
    };
    let runner = case.runner();
    // Tests that cannot run separately run with all the others.
    let Ok(mut tests) = verify::measure(&projects, &folder, &runner, concerned) else {
        return Ok(None);
    };
    if share_of_green(&tests).is_none_or(|rate| rate >= wanted) {
        return Ok(None);
    }
    let before = state_before::at(case, base, &runner)?.map(|before| before.state.tests);
    if let Some(SuiteResult::Measured { tests: before }) = before {
        // Tests that failed before are counted with all the others.
        tests.retain(|id, _| !matches!(before.get(id), Some(TestResult::Failed { .. })));
    }
    let Some(rate) = share_of_green(&tests).filter(|rate| *rate < wanted) else {
        return Ok(None);
    };
    let failing = tests.iter().filter_map(|(id, result)| match result {
        TestResult::Failed { message } => Some(format!("{id}: {message}")),
        TestResult::Passed | TestResult::NotCounted => None,
    });
    let failing: Vec<String> = failing.collect();
    Ok(Some(CheckDetails {
        verdict: Verdict::Verified,
        facts: BTreeMap::from([("pass_rate".to_owned(), two_decimals(rate))]),
        feedback: format!(
            "{:.0} % of the tests that the change affects pass, {:.0} % have to; the others were not run:\n{}",
            rate * 100.0,
            wanted * 100.0,
            failing.join("\n")
        ),
        ..CheckDetails::default()
    }))
}

/// The share of tests that pass, of those that were run.
fn share_of_green(tests: &BTreeMap<TestId, TestResult>) -> Option<f64> {
    let green = tests
        .values()
        .filter(|result| **result == TestResult::Passed)
        .count();
    let red = tests
        .values()
        .filter(|result| matches!(result, TestResult::Failed { .. }))
        .count();
    #[expect(clippy::cast_precision_loss, reason = "nobody has so many tests")]
    let rate = green as f64 / (green + red).max(1) as f64;
    (green + red > 0).then_some(rate)
}

fn two_decimals(rate: f64) -> String {
    format!("{:.2}", (rate * 100.0).floor() / 100.0)
}

/// Whether the state before the work matters. It does not if all commands with only an exit code have
/// succeeded.
fn needs_the_past(after: &ProjectState) -> bool {
    let good = |outcome: &Option<CommandOutcome>| outcome.as_ref().is_none_or(CommandOutcome::is_good);
    match &after.tests {
        SuiteResult::None => !good(&after.build) || !good(&after.setup),
        SuiteResult::Command { outcome, .. } => !outcome.is_good(),
        SuiteResult::Measured { .. } | SuiteResult::NotRun => true,
    }
}

impl CodeState {
    fn builds(&self) -> bool {
        let good = |outcome: &Option<CommandOutcome>| outcome.as_ref().is_none_or(CommandOutcome::is_good);
        good(&self.after.setup) && good(&self.after.build)
    }

    fn complaint(&self) -> Option<String> {
        self.comparison.complaint()
    }

    /// The share of tests that pass, of those that were run.
    fn pass_rate(&self) -> Option<f64> {
        match &self.after.tests {
            SuiteResult::None | SuiteResult::NotRun => None,
            SuiteResult::Command { outcome, .. } => Some(if outcome.is_good() { 1.0 } else { 0.0 }),
            SuiteResult::Measured { tests } => share_of_green(tests),
        }
    }

    fn report(&self, case: &CodeAttempt<'_>, complaint: Option<String>) -> CheckReport {
        let verdict = if self.comparison.unverified {
            Verdict::Unverified
        } else {
            Verdict::Verified
        };
        let mut facts = BTreeMap::new();
        if let Some(rate) = self.pass_rate() {
            facts.insert("pass_rate".to_owned(), two_decimals(rate));
        }
        if let Some(changes) = &self.changes {
            facts.insert("files_changed".to_owned(), changes.files.len().to_string());
        }
        if let Some(hash) = &self.before {
            facts.insert(BASE_STATE.to_owned(), hash.clone());
        }
        let mut problems = self.problems.clone();
        TruthKind::named("code").keep(&mut problems);
        let mut claim = ClaimCheck::default();
        for problem in &problems {
            claim.add("", problem);
        }
        self.write_record(case, complaint.is_none() && claim.has_no_problems());
        let doubt = claim.doubts().unwrap_or_default();
        if !claim.has_no_problems() {
            let CheckOutcome::SendBack(reason) = claim.outcome() else {
                unreachable!("there are problems that the worker can fix");
            };
            let more = complaint.map(|complaint| format!("; {complaint}"));
            return CheckReport::send_back(reason + &more.unwrap_or_default());
        }
        let details = CheckDetails {
            verdict,
            facts,
            doubt,
            ..CheckDetails::default()
        };
        match complaint {
            None => CheckReport::Confirmed(details),
            Some(feedback) => CheckReport::Short(CheckDetails { feedback, ..details }),
        }
    }

    /// Writes the record that the team expects from the run itself.
    fn write_record(&self, case: &CodeAttempt<'_>, accepted: bool) {
        let plan = case.ledger.plan();
        let record = json!({
            "task": plan.id(case.task),
            "attempt": case.attempt,
            "base": self.base,
            "branch": self.branch,
            "files": self.changes.as_ref().map(Changes::names),
            "accepted": accepted,
            "verified": !self.comparison.unverified,
            "pass_rate": self.pass_rate(),
            "state": self.after,
            "compared": self.comparison,
        });
        let text = serde_json::to_vec_pretty(&record).expect("plain data");
        for debt in owed_paths(&case.ledger.team, plan, case.task).by_engine {
            if debt.pattern.is_literal() {
                // If the record cannot be written, the result of the check stays.
                let _ = atomic::write_volatile(&case.session.path().join(debt.pattern.as_str()), &text);
            }
        }
    }
}
