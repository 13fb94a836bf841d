//! The end of a session: its test folders hold what was kept, and the copies of the project go.

use std::io;
use std::path::Path;

use crate::result::RunResult;
use crate::rounds;
use crate::scope::Scope;
use crate::snapshot::Snapshot;

/// What was set aside stays in `results/quarantine`, what was delivered in `rounds`.
pub fn finish(session: &Path) -> io::Result<()> {
    let scope = Scope::read(session)?;
    for layer in &scope.layers {
        if RunResult::read(session, &layer.name).is_err() {
            continue;
        }
        let accepted = rounds::accepted(session, &layer.name);
        rounds::mirror(&accepted, &session.join(&layer.folder))?;
        rounds::mirror(&accepted, &rounds::kept(session, &layer.name))?;
    }
    Snapshot::remove(session)
}
