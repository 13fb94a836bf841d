//! What one page shows: a session at one moment, and the part of it that the reader requested.

use crate::follow::Followed;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::SystemTime;
use wavecrew_core::encoding::percent_encoded;
use wavecrew_core::engine::{Ledger, TaskProgress, TaskState};
use wavecrew_core::event::{Event, Status};
use wavecrew_core::id::TaskIx;
use wavecrew_core::time::Timestamp;
use wavecrew_run::questions::{self, OpenQuestion};
use wavecrew_session::{SessionDir, SessionInfo};

/// The query of a page's address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Query {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tab: String,
    /// Not empty: the page goes to the session of the command line as soon as there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub waits: String,
    /// The number of events that are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub q: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub compact: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
}

impl Query {
    pub fn wave(&self) -> Option<u32> {
        self.wave.as_deref()?.parse().ok().filter(|wave| *wave > 0)
    }

    /// From 1.
    pub fn page(&self) -> usize {
        let page = self.page.as_deref().and_then(|page| page.parse().ok());
        page.unwrap_or(1).max(1)
    }

    pub fn at(&self) -> Option<usize> {
        self.at.as_deref()?.parse().ok()
    }

    pub fn attempt(&self) -> Option<u32> {
        self.attempt.as_deref()?.parse().ok()
    }

    pub fn is_filtered(&self) -> bool {
        !(self.q.is_empty() && self.state.is_empty() && self.role.is_empty())
    }

    /// The address of the same page with one change.
    pub fn link(&self, change: impl FnOnce(&mut Self)) -> String {
        let mut query = self.clone();
        change(&mut query);
        let text = query.text();
        if text.is_empty() { "?".to_owned() } else { text }
    }

    /// `?a=b`, or nothing.
    pub fn text(&self) -> String {
        let pairs = serde_json::to_value(self).unwrap_or_default();
        let mut text = String::new();
        for (name, value) in pairs.as_object().into_iter().flatten() {
            text.push(if text.is_empty() { '?' } else { '&' });
            text.push_str(name);
            text.push('=');
            text.push_str(&encode(value.as_str().unwrap_or_default()));
        }
        text
    }
}

/// Percent-encoding for one part of an address.
pub fn encode(text: &str) -> String {
    percent_encoded(text, |byte| format!("%{byte:02X}"))
}

/// Where a page is shown; this decides its links and controls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Medium {
    /// In the browser, by somebody who may act.
    Full,
    /// In the browser, by somebody who may only read.
    ReadOnly,
    /// In a file.
    File,
}

pub struct Shot<'a> {
    pub dir: &'a SessionDir,
    pub info: Option<&'a SessionInfo>,
    pub ledger: &'a Ledger,
    /// The events up to the moment that is shown.
    pub events: &'a [Event],
    /// All events of the journal.
    pub total: usize,
    pub state: &'static str,
    pub problems: &'a [String],
    pub question: Option<OpenQuestion>,
    pub now: Timestamp,
    pub query: &'a Query,
    pub medium: Medium,
    /// The moment is in the past.
    pub past: bool,
}

impl Shot<'_> {
    /// The view of the session that the query requests.
    pub fn take<T>(
        followed: &Followed,
        query: &Query,
        medium: Medium,
        show: impl FnOnce(&Shot<'_>) -> T,
    ) -> T {
        let total = followed.events.len();
        let at = query.at().filter(|at| *at < total);
        let past = at.and_then(|at| followed.ledger_at(at).ok());
        let events = match (&past, at) {
            (Some(_), Some(at)) => &followed.events[..at],
            _ => &followed.events[..],
        };
        let latest = || events.iter().rev().find_map(Event::at);
        let now = if past.is_some() {
            latest().unwrap_or_default()
        } else {
            clock()
        };
        let runs = followed.holder.is_some();
        show(&Shot {
            dir: &followed.dir,
            info: followed.info.as_ref(),
            ledger: past.as_ref().unwrap_or(&followed.ledger),
            events,
            total,
            state: followed.state(),
            problems: &followed.problems,
            question: (runs && past.is_none())
                .then(|| questions::open(&followed.dir))
                .flatten(),
            now,
            query,
            medium,
            past: past.is_some(),
        })
    }

    pub fn is_running(&self) -> bool {
        matches!(self.state, "running" | "paused")
    }

    /// Whether the reader may do something to the session now.
    pub fn may_act(&self) -> bool {
        self.medium == Medium::Full && !self.past
    }

    /// The address of a task's page.
    pub fn task_link(&self, id: &str) -> String {
        if self.medium == Medium::File {
            return format!("#task-{}", encode(id));
        }
        let at = self.query.at.as_deref().filter(|_| self.past);
        let at = at.map(|at| format!("?at={}", encode(at))).unwrap_or_default();
        format!("/s/{}/t/{}{at}", encode(self.dir.id()), encode(id))
    }

    /// The id of an element of a task: a file has the elements of many tasks.
    pub fn key(&self, task: TaskIx, name: &str) -> String {
        match self.medium {
            Medium::File => format!("{name}-{}", task.index()),
            Medium::Full | Medium::ReadOnly => name.to_owned(),
        }
    }

    /// The project's folder: sessions lie three folders below it.
    pub fn project(&self) -> &Path {
        let path = self.dir.path();
        path.ancestors().nth(3).unwrap_or(path)
    }

    pub fn run_link(&self) -> String {
        format!("/s/{}", encode(self.dir.id()))
    }
}

pub fn clock() -> Timestamp {
    Timestamp::from(SystemTime::now())
}

/// The state of a task in one word.
pub fn task_state(state: &TaskState) -> &'static str {
    match (state.result.status, state.progress) {
        (Status::Pending, TaskProgress::Open { .. }) => "running",
        (Status::Pending, TaskProgress::Waiting { .. }) => "waiting",
        (Status::Pending, TaskProgress::Pending | TaskProgress::Done) => "pending",
        (Status::Completed, _) => "completed",
        (Status::Failed, _) => "failed",
        (Status::Skipped, _) => "skipped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_keeps_what_it_does_not_change() {
        let query = Query {
            q: "a&b <c>".into(),
            wave: Some("3".into()),
            ..Query::default()
        };
        assert_eq!(
            query.link(|query| query.page = Some("2".into())),
            "?page=2&q=a%26b%20%3Cc%3E&wave=3"
        );
        assert_eq!(Query::default().link(|_| {}), "?");
        assert_eq!(query.page(), 1);
    }
}
