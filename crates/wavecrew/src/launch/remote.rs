//! Workers on other machines: the flags and settings of a run become a place for its workers.

use crate::config::{Config, JournalFlag, RemoteConfig};
use crate::exit::Failure;
use clap::ValueEnum;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wavecrew_hosts::coordinator::{self, RemoteSettings};
use wavecrew_hosts::listing::list;
use wavecrew_remote::connect::ConnectionSettings;
use wavecrew_remote::lease::Terms;
use wavecrew_remote::sign::Identity;
use wavecrew_run::place::{PlaceRules, RemoteWorkers, Where};

/// The name under which hosts serve projects that have no other.
pub const DEFAULT_PROJECT: &str = "default";

/// Flags of commands that use other machines.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct RemoteFlags {
    /// Use workers on other machines through this NATS server [default: `nats` in the [remote] section of wavecrew.toml]
    #[arg(long, value_name = "URL", help_heading = super::flags::RUNNING, hide_short_help = true)]
    pub nats: Option<String>,
    /// Where workers run [default: any with --nats, else local]
    #[arg(long, value_name = "WHERE", help_heading = super::flags::RUNNING, hide_short_help = true)]
    pub place: Option<PlaceFlag>,
    /// Where the journal is written: `nats` lets another machine continue the session [default: local]
    #[arg(long, value_name = "WHERE", help_heading = super::flags::RUNNING, hide_short_help = true)]
    pub journal: Option<JournalFlag>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlaceFlag {
    /// On this machine
    Local,
    /// On other machines
    Remote,
    /// On another machine if one has a free slot, else here
    Any,
}

impl From<PlaceFlag> for Where {
    fn from(flag: PlaceFlag) -> Self {
        match flag {
            PlaceFlag::Local => Self::Local,
            PlaceFlag::Remote => Self::Remote,
            PlaceFlag::Any => Self::Any,
        }
    }
}

/// How to connect: by flag or settings. `None` if neither names a server.
pub fn connection(config: &RemoteConfig, nats: Option<&str>, folder: &Path) -> Option<ConnectionSettings> {
    let mut settings = config.connection.clone().relative_to(folder);
    if let Some(nats) = nats {
        nats.clone_into(&mut settings.nats);
    }
    (!settings.nats.is_empty()).then_some(settings)
}

/// Makes sure that the server of a run can be used, before there is a session.
pub fn check_server(config: &Config, flags: &RemoteFlags, project: &Path) -> Result<(), Failure> {
    let Some((settings, _)) = settings(config, flags, project)? else {
        return Ok(());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Output)?;
    runtime
        .block_on(list(&settings.connection, &settings.project))
        .map(drop)
        .map_err(|error| Failure::with_help(error.to_string(), error.help()))
}

/// The workers on other machines that a run may use; `None` if it uses none.
pub fn remote_workers(
    config: &Config,
    flags: &RemoteFlags,
    project: &Path,
) -> Result<Option<RemoteWorkers>, Failure> {
    let found = settings(config, flags, project)?;
    Ok(found.map(|(settings, rules)| RemoteWorkers {
        rules,
        open: Box::new(move |session| coordinator::open(settings, session)),
    }))
}

fn settings(
    config: &Config,
    flags: &RemoteFlags,
    project: &Path,
) -> Result<Option<(RemoteSettings, PlaceRules)>, Failure> {
    let remote = &config.remote;
    let connection = connection(remote, flags.nats.as_deref(), project);
    let place = flags.place.map(Where::from).or(remote.place);
    let Some(connection) = connection else {
        return match place {
            None | Some(Where::Local) => Ok(None),
            Some(Where::Remote | Where::Any) => Err(Failure::with_help(
                "workers on other machines need a NATS server, but none is set",
                "add --nats URL, or `nats` to the [remote] section of wavecrew.toml",
            )),
        };
    };
    let rules = PlaceRules {
        default: place.unwrap_or(Where::Any),
        rules: if flags.place.is_some() {
            // What a person says now counts more than the file, but labels stay.
            let wanted = place.unwrap_or_default();
            let mut rules = remote.rules.clone();
            for rule in &mut rules {
                rule.place = wanted;
            }
            rules
        } else {
            remote.rules.clone()
        },
    };
    if rules.default == Where::Local && rules.rules.iter().all(|rule| rule.place == Where::Local) {
        return Ok(None);
    }
    let settings = RemoteSettings {
        connection,
        project: project_name(remote),
        env: remote.env.clone(),
        include: remote.include.clone(),
        terms: terms(remote),
        identity: Arc::new(identity()?),
        program: std::env::current_exe().map_err(Failure::Output)?,
    };
    Ok(Some((settings, rules)))
}

/// The key pair of this user, made when it is first needed.
pub fn identity() -> Result<Identity, Failure> {
    let path = Identity::default_path(|name| std::env::var_os(name)).ok_or_else(|| {
        Failure::with_help(
            "there is no folder for the key of this user",
            "set HOME or XDG_CONFIG_HOME",
        )
    })?;
    Identity::load_or_create(&path).map_err(|error| {
        let help = format!(
            "make {} readable for you alone (chmod 600), or delete it to get a new key",
            path.display()
        );
        Failure::with_help(error.to_string(), help)
    })
}

/// The name under which hosts serve the project.
pub fn project_name(config: &RemoteConfig) -> String {
    config
        .project
        .clone()
        .unwrap_or_else(|| DEFAULT_PROJECT.to_owned())
}

pub fn terms(config: &RemoteConfig) -> Terms {
    let terms = Terms::default();
    match config.lease_seconds {
        Some(seconds) => Terms {
            lease: Duration::from_secs(u64::from(seconds)),
            ..terms
        },
        None => terms,
    }
}
