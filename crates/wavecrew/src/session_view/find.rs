//! Finds sessions by their id, by a part of it that is unique, or as the latest one.

use crate::exit::Failure;
use std::path::Path;
use wavecrew_core::plan::did_you_mean;
use wavecrew_session::{ProjectPaths, SessionDir, SessionEntry, SessionInfo, list_sessions};

/// Ids that a list of what there is names at most.
const NAMED: usize = 10;

/// The session of this id, or the only one whose id starts so. A path to its folder is fine too.
pub fn find(project: &Path, name: &str) -> Result<SessionDir, Failure> {
    let id = id_in(name);
    let error = match SessionDir::open(project, id) {
        Ok(dir) => return Ok(dir),
        Err(error) => error,
    };
    let ids = ids(project)?;
    if ids.iter().any(|known| known == id) {
        return Err(error.into());
    }
    let fits = |known: &&String| !id.is_empty() && known.starts_with(id);
    let fitting: Vec<String> = ids.iter().filter(fits).cloned().collect();
    match fitting.as_slice() {
        [only] => Ok(SessionDir::open(project, only)?),
        [] => Err(Failure::with_help(
            format!("there is no session `{name}`"),
            match did_you_mean(id, ids.iter().map(String::as_str)) {
                Some(guess) => format!("{guess} {}", there_are(&ids)),
                None => there_are(&ids),
            },
        )),
        several => Err(Failure::with_help(
            format!("`{name}` may mean {} sessions", several.len()),
            there_are(several),
        )),
    }
}

/// The session that a person names, or the latest one.
pub fn find_or_latest(project: &Path, name: Option<&str>) -> Result<SessionDir, Failure> {
    match name {
        Some(name) => find(project, name),
        None => latest(project),
    }
}

/// The session that was started last.
fn latest(project: &Path) -> Result<SessionDir, Failure> {
    match latest_that(project, |_| true)? {
        Some((dir, _)) => Ok(dir),
        None => Err(Failure::with_help(
            "there is no session in this project yet",
            "start one with `wavecrew run`, or name another project with -C",
        )),
    }
}

/// The session that was started last among those that can be continued and fit.
pub fn latest_unfinished(
    project: &Path,
    fits: impl Fn(&SessionInfo) -> bool,
) -> Result<Option<(SessionDir, SessionInfo)>, Failure> {
    latest_that(project, |info| info.state.is_unfinished() && fits(info))
}

fn latest_that(
    project: &Path,
    fits: impl Fn(&SessionInfo) -> bool,
) -> Result<Option<(SessionDir, SessionInfo)>, Failure> {
    let found = list_sessions(project)?
        .into_iter()
        .find_map(|listed| match listed {
            SessionEntry::Session(dir, info) if fits(&info) => Some((dir, *info)),
            SessionEntry::Session(..) | SessionEntry::Broken { .. } => None,
        });
    Ok(found)
}

/// `--continue` found nothing to continue.
pub fn none_to_continue(project: &Path) -> Failure {
    let help = match ids(project) {
        Ok(ids) if !ids.is_empty() => format!(
            "name one of them; `wavecrew retry` runs failed tasks again; {}",
            there_are(&ids)
        ),
        Ok(_) | Err(_) => {
            "there are no sessions in this project; leave out --continue to start one".to_owned()
        }
    };
    Failure::with_help("there is no unfinished session to continue", help)
}

/// All ids, newest first.
fn ids(project: &Path) -> Result<Vec<String>, Failure> {
    let id = |listed: SessionEntry| match listed {
        SessionEntry::Session(dir, _) => dir.id().to_owned(),
        SessionEntry::Broken { path, .. } => path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    };
    Ok(list_sessions(project)?.into_iter().map(id).collect())
}

fn there_are(ids: &[String]) -> String {
    if ids.is_empty() {
        return "there are no sessions in this project".to_owned();
    }
    let shown = ids[..ids.len().min(NAMED)].join(", ");
    match ids.len().saturating_sub(NAMED) {
        0 => format!("sessions: {shown}"),
        more => format!("sessions: {shown} and {more} more (`wavecrew list`)"),
    }
}

/// Shells complete paths: `.workflow/.csv-wave/ID/` means `ID`.
fn id_in(name: &str) -> &str {
    let path = name.trim_end_matches('/');
    let sessions = ProjectPaths::at("").sessions_folder();
    match path.rsplit_once('/') {
        Some((folder, id)) if Path::new(folder).ends_with(sessions) => id,
        _ => name,
    }
}
