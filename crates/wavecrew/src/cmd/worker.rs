//! `wavecrew worker`: lets runs on other machines use this one.

use crate::agent_choice::search_path;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::launch::{DEFAULT_PROJECT, connection, identity, own_commands};
use std::io::{Write, stdout};
use std::path::PathBuf;
use tokio::sync::mpsc::unbounded_channel;
use wavecrew_core::state_folder::state_folder;
use wavecrew_core::view::count;
use wavecrew_hosts::host::{HostError, HostNews, HostSettings, serve};
use wavecrew_remote::names::token;
use wavecrew_remote::sign::Trust;
use wavecrew_remote::wire::HostAgent;
use wavecrew_run::installed::{find, installed, version};

/// Make this machine a host for workers of runs on other machines
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Runs until you stop it. After the first Ctrl-C it takes no new work and lets workers finish; the second ends them.\n\n\
    Examples:\n  wavecrew worker --nats nats://10.0.0.1:4222 --slots 4\n  \
    wavecrew worker --nats nats://10.0.0.1:4222 --label gpu --project shop\n  \
    wavecrew worker --show-key"
)]
pub struct Args {
    /// NATS server that connects runs and hosts [default: `nats` in the [remote] section of wavecrew.toml]
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// Workers at the same time [default: one per two processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    slots: Option<u32>,
    /// Label of this machine, which `[[place]]` can require; may be repeated
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Name of this machine in lists; each process of this command needs its own [default: the host name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Serve the runs of this project [default: `project` in the [remote] section, else `default`]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Folder for copies of projects [default: in the user's state folder]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Accept runs signed with this user's key; may be repeated [default: the key of this user]
    #[arg(long, value_name = "KEY")]
    trust: Vec<String>,
    /// Print the key of this user, which other machines trust with --trust, and exit
    #[arg(long)]
    show_key: bool,
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        if self.show_key {
            writeln!(stdout(), "{}", identity()?.public_key())?;
            return Ok(Exit::Done);
        }
        let folder = std::env::current_dir().map_err(Failure::Output)?;
        let config = Config::load(&folder)?.remote;
        let connection = connection(&config, self.nats.as_deref(), &folder).ok_or_else(|| {
            Failure::with_help(
                "no NATS server is named",
                "add --nats URL, for example nats://127.0.0.1:4222",
            )
        })?;
        let name = self.name.clone().unwrap_or_else(host_name);
        let state = self.state.clone().or_else(|| {
            let state = state_folder(|name| std::env::var_os(name))?;
            Some(state.join("hosts").join(token(&name)))
        });
        let state = state.ok_or_else(|| {
            Failure::with_help(
                "there is no folder for copies of projects",
                "set HOME, or add --state DIR",
            )
        })?;
        let keys = if self.trust.is_empty() {
            vec![identity()?.public_key()]
        } else {
            self.trust.clone()
        };
        let trust = Trust::new(keys).map_err(|wrong| {
            Failure::with_help(
                format!("`{wrong}` is not a key"),
                "`wavecrew worker --show-key` prints yours, on the machine where you type `wavecrew run`",
            )
        })?;
        let (guardian, _) = own_commands()?;
        let settings = HostSettings {
            connection,
            project: self
                .project
                .clone()
                .or(config.project)
                .unwrap_or_else(|| DEFAULT_PROJECT.to_owned()),
            slots: self.slots.unwrap_or_else(default_slots),
            labels: self.labels.clone(),
            agents: agents(),
            trust,
            state,
            guardian,
            program: std::env::current_exe().map_err(Failure::Output)?,
            name,
        };
        global.note(&introduction(&settings));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(Failure::Output)?;
        let (news, mut news_in) = unbounded_channel();
        let served = runtime.block_on(async {
            let serving = serve(settings, news);
            tokio::pin!(serving);
            loop {
                tokio::select! {
                    served = &mut serving => break served,
                    Some(news) = news_in.recv() => global.note(&line(&news)),
                }
            }
        });
        runtime.shutdown_background();
        served.map(|()| Exit::Done).map_err(|error| failure(&error))
    }
}

fn introduction(settings: &HostSettings) -> String {
    let agents: Vec<&str> = settings.agents.iter().map(|agent| agent.name.as_str()).collect();
    let agents = if agents.is_empty() {
        "no agent CLI, but `command:` and `offline` work".to_owned()
    } else {
        agents.join(", ")
    };
    let slots = count(settings.slots as usize, "slot");
    format!(
        "Host {} serves project {} with {slots}: {agents}",
        settings.name, settings.project
    )
}

fn line(news: &HostNews) -> String {
    match news {
        HostNews::Ready { containment: true } => "Ready".to_owned(),
        HostNews::Ready { containment: false } => {
            "Ready. This machine has no PID namespace: if this process is killed, its workers may keep running."
                .to_owned()
        }
        HostNews::Started { task, run } => format!("[START] {task} of {run}"),
        HostNews::Ended { task, run, how } => format!("[END] {task} of {run}: {how}"),
        HostNews::NotTrusted { run, reason } => format!("Refused a message of {run}: {reason}"),
        HostNews::LinkDown => "NATS does not answer; waiting for it".to_owned(),
        HostNews::LinkUp => "NATS answers again".to_owned(),
        HostNews::Draining => {
            "Stopping: running workers may finish. Press Ctrl-C again to end them.".to_owned()
        }
    }
}

fn failure(error: &HostError) -> Failure {
    let (message, help) = (error.to_string(), error.help());
    match error {
        HostError::Connect(_) | HostError::NameTaken(_) | HostError::StateInUse(_) => {
            Failure::with_help(message, help)
        }
        HostError::State { .. } | HostError::Process(_) | HostError::Store(_) | HostError::GuardianLost => {
            Failure::Disk { message, help }
        }
    }
}

/// The agent CLIs on this machine.
fn agents() -> Vec<HostAgent> {
    let path = search_path();
    installed(&path)
        .into_iter()
        .map(|cli| HostAgent {
            name: cli.name().to_owned(),
            version: find(cli, &path).and_then(|program| version(&program).ok()),
        })
        .collect()
}

fn default_slots() -> u32 {
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    u32::try_from(processors / 2).unwrap_or(1).max(1)
}

fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "host".to_owned() } else { name }
}
