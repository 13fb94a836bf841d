//! Lists the hosts of a project for people.

use crate::setup::open_project;
use async_nats::jetstream::kv::Operation;
use futures_util::StreamExt;
use std::time::SystemTime;
use wavecrew_remote::connect::{ConnectError, ConnectionSettings, connect};
use wavecrew_remote::names::Names;
use wavecrew_remote::wire::HostAnnouncement;

/// A host as it announced itself last.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedHost {
    pub announced: HostAnnouncement,
    pub seconds_ago: u64,
}

impl ListedHost {
    /// Whether it should have been heard of since.
    pub fn is_gone(&self) -> bool {
        self.seconds_ago > crate::coordinator::SILENT_AFTER.as_secs()
    }
}

/// The hosts that announced themselves within the last hour.
pub async fn list(settings: &ConnectionSettings, project: &str) -> Result<Vec<ListedHost>, ConnectError> {
    let connection = connect(settings, "wavecrew workers").await?;
    let names = Names::new(project);
    let store = open_project(&connection, &names).await?.hosts;
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
            let ago = SystemTime::now().duration_since(at).unwrap_or_default();
            hosts.push(ListedHost {
                announced,
                seconds_ago: ago.as_secs(),
            });
        }
    }
    hosts.sort_by(|one, other| one.announced.host.cmp(&other.announced.host));
    Ok(hosts)
}
