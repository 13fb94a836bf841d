//! Live pages: checks the files of a session a few times a second, and sends the parts of the page that
//! changed.

use super::App;
use crate::page::conversation::Conversation;
use crate::page::{project, run, split_parts, task};
use crate::shot::{Medium, Query, Shot};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use maud::Markup;
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use wavecrew_core::view::one_line;
use wavecrew_process::LockAnyway;

/// How often files are checked for changes.
const LOOK: Duration = Duration::from_millis(40);
/// A page that takes long to render is rendered less often.
const SHARE: u32 = 3;

/// The page that a stream updates.
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
    sent: HashMap<String, String>,
    seen: Vec<(u64, Option<SystemTime>)>,
    conversation: Option<(u32, Conversation)>,
    /// Questions that were sent to the page.
    asked: Vec<String>,
    /// Events that are not sent yet.
    ready: VecDeque<Event>,
    session: Option<String>,
    wait: Duration,
    ended: bool,
}

impl Drop for Follower {
    fn drop(&mut self) {
        if !self.ended {
            self.app.desk.page_done();
        }
    }
}

impl Follower {
    pub fn new(app: Arc<App>, subject: Subject, query: Query, medium: Medium) -> Self {
        app.desk.page_opened();
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
            asked: Vec::new(),
            ready: VecDeque::new(),
            wait: LOOK,
            ended: false,
        }
    }

    pub fn stream(self) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
        let events = unfold(self, |mut follower| async move {
            loop {
                if let Some(event) = follower.ready.pop_front() {
                    return Some((Ok(event), follower));
                }
                if follower.ended {
                    return None;
                }
                tokio::time::sleep(follower.wait).await;
                let looked = tokio::task::spawn_blocking(move || {
                    follower.look();
                    follower
                });
                follower = looked.await.ok()?;
            }
        });
        Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(10)))
    }

    /// Adds the events for the page that follow from what changed.
    fn look(&mut self) {
        let session = self.app.desk.session();
        if session != self.session {
            self.session.clone_from(&session);
            if let (Some(id), Subject::Project) = (session, &self.subject) {
                self.send("goto", format!("/s/{}", crate::shot::encode(&id)));
            }
        }
        // The last state is sent before the end.
        let ends = self.app.desk.has_ended();
        let seen = self.stamps();
        self.wait = LOOK;
        if seen != self.seen {
            self.seen = seen;
            let began = Instant::now();
            self.send_changes();
            self.wait = LOOK.max(began.elapsed() * SHARE);
        }
        if ends {
            self.send(
                "ended",
                "The command has ended; wavecrew web shows the session again".to_owned(),
            );
            self.ended = true;
            self.app.desk.page_done();
        }
    }

    fn send(&mut self, kind: &str, data: String) {
        self.ready.push_back(Event::default().event(kind).data(data));
    }

    fn send_changes(&mut self) {
        let Some(parts) = self.render() else { return };
        let mut changed = Map::new();
        for (id, markup) in parts {
            let (around, inner) = split_parts(&markup.0);
            let as_a_whole = self.is_new(id, &around);
            if as_a_whole {
                changed.insert(id.to_owned(), Value::String(markup.0.clone()));
            }
            for (id, content) in inner {
                if self.is_new(id, content) && !as_a_whole {
                    changed.insert(id.to_owned(), Value::String(content.to_owned()));
                }
            }
        }
        if !changed.is_empty() {
            self.send("fragments", Value::Object(changed).to_string());
        }
    }

    /// Whether this differs from what was sent for an element. From now on it counts as sent.
    fn is_new(&mut self, id: &str, html: &str) -> bool {
        match self.sent.get_mut(id) {
            Some(sent) if sent == html => return false,
            Some(sent) => html.clone_into(sent),
            None => drop(self.sent.insert(id.to_owned(), html.to_owned())),
        }
        true
    }

    /// Sends new questions to the page, for a notification.
    fn send_questions(&mut self, open: Vec<String>) {
        for question in &open {
            if !self.asked.contains(question) {
                self.send("ask", one_line(question));
            }
        }
        self.asked = open;
    }

    fn render(&mut self) -> Option<Vec<(&'static str, Markup)>> {
        let prompts = self.app.desk.open();
        let (query, medium) = (&self.query, self.medium);
        let mut open: Vec<String> = prompts
            .iter()
            .filter(|prompt| prompt.is_question())
            .map(|prompt| prompt.question.clone())
            .collect();
        let parts = match &self.subject {
            Subject::Project => {
                let project = self.app.followers.project();
                let parts = project::parts(&self.app.summaries, project, query, &prompts, medium).ok()?;
                open.extend(parts.asked);
                Some(parts.fragments)
            }
            Subject::Run(id) => {
                let followed = self.app.followers.get(id).ok()?;
                let followed = followed.lock_anyway();
                Some(Shot::take(&followed, query, medium, |shot| {
                    open.extend(shot.question.as_ref().map(|asked| asked.question.clone()));
                    run::fragments(shot, &prompts)
                }))
            }
            Subject::Task(id, name) => {
                let followed = self.app.followers.get(id).ok()?;
                let followed = followed.lock_anyway();
                let conversation = &mut self.conversation;
                Shot::take(&followed, query, medium, |shot| {
                    open.extend(shot.question.as_ref().map(|asked| asked.question.clone()));
                    let found = shot.ledger.plan().find(name)?;
                    let attempt = task::shown_attempt(shot, found);
                    if conversation.as_ref().is_none_or(|(of, _)| *of != attempt) {
                        *conversation =
                            Some((attempt, Conversation::of(shot.dir, shot.events, name, attempt)));
                    }
                    let (_, conversation) = conversation.as_mut()?;
                    conversation.catch_up();
                    Some(task::fragments(shot, found, conversation, &prompts))
                })
            }
        };
        self.send_questions(open);
        parts
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
                // The list detects changes itself; it is read once a second.
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
            let followed = followed.lock_anyway();
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
