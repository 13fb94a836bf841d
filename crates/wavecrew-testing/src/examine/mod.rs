//! Examines claims of the team's roles: looks at files, runs tests, and says what the facts are. Changes nothing but what it
//! writes into `results` and `analysis`, and what it puts back.

pub mod generated;
mod honest;
pub mod report;
mod rough;
pub mod run;
mod without;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::bench::{Bench, Trouble};
use crate::verdict::Verdict;

/// What is examined.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    pub session: &'a Path,
    pub task: &'a str,
    pub layer: &'a str,
    /// Percent of the lines in scope.
    pub target: f64,
    /// Of the row: every time it runs again it has the next number.
    pub attempt: u32,
    /// When the worker began whose claim this is; none before there is one.
    pub began: Option<SystemTime>,
    /// The columns that the worker reported.
    pub claims: &'a [(String, String)],
}

impl Case<'_> {
    fn claim(&self, column: &str) -> Option<&str> {
        let found = self.claims.iter().find(|(name, _)| name == column)?;
        Some(found.1.trim()).filter(|value| !value.is_empty())
    }

    /// The layer's folder in the session.
    fn folder(&self, bench: &Bench) -> Result<PathBuf, Trouble> {
        let unknown = || std::io::Error::other(format!("the session has no layer `{}`", self.layer));
        Ok(self
            .session
            .join(bench.scope.folder(self.layer).ok_or_else(unknown)?))
    }
}

/// When nothing can be examined because the environment is broken: a person has to mend it.
pub fn broken(trouble: &Trouble) -> Verdict {
    Verdict::contradicted(format!("{trouble}. To mend it: {}", trouble.help()))
}

fn facts<const N: usize>(facts: [(&str, impl ToString); N]) -> BTreeMap<String, String> {
    facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect()
}

/// At most this many of a list are named.
const NAMED: usize = 10;

/// `a, b and 3 more`.
pub(crate) fn listed(names: &[String]) -> String {
    let mut text = names[..names.len().min(NAMED)].join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}
