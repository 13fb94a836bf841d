//! Drops redundant tests from the kept ones.

use std::collections::BTreeSet;
use std::path::Path;

use wavecrew_measure::Note;
use wavecrew_measure::run::{Collect, TestOrder};

use super::{Case, listed};
use crate::coverage_figures::lines;
use crate::environment::{EnvironmentError, LayerRun, TestEnvironment};
use crate::rounds;
use crate::select::{self, Dropped, dropped_tests};

/// A suite and its redundant tests.
pub struct RedundantTests<'a> {
    /// The layer's tests as delivered, and their run.
    pub folder: &'a Path,
    pub run: &'a LayerRun,
    pub kept: LayerRun,
    pub redundant: Vec<Dropped>,
}

impl RedundantTests<'_> {
    /// Drops them if all other tests still pass and no line loses its coverage.
    pub fn run(
        mut self,
        environment: &TestEnvironment,
        case: &Case<'_>,
        dropped: &mut Vec<Dropped>,
        notes: &mut Vec<Note>,
    ) -> Result<LayerRun, EnvironmentError> {
        if self.redundant.is_empty() {
            return Ok(self.kept);
        }
        let all_tests = self.run.ids();
        let to = rounds::kept_tests(case.session, case.layer);
        let known = select::write_kept(self.folder, &to, dropped, &all_tests)?;
        let all = |redundant: &[Dropped]| [&dropped[..], redundant].concat();
        let lost = select::write_kept(self.folder, &to, &all(&self.redundant), &all_tests)?;
        let newly: BTreeSet<&str> = lost
            .iter()
            .filter(|id| !known.contains(id))
            .map(|id| id.file.as_str())
            .collect();
        self.redundant
            .retain(|test| !newly.contains(test.id.file.as_str()));
        select::write_kept(self.folder, &to, &all(&self.redundant), &all_tests)?;
        let smaller = environment.layer(
            case.layer,
            &to,
            Collect::TestsAndCoverage,
            TestOrder::Default,
            &BTreeSet::new(),
        )?;
        let covered = |run: &LayerRun| run.coverage.as_deref().map(|files| lines(files).covered);
        if dropped_tests(&smaller, &LayerRun::default()).is_empty()
            && covered(&smaller) >= covered(&self.kept)
        {
            dropped.append(&mut self.redundant);
            return Ok(smaller);
        }
        let names: Vec<String> = self.redundant.iter().map(|test| test.id.to_string()).collect();
        notes.push(Note {
            what: format!(
                "these tests add nothing themselves, but others need them to have run before: {}",
                listed(&names)
            ),
            fix: Some("make each test create what it needs".to_owned()),
        });
        select::write_kept(self.folder, &to, dropped, &all_tests)?;
        Ok(self.kept)
    }
}
