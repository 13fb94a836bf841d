//! The state of a repository at one time: its branches and tags, and its uncommitted files. Read-only.

use super::git::Git;
use super::lifecycle::short;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use wavecrew_core::claim::{content_hash, quoted_path};
use wavecrew_session::WORKFLOW_FOLDER;

/// More uncommitted files than this are not compared.
const MAX_FILES: usize = 5000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectMark {
    /// Branches and tags by their full names; without those of wavecrew.
    refs: BTreeMap<String, String>,
    head: String,
    /// Uncommitted files from the root of the repository, and hashes of what is in them.
    dirty: BTreeMap<String, String>,
    /// Settings and hooks of the repository with which git starts programs or reads other files.
    acting: BTreeMap<String, String>,
}

/// How the names of such settings begin.
const ACTING: [&str; 20] = [
    "alias.",
    "core.askpass",
    "core.attributesfile",
    "core.editor",
    "core.excludesfile",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "core.worktree",
    "credential.",
    "diff.",
    "filter.",
    "gpg.",
    "include.",
    "includeif.",
    "merge.",
    "sequence.editor",
    "url.",
];

/// The change of a branch or a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefChange {
    /// It lost commits.
    Lost(String),
    /// It has new commits that are no merges of the session.
    Moved(String),
}

impl ProjectMark {
    /// `None` without a repository or a commit.
    pub fn of(project: &Path) -> Option<Self> {
        let git = Git::at(project);
        let facts = git
            .run(&[
                "rev-parse",
                "--path-format=absolute",
                "--show-toplevel",
                "--git-common-dir",
                "HEAD^{commit}",
            ])
            .ok()?;
        let mut facts = facts.lines();
        let (root, common) = (Path::new(facts.next()?), Path::new(facts.next()?));
        let head = facts.next()?.to_owned();
        let listed = git
            .run(&[
                "for-each-ref",
                "--format=%(refname) %(objectname)",
                "refs/heads",
                "refs/tags",
            ])
            .ok()?;
        let refs = listed
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(name, _)| !name.starts_with("refs/heads/wavecrew"))
            .map(|(name, commit)| (name.to_owned(), commit.to_owned()))
            .collect();
        let words = [
            "--no-optional-locks",
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
        ];
        let output = git.output(&words).ok()?;
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        let paths = listed
            .split('\0')
            .filter_map(|line| line.get(3..))
            .filter(|path| !path.split('/').any(|part| part == WORKFLOW_FOLDER));
        let dirty = paths
            .take(MAX_FILES)
            .map(|path| {
                let content = fs::read(root.join(path));
                (
                    path.to_owned(),
                    content.map_or_else(|_| String::new(), |bytes| content_hash(&bytes)),
                )
            })
            .collect();
        Some(Self {
            refs,
            head,
            dirty,
            acting: acting(&git, common),
        })
    }

    /// Settings and hooks of the repository that changed since then.
    pub fn changed_settings(&self, now: &Self) -> Vec<String> {
        let names = self.acting.keys().chain(now.acting.keys());
        let mut changed: Vec<String> = names
            .filter(|name| self.acting.get(*name) != now.acting.get(*name))
            .cloned()
            .collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    pub fn head(&self) -> &str {
        &self.head
    }

    /// The changes of branches and tags since then; `session` names the merges that wavecrew itself made.
    pub fn ref_changes(&self, now: &Self, project: &Path, session: &str) -> Vec<RefChange> {
        let git = Git::at(project);
        let mut changes = Vec::new();
        for (name, old) in &self.refs {
            let shown = shown(name);
            match now.refs.get(name) {
                Some(new) if new == old => {}
                None => changes.push(RefChange::Lost(format!(
                    "{shown} is gone, it was at {}: restore it with `git update-ref {name} {old}`",
                    short(old)
                ))),
                Some(new) if name.starts_with("refs/tags/") || !git.contains(new, old).unwrap_or(false) => {
                    changes.push(RefChange::Lost(format!(
                        "{shown} was moved from {} to {}, which does not descend from it: restore it with `git update-ref {name} \
                         {old}`",
                        short(old),
                        short(new)
                    )));
                }
                Some(new) if !is_of_session(&git, old, new, session) => {
                    changes.push(RefChange::Moved(format!(
                        "{shown} got commits that are not of this session: it was at {} and is at {}",
                        short(old),
                        short(new)
                    )));
                }
                Some(_) => {}
            }
        }
        changes
    }

    /// Files of the checkout that changed since then, committed or not, from the root of the repository.
    pub fn changed_files(&self, now: &Self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (path, hash) in &now.dirty {
            if self.dirty.get(path) != Some(hash) {
                names.push(path.clone());
            }
        }
        // Changes that were uncommitted then and are gone now were undone or committed.
        let taken_back = self.dirty.keys().filter(|path| !now.dirty.contains_key(*path));
        if self.head == now.head {
            names.extend(taken_back.cloned());
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Settings and hooks with which git starts programs or reads other files, and their values or hashes.
fn acting(git: &Git, common: &Path) -> BTreeMap<String, String> {
    let listed = git
        .run(&["config", "--local", "--list", "-z"])
        .unwrap_or_default();
    let mut found: BTreeMap<String, String> = listed
        .split('\0')
        .filter_map(|entry| entry.split_once('\n'))
        .filter(|(name, _)| ACTING.iter().any(|start| name.starts_with(start)))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let hooks = fs::read_dir(common.join("hooks"));
    for hook in hooks.into_iter().flatten().flatten() {
        let name = hook.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".sample") {
            let content = fs::read(hook.path()).unwrap_or_default();
            found.insert(format!("hooks/{name}"), content_hash(&content));
        }
    }
    found
}

/// `branch main`, in words.
fn shown(name: &str) -> String {
    match (name.strip_prefix("refs/heads/"), name.strip_prefix("refs/tags/")) {
        (Some(branch), _) => format!("the branch {}", quoted_path(branch)),
        (None, Some(tag)) => format!("the tag {}", quoted_path(tag)),
        (None, None) => quoted_path(name),
    }
}

/// Whether all new commits of a branch are merges of this session's work.
fn is_of_session(git: &Git, old: &str, new: &str, session: &str) -> bool {
    let range = format!("{old}..{new}");
    let subjects = git
        .run(&["log", "--first-parent", "--format=%s", &range])
        .unwrap_or_default();
    subjects
        .lines()
        .all(|subject| subject.starts_with("Merge ") && subject.ends_with(session))
}
