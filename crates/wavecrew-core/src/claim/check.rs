//! Collects the problems of a claim and turns them into an outcome.

use super::rules::Problem;
use crate::engine::CheckOutcome;
use crate::event::Verdict;
use std::fmt::Write as _;

/// Longer lists end with a count.
const MAX_LISTED: usize = 20;
const MAX_NAME: usize = 200;

/// The problems that checks of a claim found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimCheck {
    checked: usize,
    missing: Vec<String>,
    outside: Vec<String>,
    doubts: Vec<String>,
}

impl ClaimCheck {
    pub fn count_check(&mut self) {
        self.checked += 1;
    }

    /// Adds a problem that the worker can fix.
    pub fn add_fixable(&mut self, problem: String) {
        self.missing.push(problem);
    }

    /// Adds a problem of a named file; the table of rules decides its weight.
    pub fn add(&mut self, name: &str, problem: &Problem) {
        let text = if name.is_empty() {
            problem.text.clone()
        } else {
            format!("{name} {}", problem.text)
        };
        if problem.rule.refutes() {
            self.missing.push(text);
        } else {
            self.doubts.push(text);
        }
    }

    /// The doubts: what may be wrong and is not proven.
    pub fn doubts(&self) -> Option<String> {
        (!self.doubts.is_empty()).then(|| list(&self.doubts))
    }

    /// Adds a path that leads out of the folders that the worker may use.
    pub fn add_outside(&mut self, problem: String) {
        self.outside.push(problem);
    }

    pub fn has_no_problems(&self) -> bool {
        self.missing.is_empty() && self.outside.is_empty()
    }

    /// Whether there was something to check, and no problem.
    pub fn is_verified(&self) -> bool {
        self.checked > 0 && self.has_no_problems() && self.doubts.is_empty()
    }

    pub fn outcome(self) -> CheckOutcome {
        if !self.outside.is_empty() {
            return CheckOutcome::Contradicted(list(&self.outside));
        }
        if !self.missing.is_empty() {
            return CheckOutcome::SendBack(list(&[self.missing, self.doubts].concat()));
        }
        let verdict = if self.checked > 0 && self.doubts.is_empty() {
            Verdict::Verified
        } else {
            Verdict::Unverified
        };
        CheckOutcome::Confirmed {
            verdict,
            measured: vec![],
        }
    }
}

fn list(problems: &[String]) -> String {
    let mut text = problems[..problems.len().min(MAX_LISTED)].join("; ");
    if problems.len() > MAX_LISTED {
        let _ = write!(text, "; and {} more", problems.len() - MAX_LISTED);
    }
    text
}

/// A path in backticks, shortened and safe to print, because a worker may have invented it.
pub fn quoted_path(path: &str) -> String {
    let mut text = String::from("`");
    for c in path.chars().take(MAX_NAME) {
        if c.is_control() {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    if path.chars().nth(MAX_NAME).is_some() {
        text.push('…');
    }
    text.push('`');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let findings = |looks: usize, missing: &[&str], outside: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
            ClaimCheck {
                checked: looks,
                missing: owned(missing),
                outside: owned(outside),
                doubts: Vec::new(),
            }
        };
        let outcome = |findings: ClaimCheck| match findings.outcome() {
            CheckOutcome::Confirmed { verdict, measured } => {
                format!("{} {}", verdict.as_str(), measured.len())
            }
            CheckOutcome::Ask(text) => format!("ask: {text}"),
            CheckOutcome::Measured(examined) => format!("{examined:?}"),
            CheckOutcome::SendBack(text) => format!("send back: {text}"),
            CheckOutcome::Contradicted(text) => format!("no: {text}"),
        };
        for (findings, good, expected) in [
            (findings(0, &[], &[]), false, "unverified 0"),
            (findings(2, &[], &[]), true, "verified 0"),
            (findings(2, &["a", "b"], &[]), false, "send back: a; b"),
            (findings(2, &["a"], &["x", "y"]), false, "no: x; y"),
        ] {
            assert_eq!(findings.is_verified(), good, "{expected}");
            assert_eq!(outcome(findings), expected);
        }
        let many = outcome(findings(1, &["a"; 25], &[]));
        assert!(many.ends_with("; a; and 5 more"), "{many}");
    }

    #[test]
    fn names_are_safe_to_show() {
        for (path, expected) in [
            ("a b/ü.md", "`a b/ü.md`".to_owned()),
            ("a\u{1b}[31m\n", "`a\\u{1b}[31m\\n`".to_owned()),
            (&"x".repeat(201), format!("`{}…`", "x".repeat(200))),
            (&"x".repeat(200), format!("`{}`", "x".repeat(200))),
        ] {
            assert_eq!(quoted_path(path), expected);
        }
    }
}
