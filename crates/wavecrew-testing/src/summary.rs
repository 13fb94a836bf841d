//! The result of a session in figures and in one line: `203 tests in 2 files kept · coverage 70 → 98 % · ...`. Written into
//! the session after each measurement, so that every view of the session shows the same.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use wavecrew_core::view::count;
use wavecrew_measure::Ratio;
use wavecrew_session::SessionPaths;

use crate::coverage_figures::lines;
use crate::layer::{self, Kind};
use crate::offline_agent::finished_modules;
use crate::quality::Data;
use crate::rounds::{self, write_atomically};
use crate::scope::Scope;

/// The measured result of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub kept_tests: usize,
    pub kept_files: usize,
    /// Percent of the lines in scope; `None` when it is unknown.
    pub coverage_before: Option<f64>,
    /// With the project's own tests.
    pub coverage_after: Option<f64>,
    pub mutants_killed: u64,
    pub mutants: u64,
    pub suspected_defects: usize,
    /// Modules that do not load because something is not installed.
    #[serde(default)]
    pub not_loaded: usize,
    /// The commands that install it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub fixes: BTreeSet<String>,
    /// How long the baseline took.
    #[serde(default)]
    pub baseline_seconds: f64,
    pub line: String,
}

impl Summary {
    /// Computes the result from the measurements so far; `None` if there are none.
    pub fn of(session: &Path, scope: &Scope) -> io::Result<Option<Self>> {
        let data = Data::read(session, scope)?;
        if data.layers.is_empty() {
            return Ok(None);
        }
        let mut summary = Self {
            coverage_before: data.baseline_known.then(|| rounded(lines(&data.before))),
            baseline_seconds: data.baseline_seconds,
            ..Self::default()
        };
        let mut failing = 0;
        let mut coverage_known = true;
        for layer in &data.layers {
            let name = &layer.run.layer;
            let placed = layer::place(scope, name, &rounds::kept_tests(session, name))?;
            summary.kept_files += placed.iter().filter(|file| file.kind == Kind::Test).count();
            summary.kept_tests += layer.run.kept.tests;
            failing += layer.run.suspected_defects.len();
            let (modules, fixes) = finished_modules::fixes(session, name);
            summary.not_loaded = summary.not_loaded.max(modules);
            summary.fixes.extend(fixes);
            coverage_known &= layer.run.coverage.is_some();
            if let Some(mutation) = &layer.run.mutation {
                summary.mutants_killed += mutation.killed;
                summary.mutants += mutation.total;
            }
        }
        summary.coverage_after = coverage_known.then(|| rounded(lines(&data.after)));
        // A defect on the board and the test that shows it are one defect.
        summary.suspected_defects = data.defects.len().max(failing);
        summary.line = summary.described();
        Ok(Some(summary))
    }

    fn described(&self) -> String {
        let mut parts = vec![if self.kept_tests == 0 {
            "no new tests kept".to_owned()
        } else {
            format!(
                "{} in {} kept",
                count(self.kept_tests, "test"),
                count(self.kept_files, "file")
            )
        }];
        parts.extend(match (self.coverage_before, self.coverage_after) {
            (Some(before), Some(after)) => Some(format!("coverage {before} → {after} %")),
            (None, Some(after)) => Some(format!("coverage {after} %")),
            (_, None) => Some("coverage unknown".to_owned()),
        });
        if self.mutants > 0 {
            parts.push(format!(
                "{} of {} mutants killed",
                self.mutants_killed, self.mutants
            ));
        }
        if self.suspected_defects > 0 {
            parts.push(count(self.suspected_defects, "suspected defect"));
        }
        if self.not_loaded > 0 {
            let fixes: Vec<&str> = self.fixes.iter().map(String::as_str).collect();
            let modules = count(self.not_loaded, "module");
            let verb = if self.not_loaded == 1 { "does" } else { "do" };
            parts.push(format!(
                "{modules} {verb} not load, fix with `{}`",
                fixes.join(" && ")
            ));
        }
        parts.join(" · ")
    }

    /// Computes the result and writes it into the session.
    pub fn write(session: &Path, scope: &Scope) -> io::Result<()> {
        let Some(summary) = Self::of(session, scope)? else {
            return Ok(());
        };
        let text = serde_json::to_vec_pretty(&summary).map_err(io::Error::other)?;
        write_atomically(&SessionPaths::at(session).result_summary(), &text)
    }

    /// The result as it was last written.
    pub fn read(session: &Path) -> Option<Self> {
        let text = fs::read(SessionPaths::at(session).result_summary()).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// Percent without decimals where it is whole, else with one, rounded down: 100 means all.
fn rounded(ratio: Ratio) -> f64 {
    (ratio.percent() * 10.0).floor() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_only_what_is_known() {
        let full = Summary {
            kept_tests: 203,
            kept_files: 2,
            coverage_before: Some(70.0),
            coverage_after: Some(98.2),
            mutants_killed: 31,
            mutants: 34,
            suspected_defects: 1,
            not_loaded: 2,
            fixes: ["uv add --dev attrs".to_owned(), "uv add --dev PyYAML".to_owned()].into(),
            baseline_seconds: 0.0,
            line: String::new(),
        };
        assert_eq!(
            full.described(),
            "203 tests in 2 files kept · coverage 70 → 98.2 % · 31 of 34 mutants killed · 1 suspected defect \
             · 2 modules do not load, fix with `uv add --dev PyYAML && uv add --dev attrs`"
        );
        let unknown = Summary {
            kept_tests: 1,
            kept_files: 1,
            coverage_after: Some(50.0),
            ..Summary::default()
        };
        assert_eq!(unknown.described(), "1 test in 1 file kept · coverage 50 %");
        assert_eq!(
            Summary::default().described(),
            "no new tests kept · coverage unknown"
        );
    }
}
