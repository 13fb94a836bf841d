//! How the commands find a session and show it. [`SessionView`](wavecrew_session::SessionView) reads it.

mod dry_run;
mod find;

pub use dry_run::print_dry_run;
pub use find::{find, find_or_latest, find_to_read, latest_unfinished, names_session, none_to_continue};

use wavecrew_session::SessionDir;

/// The folder as a person would type it from here.
pub fn shown_folder(dir: &SessionDir) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let path = match &here {
        Ok(here) => dir.path().strip_prefix(here).unwrap_or(dir.path()),
        Err(_) => dir.path(),
    };
    path.display().to_string()
}
