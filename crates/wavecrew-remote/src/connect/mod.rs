//! The connection to NATS: settings become a client with JetStream, and each way to fail has its own error. Once
//! connected, the client reconnects by itself for as long as it lives.

mod error;
mod storage;

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::jetstream::{self, context::AccountErrorKind};
use async_nats::{Client, ConnectOptions, ServerAddr};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub use error::ConnectError;
pub use storage::{make_bucket, make_stream};

/// A server that answers at all answers within this time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The caller repeats a request that JetStream does not answer within this time.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// The sender sends a message again that is not confirmed within this time.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(2);
const SLOWEST_RECONNECT: Duration = Duration::from_secs(2);
const FIRST_RECONNECT: Duration = Duration::from_millis(50);
/// The interval of pings to the server. Two unanswered pings end the connection.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// How to connect. `[remote]` in `wavecrew.toml` holds these keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionSettings {
    /// One or more, separated by commas: `nats://host:4222`, `tls://host`. It may hold `user:password@`.
    pub nats: String,
    /// A credentials file (`.creds`).
    pub credentials: Option<PathBuf>,
    pub user: Option<String>,
    /// The file that holds the password of `user`, so that the settings file holds no secret.
    pub password_file: Option<PathBuf>,
    /// The file that holds the seed of an nkey.
    pub nkey: Option<PathBuf>,
    /// The certificate authority that signed the server's certificate. Without it, those of the system.
    pub ca: Option<PathBuf>,
    /// A client certificate, with its `key`.
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Start TLS before the server sends anything (`handshake_first` of the server).
    pub tls_first: bool,
    /// The prefix of the subjects for answers. An account's permissions may allow only a prefix of its own.
    pub inbox: Option<String>,
}

impl ConnectionSettings {
    pub fn url(nats: impl Into<String>) -> Self {
        Self {
            nats: nats.into(),
            ..Self::default()
        }
    }

    /// Relative paths are relative to `folder`.
    #[must_use]
    pub fn relative_to(mut self, folder: &Path) -> Self {
        for path in [
            &mut self.credentials,
            &mut self.password_file,
            &mut self.nkey,
            &mut self.ca,
            &mut self.cert,
            &mut self.key,
        ]
        .into_iter()
        .flatten()
        {
            *path = folder.join(&path);
        }
        self
    }

    /// The servers without secrets, for messages.
    pub fn shown(&self) -> String {
        shown(&self.nats)
    }

    fn servers(&self) -> Result<Vec<ServerAddr>, ConnectError> {
        let servers: Vec<ServerAddr> = self
            .nats
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(|part| {
                let server: ServerAddr =
                    part.parse().map_err(|source: std::io::Error| ConnectError::Url {
                        url: shown(part),
                        reason: source.to_string(),
                    })?;
                if server.host().is_empty() {
                    return Err(ConnectError::Url {
                        url: shown(part),
                        reason: "it names no host".to_owned(),
                    });
                }
                Ok(server)
            })
            .collect::<Result<_, _>>()?;
        if servers.is_empty() {
            return Err(ConnectError::Url {
                url: self.shown(),
                reason: "it names no server".to_owned(),
            });
        }
        Ok(servers)
    }

    fn options(&self, name: &str, servers: &[ServerAddr]) -> Result<ConnectOptions, ConnectError> {
        let mut options = ConnectOptions::new()
            .name(name)
            .connection_timeout(CONNECT_TIMEOUT)
            .request_timeout(Some(REQUEST_TIMEOUT))
            .ping_interval(PING_INTERVAL)
            .reconnect_delay_callback(reconnect_delay)
            .max_reconnects(None);
        let ways = [
            self.credentials.is_some(),
            self.user.is_some(),
            self.nkey.is_some(),
        ];
        if ways.into_iter().filter(|given| *given).count() > 1 {
            return Err(ConnectError::Settings(
                "more than one of `credentials`, `user` and `nkey` is set",
            ));
        }
        if let Some(path) = &self.credentials {
            options = options
                .credentials(&read(path)?)
                .map_err(|source| ConnectError::file(path, &source))?;
        } else if let Some(path) = &self.nkey {
            let seed = read(path)?.trim().to_owned();
            nkeys::KeyPair::from_seed(&seed).map_err(|source| ConnectError::file(path, &source))?;
            options = options.nkey(seed);
        } else if let Some(user) = &self.user {
            let path = self
                .password_file
                .as_ref()
                .ok_or(ConnectError::Settings("`user` is set without `password_file`"))?;
            options = options.user_and_password(user.clone(), read(path)?.trim_end().to_owned());
        } else if let Some((user, password)) = servers
            .iter()
            .find_map(|server| Some((server.username()?, server.password()?)))
        {
            options = options.user_and_password(user.to_owned(), password.to_owned());
        }
        if let Some(path) = &self.ca {
            read(path)?;
            options = options.add_root_certificates(path.clone()).require_tls(true);
        }
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                read(cert)?;
                read(key)?;
                options = options
                    .add_client_certificate(cert.clone(), key.clone())
                    .require_tls(true);
            }
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => {
                return Err(ConnectError::Settings("`cert` and `key` belong together"));
            }
        }
        if self.tls_first {
            options = options.tls_first().require_tls(true);
        }
        if let Some(prefix) = &self.inbox {
            options = options.custom_inbox_prefix(prefix);
        }
        Ok(options)
    }
}

