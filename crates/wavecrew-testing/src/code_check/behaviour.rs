//! The behaviour diff of the work: inputs on which the code before and after it behaves differently, as
//! evidence for reviewers and people. It never sends work back.

use std::fs;
use std::path::Path;

use wavecrew_core::sanitise::sanitise;
use wavecrew_core::view::count;
use wavecrew_diff::{Report, Request, Selection, WantedTests, compare, render};
use wavecrew_session::{IoContext, SessionError, SessionPaths, atomic};

use super::{CodeAttempt, CodeState};

/// How many differences the findings name; the others are in the document.
const NAMED: usize = 3;
/// A longer input appears only in the document.
const LONGEST: usize = 80;

/// Words of a task that must not change behaviour.
const KEEPING: [&str; 5] = [
    "refactor",
    "restructur",
    "clean up",
    "cleanup",
    "no behaviour change",
];
/// Words of a task that must change behaviour.
const CHANGING: [&str; 3] = ["fix", "bug", "defect"];

/// What was compared, in numbers and in a sentence.
pub struct BehaviourEvidence {
    pub differences: usize,
    pub inputs: u64,
    pub remark: String,
}

/// Compares the work with its base. `None` where no code that can be compared changed.
pub fn evidence(case: &CodeAttempt<'_>, state: &CodeState) -> Option<BehaviourEvidence> {
    let budget = case.behaviour?;
    let changes = state.changes.as_ref()?;
    if changes.files.is_empty() {
        return None;
    }
    let request = Request {
        folder: case.folder.to_owned(),
        files: None,
        selection: Selection {
            revision: Some(state.base.clone()?),
            ..Selection::default()
        },
        paths: Vec::new(),
        budget: budget.min(case.timeout),
        seed: 1,
        ignore_tests: false,
        cosmetic: false,
        quick: true,
        tests: WantedTests::default(),
        test_folders: Vec::new(),
        jobs: 2,
    };
    // A failed comparison is no evidence.
    let (report, _) = compare(&request, &|_| true).ok()?;
    if report.calls == 0 {
        return None;
    }
    let plan = case.ledger.plan();
    let id = plan.id(case.task);
    let paths = SessionPaths::at(case.session.path());
    let document = paths.behaviour_diff(id);
    // If the document cannot be written, the findings still have the evidence.
    let is_written = write(&document, &render::markdown(&report)).is_ok();
    let shown = document.strip_prefix(case.session.path()).ok();
    let task = format!("{} {}", plan.title(case.task), plan.description(case.task));
    Some(BehaviourEvidence {
        differences: report.differences.len(),
        inputs: report.calls,
        remark: remark(&report, shown.filter(|_| is_written), &task),
    })
}

fn write(document: &Path, text: &str) -> Result<(), SessionError> {
    // Only team testing has the folder from the start.
    if let Some(folder) = document.parent() {
        fs::create_dir_all(folder).context("create", folder)?;
    }
    atomic::write_volatile(document, text.as_bytes())
}

fn remark(report: &Report, document: Option<&Path>, task: &str) -> String {
    let inputs = count(usize::try_from(report.calls).unwrap_or(usize::MAX), "input");
    let lines = report.changed_lines;
    let task = task.to_lowercase();
    let is_about = |words: &[&str]| words.iter().any(|word| task.contains(word));
    if report.differences.is_empty() {
        let attention = if is_about(&CHANGING) && !is_about(&KEEPING) {
            "; check this: the task is a fix, and no behaviour changed"
        } else {
            ""
        };
        return format!(
            "behaviour: no difference in {inputs} that reach {} of {}{attention}",
            lines.reached,
            count(lines.total, "changed line"),
        );
    }
    let attention = if is_about(&KEEPING) {
        "check this: the task is a refactoring, and behaviour changed; "
    } else {
        ""
    };
    let named: Vec<String> = report
        .differences
        .iter()
        .filter(|one| one.setup.is_empty() && one.input.len() <= LONGEST)
        .take(NAMED)
        .map(|one| format!("{}: {} before, {} after", one.input, one.before, one.after))
        .collect();
    let text = format!(
        "behaviour: {attention}{} in {inputs}{}{}{}",
        count(report.differences.len(), "difference"),
        document.map_or_else(String::new, |document| format!(", see {}", document.display())),
        if named.is_empty() { "" } else { ": " },
        named.join("; "),
    );
    sanitise(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavecrew_diff::{ChangedLineCount, Difference, ReportedRevision};

    fn report(differences: Vec<Difference>) -> Report {
        let revision = |name: &str| ReportedRevision {
            name: name.to_owned(),
            commit: None,
        };
        Report {
            base: revision("HEAD"),
            head: revision("working tree"),
            files: Vec::new(),
            interface: Vec::new(),
            differences,
            notes: Vec::new(),
            changed_lines: ChangedLineCount { total: 2, reached: 2 },
            calls: 300,
            unconfirmed: 0,
            compared: 1,
            written: Vec::new(),
            seconds: 1.0,
            complete: true,
        }
    }

    #[test]
    fn a_refactoring_that_changes_behaviour_and_a_fix_that_does_not_stand_out() {
        let difference = Difference {
            input: "shipping(50)".to_owned(),
            before: "0".to_owned(),
            after: "5".to_owned(),
            ..Difference::default()
        };
        let document = Path::new("analysis/behaviour-IMPL-001.md");
        let changed = report(vec![difference]);
        for (report, task, expected) in [
            (
                &changed,
                "Refactor the cart",
                "behaviour: check this: the task is a refactoring, and behaviour changed; 1 difference in 300 inputs, see \
                 analysis/behaviour-IMPL-001.md: shipping(50): 0 before, 5 after",
            ),
            (
                &changed,
                "Fix shipping",
                "behaviour: 1 difference in 300 inputs, see analysis/behaviour-IMPL-001.md: shipping(50): 0 before, 5 after",
            ),
            (
                &report(Vec::new()),
                "Fix shipping",
                "behaviour: no difference in 300 inputs that reach 2 of 2 changed lines; check this: the task is a fix, \
                 and no behaviour changed",
            ),
            (
                &report(Vec::new()),
                "Refactor the cart",
                "behaviour: no difference in 300 inputs that reach 2 of 2 changed lines",
            ),
        ] {
            assert_eq!(remark(report, Some(document), task), expected);
        }
    }
}
