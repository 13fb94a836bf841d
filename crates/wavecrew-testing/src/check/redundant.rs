//! The accepted suite without the tests that add nothing to it.

use std::collections::BTreeSet;
use std::path::Path;

use wavecrew_measure::Note;
use wavecrew_measure::run::{Collect, TestOrder};

use super::{Case, listed};
use crate::coverage_figures::lines;
use crate::environment::{EnvironmentError, LayerRun, TestEnvironment};
use crate::rounds;
use crate::select::{self, Dropped, judge};

/// A suite, and what it is to do without.
pub struct Without<'a> {
    /// The layer's tests as they were delivered, and their run.
    pub folder: &'a Path,
    pub run: &'a LayerRun,
    pub accepted: LayerRun,
    pub superfluous: Vec<Dropped>,
}

impl Without<'_> {
    /// Leaves them out where that costs nothing: not another test, and not a line.
    pub fn run(
        mut self,
        environment: &TestEnvironment,
        case: &Case<'_>,
        rejected: &mut Vec<Dropped>,
        notes: &mut Vec<Note>,
    ) -> Result<LayerRun, EnvironmentError> {
        if self.superfluous.is_empty() {
            return Ok(self.accepted);
        }
        let to = rounds::accepted(case.session, case.layer);
        let known = select::write_kept(self.folder, &to, rejected, &self.run.tests)?;
        let all = |superfluous: &[Dropped]| [&rejected[..], superfluous].concat();
        let lost = select::write_kept(self.folder, &to, &all(&self.superfluous), &self.run.tests)?;
        let newly: BTreeSet<&str> = lost
            .iter()
            .filter(|id| !known.contains(id))
            .map(|id| id.file.as_str())
            .collect();
        self.superfluous
            .retain(|test| !newly.contains(test.id.file.as_str()));
        select::write_kept(self.folder, &to, &all(&self.superfluous), &self.run.tests)?;
        let kept = environment.layer(
            case.layer,
            &to,
            Collect::TestsAndCoverage,
            TestOrder::Default,
            &BTreeSet::new(),
        )?;
        let covered = |run: &LayerRun| run.coverage.as_deref().map(|files| lines(files).covered);
        if judge(&kept, &LayerRun::default()).is_empty() && covered(&kept) >= covered(&self.accepted) {
            rejected.append(&mut self.superfluous);
            return Ok(kept);
        }
        let names: Vec<String> = self.superfluous.iter().map(|test| test.id.to_string()).collect();
        notes.push(Note {
            what: format!(
                "these tests add nothing themselves, but others need them to have run before: {}",
                listed(&names)
            ),
            fix: Some("have each test make what it needs".to_owned()),
        });
        select::write_kept(self.folder, &to, rejected, &self.run.tests)?;
        Ok(self.accepted)
    }
}
