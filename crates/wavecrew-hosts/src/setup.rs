//! The streams and buckets of a project, which the first coordinator or host creates.

use crate::objects::MAX_AGE;
use async_nats::jetstream::kv;
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy};
use std::time::Duration;
use wavecrew_remote::connect::{ConnectError, Connection, make_bucket, make_stream};
use wavecrew_remote::names::Names;

/// How long messages and leases are kept.
const KEPT: Duration = Duration::from_hours(24 * 7);
/// A host without an announcement for this long is no longer listed.
const HOSTS_KEPT: Duration = Duration::from_hours(1);
/// Messages with the same id within this time are one.
const DUPLICATES: Duration = Duration::from_mins(10);

/// The buckets of a project.
#[derive(Clone, Debug)]
pub struct Buckets {
    pub hosts: Store,
    pub leases: Store,
}

/// Opens streams and buckets, and creates missing ones. Existing ones are not changed, because an
/// administrator may have set limits.
pub async fn open_project(connection: &Connection, names: &Names) -> Result<Buckets, ConnectError> {
    let base = stream::Config {
        max_age: KEPT,
        duplicate_window: DUPLICATES,
        allow_direct: true,
        discard: DiscardPolicy::New,
        ..stream::Config::default()
    };
    let streams = [
        (names.work_stream(), names.all_work(), RetentionPolicy::WorkQueue),
        // The coordinator removes them: one that continues the run reads them from the beginning.
        (
            names.result_stream(),
            names.all_results(),
            RetentionPolicy::Limits,
        ),
        (
            names.object_stream(),
            names.all_objects(),
            RetentionPolicy::Limits,
        ),
    ];
    for (name, subject, retention) in streams {
        let is_objects = name == names.object_stream();
        let config = stream::Config {
            name: name.clone(),
            subjects: vec![subject],
            retention,
            max_age: if is_objects { MAX_AGE } else { KEPT },
            max_messages_per_subject: if is_objects { 1 } else { -1 },
            discard: if is_objects {
                DiscardPolicy::Old
            } else {
                DiscardPolicy::New
            },
            ..base.clone()
        };
        make_stream(connection, config).await?;
    }
    let bucket = |bucket: String, max_age| kv::Config {
        bucket,
        history: 1,
        max_age,
        ..kv::Config::default()
    };
    Ok(Buckets {
        hosts: make_bucket(connection, bucket(names.host_bucket(), HOSTS_KEPT)).await?,
        leases: make_bucket(connection, bucket(names.lease_bucket(), KEPT)).await?,
    })
}
