//! Lists the hosts of a project for people.

use crate::setup::open_project;
use async_nats::jetstream::kv::Operation;
use futures_util::StreamExt;
use jiff::Timestamp;
use serde::Deserialize;
use std::time::SystemTime;
use wavecrew_remote::connect::{ConnectError, Connection, ConnectionSettings, connect};
use wavecrew_remote::names::Names;
use wavecrew_remote::wire::HostAnnouncement;

/// A host as it announced itself last.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedHost {
    pub announced: HostAnnouncement,
    pub seconds_ago: u64,
}

impl ListedHost {
    /// Whether its next announcement is overdue.
    pub fn is_gone(&self) -> bool {
        self.seconds_ago > crate::coordinator::SILENT_AFTER.as_secs()
    }
}

/// The hosts that announced themselves within the last hour.
pub async fn list(settings: &ConnectionSettings, project: &str) -> Result<Vec<ListedHost>, ConnectError> {
    let connection = connect(settings, "wavecrew workers").await?;
    let names = Names::new(project);
    let store = open_project(&connection, &names).await?.hosts;
    let now = server_time(&connection, &store.stream_name).await;
    let mut hosts = Vec::new();
    let Ok(mut keys) = store.keys().await else {
        return Ok(hosts);
    };
    while let Some(Ok(key)) = keys.next().await {
        let Ok(Some(entry)) = store.entry(key).await else {
            continue;
        };
        if entry.operation != Operation::Put {
            continue;
        }
        if let Ok(announced) = serde_json::from_slice::<HostAnnouncement>(&entry.value) {
            let at: SystemTime = entry.created.into();
            hosts.push(ListedHost {
                announced,
                seconds_ago: now.duration_since(at).unwrap_or_default().as_secs(),
            });
        }
    }
    hosts.sort_by(|one, other| one.announced.host.cmp(&other.announced.host));
    Ok(hosts)
}

/// The server's facts about a stream.
#[derive(Deserialize)]
struct Answered {
    /// The time of these facts.
    ts: String,
}

/// The server's time, which announcements also use: the clock of this machine may be wrong.
async fn server_time(connection: &Connection, stream: &str) -> SystemTime {
    let subject = format!("STREAM.INFO.{stream}");
    let answer = connection.jetstream.request(subject, &()).await;
    let answer: Option<Answered> = answer.ok();
    let reported = answer.and_then(|answer| answer.ts.parse::<Timestamp>().ok());
    reported.map_or_else(SystemTime::now, SystemTime::from)
}