/// Whether the server can be reached now. If not, the run waits and prints a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Up,
    Down,
}

/// A client with JetStream.
#[derive(Debug, Clone)]
pub struct Connection {
    pub client: Client,
    pub jetstream: jetstream::Context,
    pub link: watch::Receiver<Link>,
    /// A cluster may elect a leader, and answers nothing meanwhile.
    in_cluster: bool,
}

/// Connects, and makes sure that the server has JetStream. The server shows `name` for this connection.
pub async fn connect(settings: &ConnectionSettings, name: &str) -> Result<Connection, ConnectError> {
    let servers = settings.servers()?;
    let (changed, link) = watch::channel(Link::Up);
    let options = settings.options(name, &servers)?.event_callback(move |event| {
        match event {
            async_nats::Event::Connected => changed.send_replace(Link::Up),
            async_nats::Event::Disconnected => changed.send_replace(Link::Down),
            // Other events, such as slow consumers and errors of the server, do not change the state of the
            // connection.
            _ => Link::Up,
        };
        std::future::ready(())
    });
    let client = options
        .connect(servers)
        .await
        .map_err(|source| ConnectError::from_client(settings, &source))?;
    let jetstream = jetstream::ContextBuilder::new()
        .timeout(REQUEST_TIMEOUT)
        .ack_timeout(CONFIRMED_WITHIN)
        .build(client.clone());
    let in_cluster = client.server_info().cluster.is_some();
    let mut tries = 1;
    while let Err(error) = jetstream.query_account().await {
        match error.kind() {
            AccountErrorKind::JetStreamUnavailable => {
                return Err(ConnectError::NoJetStream(settings.shown()));
            }
            AccountErrorKind::JetStream(ref inner) if error::is_jetstream_off(inner) => {
                return Err(ConnectError::NoJetStream(settings.shown()));
            }
            AccountErrorKind::TimedOut if in_cluster && tries < storage::TRIES => tries += 1,
            AccountErrorKind::TimedOut => return Err(ConnectError::NotReady(settings.shown())),
            AccountErrorKind::JetStream(inner) => {
                return Err(ConnectError::JetStream {
                    what: "ask for the account",
                    reason: inner.to_string(),
                });
            }
            // The account has no permission for `$JS.API.INFO`. It needs only its streams.
            AccountErrorKind::Other => break,
        }
    }
    Ok(Connection {
        client,
        jetstream,
        link,
        in_cluster,
    })
}

fn reconnect_delay(attempts: usize) -> Duration {
    let doublings = u32::try_from(attempts).unwrap_or(u32::MAX).min(10);
    (FIRST_RECONNECT * 2_u32.pow(doublings)).min(SLOWEST_RECONNECT)
}

fn read(path: &Path) -> Result<String, ConnectError> {
    std::fs::read_to_string(path).map_err(|source| ConnectError::file(path, &source))
}

/// Without `user:password@`.
fn shown(url: &str) -> String {
    url.split(',')
        .map(|part| match (part.split_once("://"), part.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            (None, Some((_, host))) => host.to_owned(),
            (_, None) => part.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_no_password() {
        assert_eq!(shown("nats://u:s3cret@a:1,b:2,u:p@c"), "nats://a:1,b:2,c");
        let error = ConnectionSettings::url("ftp://u:s3cret@host")
            .servers()
            .unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        let url = ConnectionSettings::url("nats://127.0.0.1:1");
        let both = ConnectionSettings {
            user: Some("u".into()),
            nkey: Some("n".into()),
            ..url.clone()
        };
        let half = ConnectionSettings {
            cert: Some("/dev/null".into()),
            ..url.clone()
        };
        let no_password = ConnectionSettings {
            user: Some("u".into()),
            ..url
        };
        for settings in [both, half, no_password] {
            assert!(matches!(
                settings.options("test", &[]).map(|_| ()),
                Err(ConnectError::Settings(_))
            ));
        }
    }

    #[test]
    fn the_delay_between_attempts_grows_to_a_limit() {
        assert_eq!(reconnect_delay(0), FIRST_RECONNECT);
        assert_eq!(reconnect_delay(usize::MAX), SLOWEST_RECONNECT);
    }
}
