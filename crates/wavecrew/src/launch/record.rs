//! `--record FILE`: checks the file before anything runs, begins the recording, and describes one that is replayed.

use crate::exit::Failure;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use wavecrew_core::engine::AgentChoice;
use wavecrew_run::recording::{Cassette, PREFIX, Recorder};
use wavecrew_run::session::OpenSession;

/// Makes sure that the file may be written: it is new, or the cassette of the session that is continued.
pub fn check(file: &Path, agents: &AgentChoice, continued: Option<&str>) -> Result<(), Failure> {
    let names = agents.by_role.values().chain([&agents.default]);
    if names.into_iter().any(|name| name.starts_with(PREFIX)) {
        return Err(Failure::with_help(
            "a replay cannot be recorded",
            "remove --record, or choose another agent",
        ));
    }
    let taken = file
        .metadata()
        .is_ok_and(|found| found.len() > 0 || !found.is_file());
    if !taken {
        return match File::options().append(true).create(true).mode(0o600).open(file) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::input(format!(
                "cannot record into {}: {error}",
                file.display()
            ))),
        };
    }
    let of = Cassette::open(file).ok().map(|cassette| cassette.header.session);
    if continued.is_some() && of.as_deref() == continued {
        return Ok(());
    }
    Err(Failure::with_help(
        format!("{} already exists and would be overwritten", file.display()),
        "record into another file, or remove this one",
    ))
}

/// Begins to record.
pub fn begin(file: &Path, session: &mut OpenSession) -> Result<(), Failure> {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let recorder = Recorder::open(file, &session.project, &session.dir, &session.info, &now)
        .map_err(|error| Failure::input(format!("cannot record into {}: {error}", file.display())))?;
    session.recorder = Some(recorder);
    Ok(())
}

/// `codex, recorded 2026-03-08T10:00:00Z`
pub fn describe(file: &str) -> String {
    match Cassette::open(Path::new(file)) {
        Ok(cassette) => format!(
            "{}, recorded {}",
            cassette.agents().join(", "),
            cassette.header.recorded_at
        ),
        Err(error) => error.to_string(),
    }
}
