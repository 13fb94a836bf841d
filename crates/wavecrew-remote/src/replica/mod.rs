//! A copy of a session on NATS, so that another machine can continue it: its journal, which gets every line before the
//! file and before any effect, and the files that the journal builds on. One coordinator at a time may write it.
//!
//! Two mechanisms keep others out. A [lock](lock) in a bucket names the coordinator of the session, which
//! renews it. And the journal's stream accepts a message only after the one that its writer knows as the
//! last: a new coordinator writes first, and the earlier one can no longer write. So a coordinator that was
//! only paused stops before its next effect.

mod files;
mod journal;
mod lock;

use std::ops::ControlFlow;
use std::sync::mpsc as blocking;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, kv, stream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::connect::{ConnectError, Connection, ConnectionSettings, connect, make_bucket, make_stream};
use crate::names::Names;
use files::Files;
use journal::JournalStream;
use lock::Lock;

pub use files::SessionFile;

/// How often a wait is reported to the caller.
const WAITING_TICK: Duration = Duration::from_millis(250);
/// Between two attempts to reach NATS.
const RETRY: Duration = Duration::from_millis(200);

/// Which session, where, and for whom.
#[derive(Debug, Clone)]
pub struct ReplicaSettings {
    pub connection: ConnectionSettings,
    /// As in [`Names`].
    pub project: String,
    /// The session.
    pub run: String,
    /// Its coordinator, for messages.
    pub holder: String,
    /// A holder that does not renew for this long may be replaced.
    pub lease: Duration,
}

/// The expected state on NATS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A new session: nothing.
    Nothing,
    /// A session to continue.
    Session,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum ReplicaError {
    #[error("{message}")]
    Connect { message: String, help: &'static str },
    #[error("the session `{run}` is in use by {holder}")]
    InUse { run: String, holder: String },
    #[error("another coordinator continued the session `{run}`: {by}")]
    TakenOver { run: String, by: String },
    #[error("NATS already has a session `{run}` of this project, run by {holder}")]
    Exists { run: String, holder: String },
    #[error("NATS has no session `{run}` of the project `{project}`")]
    Unknown { run: String, project: String },
    #[error("NATS cannot store the session: {0}")]
    Refused(String),
    #[error("interrupted while waiting for NATS")]
    GaveUp,
}

impl From<ConnectError> for ReplicaError {
    fn from(error: ConnectError) -> Self {
        Self::Connect {
            message: error.to_string(),
            help: error.help(),
        }
    }
}

/// The copy of a session on NATS.
#[derive(Debug, Default)]
pub struct Restored {
    /// The bytes of `journal.ndjson`.
    pub journal: Vec<u8>,
    pub files: Vec<SessionFile>,
    /// Who wrote it before.
    pub holder: Option<String>,
}

/// The reason for a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// NATS does not answer, for this long.
    Away(Duration),
    /// The last holder may still be alive; waits until it has not renewed for long enough.
    Holder,
    /// The wait is over.
    Over,
}

/// Called during a wait. [`ControlFlow::Break`] cancels it.
pub type Patience = Box<dyn FnMut(Waiting) -> ControlFlow<()> + Send>;

