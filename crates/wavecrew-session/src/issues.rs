//! `.workflow/issues/issues.jsonl`: the issues of a project, one JSON object per line. People and other tools write it
//! too, so a line that is not understood is reported with its number and kept as it is.
//!
//! Writers take a lock and replace the whole file: readers see it before or after a change, never during one.

use crate::atomic;
use crate::error::{IoContext, SessionError};
use crate::lock::try_lock_for;
use crate::paths::ProjectPaths;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wavecrew_core::issue::{Issue, IssueStatus, next_ids};

/// How long to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The issues of a project.
#[derive(Debug, Clone)]
pub struct IssueStore {
    paths: ProjectPaths,
}

/// The content of a file of issues.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IssueFile {
    pub issues: Vec<Issue>,
    pub problems: Vec<BadLine>,
}

/// A line that is not an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    pub line: usize,
    pub reason: String,
}

/// The current time, because the store has no clock.
#[derive(Debug, Clone)]
pub struct CurrentTime {
    /// RFC 3339 in UTC.
    pub at: String,
    /// `YYYYMMDD`.
    pub date: String,
    /// `HHMMSS`, as a number.
    pub time: u32,
}

impl IssueFile {
    pub fn find(&self, id: &str) -> Option<&Issue> {
        self.issues.iter().find(|issue| issue.id == id)
    }

    /// Reads a file of issues. A missing file has none.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).context("read", path),
        };
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut seen = BTreeSet::new();
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() {
                continue;
            }
            match parse_line(text) {
                Ok(issue) if seen.insert(issue.id.clone()) => found.issues.push(issue),
                Ok(issue) => found.problems.push(BadLine {
                    line,
                    reason: format!("the issue {} is there already", issue.id),
                }),
                Err(reason) => found.problems.push(BadLine { line, reason }),
            }
        }
        found
    }
}

fn parse_line(text: &str) -> Result<Issue, String> {
    let issue: Issue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if issue.id.trim().is_empty() {
        return Err("the issue has no id".to_owned());
    }
    Ok(issue)
}

impl IssueStore {
    pub fn new(project: &Path) -> Self {
        Self {
            paths: ProjectPaths::at(project),
        }
    }

    pub fn path(&self) -> PathBuf {
        self.paths.issues_file()
    }

    pub fn read(&self) -> Result<IssueFile, SessionError> {
        IssueFile::read(&self.path())
    }

    /// Provisional ids for new issues. Nothing is written, so another process may use them first.
    pub fn ids_for(&self, count: usize, now: &CurrentTime) -> Result<Vec<String>, SessionError> {
        Ok(free_ids(&self.read()?, count, now))
    }

    /// Files new issues. They depend on each other by their places in the list, before they have ids.
    pub fn add(&self, new: Vec<(Issue, Vec<usize>)>, now: &CurrentTime) -> Result<Vec<Issue>, SessionError> {
        let _lock = self.lock()?;
        let ids = free_ids(&self.read()?, new.len(), now);
        let issues: Vec<Issue> = new
            .into_iter()
            .zip(&ids)
            .map(|((mut issue, before), id)| {
                issue.id.clone_from(id);
                issue.created_at.clone_from(&now.at);
                let before = before.into_iter().filter_map(|place| ids.get(place).cloned());
                issue.depends_on_issues.extend(before);
                issue
            })
            .collect();
        self.append(&issues)?;
        Ok(issues)
    }

    /// Files issues under their provisional ids, or under others if another process has used these. Returns
    /// the filed issues in the same order.
    pub fn add_with_ids(&self, promised: Vec<Issue>, now: &CurrentTime) -> Result<Vec<Issue>, SessionError> {
        let _lock = self.lock()?;
        let known = self.read()?;
        let mut taken = known;
        let mut others = BTreeMap::new();
        for issue in &promised {
            let mut id = issue.id.clone();
            if taken.find(&id).is_some() {
                id = free_ids(&taken, 1, now).pop().unwrap_or(id);
                others.insert(issue.id.clone(), id.clone());
            }
            taken.issues.push(Issue {
                id,
                ..Issue::default()
            });
        }
        let now_called = |id: &mut String| {
            if let Some(other) = others.get(id) {
                id.clone_from(other);
            }
        };
        let mut issues = promised;
        for issue in &mut issues {
            now_called(&mut issue.id);
            issue.depends_on_issues.iter_mut().for_each(now_called);
        }
        self.append(&issues)?;
        Ok(issues)
    }

