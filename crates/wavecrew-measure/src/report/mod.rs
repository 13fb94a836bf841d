//! Parsers for the reports of test frameworks and coverage tools. Counts results itself instead of reading summaries.

mod cobertura;
mod coverage_py;
mod go_events;
mod go_profile;
pub(crate) mod istanbul;
mod jest;
pub mod json;
mod junit;
mod lcov;
mod llvm_cov;
mod xml;

use std::collections::BTreeMap;

use crate::measurement::{Hits, TestCase, number_namesakes};
pub(crate) use jest::NEVER_RAN;

/// By the name of the file in the report.
pub type HitsByFile = BTreeMap<String, Hits>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestFormat {
    /// pytest, cargo nextest, and nearly every other framework.
    JUnit,
    /// `jest --json`; vitest's JSON reporter writes the same.
    Jest,
    /// `go test -json`.
    GoEvents,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoverageFormat {
    CoveragePy,
    Istanbul,
    Lcov,
    Cobertura,
    GoProfile,
    LlvmCov,
}

#[derive(Debug, thiserror::Error)]
#[error("not a valid {format} report: {reason}")]
pub struct ReportError {
    pub format: &'static str,
    pub reason: String,
}

impl ReportError {
    fn new(format: &'static str, reason: impl std::fmt::Display) -> Self {
        Self {
            format,
            reason: reason.to_string(),
        }
    }
}

impl TestFormat {
    pub fn parse(self, report: &[u8]) -> Result<Vec<TestCase>, ReportError> {
        let mut tests = match self {
            Self::JUnit => junit::parse(report),
            Self::Jest => jest::parse(report),
            Self::GoEvents => go_events::parse(report),
        }?;
        number_namesakes(&mut tests);
        Ok(tests)
    }
}

impl CoverageFormat {
    pub fn parse(self, report: &[u8]) -> Result<HitsByFile, ReportError> {
        match self {
            Self::CoveragePy => coverage_py::parse(report),
            Self::Istanbul => istanbul::parse(report),
            Self::Lcov => lcov::parse(report),
            Self::Cobertura => cobertura::parse(report),
            Self::GoProfile => go_profile::parse(report),
            Self::LlvmCov => llvm_cov::parse(report),
        }
    }

    /// Guesses the format of a report by how it begins.
    pub fn guess(report: &[u8]) -> Option<Self> {
        let start = String::from_utf8_lossy(&report[..report.len().min(4096)]);
        let start = start.trim_start_matches('\u{feff}').trim_start();
        if start.starts_with("mode:") {
            Some(Self::GoProfile)
        } else if start.starts_with('<') {
            start.contains("<coverage").then_some(Self::Cobertura)
        } else if start.starts_with('{') {
            Some(
                if start.contains("llvm.coverage.json.export") || start.contains("\"data\"") {
                    Self::LlvmCov
                } else if start.contains("\"meta\"") {
                    Self::CoveragePy
                } else {
                    Self::Istanbul
                },
            )
        } else {
            ["TN:", "SF:"]
                .iter()
                .any(|tag| start.starts_with(tag))
                .then_some(Self::Lcov)
        }
    }
}

/// Longer failure messages are cut in the middle: a huge diff must not fill a prompt.
const MESSAGE_LIMIT: usize = 16 * 1024;

/// A failure message without colours and of limited length.
fn message(text: &str) -> String {
    let plain = strip_colours(text.trim());
    if plain.len() <= MESSAGE_LIMIT {
        return plain;
    }
    let head = plain.floor_char_boundary(MESSAGE_LIMIT / 2);
    let tail = plain.ceil_char_boundary(plain.len() - MESSAGE_LIMIT / 2);
    format!(
        "{}\n[... {} bytes left out ...]\n{}",
        &plain[..head],
        tail - head,
        &plain[tail..]
    )
}

fn strip_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(sequence.len(), |i| i + 1);
        rest = &sequence[end..];
    }
    out.push_str(rest);
    out
}

/// Invalid numbers count as zero.
fn duration(seconds: f64) -> std::time::Duration {
    std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests;
