//! `--journal nats`: a copy of the session on NATS, which gets every event before the journal file and before any effect, so that
//! another machine can continue the session.

use super::remote::{connection, project_name, terms};
use super::{Launch, holder};
use crate::config::JournalFlag;
use crate::exit::Failure;
use crate::hint;
use signal_hook::consts::SIGINT;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use wavecrew_remote::replica::{
    Expect, Patience, Replica, ReplicaError, ReplicaSettings, SessionFile, Waiting,
};
use wavecrew_run::session::OpenSession;
use wavecrew_session::{
    CopiedFile, JournalReplica, SessionDir, SessionError, SessionInfo, atomic, copied_files, restore,
};

/// The field of `session.json` that says where the journal has a copy.
const FIELD: &str = "journal";
const NATS: &str = "nats";
/// NATS may be away for this long before the person hears of it.
const QUIET: Duration = Duration::from_secs(2);
/// A wait that is younger than this has just begun.
const JUST_BEGUN: Duration = Duration::from_millis(400);
/// Results are in the journal with this event: the files that belong to them come first.
const FINISHED: &[u8] = br#""e":"finished""#;

/// The copy of one session, written by this process.
#[derive(Debug)]
pub struct JournalCopy {
    replica: Replica,
    dir: SessionDir,
    /// Path, length and time of all files when they were copied last.
    copied: Vec<(PathBuf, u64, Option<SystemTime>)>,
    /// Bytes of the journal that the copy had when it was opened.
    found: u64,
}

impl JournalReplica for JournalCopy {
    fn append(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        if bytes.windows(FINISHED.len()).any(|window| window == FINISHED) {
            self.copy_files()?;
        }
        self.replica.append(bytes).map_err(|error| copy_error(&error))
    }

    fn check(&self) -> Result<(), SessionError> {
        self.replica.check().map_err(|error| copy_error(&error))
    }
}

impl Drop for JournalCopy {
    fn drop(&mut self) {
        // The report and the final table. Without them the session can be continued all the same.
        let _ = self.copy_files();
    }
}

impl JournalCopy {
    /// Copies the session's files if one has changed.
    fn copy_files(&mut self) -> Result<(), SessionError> {
        let files = copied_files(&self.dir)?;
        let marks: Vec<_> = files
            .iter()
            .map(|file| {
                let path = self.dir.path().join(&file.path);
                let changed = fs::metadata(&path).and_then(|found| found.modified()).ok();
                (path, file.bytes.len() as u64, changed)
            })
            .collect();
        if marks == self.copied {
            return Ok(());
        }
        let files = files
            .into_iter()
            .map(|CopiedFile { path, bytes }| SessionFile { path, bytes });
        (self.replica.put_files(files.collect())).map_err(|error| copy_error(&error))?;
        self.copied = marks;
        Ok(())
    }

    /// From now on the session's events go to the copy first.
    pub fn attach(mut self, session: &mut OpenSession) -> Result<(), Failure> {
        let length = session.journal_len();
        if length < self.found {
            self.replica.cut(length).map_err(|error| failure(&error))?;
        }
        session.set_journal_replica(Box::new(self));
        Ok(())
    }
}