    /// Adds issues with ids to the store, unless they are already there.
    pub fn import(&self, issues: &[Issue]) -> Result<(), SessionError> {
        let _lock = self.lock()?;
        let known = self.read()?;
        let new: Vec<Issue> = issues
            .iter()
            .filter(|issue| known.find(&issue.id).is_none())
            .cloned()
            .collect();
        self.append(&new)
    }

    /// Closes an issue; `None` when there is none of this id.
    pub fn close(
        &self,
        id: &str,
        resolution: Option<&str>,
        now: &CurrentTime,
    ) -> Result<Option<Issue>, SessionError> {
        let _lock = self.lock()?;
        let path = self.path();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context("read", &path),
        };
        let mut closed = None;
        let mut after = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match parse_line(&String::from_utf8_lossy(line)) {
                Ok(mut issue) if issue.id == id && closed.is_none() => {
                    if issue.status != IssueStatus::Closed {
                        issue.status = IssueStatus::Closed;
                        issue.closed_at = Some(now.at.clone());
                        issue.resolution = resolution.map(str::to_owned);
                    }
                    after.extend(to_line(&issue)?.into_bytes());
                    after.push(b'\n');
                    closed = Some(issue);
                }
                Ok(_) | Err(_) => after.extend_from_slice(line),
            }
        }
        if closed.is_some() {
            atomic::write_shared(&path, &after)?;
        }
        Ok(closed)
    }

    fn append(&self, issues: &[Issue]) -> Result<(), SessionError> {
        if issues.is_empty() {
            return Ok(());
        }
        let path = self.path();
        let mut text = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).context("read", &path),
        };
        if text.last().is_some_and(|last| *last != b'\n') {
            text.push(b'\n');
        }
        for issue in issues {
            text.extend(to_line(issue)?.into_bytes());
            text.push(b'\n');
        }
        atomic::write_shared(&path, &text)
    }

    /// Held as long as the file lives.
    fn lock(&self) -> Result<File, SessionError> {
        let folder = self.paths.issues_folder();
        fs::create_dir_all(&folder).context("create", &folder)?;
        let path = self.paths.issues_lock();
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .context("open the lock", &path)?;
        if try_lock_for(&file, &path, PATIENCE)? {
            Ok(file)
        } else {
            Err(SessionError::Busy { path })
        }
    }
}

fn free_ids(known: &IssueFile, count: usize, now: &CurrentTime) -> Vec<String> {
    let taken: BTreeSet<&str> = known.issues.iter().map(|issue| issue.id.as_str()).collect();
    next_ids(&now.date, now.time, &taken, count)
}

