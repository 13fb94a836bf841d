//! The end of a session: its test folders hold the kept tests, and the copies of the project are removed.

use std::io;
use std::path::Path;

use crate::result::RunResult;
use crate::rounds;
use crate::scope::Scope;
use crate::snapshot::Snapshot;
use crate::summary::Summary;

/// Quarantined tests stay in `results/quarantine`, delivered ones in `rounds`.
pub fn finish(session: &Path) -> io::Result<()> {
    let scope = Scope::read(session)?;
    for layer in &scope.layers {
        if RunResult::read(session, &layer.name).is_err() {
            continue;
        }
        let kept = rounds::kept_tests(session, &layer.name);
        rounds::mirror(&kept, &session.join(&layer.folder))?;
        rounds::save_checked(session, &layer.name, &kept)?;
    }
    Summary::write(session, &scope)?;
    Snapshot::remove(session)
}
