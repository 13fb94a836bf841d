//! Questions of workers on their way to the coordinator, and the answers on their way back: two small files
//! for each in `.run/asks`, `{task}.{attempt}.{random}.ask` and the same with `.answer`. None of them
//! outlives its worker. [`Attempts`](crate::Attempts) decides who may ask.

use crate::atomic;
use crate::attempts::random_name;
use crate::error::{IoContext, SessionError};
use crate::worker_file::{read_limited, remove_any};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

const ASKED: &str = ".ask";
const ANSWERED: &str = ".answer";

/// Bytes of a question that are read.
const MAX_READ: u64 = 1 << 20;

/// A worker's question.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct WorkerQuestion {
    pub question: String,
    /// Suggested answers.
    #[serde(default)]
    pub options: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct WorkerQuestions {
    folder: PathBuf,
}

impl WorkerQuestions {
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The worker's side: asks, and returns the name under which the answer is found.
    pub fn put(&self, task: &str, attempt: u32, ask: &WorkerQuestion) -> Result<String, SessionError> {
        fs::create_dir_all(&self.folder).context("create", &self.folder)?;
        let name = format!("{}{}", prefix(task, attempt), random_name()?);
        let text = serde_json::to_vec(ask).expect("plain data");
        atomic::write_volatile(&self.path(&name, ASKED), &text)?;
        Ok(name)
    }

    /// The worker's side: the answer, once it is there.
    pub fn answer_to(&self, name: &str) -> Result<Option<String>, SessionError> {
        let path = self.path(name, ANSWERED);
        match fs::read_to_string(&path) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).context("read", &path),
        }
    }

    /// The names of all questions without an answer. One that is being written is found the next time.
    pub fn open(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names
            .filter_map(|name| name.strip_suffix(ASKED).map(str::to_owned))
            .collect();
        names.sort_unstable();
        names
    }

    /// The question of this name; `None` if it is not a question.
    pub fn read(&self, name: &str) -> Option<WorkerQuestion> {
        let found = read_limited(&self.path(name, ASKED), MAX_READ).ok()?;
        serde_json::from_slice(&found.regular()?.0).ok()
    }

    /// The coordinator's side: answers, and removes the question.
    pub fn answer(&self, name: &str, words: &str) -> Result<(), SessionError> {
        atomic::write_volatile(&self.path(name, ANSWERED), words.as_bytes())?;
        self.withdraw(name);
        Ok(())
    }

    /// Removes the question.
    pub fn withdraw(&self, name: &str) {
        // In both cases, it is no longer read.
        remove_any(&self.path(name, ASKED));
    }

    /// Removes all files of a worker that has ended.
    pub fn forget(&self, name: &str) {
        self.withdraw(name);
        remove_any(&self.path(name, ANSWERED));
    }

    fn path(&self, name: &str, kind: &str) -> PathBuf {
        self.folder.join(format!("{name}{kind}"))
    }
}

/// How the names of an attempt's questions begin.
fn prefix(task: &str, attempt: u32) -> String {
    format!("{task}.{attempt}.")
}

/// Whether a question of this name belongs to this attempt.
pub fn belongs_to(name: &str, task: &str, attempt: u32) -> bool {
    let rest = name.strip_prefix(&prefix(task, attempt));
    rest.is_some_and(|rest| !rest.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_gets_its_answer_and_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let asks = WorkerQuestions::in_folder(root.path().join("asks"));
        assert!(asks.open().is_empty());
        let ask = WorkerQuestion {
            question: "Which?".into(),
            options: vec!["this".into()],
        };
        let name = asks.put("a.1", 2, &ask).unwrap();
        assert!(belongs_to(&name, "a.1", 2));
        assert!(
            !belongs_to(&name, "a", 1) && !belongs_to(&name, "a.1", 3),
            "{name}"
        );
        assert_eq!(asks.open(), std::slice::from_ref(&name));
        assert_eq!(asks.read(&name), Some(ask));
        assert_eq!(asks.answer_to(&name).unwrap(), None);
        asks.answer(&name, "that").unwrap();
        assert!(asks.open().is_empty());
        assert_eq!(asks.answer_to(&name).unwrap().as_deref(), Some("that"));
        asks.forget(&name);
        assert_eq!(fs::read_dir(root.path().join("asks")).unwrap().count(), 0);
    }
}
