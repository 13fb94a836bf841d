//! Finds sessions by their id, by the beginning of it, or as the latest one.

use crate::cli::Global;
use crate::exit::Failure;
use crate::show::safe;
use std::path::Path;
use wavecrew_core::plan::did_you_mean;
use wavecrew_session::{ProjectPaths, SessionDir, SessionEntry, SessionInfo, list_sessions};

/// At most so many ids are listed in a message.
const NAMED: usize = 10;

/// The session to change: the one with this id, or the only one whose id starts with it. Accepts a path to its folder.
pub fn find(project: &Path, name: &str) -> Result<SessionDir, Failure> {
    match candidates(project, name)?.as_slice() {
        [only] => Ok(SessionDir::open(project, only)?),
        several => Err(Failure::with_help(
            format!("`{name}` matches {} sessions", several.len()),
            listed(several),
        )),
    }
}

/// Like [`find`]; without a name, the latest session.
pub fn find_or_latest(project: &Path, name: Option<&str>) -> Result<SessionDir, Failure> {
    match name {
        Some(name) => find(project, name),
        None => latest(project),
    }
}

/// The session to read: like [`find_or_latest`], but of several matches the latest, with a note that says so.
pub fn find_to_read(project: &Path, name: Option<&str>, global: &Global) -> Result<SessionDir, Failure> {
    let Some(name) = name else {
        return latest(project);
    };
    let ids = candidates(project, name)?;
    let (newest, others) = (&ids[0], ids.len() - 1);
    if others > 0 && !global.quiet {
        anstream::eprintln!(
            "note: `{}` matches {} sessions; using the latest, {newest}",
            safe(name),
            ids.len()
        );
    }
    Ok(SessionDir::open(project, newest)?)
}

/// Whether the name means at least one session.
pub fn names_session(project: &Path, name: &str) -> bool {
    candidates(project, name).is_ok()
}

/// The ids that the name may mean, newest first; at least one.
fn candidates(project: &Path, name: &str) -> Result<Vec<String>, Failure> {
    let id = id_in(name);
    let error = match SessionDir::open(project, id) {
        Ok(dir) => return Ok(vec![dir.id().to_owned()]),
        Err(error) => error,
    };
    let ids = ids(project)?;
    if ids.iter().any(|known| known == id) {
        return Err(error.into());
    }
    let matches = |known: &&String| !id.is_empty() && known.starts_with(id);
    let matching: Vec<String> = ids.iter().filter(matches).cloned().collect();
    if matching.is_empty() {
        return Err(Failure::with_help(
            format!("there is no session `{name}`"),
            match did_you_mean(id, ids.iter().map(String::as_str)) {
                Some(guess) => format!("{guess} {}", listed(&ids)),
                None => listed(&ids),
            },
        ));
    }
    Ok(matching)
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
            listed(&ids)
        ),
        Ok(_) | Err(_) => "there are no sessions in this project; remove --continue to start one".to_owned(),
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

fn listed(ids: &[String]) -> String {
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
