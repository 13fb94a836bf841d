//! Streams and buckets: opens those that exist and makes missing ones. What exists stays as it is, because an administrator
//! may have set limits.

use std::error::Error;
use std::time::Duration;

use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::{self, ErrorCode, kv, stream};

use super::{ConnectError, Connection};

/// A cluster that lost its leader elects another one in less time than these tries take.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);

pub async fn make_stream(connection: &Connection, config: stream::Config) -> Result<(), ConnectError> {
    let mut tries = 1;
    loop {
        match try_stream(&connection.jetstream, &config).await {
            Ok(()) => return Ok(()),
            Err(failure) => failure.wait(&mut tries).await?,
        }
    }
}

pub async fn make_bucket(connection: &Connection, config: kv::Config) -> Result<kv::Store, ConnectError> {
    let mut tries = 1;
    loop {
        match try_bucket(&connection.jetstream, &config).await {
            Ok(store) => return Ok(store),
            Err(failure) => failure.wait(&mut tries).await?,
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
    let may_pass = match error.kind() {
        CreateStreamErrorKind::JetStream(answer) => has_no_leader(&answer),
        _ => is_unanswered(&error),
    };
    Err(Failure {
        error: ConnectError::from_create_stream(&config.name, &error),
        may_pass,
    })
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
        may_pass: is_unanswered(&error),
        error: ConnectError::from_source(&format!("create the bucket {name}"), &error),
    })
}

struct Failure {
    error: ConnectError,
    /// Whether another try may succeed.
    may_pass: bool,
}

impl Failure {
    /// Waits before the next try; an error if there is none.
    async fn wait(self, tries: &mut u32) -> Result<(), ConnectError> {
        if !self.may_pass || *tries == TRIES {
            return Err(self.error);
        }
        *tries += 1;
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

/// JetStream gave no answer, or said that it has no leader now.
fn is_unanswered(error: &(dyn Error + 'static)) -> bool {
    let mut current = Some(error);
    while let Some(found) = current {
        if let Some(answer) = found.downcast_ref() {
            return has_no_leader(answer);
        }
        current = found.source();
    }
    true
}

fn has_no_leader(answer: &jetstream::Error) -> bool {
    let passing = [
        ErrorCode::CLUSTER_NOT_AVAILABLE,
        ErrorCode::CLUSTER_NOT_ACTIVE,
        ErrorCode::CLUSTER_NOT_LEADER,
    ];
    passing.contains(&answer.error_code())
}
