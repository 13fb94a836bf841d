//! The coordinator's side: a place for the workers of one run on the hosts of a project. It has a thread of its own; the
//! driver sends it commands and gets events, as from the guardian.

mod adopt;
mod applied_here;
mod apply;
mod choosing;
mod directory;
mod ending;
mod journal_facts;
mod leases;
mod left_behind;
mod opening;
mod pipes;
mod prepare;
mod reports;
mod requests;
mod results;
mod run;
mod sending;
mod starting;
mod turns;
mod unneeded;

pub use directory::{Directory, SILENT_AFTER, misfit};

use directory::Directory as Hosts;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use wavecrew_process::{LockAnyway, ProcessError, Spawn};
use wavecrew_remote::connect::ConnectionSettings;
use wavecrew_remote::lease::Terms;
use wavecrew_remote::sign::Identity;
use wavecrew_run::place::{Place, RemotePlace, RemoteSession, WorkerFacts};
use wavecrew_run::sandbox::SandboxSettings;

/// What a run needs in order to use hosts.
#[derive(Clone, Debug)]
pub struct RemoteSettings {
    pub connection: ConnectionSettings,
    /// Hosts serve projects by name.
    pub project: String,
    /// Variables of the coordinator's environment that workers get.
    pub env: Vec<String>,
    /// Patterns of files that git ignores and workers need.
    pub include: Vec<String>,
    pub terms: Terms,
    /// Hosts that trust this key accept the run's work.
    pub identity: Arc<Identity>,
    /// The program that workers call as `wavecrew`.
    pub program: PathBuf,
}

/// A request of the driver.
pub(crate) enum Command {
    Spawn {
        key: u64,
        spawn: Spawn,
        facts: Box<WorkerFacts>,
    },
    Close {
        key: u64,
        grace: Duration,
    },
    Shutdown,
    Abandon,
}

/// The run, as its thread knows it.
pub(crate) struct RunFacts {
    pub settings: RemoteSettings,
    pub session: PathBuf,
    pub project: PathBuf,
    pub sandbox: SandboxSettings,
}

/// The hosts as a place for workers.
pub struct HostsPlace {
    commands: UnboundedSender<Command>,
    hosts: Arc<Mutex<Hosts>>,
    thread: Option<JoinHandle<()>>,
}

/// Connects, and starts the thread that communicates with hosts.
pub fn open(settings: RemoteSettings, run: RemoteSession<'_>) -> Result<Box<dyn RemotePlace>, String> {
    let (commands, queue) = unbounded_channel();
    let (opened, is_open) = std::sync::mpsc::channel();
    let id = run.session.file_name().unwrap_or_default().to_string_lossy();
    let hosts = Arc::new(Mutex::new(Hosts::of_run(&id)));
    let facts = RunFacts {
        settings,
        session: run.session.to_owned(),
        project: run.project.to_owned(),
        sandbox: run.sandbox.clone(),
    };
    let (known, events) = (Arc::clone(&hosts), run.events);
    let thread = std::thread::Builder::new()
        .name("hosts".to_owned())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(run::run(facts, queue, known, events, &opened)),
                Err(error) => drop(opened.send(Err(error.to_string()))),
            }
        })
        .map_err(|error| error.to_string())?;
    match is_open.recv() {
        Ok(Ok(())) => Ok(Box::new(HostsPlace {
            commands,
            hosts,
            thread: Some(thread),
        })),
        Ok(Err(reason)) => Err(reason),
        Err(_) => Err("the thread for remote workers ended".to_owned()),
    }
}

impl Place for HostsPlace {
    fn spawn(&self, key: u64, spawn: Spawn, facts: WorkerFacts) -> Result<(), ProcessError> {
        let facts = Box::new(facts);
        self.hosts.lock_anyway().waiting += 1;
        self.commands
            .send(Command::Spawn { key, spawn, facts })
            .map_err(|_| ProcessError::GuardianGone)
    }

    fn close(&self, key: u64, grace: Duration) {
        // If the thread is gone, there is nothing to end.
        let _ = self.commands.send(Command::Close { key, grace });
    }
}

impl RemotePlace for HostsPlace {
    fn has_room(&self, facts: &WorkerFacts) -> bool {
        let hosts = self.hosts.lock_anyway();
        hosts.left_behind.contains_key(&facts.task) || hosts.free_slots(&facts.wanted) > hosts.waiting
    }

    fn continues(&self, task: &str, attempt: u32) -> bool {
        self.hosts.lock_anyway().left_behind.get(task) == Some(&attempt)
    }

    fn shutdown(self: Box<Self>) {
        self.end(Command::Shutdown);
    }

    fn abandon(self: Box<Self>) {
        self.end(Command::Abandon);
    }
}

impl HostsPlace {
    fn end(mut self, how: Command) {
        let _ = self.commands.send(how);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