impl Launch<'_> {
    /// Whether a new session gets a copy.
    fn wants_copy(&self) -> bool {
        let config = &self.config.remote;
        self.flags.remote.journal.or(config.journal) == Some(JournalFlag::Nats)
    }

    /// Begins the copy of a new session, if there is to be one. If it cannot be made, there is no session.
    pub(super) fn begin_copy(&self, session: &mut OpenSession) -> Result<(), Failure> {
        if !self.wants_copy() {
            return Ok(());
        }
        let begun = self.try_begin_copy(session);
        if begun.is_err() {
            let _ = fs::remove_dir_all(session.dir.path());
        }
        begun
    }

    fn try_begin_copy(&self, session: &mut OpenSession) -> Result<(), Failure> {
        session.info.extra.insert(FIELD.to_owned(), NATS.into());
        session.dir.write_info(&session.info)?;
        let (replica, _) = self.acquire(session.dir.id(), Expect::Nothing)?;
        let mut copy = JournalCopy {
            replica,
            dir: session.dir.clone(),
            copied: Vec::new(),
            found: 0,
        };
        self.sign(&session.dir)?;
        let journal = fs::read(session.dir.journal_file())?;
        copy.replica.append(&journal).map_err(|error| failure(&error))?;
        copy.copy_files()?;
        copy.attach(session)
    }

    /// Takes over the copy of a session that has one, and brings the session folder up to date with it.
    pub(super) fn continue_copy(&self, info: &SessionInfo) -> Result<Option<JournalCopy>, Failure> {
        if info.extra.get(FIELD).and_then(|value| value.as_str()) != Some(NATS) {
            return Ok(None);
        }
        self.take_over(&info.id).map(|(copy, _)| Some(copy))
    }

    /// The session folder of a session that this machine does not have, from its copy.
    pub fn fetch_session(&self, id: &str) -> Result<SessionDir, Failure> {
        self.take_over(id).map(|(_, dir)| dir)
    }

    /// Whether sessions can be fetched.
    pub fn has_server(&self) -> bool {
        connection(
            &self.config.remote,
            self.flags.remote.nats.as_deref(),
            &self.project,
        )
        .is_some()
    }

    fn take_over(&self, id: &str) -> Result<(JournalCopy, SessionDir), Failure> {
        let (replica, found) = self.acquire(id, Expect::Session)?;
        let local = SessionDir::open(&self.project, id).ok();
        let is_newest = |dir: &SessionDir| {
            let signed = fs::read_to_string(dir.coordinator_file()).ok();
            signed.is_some() && signed == found.holder
        };
        let dir = if let Some(dir) = local.filter(is_newest) {
            // The copy gets every event first, so it may be ahead by some.
            let journal = dir.journal_file();
            if fs::read(&journal).is_ok_and(|bytes| bytes != found.journal) {
                atomic::write(&journal, &found.journal)?;
            }
            dir
        } else {
            let files = found.files.into_iter();
            let files: Vec<CopiedFile> = files
                .map(|SessionFile { path, bytes }| CopiedFile { path, bytes })
                .collect();
            restore(&self.project, id, &found.journal, &files)?
        };
        self.sign(&dir)?;
        let copy = JournalCopy {
            replica,
            dir: dir.clone(),
            copied: Vec::new(),
            found: found.journal.len() as u64,
        };
        Ok((copy, dir))
    }

    /// Says in the folder who writes the copy: this folder has all that the copy has.
    fn sign(&self, dir: &SessionDir) -> Result<(), Failure> {
        Ok(atomic::write(
            &dir.coordinator_file(),
            copy_holder(&self.project).as_bytes(),
        )?)
    }

    fn acquire(
        &self,
        run: &str,
        expect: Expect,
    ) -> Result<(Replica, wavecrew_remote::replica::Restored), Failure> {
        let config = &self.config.remote;
        let found = connection(config, self.flags.remote.nats.as_deref(), &self.project);
        let Some(connection) = found else {
            return Err(Failure::with_help(
                format!("the journal of the session `{run}` is on NATS, but no NATS server is set"),
                "add --nats URL, or `nats` to the [remote] section of wavecrew.toml",
            ));
        };
        let settings = ReplicaSettings {
            connection,
            project: project_name(config),
            run: run.to_owned(),
            holder: copy_holder(&self.project),
            lease: terms(config).lease,
        };
        Replica::acquire(settings, expect, patience()).map_err(|error| failure(&error))
    }
}

/// Who writes the copy: the command, where, and in which process.
fn copy_holder(project: &Path) -> String {
    let machine = rustix::system::uname();
    let machine = machine.nodename().to_string_lossy().into_owned();
    let command = holder().command;
    format!(
        "`{command}` on {machine} (process {}, in {})",
        std::process::id(),
        project.display()
    )
}

/// Says what a run waits for. Ctrl-C ends a wait for NATS.
fn patience() -> Patience {
    let stop = Arc::new(AtomicBool::new(false));
    // Without it, only kill -9 ends a run that waits for NATS.
    let _ = signal_hook::flag::register(SIGINT, Arc::clone(&stop));
    let (mut announced_away, mut announced_holder) = (false, false);
    Box::new(move |waiting| {
        match waiting {
            Waiting::Away(time) => {
                if time < JUST_BEGUN {
                    stop.store(false, Ordering::SeqCst);
                }
                if time >= QUIET && !announced_away {
                    announced_away = true;
                    tell!("NATS does not answer; the run waits; no result is lost (Ctrl-C ends the wait)");
                }
                if stop.load(Ordering::SeqCst) {
                    return ControlFlow::Break(());
                }
            }
            Waiting::Holder => {
                if !announced_holder {
                    announced_holder = true;
                    tell!("Another process ran this session; waiting until its lease ends");
                }
            }
            Waiting::Over => {
                if std::mem::take(&mut announced_away) {
                    tell!("NATS answers again");
                }
            }
        }
        ControlFlow::Continue(())
    })
}

fn help(error: &ReplicaError) -> String {
    match error {
        ReplicaError::Connect { help, .. } => (*help).to_owned(),
        ReplicaError::InUse { .. } => {
            "wait for that run, or stop it; only one process can run a session".to_owned()
        }
        ReplicaError::TakenOver { .. } => "follow the session where it was continued".to_owned(),
        ReplicaError::Exists { .. } => format!(
            "continue that one with `{}`, or name this table differently",
            hint::command("run --continue SESSION --nats URL")
        ),
        ReplicaError::Unknown { .. } => {
            "check the id and `project` in [remote]; only sessions with `--journal nats` are there".to_owned()
        }
        ReplicaError::Refused(_) => "check the server's JetStream limits".to_owned(),
        ReplicaError::GaveUp => "continue the session when NATS answers again".to_owned(),
    }
}

fn copy_error(error: &ReplicaError) -> SessionError {
    SessionError::Copy {
        message: error.to_string(),
        help: help(error),
    }
}

fn failure(error: &ReplicaError) -> Failure {
    let (message, help) = (error.to_string(), help(error));
    match error {
        ReplicaError::Connect { .. } | ReplicaError::Exists { .. } | ReplicaError::Unknown { .. } => {
            Failure::with_help(message, help)
        }
        ReplicaError::GaveUp => Failure::Interrupted { message, help },
        ReplicaError::InUse { .. } | ReplicaError::TakenOver { .. } | ReplicaError::Refused(_) => {
            Failure::Disk { message, help }
        }
    }
}
