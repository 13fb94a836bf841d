//! Streams and buckets: opens those that exist and makes missing ones, with three copies in a cluster. What exists stays as it
//! is, because an administrator may have set limits.

use std::error::Error;
use std::time::Duration;

use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::{self, ErrorCode, kv, stream};

use super::{ConnectError, Connection};

/// A cluster that lost its leader elects another one in less time than these tries take, also on a busy machine. A try takes
/// five to ten seconds.
pub(super) const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(500);

impl Connection {
    fn copies(&self) -> usize {
        if self.in_cluster { 3 } else { 1 }
    }
}

pub async fn make_stream(connection: &Connection, mut config: stream::Config) -> Result<(), ConnectError> {
    config.num_replicas = connection.copies();
    let mut tries = 1;
    loop {
        match try_stream(&connection.jetstream, &config).await {
            Ok(()) => return Ok(()),
            Err(failure) => {
                failure
                    .wait(connection, &mut tries, &mut config.num_replicas)
                    .await?;
            }
        }
    }
}

pub async fn make_bucket(connection: &Connection, mut config: kv::Config) -> Result<kv::Store, ConnectError> {
    config.num_replicas = connection.copies();
    let mut tries = 1;
    loop {
        match try_bucket(&connection.jetstream, &config).await {
            Ok(store) => return Ok(store),
            Err(failure) => {
                failure
                    .wait(connection, &mut tries, &mut config.num_replicas)
                    .await?;
            }
        }
    }
}

async fn try_stream(context: &jetstream::Context, config: &stream::Config) -> Result<(), Failure> {
    if context.get_stream(&config.name).await.is_ok() {
        return Ok(());
    }
    let Err(error) = context.get_or_create_stream(config.clone()).await else {
        return Ok(());
    };
    let answer = match error.kind() {
        CreateStreamErrorKind::JetStream(answer) => Some(answer.error_code()),
        _ => answer(&error),
    };
    let error = ConnectError::from_create_stream(&config.name, &error);
    Err(Failure { error, answer })
}

async fn try_bucket(context: &jetstream::Context, config: &kv::Config) -> Result<kv::Store, Failure> {
    let name = &config.bucket;
    if let Ok(store) = context.get_key_value(name).await {
        return Ok(store);
    }
    let error = match context.create_key_value(config.clone()).await {
        Ok(store) => return Ok(store),
        Err(error) => error,
    };
    // Another process may have made it at the same time.
    context.get_key_value(name).await.map_err(|_| Failure {
        answer: answer(&error),
        error: ConnectError::from_source(&format!("create the bucket {name}"), &error),
    })
}

struct Failure {
    error: ConnectError,
    /// What JetStream answered, if it answered.
    answer: Option<ErrorCode>,
}

impl Failure {
    /// Waits before the next try; an error if another try cannot help.
    async fn wait(
        self,
        connection: &Connection,
        tries: &mut u32,
        copies: &mut usize,
    ) -> Result<(), ConnectError> {
        if self.answer == Some(ErrorCode::CLUSTER_NO_PEERS) && *copies > 1 {
            // There are two nodes, or fewer than three are up.
            *copies = 1;
            return Ok(());
        }
        let may_pass = self.answer.is_none_or(|answer| LEADERLESS.contains(&answer));
        if !connection.in_cluster || !may_pass || *tries == TRIES {
            return Err(self.error);
        }
        *tries += 1;
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

/// The cluster has no leader now.
const LEADERLESS: [ErrorCode; 3] = [
    ErrorCode::CLUSTER_NOT_AVAILABLE,
    ErrorCode::CLUSTER_NOT_ACTIVE,
    ErrorCode::CLUSTER_NOT_LEADER,
];

fn answer(error: &(dyn Error + 'static)) -> Option<ErrorCode> {
    let mut current = Some(error);
    while let Some(found) = current {
        if let Some(answer) = found.downcast_ref::<jetstream::Error>() {
            return Some(answer.error_code());
        }
        current = found.source();
    }
    None
}