fn to_line(issue: &Issue) -> Result<String, SessionError> {
    serde_json::to_string(issue).map_err(|error| SessionError::NotJson {
        what: "the issue",
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> CurrentTime {
        CurrentTime {
            at: "2026-03-08T12:00:00Z".to_owned(),
            date: "20260308".to_owned(),
            time: 120_000,
        }
    }

    fn draft(title: &str) -> Issue {
        Issue {
            title: title.to_owned(),
            ..Issue::default()
        }
    }

    #[test]
    fn issues_are_filed_found_and_closed() {
        let project = tempfile::tempdir().unwrap();
        let store = IssueStore::new(project.path());
        assert_eq!(store.read().unwrap(), IssueFile::default());
        let added = store
            .add(vec![(draft("a"), vec![]), (draft("b"), vec![0])], &now())
            .unwrap();
        assert_eq!(added[1].id, "ISS-20260308-120001");
        assert_eq!(added[1].depends_on_issues, ["ISS-20260308-120000"]);
        assert_eq!(store.read().unwrap().issues, added);
        let closed = store
            .close(&added[0].id, Some("merged"), &now())
            .unwrap()
            .unwrap();
        assert_eq!(
            (closed.status, closed.resolution.as_deref()),
            (IssueStatus::Closed, Some("merged"))
        );
        assert_eq!(store.read().unwrap().find(&added[0].id), Some(&closed));
        assert_eq!(store.close("ISS-20260308-999999", None, &now()).unwrap(), None);
        store.import(&added).unwrap();
        assert_eq!(store.read().unwrap().issues.len(), 2);
    }

    #[test]
    fn bad_lines_are_told_with_their_numbers_and_kept() {
        let project = tempfile::tempdir().unwrap();
        let store = IssueStore::new(project.path());
        fs::create_dir_all(store.path().parent().unwrap()).unwrap();
        let text = "{\"id\":\"A\",\"title\":\"a\",\"priority\":3,\"context\":\"why\"}\n\nnot json\n{\"id\":\"A\",\"title\":\"again\"}\n{\"title\":\"x\"}";
        fs::write(store.path(), text).unwrap();
        let found = store.read().unwrap();
        let lines: Vec<usize> = found.problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [3, 4, 5]);
        assert_eq!(found.issues[0].description, "why");
        store.close("A", None, &now()).unwrap().unwrap();
        store.add(vec![(draft("new"), vec![])], &now()).unwrap();
        let after = fs::read_to_string(store.path()).unwrap();
        assert!(
            after.contains("\nnot json\n{\"id\":\"A\",\"title\":\"again\"}\n{\"title\":\"x\"}\n"),
            "{after}"
        );
        assert!(after.contains("\"priority\":3"), "{after}");
    }

    #[test]
    fn lines_of_others_stay_byte_for_byte_when_an_issue_is_closed() {
        let project = tempfile::tempdir().unwrap();
        let store = IssueStore::new(project.path());
        fs::create_dir_all(store.path().parent().unwrap()).unwrap();
        let others = [
            &b"caf\xe9, in Latin-1\r\n"[..],
            b"\n{\"id\":\"B\",\"title\":\"b\"}",
        ];
        let before = [others[0], b"{\"id\":\"A\",\"title\":\"a\"}\n", others[1]].concat();
        fs::write(store.path(), before).unwrap();
        assert!(store.close("A", None, &now()).unwrap().is_some());
        let after = fs::read(store.path()).unwrap();
        assert!(after.starts_with(others[0]) && after.ends_with(others[1]));
        let issues = store.read().unwrap().issues;
        let states: Vec<_> = issues
            .iter()
            .map(|issue| (issue.id.as_str(), issue.status))
            .collect();
        assert_eq!(states, [("A", IssueStatus::Closed), ("B", issues[1].status)]);
        assert_ne!(issues[1].status, IssueStatus::Closed);
    }

    #[test]
    fn a_promised_id_that_somebody_else_got_becomes_another_one() {
        let project = tempfile::tempdir().unwrap();
        let store = IssueStore::new(project.path());
        let ids = store.ids_for(2, &now()).unwrap();
        let promised = |title: &str| {
            let issue = |n: usize| Issue {
                id: ids[n].clone(),
                depends_on_issues: ids[..n].to_vec(),
                ..draft(title)
            };
            vec![issue(0), issue(1)]
        };
        assert_eq!(
            store.add_with_ids(promised("first"), &now()).unwrap(),
            promised("first")
        );
        let second = store.add_with_ids(promised("second"), &now()).unwrap();
        assert_eq!(
            (second[0].id.as_str(), second[1].id.as_str()),
            ("ISS-20260308-120002", "ISS-20260308-120003")
        );
        assert_eq!(second[1].depends_on_issues, [second[0].id.clone()]);
        assert_eq!(store.read().unwrap().issues.len(), 4);
    }

    #[test]
    fn many_writers_lose_nothing() {
        let project = tempfile::tempdir().unwrap();
        let store = IssueStore::new(project.path());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for n in 0..5 {
                        store.add(vec![(draft(&n.to_string()), vec![])], &now()).unwrap();
                    }
                });
            }
        });
        let found = store.read().unwrap();
        assert_eq!((found.issues.len(), found.problems.len()), (40, 0));
    }
}
