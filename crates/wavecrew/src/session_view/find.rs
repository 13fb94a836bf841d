//! Finds sessions by their id, by the beginning of it, or as the latest one.

use crate::exit::Failure;
use crate::global::Global;
use crate::hint;
use crate::show::safe;
use std::path::Path;
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::view::first_few;
use wavecrew_session::{ProjectPaths, SessionDir, SessionEntry, SessionInfo, SessionView, list_sessions};

/// The program runs in the project's folder.
const PROJECT: &str = ".";

/// At most this many ids are listed in a message.
const NAMED: usize = 10;

/// The session that a command is about.
#[derive(clap::Args, Debug)]
pub struct SessionArg {
    /// Name of a session, or the beginning of it [default: the latest session]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
}

impl SessionArg {
    /// The session to change.
    pub fn find(&self) -> Result<SessionDir, Failure> {
        match &self.session {
            Some(name) => find(name),
            None => latest(),
        }
    }

    /// The session to read: of several matches the latest, with a note that says so.
    pub fn find_to_read(&self, global: &Global) -> Result<SessionDir, Failure> {
        let Some(name) = &self.session else {
            return latest();
        };
        let ids = candidates(name)?;
        let (newest, others) = (&ids[0], ids.len() - 1);
        if others > 0 && !global.quiet {
            tell!(
                "note: `{}` matches {} sessions; using the latest, {newest}",
                safe(name),
                ids.len()
            );
        }
        open(newest)
    }

    /// The content of the session to read.
    pub fn view(&self, global: &Global) -> Result<SessionView, Failure> {
        Ok(SessionView::load(self.find_to_read(global)?)?)
    }

    /// Whether the name means at least one session.
    pub fn names_session(&self) -> bool {
        self.session
            .as_deref()
            .is_some_and(|name| candidates(name).is_ok())
    }
}

/// The session to change: the one with this id, or the only one whose id starts with it. Accepts a path to its folder.
pub fn find(name: &str) -> Result<SessionDir, Failure> {
    match candidates(name)?.as_slice() {
        [only] => open(only),
        several => Err(Failure::with_help(
            format!("`{name}` matches {} sessions", several.len()),
            listed(several),
        )),
    }
}

/// Whether a name means a session of this project.
pub fn is_known(name: &str) -> bool {
    candidates(name).is_ok()
}

fn open(id: &str) -> Result<SessionDir, Failure> {
    Ok(SessionDir::open(Path::new(PROJECT), id)?)
}

/// The ids that the name may mean, newest first; at least one.
fn candidates(name: &str) -> Result<Vec<String>, Failure> {
    let id = id_in(name);
    let error = match open(id) {
        Ok(dir) => return Ok(vec![dir.id().to_owned()]),
        Err(error) => error,
    };
    let ids = ids()?;
    if ids.iter().any(|known| known == id) {
        return Err(error);
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
pub fn latest() -> Result<SessionDir, Failure> {
    latest_that(|_| true)?.ok_or_else(|| {
        Failure::with_help(
            "there is no session in this project yet",
            format!(
                "start one with `{}`, or name another project with -C",
                hint::command("run")
            ),
        )
    })
}

/// The session that was started last among those that are unfinished and fit.
pub fn latest_unfinished(fits: impl Fn(&SessionInfo) -> bool) -> Result<Option<SessionDir>, Failure> {
    latest_that(|info| info.state.is_unfinished() && fits(info))
}

/// The session that was started last among those that can be continued and fit; without one, an error that
/// names other sessions.
pub fn to_continue(fits: impl Fn(&SessionInfo) -> bool) -> Result<SessionDir, Failure> {
    if let Some(dir) = latest_that(|info| info.state.can_continue() && fits(info))? {
        return Ok(dir);
    }
    let ids = ids()?;
    let help = if ids.is_empty() {
        "this project has no sessions; start one with `wavecrew run`".to_owned()
    } else {
        format!(
            "name one of them; `{}` runs failed tasks again; {}",
            hint::command("retry"),
            listed(&ids)
        )
    };
    Err(Failure::with_help(
        "there is no unfinished session to continue",
        help,
    ))
}

fn latest_that(fits: impl Fn(&SessionInfo) -> bool) -> Result<Option<SessionDir>, Failure> {
    let fitting = |listed| match listed {
        SessionEntry::Session(dir, info) if fits(&info) => Some(dir),
        SessionEntry::Session(..) | SessionEntry::Broken { .. } => None,
    };
    Ok(list_sessions(Path::new(PROJECT))?.into_iter().find_map(fitting))
}

/// All ids, newest first.
fn ids() -> Result<Vec<String>, Failure> {
    let id = |listed: SessionEntry| match listed {
        SessionEntry::Session(dir, _) => dir.id().to_owned(),
        SessionEntry::Broken { path, .. } => path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    };
    Ok(list_sessions(Path::new(PROJECT))?.into_iter().map(id).collect())
}

fn listed(ids: &[String]) -> String {
    if ids.is_empty() {
        return "there are no sessions in this project".to_owned();
    }
    let mut text = format!("sessions: {}", first_few(ids, NAMED));
    if ids.len() > NAMED {
        text += &format!(" (`{}`)", hint::command("list"));
    }
    text
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
