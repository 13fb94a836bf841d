//! Questions that the command of this server asks in the browser: about the plan before a run, and about the
//! next step after it. Each can be answered once. Also notices of the command, and whether it has ended.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use wavecrew_process::LockAnyway;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prompt {
    pub id: u64,
    pub question: String,
    /// What the question is about, as text.
    pub context: String,
    /// A prompt without answers is a notice.
    pub options: Vec<String>,
    /// The default option.
    pub default: usize,
    /// Allows free text as an answer; this is the initial text.
    pub text: Option<String>,
}

impl Prompt {
    pub fn is_question(&self) -> bool {
        !self.options.is_empty() || self.text.is_some()
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    Choice(usize),
    Text(String),
}

#[derive(Default)]
pub struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    open: Vec<Prompt>,
    replies: HashMap<u64, Reply>,
    /// The session that the command line runs.
    session: Option<String>,
    closed: bool,
    /// The command has ended, and pages should show it.
    ended: bool,
    /// Pages that receive changes and do not know of the end.
    pages: usize,
    /// An answer leads to a new page, which does not receive changes yet.
    between_pages: bool,
}

impl Desk {
    /// Asks, and waits for the answer. `None` if nobody can answer any longer.
    pub fn ask(&self, mut prompt: Prompt) -> Option<Reply> {
        let mut state = self.state.lock_anyway();
        state.next += 1;
        let id = state.next;
        prompt.id = id;
        state.open.push(prompt);
        loop {
            if let Some(reply) = state.replies.remove(&id) {
                return Some(reply);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Answers a question. Returns false if it already has an answer, or if the answer is not one of its
    /// options.
    pub fn answer(&self, id: u64, reply: Reply) -> bool {
        let mut state = self.state.lock_anyway();
        let Some(at) = state.open.iter().position(|prompt| prompt.id == id) else {
            return false;
        };
        let fits = match &reply {
            Reply::Choice(choice) => *choice < state.open[at].options.len(),
            Reply::Text(_) => state.open[at].text.is_some(),
        };
        if fits {
            state.open.remove(at);
            state.replies.insert(id, reply);
            state.between_pages = true;
            self.changed.notify_all();
        }
        fits
    }

    /// Shows something that needs no answer.
    pub fn tell(&self, title: &str, text: String) {
        let mut state = self.state.lock_anyway();
        state.next += 1;
        let id = state.next;
        state.open.push(Prompt {
            id,
            question: title.to_owned(),
            context: text,
            ..Prompt::default()
        });
    }

    /// A page receives changes from now on.
    pub(crate) fn page_opened(&self) {
        let mut state = self.state.lock_anyway();
        state.pages += 1;
        state.between_pages = false;
        self.changed.notify_all();
    }

    /// A page was closed, or shows that the command has ended.
    pub(crate) fn page_done(&self) {
        self.state.lock_anyway().pages -= 1;
        self.changed.notify_all();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock_anyway().ended
    }

    /// The command has ended: waits until every open page shows it, but not longer than `patience`.
    pub fn end(&self, patience: Duration) {
        let mut state = self.state.lock_anyway();
        state.ended = true;
        let waits = |state: &mut State| state.pages > 0 || state.between_pages;
        // Pages that do not show it by then find no server.
        let _ = self.changed.wait_timeout_while(state, patience, waits);
    }

    /// The open questions, and notices.
    pub fn open(&self) -> Vec<Prompt> {
        self.state.lock_anyway().open.clone()
    }

    /// The command line runs this session from now on.
    pub fn set_session(&self, id: &str) {
        self.state.lock_anyway().session = Some(id.to_owned());
    }

    pub fn session(&self) -> Option<String> {
        self.state.lock_anyway().session.clone()
    }

    /// From now on nobody answers.
    pub fn close(&self) {
        self.state.lock_anyway().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_once() {
        let desk = Desk::default();
        let reply = std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                desk.ask(Prompt {
                    question: "Run this?".into(),
                    options: vec!["Run it".into(), "Cancel".into()],
                    ..Prompt::default()
                })
            });
            let asked = loop {
                if let Some(asked) = desk.open().pop() {
                    break asked;
                }
                std::thread::yield_now();
            };
            assert!(
                !desk.answer(asked.id, Reply::Choice(2)),
                "there is no such option"
            );
            assert!(
                !desk.answer(asked.id, Reply::Text("yes".into())),
                "text is no answer to it"
            );
            assert!(desk.answer(asked.id, Reply::Choice(1)));
            assert!(!desk.answer(asked.id, Reply::Choice(0)), "it has an answer");
            asking.join().unwrap()
        });
        assert_eq!(reply, Some(Reply::Choice(1)));
        desk.close();
        assert_eq!(desk.ask(Prompt::default()), None);
    }

    #[test]
    fn the_end_waits_for_the_page_that_follows_an_answer() {
        let desk = Desk::default();
        desk.page_opened();
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let options = vec!["Keep it".into()];
                desk.ask(Prompt {
                    options,
                    ..Prompt::default()
                })
            });
            while !desk.answer(1, Reply::Choice(0)) {
                std::thread::yield_now();
            }
            asking.join().unwrap();
            desk.page_done();
            let ending = scope.spawn(|| desk.end(Duration::from_mins(10)));
            while !desk.has_ended() {
                std::thread::yield_now();
            }
            assert!(!ending.is_finished(), "the next page is on its way");
            desk.page_opened();
            desk.page_done();
            ending.join().unwrap();
        });
        desk.tell("Done", "Two files".to_owned());
        assert!(!desk.open()[0].is_question());
    }
}
