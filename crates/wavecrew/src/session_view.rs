use crate::{cli::Global, exit::Failure, launch};
use std::path::Path;
use wavecrew_core::engine::{Ledger, Stale};
use wavecrew_store::*;
pub fn latest_unfinished(
    project: &Path,
    fits: impl Fn(&SessionInfo) -> bool,
) -> Result<Option<(SessionDir, SessionInfo)>, Failure> {
    let all = list(project).map_err(|e| launch::store_failure(&e))?;
    Ok(all.into_iter().find_map(|l| match l {
        Listed::Session(d, i) if i.state.is_unfinished() && fits(&i) => Some((d, *i)),
        _ => None,
    }))
}
pub fn find(project: &Path, name: &str) -> Result<SessionDir, Failure> {
    SessionDir::open(project, name).map_err(|e| launch::store_failure(&e))
}
pub fn none_to_continue(_: &Path) -> Failure {
    Failure::input("no session to continue")
}
pub fn print_dry_run(l: &Ledger, stale: &[Stale], _: &Global) -> Result<(), Failure> {
    for s in stale {
        println!("{}: {}", l.plan().id(s.task), s.why);
    }
    Ok(())
}
