//! How the commands find a session and show it. [`SessionView`](wavecrew_session::SessionView) reads it.

mod dry_run;
mod find;

pub use dry_run::print_dry_run;
pub use find::{SessionArg, find, is_known, latest, latest_unfinished, to_continue};

use crate::{hint, project};
use wavecrew_core::engine::Ledger;
use wavecrew_core::view::report_terminal;
use wavecrew_session::{SessionDir, SessionInfo};

/// The report at the end of a run, with commands and paths that can be pasted.
pub fn final_report(dir: &SessionDir, ledger: &Ledger, info: &SessionInfo) -> String {
    let (folder, program) = (project::shown(dir.path()), hint::program());
    let mut meta = dir.meta(&folder, Some(info));
    meta.program = &program;
    report_terminal(ledger, &meta)
}