/// The copy of one session, held by this process. Dropping it releases the lock.
pub struct Replica {
    commands: UnboundedSender<(Command, Reply)>,
    lost: Arc<OnceLock<String>>,
    run: String,
    patience: Patience,
    /// Ends the thread on drop, even during a wait.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replica")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

type Reply = blocking::Sender<Result<(), ReplicaError>>;

enum Command {
    Append(Vec<u8>),
    Cut(u64),
    Files(Vec<SessionFile>),
}

enum Progress {
    Holder,
    Done(Box<Result<Restored, ReplicaError>>),
}

impl Replica {
    /// Takes the lock, stops every other coordinator from writing, and reads the existing copy. Calls `patience` for every
    /// wait, now and later.
    pub fn acquire(
        settings: ReplicaSettings,
        expect: Expect,
        mut patience: Patience,
    ) -> Result<(Self, Restored), ReplicaError> {
        let run = settings.run.clone();
        let lost = Arc::new(OnceLock::new());
        let (commands, queue) = unbounded_channel();
        let (progress, acquired) = blocking::channel();
        let (stop, stopped) = oneshot::channel();
        let noticed = lost.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(serve(settings, expect, progress, queue, stopped, noticed)),
                Err(error) => {
                    let failed = ReplicaError::Refused(error.to_string());
                    let _ = progress.send(Progress::Done(Box::new(Err(failed))));
                }
            }
        });
        let restored = loop {
            match wait_with_patience(&acquired, &mut patience)? {
                Progress::Done(restored) => break (*restored)?,
                Progress::Holder => {
                    if patience(Waiting::Holder).is_break() {
                        return Err(ReplicaError::GaveUp);
                    }
                }
            }
        };
        let replica = Self {
            commands,
            lost,
            run,
            patience,
            stop: Some(stop),
            thread: Some(thread),
        };
        Ok((replica, restored))
    }

    /// Adds bytes to the journal and waits until they are stored.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), ReplicaError> {
        self.call(Command::Append(bytes.to_owned()))
    }

    /// The journal ends after this many bytes: the rest was torn and is not part of it.
    pub fn cut(&mut self, length: u64) -> Result<(), ReplicaError> {
        self.call(Command::Cut(length))
    }

    /// Replaces the session's files and waits until they are stored. Existing pieces are not sent again.
    pub fn put_files(&mut self, files: Vec<SessionFile>) -> Result<(), ReplicaError> {
        self.call(Command::Files(files))
    }

    /// The coordinator that took the session over, if any.
    pub fn check(&self) -> Result<(), ReplicaError> {
        match self.lost.get() {
            None => Ok(()),
            Some(by) => Err(ReplicaError::TakenOver {
                run: self.run.clone(),
                by: by.clone(),
            }),
        }
    }

    fn call(&mut self, command: Command) -> Result<(), ReplicaError> {
        self.check()?;
        let (reply, answer) = blocking::channel();
        self.commands.send((command, reply)).map_err(|_| thread_ended())?;
        wait_with_patience(&answer, &mut self.patience)?
    }
}

fn thread_ended() -> ReplicaError {
    ReplicaError::Refused("its thread ended".to_owned())
}

