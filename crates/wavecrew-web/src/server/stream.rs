//! Live pages: looks at the files of a session a few times a second, and sends the parts of the page that changed.

use super::App;
use crate::follow::lock;
use crate::page::conversation::Conversation;
use crate::page::{project, run, task};
use crate::shot::{Medium, Query, Shot};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use maud::Markup;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often files are checked for changes.
const LOOK: Duration = Duration::from_millis(40);
/// A page that takes long to render is rendered less often.
const SHARE: u32 = 3;

/// What a stream is about.
pub enum Subject {
    Project,
    Run(String),
    Task(String, String),
}

/// The parts of a page that were sent, and what they were made from.
pub struct Follower {
    app: Arc<App>,
    subject: Subject,
    query: Query,
    medium: Medium,
    sent: HashMap<&'static str, String>,
    seen: Vec<(u64, Option<SystemTime>)>,
    conversation: Option<(u32, Conversation)>,
    question: Option<String>,
    session: Option<String>,
    wait: Duration,
}

impl Follower {
    pub fn new(app: Arc<App>, subject: Subject, query: Query, medium: Medium) -> Self {
        Self {
            // A page that waits for the session goes there, even if it started before this stream.
            session: app.desk.session().filter(|_| query.waits.is_empty()),
            app,
            subject,
            query,
            medium,
            sent: HashMap::new(),
            seen: Vec::new(),
            conversation: None,
            question: None,
            wait: LOOK,
        }
    }

    pub fn stream(self) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
        let events = unfold(self, |mut follower| async move {
            loop {
                tokio::time::sleep(follower.wait).await;
                let looked = tokio::task::spawn_blocking(move || {
                    let event = follower.look();
                    (follower, event)
                });
                let event;
                (follower, event) = looked.await.ok()?;
                if let Some(event) = event {
                    return Some((Ok(event), follower));
                }
            }
        });
        Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(10)))
    }

    /// The next event for the page, if something changed.
    fn look(&mut self) -> Option<Event> {
        let session = self.app.desk.session();
        if session != self.session {
            self.session.clone_from(&session);
            if let (Some(id), Subject::Project) = (session, &self.subject) {
                return Some(
                    Event::default()
                        .event("goto")
                        .data(format!("/s/{}", crate::shot::encode(&id))),
                );
            }
        }
        let seen = self.stamps();
        if seen == self.seen {
            self.wait = LOOK;
            return None;
        }
        self.seen = seen;
        let began = Instant::now();
        let parts = self.render()?;
        self.wait = LOOK.max(began.elapsed() * SHARE);
        let mut changed = Map::new();
        for (id, markup) in parts {
            if self.sent.get(id) != Some(&markup.0) {
                changed.insert(id.to_owned(), Value::String(markup.0.clone()));
                self.sent.insert(id, markup.0);
            }
        }
        if changed.is_empty() {
            return None;
        }
        Some(
            Event::default()
                .event("fragments")
                .data(Value::Object(changed).to_string()),
        )
    }

    fn render(&mut self) -> Option<Vec<(&'static str, Markup)>> {
        let prompts = self.app.desk.open();
        let (query, medium) = (&self.query, self.medium);
        match &self.subject {
            Subject::Project => project::fragments(
                &self.app.summaries,
                self.app.followers.project(),
                query,
                &prompts,
                medium,
            )
            .ok(),
            Subject::Run(id) => {
                let followed = self.app.followers.get(id).ok()?;
                let followed = lock(&followed);
                Some(Shot::take(&followed, query, medium, |shot| {
                    self.question = shot.question.as_ref().map(|asked| asked.question.clone());
                    run::fragments(shot, &prompts)
                }))
            }
            Subject::Task(id, name) => {
                let followed = self.app.followers.get(id).ok()?;
                let followed = lock(&followed);
                let conversation = &mut self.conversation;
                Shot::take(&followed, query, medium, |shot| {
                    let found = shot.ledger.plan().find(name)?;
                    let attempt = task::shown_attempt(shot, found);
                    if conversation.as_ref().is_none_or(|(of, _)| *of != attempt) {
                        *conversation =
                            Some((attempt, Conversation::of(shot.dir, shot.events, name, attempt)));
                    }
                    let (_, talk) = conversation.as_mut()?;
                    talk.catch_up();
                    Some(task::fragments(shot, found, talk, &prompts))
                })
            }
        }
    }

    /// Lengths and times of the files that the page is made from.
    fn stamps(&self) -> Vec<(u64, Option<SystemTime>)> {
        let mut stamps = vec![(self.app.desk.open().iter().map(|prompt| prompt.id).sum(), None)];
        let stat = |path: PathBuf| {
            let meta = fs::metadata(path).ok();
            (
                meta.as_ref().map_or(0, fs::Metadata::len),
                meta.and_then(|meta| meta.modified().ok()),
            )
        };
        let id = match &self.subject {
            Subject::Project => {
                // The list itself finds out what changed; it is asked once a second.
                let second = SystemTime::UNIX_EPOCH
                    .elapsed()
                    .map_or(0, |since| since.as_secs());
                stamps.push((second, None));
                return stamps;
            }
            Subject::Run(id) | Subject::Task(id, _) => id,
        };
        let Ok(followed) = self.app.followers.get(id) else {
            return stamps;
        };
        let (dir, runs, events) = {
            let followed = lock(&followed);
            (
                followed.dir.clone(),
                followed.holder.is_some(),
                followed.events.len() as u64,
            )
        };
        stamps.push((events, None));
        stamps.push((u64::from(runs), None));
        let files = [
            dir.question_file(),
            dir.answer_file(),
            dir.session_json(),
            dir.discoveries_file(),
            dir.messages_file(),
        ];
        stamps.extend(files.map(stat));
        if let (Subject::Task(_, name), Some((attempt, _))) = (&self.subject, &self.conversation) {
            let log = dir.log_file(name, *attempt);
            let ring = wavecrew_session::bounded_log::tail_path(&log);
            stamps.extend([stat(log), stat(ring)]);
        }
        stamps
    }
}
