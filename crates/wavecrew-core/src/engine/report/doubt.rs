//! What makes a report of success doubtful by itself, before anything is compared with it.

use crate::claim::text::{Gap, admission, evades, gap, hands_over, particulars, quoted, slot, words};
use crate::claim::{Rule, TruthKind};
use crate::event::TaskResult;

/// Why a report of success is doubtful by itself.
#[derive(Debug, PartialEq, Eq)]
pub struct ReportDoubt {
    pub reason: String,
    /// The worker can add details, and is asked to.
    pub asks: bool,
}

/// What makes a report doubtful: an error beside the success, findings that are a placeholder, a promise, the
/// task itself, or that state that it was not done. `leaves_more` when its files or its code are checked.
pub fn report_doubt(report: &TaskResult, description: &str, leaves_more: bool) -> Option<ReportDoubt> {
    let doubt = |rule: Rule, reason: String, asks: bool| {
        let kept = TruthKind::named("report").has(rule);
        kept.then_some(ReportDoubt { reason, asks })
    };
    let findings = report.findings.trim();
    let shown = quoted(findings);
    if !report.error.trim().is_empty() {
        let error = quoted(&report.error);
        return doubt(
            Rule::Disagrees,
            format!("the report says `completed` and has the error {error}"),
            true,
        );
    }
    if let Some(gap) = gap(findings).filter(|_| !findings.is_empty()) {
        let rule = if gap == Gap::Filler {
            Rule::Filler
        } else {
            Rule::Placeholder
        };
        return doubt(rule, format!("the findings are a placeholder: {shown}"), true);
    }
    if slot(findings).is_some_and(|slot| slot.len() == findings.len()) {
        return doubt(
            Rule::Placeholder,
            format!("the findings are a slot of a template: {shown}"),
            true,
        );
    }
    if admission(findings).is_some() {
        return doubt(
            Rule::Admits,
            format!("the findings state that it was not done: {shown}"),
            true,
        );
    }
    if hands_over(findings) && !leaves_more {
        return doubt(
            Rule::Admits,
            format!("the findings ask somebody else to do it: {shown}"),
            true,
        );
    }
    if !findings.is_empty() && words(findings).len() > 3 && words(findings) == words(description) {
        return doubt(
            Rule::Copied,
            format!("the findings repeat the task: {shown}"),
            true,
        );
    }
    let says_little = findings.is_empty()
        || (evades(findings, description) && !findings.contains('`'))
        || (particulars(findings) == 0 && !findings.contains(|c: char| c.is_ascii_digit()));
    if says_little && !leaves_more && report.outputs.is_empty() && report.facts.is_empty() {
        return doubt(
            Rule::Thin,
            "the report has no information about the result".to_owned(),
            false,
        );
    }
    None
}
