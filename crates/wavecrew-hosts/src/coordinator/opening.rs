//! Connects, opens the run's streams and buckets, and reads their existing messages.

use super::applied_here;
use super::journal_facts::JournalFacts;
use super::left_behind::AllLeftBehind;
use super::prepare::RunFiles;
use super::results::{Incoming, Remover, Results};
use super::run::{Coordinator, News, Shared};
use super::unneeded::Needs;
use super::{Directory, RunFacts};
use crate::link_watch::LinkWatch;
use crate::objects::{ObjectCache, ObjectStore};
use crate::setup::open_project;
use async_nats::jetstream;
use async_nats::jetstream::kv::Entry;
use futures_util::StreamExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use wavecrew_remote::connect::connect;
use wavecrew_remote::names::Names;
use wavecrew_remote::sign::RunKey;
use wavecrew_run::place::PlaceEvent;
use wavecrew_session::{SessionDir, random_name};

pub(super) type Entries = futures_util::stream::BoxStream<'static, Result<Entry, String>>;

pub(super) struct Sources {
    pub results: UnboundedReceiver<Incoming>,
    pub hosts: Entries,
    pub leases: Entries,
}
impl Coordinator {
    pub(super) async fn open(
        facts: RunFacts,
        hosts: Arc<Mutex<Directory>>,
        events: UnboundedSender<PlaceEvent>,
        news: UnboundedSender<News>,
    ) -> Result<(Self, Sources), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let session = SessionDir::at(&facts.session).map_err(|error| text(&error))?;
        let run = session.id().to_owned();
        let connection = connect(&facts.settings.connection, &format!("wavecrew run {run}"))
            .await
            .map_err(|error| format!("{error}; {}", error.help()))?;
        let names = Names::new(&facts.settings.project);
        let buckets = open_project(&connection, &names)
            .await
            .map_err(|error| format!("{error}; {}", error.help()))?;
        let store = ObjectStore::open(&connection.jetstream, &names)
            .await
            .map_err(|error| text(&error))?;
        let cache =
            ObjectCache::open(&session.cache_folder().join("objects")).map_err(|error| text(&error))?;
        let files = RunFiles::new(&facts.project, &session, facts.settings.include.clone());
        let shared = Arc::new(Shared {
            store,
            cache,
            files: Arc::new(files.map_err(|error| text(&error))?),
            news,
        });
        let filter = names.results_of_run(&run);
        let results = Results::open(&connection.jetstream, &names.result_stream(), filter.clone()).await;
        let mut results =
            results.ok_or_else(|| format!("the stream {} cannot be opened", names.result_stream()))?;
        let mut coordinator = Self {
            nonce: random_name().map_err(|error| text(&error))?[..12].to_owned(),
            offers: 0,
            signing: Arc::new(RunKey::new(&facts.settings.identity, names.project(), &run)),
            facts,
            names,
            run,
            connection,
            buckets,
            shared,
            hosts,
            events,
            turns: HashMap::new(),
            tokens: HashMap::new(),
            homes: HashMap::new(),
            remover: Remover::start(results.stream(), filter),
            result_stream: results.stream(),
            leases: HashMap::new(),
            needs: Needs::default(),
            journal: JournalFacts::new(session.journal_file()),
            left_behind: AllLeftBehind::default(),
            start: Instant::now(),
            link: LinkWatch::default(),
        };
        coordinator.learn_hosts().await;
        for note in applied_here::catch_up(&coordinator.shared).await {
            coordinator.note(note);
        }
        coordinator.find_left_behind(&mut results).await;
        let sources = Sources {
            hosts: coordinator.watch_hosts().await,
            leases: coordinator.watch_leases().await,
            results: results.follow(),
        };
        Ok((coordinator, sources))
    }

    /// Hosts that are already announced.
    async fn learn_hosts(&self) {
        let store = &self.buckets.hosts;
        let Ok(mut keys) = store.keys().await else { return };
        while let Some(Ok(key)) = keys.next().await {
            if let Ok(Some(entry)) = store.entry(key).await {
                self.handle_host(&entry);
            }
        }
    }

    pub(super) async fn watch_hosts(&self) -> Entries {
        watch(&self.buckets.hosts, ">").await
    }

    pub(super) async fn watch_leases(&self) -> Entries {
        watch(&self.buckets.leases, &Names::leases_of_run(&self.run)).await
    }
}

/// Watches the changes of a bucket from now on.
async fn watch(store: &jetstream::kv::Store, keys: &str) -> Entries {
    loop {
        match store.watch(keys).await {
            Ok(watch) => {
                return watch
                    .map(|entry| entry.map_err(|error| error.to_string()))
                    .boxed();
            }
            Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}
