//! What can go wrong with a connection, each with what to do about it.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use async_nats::ConnectErrorKind;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};

use super::ConnectionSettings;

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("`{url}` is not the address of a NATS server: {reason}")]
    Url { url: String, reason: String },
    #[error("conflicting settings for the NATS connection: {0}")]
    Settings(&'static str),
    #[error("cannot use `{}`: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("no NATS server answers at {url}: {reason}")]
    Refused { url: String, reason: String },
    #[error("the NATS server at {url} refuses these credentials")]
    Credentials { url: String },
    #[error("no TLS connection to {url}: {reason}")]
    Tls { url: String, reason: String },
    #[error("the NATS server at {0} has no JetStream for this account")]
    NoJetStream(String),
    #[error("JetStream at {0} does not answer: the cluster may have no leader")]
    NotReady(String),
    #[error("the limits of JetStream are too small: cannot {what}: {reason}")]
    Limits { what: String, reason: String },
    #[error("JetStream cannot {what}: {reason}")]
    JetStream { what: &'static str, reason: String },
}

impl ConnectError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Url { .. } => {
                "write it as `nats://HOST:4222` or `tls://HOST:4222`, several separated by commas"
            }
            Self::Settings(_) => {
                "set one way to log in under `[remote]`: `credentials`, `user` with `password_file`, or `nkey`"
            }
            Self::File { .. } => "check the path under `[remote]` and that you may read it",
            Self::Refused { .. } => "check the address and the port, and that `nats-server` runs there",
            Self::Credentials { .. } => {
                "set `credentials`, `user` with `password_file`, or `nkey` under `[remote]` to a login that the server accepts"
            }
            Self::Tls { .. } => {
                "set `ca` under `[remote]` to the certificate of the authority that signed the server's, \
                 and `cert` with `key` if the server asks for a client certificate"
            }
            Self::NoJetStream(_) => {
                "start the server with `nats-server -js`, or enable JetStream for this account"
            }
            Self::NotReady(_) => "wait until most nodes of the cluster run, then repeat the command",
            Self::Limits { .. } => {
                "raise the limits of the server (`max_file_store`) or of the account, or remove old streams"
            }
            Self::JetStream { .. } => "check the permissions of this account and the log of the server",
        }
    }

    pub(super) fn file(path: &Path, reason: &impl Display) -> Self {
        Self::File {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }

    pub(super) fn from_client(settings: &ConnectionSettings, error: &async_nats::ConnectError) -> Self {
        let url = settings.shown();
        let reason = innermost(error);
        match error.kind() {
            ConnectErrorKind::ServerParse => Self::Url { url, reason },
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                Self::Credentials { url }
            }
            ConnectErrorKind::Tls => Self::Tls { url, reason },
            // rustls reports an invalid certificate as an I/O error.
            ConnectErrorKind::Io if is_tls(&reason) => Self::Tls { url, reason },
            ConnectErrorKind::Dns
            | ConnectErrorKind::TimedOut
            | ConnectErrorKind::Io
            | ConnectErrorKind::MaxReconnects => Self::Refused { url, reason },
        }
    }

    /// JetStream's answer is among the sources of this error, if JetStream answered.
    pub fn from_source(what: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        let mut current = Some(error);
        while let Some(found) = current {
            if let Some(answer) = found.downcast_ref() {
                return Self::from_jetstream(what, answer);
            }
            current = found.source();
        }
        Self::JetStream {
            what: "make its streams and buckets",
            reason: format!("{what}: {}", innermost(error)),
        }
    }

    /// A stream could not be created.
    pub(super) fn from_create_stream(name: &str, error: &CreateStreamError) -> Self {
        let what = format!("create the stream {name}");
        match error.kind() {
            CreateStreamErrorKind::JetStream(answer) => Self::from_jetstream(&what, &answer),
            _ => Self::from_source(&what, error),
        }
    }

    /// Whether JetStream answered that something is full.
    pub fn is_limit(error: &async_nats::jetstream::Error) -> bool {
        LIMITS.contains(&error.error_code())
    }

    /// An answer of JetStream to creating a stream or a bucket.
    pub fn from_jetstream(what: &str, error: &async_nats::jetstream::Error) -> Self {
        if Self::is_limit(error) {
            return Self::Limits {
                what: what.to_owned(),
                reason: error.to_string(),
            };
        }
        Self::JetStream {
            what: "make its streams and buckets",
            reason: format!("{what}: {error}"),
        }
    }
}

const LIMITS: [ErrorCode; 10] = [
    ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
    ErrorCode::INSUFFICIENT_RESOURCES,
    ErrorCode::STORAGE_RESOURCES_EXCEEDED,
    ErrorCode::MEMORY_RESOURCES_EXCEEDED,
    ErrorCode::MAXIMUM_STREAMS_LIMIT,
    ErrorCode::MAXIMUM_CONSUMERS_LIMIT,
    ErrorCode::STREAM_LIMITS,
    ErrorCode::CLUSTER_NO_PEERS,
    ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM,
    // The stream is full, and keeps what it has.
    ErrorCode::STREAM_STORE_FAILED,
];

pub(super) fn is_jetstream_off(error: &async_nats::jetstream::Error) -> bool {
    [
        ErrorCode::JETSTREAM_NOT_ENABLED,
        ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT,
    ]
    .contains(&error.error_code())
}

fn is_tls(reason: &str) -> bool {
    [
        "certificate",
        "Certificate",
        "tls",
        "TLS",
        "HandshakeFailure",
        "corrupt message",
    ]
    .iter()
    .any(|word| reason.contains(word))
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
