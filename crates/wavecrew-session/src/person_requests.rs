//! Requests of a person to a running session from outside its terminal: one small file each in
//! `.run/requests`, which the coordinator reads in order and removes.

use crate::atomic;
use crate::attempts::random_name;
use crate::error::{IoContext, SessionError};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug, Default)]
pub struct PersonRequest {
    /// `pause`, `resume`, `cancel`, `cancel task`, `retry task`, `message`, or a description of something
    /// that was already done.
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The text of a message; for `edit row`, the mark of the table as the person saved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where it was asked: `browser`.
    pub via: String,
}

#[derive(Clone, Debug)]
pub struct PersonRequests {
    folder: PathBuf,
}

impl PersonRequests {
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Adds a request. Requests are read in the order in which they were made.
    pub fn put(&self, request: &PersonRequest) -> Result<(), SessionError> {
        fs::create_dir_all(&self.folder).context("create", &self.folder)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}.json", since.as_nanos(), random_name()?);
        let text = serde_json::to_vec(request).expect("plain data");
        atomic::write_volatile(&self.folder.join(name), &text)
    }

    /// Removes and returns all requests, in order. Invalid ones are dropped.
    pub fn take(&self) -> Vec<PersonRequest> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect();
        paths.sort_unstable();
        let mut requests = Vec::new();
        for path in paths {
            let text = fs::read(&path);
            // A request that stays would be executed again and again.
            if fs::remove_file(&path).is_ok() {
                requests.extend(text.ok().and_then(|text| serde_json::from_slice(&text).ok()));
            }
        }
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_taken_once_and_in_order() {
        let root = tempfile::tempdir().unwrap();
        let requests = PersonRequests::in_folder(root.path().join("requests"));
        assert!(requests.take().is_empty());
        let request = |action: &str| PersonRequest {
            action: action.into(),
            via: "browser".into(),
            ..PersonRequest::default()
        };
        for action in ["pause", "resume"] {
            requests.put(&request(action)).unwrap();
        }
        fs::write(root.path().join("requests/0.json"), "not a request").unwrap();
        assert_eq!(requests.take(), [request("pause"), request("resume")]);
        assert!(requests.take().is_empty());
    }
}