/// Waits for the thread. Calls `patience` for every tick that it takes, and once at the end if there was one.
fn wait_with_patience<T>(
    answers: &blocking::Receiver<T>,
    patience: &mut Patience,
) -> Result<T, ReplicaError> {
    let since = Instant::now();
    let mut announced = false;
    loop {
        match answers.recv_timeout(WAITING_TICK) {
            Ok(answer) => {
                if announced {
                    let _ = patience(Waiting::Over);
                }
                return Ok(answer);
            }
            Err(blocking::RecvTimeoutError::Timeout) => {
                announced = true;
                if patience(Waiting::Away(since.elapsed())).is_break() {
                    return Err(ReplicaError::GaveUp);
                }
            }
            Err(blocking::RecvTimeoutError::Disconnected) => return Err(thread_ended()),
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        drop(self.stop.take());
        // Releases the lock; stops trying soon if NATS is unreachable.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread of a replica: acquires, then serves until the handle is dropped.
async fn serve(
    settings: ReplicaSettings,
    expect: Expect,
    progress: blocking::Sender<Progress>,
    mut queue: UnboundedReceiver<(Command, Reply)>,
    mut ended: oneshot::Receiver<()>,
    lost: Arc<OnceLock<String>>,
) {
    let acquired = tokio::select! {
        acquired = acquire(&settings, expect, &progress, &lost) => acquired,
        _ = &mut ended => return,
    };
    let (mut journal, mut files, lock) = match acquired {
        Ok((journal, files, lock, restored)) => {
            let _ = progress.send(Progress::Done(Box::new(Ok(restored))));
            (journal, files, lock)
        }
        Err(error) => {
            let _ = progress.send(Progress::Done(Box::new(Err(error))));
            return;
        }
    };
    let renewing = tokio::spawn(lock.clone().renew());
    let serving = async {
        while let Some((command, reply)) = queue.recv().await {
            let done = match command {
                Command::Append(bytes) => journal.append(&bytes).await,
                Command::Cut(length) => journal.cut(length).await,
                Command::Files(all) => files.put(all).await,
            };
            if let Err(ReplicaError::TakenOver { by, .. }) = &done {
                let _ = lost.set(by.clone());
            }
            // The caller no longer waits: the run is about to end.
            let _ = reply.send(done);
        }
    };
    tokio::select! {
        () = serving => {}
        _ = ended => {}
    }
    renewing.abort();
    lock.release().await;
}

async fn acquire(
    settings: &ReplicaSettings,
    expect: Expect,
    progress: &blocking::Sender<Progress>,
    lost: &Arc<OnceLock<String>>,
) -> Result<(JournalStream, Files, Lock, Restored), ReplicaError> {
    let names = Names::new(&settings.project);
    let connection = connect(&settings.connection, "wavecrew coordinator").await?;
    let bucket = open_storage(&connection, &names).await?;
    let mut journal = JournalStream::open(&connection, &names, settings).await?;
    if expect == Expect::Nothing
        && let Some(holder) = journal.last_holder().await?
    {
        let run = settings.run.clone();
        return Err(ReplicaError::Exists { run, holder });
    }
    if expect == Expect::Session && journal.last_holder().await?.is_none() {
        return Err(ReplicaError::Unknown {
            run: settings.run.clone(),
            project: settings.project.clone(),
        });
    }
    let waiting = || {
        // A caller that cancelled drops the other end.
        progress.send(Progress::Holder).is_ok()
    };
    let lock = Lock::acquire(bucket, settings, lost.clone(), waiting).await?;
    let taken = async {
        let (bytes, holder) = journal.take_over().await?;
        let mut files = Files::open(&connection, &names, settings).await?;
        let found = files.read().await?;
        Ok((bytes, holder, files, found))
    };
    match taken.await {
        Ok((bytes, holder, files, found)) => Ok((
            journal,
            files,
            lock,
            Restored {
                journal: bytes,
                files: found,
                holder,
            },
        )),
        Err(error) => {
            lock.release().await;
            Err(error)
        }
    }
}

/// Makes what is missing.
async fn open_storage(connection: &Connection, names: &Names) -> Result<kv::Store, ConnectError> {
    let streams = [
        (names.journal_stream(), names.all_journals(), -1),
        (names.session_stream(), names.all_session_files(), 1),
    ];
    for (name, subject, max_messages_per_subject) in streams {
        let config = stream::Config {
            name,
            subjects: vec![subject],
            max_messages_per_subject,
            discard: if max_messages_per_subject == 1 {
                stream::DiscardPolicy::Old
            } else {
                // A full stream refuses: an event that is dropped at the other end would be lost.
                stream::DiscardPolicy::New
            },
            ..stream::Config::default()
        };
        make_stream(connection, config).await?;
    }
    let bucket = kv::Config {
        bucket: names.coordinator_bucket(),
        ..kv::Config::default()
    };
    make_bucket(connection, bucket).await
}

async fn open_stream(connection: &Connection, name: String) -> Result<stream::Stream, ConnectError> {
    let opened = connection.jetstream.get_stream(&name).await;
    opened.map_err(|error| ConnectError::from_source(&format!("open the stream {name}"), &error))
}

/// Publishes one message after the one with the sequence `last` of its subject, and repeats it until that is certain.
/// `Err` holds the last message's sequence if somebody else was faster.
async fn publish_after(
    context: &jetstream::Context,
    stream: &stream::Stream,
    subject: &str,
    last: u64,
    message: jetstream::message::PublishMessage,
    id: &str,
) -> Result<u64, PublishFailure> {
    loop {
        let message = message
            .clone()
            .message_id(id)
            .expected_last_subject_sequence(last);
        let sent = match context.send_publish(subject.to_owned(), message).await {
            Ok(confirmation) => confirmation.await,
            Err(error) => Err(error),
        };
        let error = match sent {
            Ok(confirmed) => return Ok(confirmed.sequence),
            Err(error) => error,
        };
        match error.kind() {
            jetstream::context::PublishErrorKind::WrongLastSequence => {
                // It may be this message, whose confirmation was lost.
                match stream.get_last_raw_message_by_subject(subject).await {
                    Ok(found) if header(&found.headers, "Nats-Msg-Id") == Some(id) => {
                        return Ok(found.sequence);
                    }
                    Ok(found) => {
                        let by = header(&found.headers, journal::COORDINATOR).unwrap_or("another process");
                        return Err(PublishFailure::TakenOver(by.to_owned()));
                    }
                    Err(_) => {}
                }
            }
            jetstream::context::PublishErrorKind::MaxPayloadExceeded => {
                return Err(PublishFailure::Refused(error.to_string()));
            }
            _ if is_full(&error) => return Err(PublishFailure::Refused(error.to_string())),
            // NATS is away or has no leader: it comes back.
            _ => {}
        }
        tokio::time::sleep(RETRY).await;
    }
}

enum PublishFailure {
    TakenOver(String),
    Refused(String),
}

impl PublishFailure {
    fn of(self, run: &str) -> ReplicaError {
        match self {
            Self::TakenOver(by) => ReplicaError::TakenOver {
                run: run.to_owned(),
                by,
            },
            Self::Refused(reason) => ReplicaError::Refused(reason),
        }
    }
}

fn is_full(error: &jetstream::context::PublishError) -> bool {
    let source = std::error::Error::source(error);
    let inner = source.and_then(|source| source.downcast_ref::<jetstream::Error>());
    inner.is_some_and(ConnectError::is_limit)
}

fn header<'a>(headers: &'a async_nats::HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(async_nats::HeaderValue::as_str)
}
