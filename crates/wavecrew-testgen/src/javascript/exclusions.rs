//! What a repeated search of a module skips, because an earlier search crashed or hung on it.

use serde::Serialize;

use super::failure::{CrashCause, LastCall, SearchFailure};
use crate::Dropped;

/// How many calls are skipped before the search gives up on a module.
const MAX_SKIPPED: usize = 6;

#[derive(Debug, Default, Serialize)]
pub struct Exclusions {
    /// Calls that are not tried again.
    skip: Vec<String>,
    /// Functions and classes that are not called at all.
    avoid: Vec<String>,
    /// Calls that are reported as suspected defects.
    suspects: Vec<SuspectCall>,
    /// Search without mutants: a call ended the search while one was active.
    no_mutants: bool,
    /// Search without running existing tests: one of them may have ended the search.
    #[serde(skip)]
    pub no_existing_tests: bool,
    /// Targets that crashed the process once.
    #[serde(skip)]
    crashed_once: Vec<String>,
    #[serde(skip)]
    pub dropped: Vec<Dropped>,
}

#[derive(Debug, Serialize)]
struct SuspectCall {
    #[serde(flatten)]
    call: LastCall,
    kind: &'static str,
    what: String,
}

impl Exclusions {
    /// Excludes what made a search fail, so that it can run again. Returns the failure when another search would not help.
    pub fn exclude(&mut self, failure: SearchFailure) -> Result<(), SearchFailure> {
        let call = match &failure {
            SearchFailure::CallHung(call) | SearchFailure::Crashed { call, .. } => call.clone(),
            SearchFailure::LoadHung | SearchFailure::NotLoaded(_) if self.no_existing_tests => {
                return Err(failure);
            }
            SearchFailure::LoadHung | SearchFailure::NotLoaded(_) => {
                self.no_existing_tests = true;
                return Ok(());
            }
        };
        if call.uses_mutant && !self.no_mutants {
            self.no_mutants = true;
            self.no_existing_tests = true;
            return Ok(());
        }
        if self.skip.len() >= MAX_SKIPPED || self.skip.contains(&call.text) {
            return Err(failure);
        }
        self.skip.push(call.text.clone());
        let (what, why) = (call.target.clone(), failure.to_string());
        self.dropped.push(Dropped { what, why });
        match failure {
            SearchFailure::CallHung(call) => {
                self.suspect(call, "does not end", "no result in time".to_owned());
            }
            SearchFailure::Crashed {
                call,
                cause: CrashCause::OutOfMemory(what),
            } => self.suspect(call, "runs out of memory", what),
            // A single crash may be due to the input.
            SearchFailure::Crashed { call, .. } if self.crashed_once.contains(&call.target) => {
                self.avoid.push(call.target);
            }
            SearchFailure::Crashed { call, .. } => self.crashed_once.push(call.target),
            SearchFailure::LoadHung | SearchFailure::NotLoaded(_) => {}
        }
        Ok(())
    }

    fn suspect(&mut self, call: LastCall, kind: &'static str, what: String) {
        self.avoid.push(call.target.clone());
        self.suspects.push(SuspectCall { call, kind, what });
    }
}
