//! What earlier searches of a module came to grief with, so that the next one goes on without it.

use serde::Serialize;

use super::framework::{Death, Last, Trouble};
use crate::LeftOut;

/// Inputs that never come back are left out, and the search starts again, so often.
const RESTARTS: usize = 6;

#[derive(Debug, Default, Serialize)]
pub struct Grief {
    /// Calls that are not tried again.
    skip: Vec<String>,
    /// Functions and classes that are not called at all.
    avoid: Vec<String>,
    /// Calls that a person should know of.
    ended: Vec<EndedCall>,
    /// Faults are not planted: one ended the search.
    plain: bool,
    /// Tests that are there are not run: one ended the search.
    #[serde(skip)]
    pub alone: bool,
    /// What ended the process once.
    #[serde(skip)]
    dead: Vec<String>,
    #[serde(skip)]
    pub left_out: Vec<LeftOut>,
}

#[derive(Debug, Serialize)]
pub struct EndedCall {
    #[serde(flatten)]
    last: Last,
    kind: &'static str,
    what: String,
}

impl Grief {
    /// Takes what went wrong, so that another search can go on without it; gives it back where none can.
    pub fn take(&mut self, trouble: Trouble) -> Result<(), Trouble> {
        let last = match &trouble {
            Trouble::Hung(last) | Trouble::Died { last, .. } => last.clone(),
            Trouble::HungLoading | Trouble::Failed(_) if self.alone => return Err(trouble),
            // It may have been one of the tests that are there.
            Trouble::HungLoading | Trouble::Failed(_) => {
                self.alone = true;
                return Ok(());
            }
        };
        if last.fault && !self.plain {
            self.plain = true;
            self.alone = true;
            return Ok(());
        }
        if self.skip.len() >= RESTARTS || self.skip.contains(&last.text) {
            return Err(trouble);
        }
        self.skip.push(last.text.clone());
        let (what, why) = (last.target.clone(), trouble.to_string());
        self.left_out.push(LeftOut { what, why });
        match trouble {
            Trouble::Hung(last) => self.end(last, "does not end", "no answer in time".to_owned()),
            Trouble::Died {
                last,
                why: Death::Memory(what),
            } => self.end(last, "runs out of memory", what),
            // Once may be about the input.
            Trouble::Died { last, .. } if self.dead.contains(&last.target) => self.avoid.push(last.target),
            Trouble::Died { last, .. } => self.dead.push(last.target),
            Trouble::HungLoading | Trouble::Failed(_) => {}
        }
        Ok(())
    }

    fn end(&mut self, last: Last, kind: &'static str, what: String) {
        self.avoid.push(last.target.clone());
        self.ended.push(EndedCall { last, kind, what });
    }
}
