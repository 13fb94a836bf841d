//! Attributes changed files to workers, whenever a turn starts or ends.
//!
//! A change belongs to the worker whose agent names the file. If no agent does, it belongs to each worker that was running
//! when it was detected, so that in a replay the file exists whichever of them ends first.

use super::snapshot::{FileId, FileVersion, Folders, worktree_of};
use super::{Content, FileChange, Root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use wavecrew_core::engine::WorkerId;

/// A larger file is not recorded.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// For all files of a turn.
const MAX_TURN_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub(super) struct Changes {
    folders: Folders,
    seen: BTreeMap<FileId, FileVersion>,
    /// Changed files that are not attributed yet.
    unattributed: BTreeMap<FileId, Candidates>,
}

/// The workers that may have changed a file.
#[derive(Debug, Default)]
struct Candidates {
    /// They were running when the change was detected, and their turns have not ended.
    open: BTreeSet<WorkerId>,
    /// The change is attributed to another worker that may have made it.
    attributed: bool,
}

/// Files that agents say they wrote, by worker.
pub(crate) type NamedFiles = BTreeMap<WorkerId, Vec<String>>;

impl Changes {
    pub fn new(folders: Folders) -> Self {
        Self {
            folders,
            seen: BTreeMap::new(),
            unattributed: BTreeMap::new(),
        }
    }

    /// Detects what changed since the last call; these workers are running.
    pub fn detect(&mut self, running: &BTreeSet<WorkerId>) {
        let now = self.folders.snapshot();
        if !running.is_empty() {
            // Worktrees are created and removed as a whole, and not by workers.
            let worktrees = |files: &BTreeMap<FileId, FileVersion>| -> BTreeSet<String> {
                files.keys().filter_map(worktree_of).map(str::to_owned).collect()
            };
            let (before, after) = (worktrees(&self.seen), worktrees(&now));
            let stays = |file: &&FileId| {
                worktree_of(file).is_none_or(|name| before.contains(name) && after.contains(name))
            };
            let changed = now
                .iter()
                .filter(|(file, stamp)| self.seen.get(file) != Some(stamp))
                .map(|(file, _)| file)
                .filter(stays);
            let gone = self
                .seen
                .keys()
                .filter(|file| !now.contains_key(file))
                .filter(stays);
            for file in changed.chain(gone) {
                self.unattributed
                    .entry(file.clone())
                    .or_default()
                    .open
                    .extend(running);
            }
        }
        self.seen = now;
    }

    /// The changes of a worker whose turn has ended. `text` converts the text of a file for the cassette.
    pub fn take(
        &mut self,
        worker: WorkerId,
        named: &NamedFiles,
        text: impl Fn(&str) -> String,
    ) -> Vec<FileChange> {
        let named: BTreeMap<WorkerId, BTreeSet<FileId>> = named
            .iter()
            .map(|(worker, paths)| {
                (
                    *worker,
                    paths.iter().filter_map(|path| self.file_id(path)).collect(),
                )
            })
            .collect();
        // The folder of a worktree stands for everything in it.
        let covers = |named: &FileId, file: &FileId| {
            named == file
                || worktree_of(named)
                    .is_some_and(|name| named.1.ends_with(name) && worktree_of(file) == Some(name))
        };
        let worker_names = |worker: &WorkerId, file: &FileId| {
            let files = named.get(worker);
            files.is_some_and(|files| files.iter().any(|named| covers(named, file)))
        };
        let mut own = Vec::new();
        self.unattributed.retain(|file, candidates| {
            let is_named = worker_names(&worker, file);
            let was_running = candidates.open.remove(&worker);
            if is_named || (was_running && !candidates.open.iter().any(|other| worker_names(other, file))) {
                let guessed = !is_named && (candidates.attributed || !candidates.open.is_empty());
                own.push((file.clone(), guessed));
                candidates.attributed = true;
            }
            !is_named && !candidates.open.is_empty()
        });
        let mut room = MAX_TURN_BYTES;
        let change = |((root, path), guessed): (FileId, bool)| FileChange {
            content: content(&self.folders.folder(root).join(&path), &mut room, &text),
            root,
            path,
            guessed,
        };
        own.into_iter().map(change).collect()
    }

    /// A worker has ended without a recorded turn: its changes belong to the other candidates.
    pub fn forget(&mut self, worker: WorkerId) {
        self.unattributed.retain(|_, candidates| {
            candidates.open.remove(&worker);
            !candidates.open.is_empty()
        });
    }

    fn file_id(&self, path: &str) -> Option<FileId> {
        let path = Path::new(path);
        for root in [Root::Session, Root::Project] {
            if let Ok(below) = path.strip_prefix(self.folders.folder(root)) {
                return Some((root, below.to_str()?.to_owned()));
            }
        }
        let below = path.strip_prefix(".").unwrap_or(path);
        path.is_relative()
            .then_some((Root::Project, below.to_str()?.to_owned()))
    }
}

/// Files that usually contain credentials. Secrets in the environment are masked anyway; these files may
/// contain others.
fn holds_credentials(path: &Path) -> bool {
    const NAMES: [&str; 8] = [
        ".env",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".git-credentials",
        "credentials",
        "credentials.json",
    ];
    const EXAMPLES: [&str; 3] = [".env.example", ".env.sample", ".env.template"];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default();
    NAMES.contains(&&*name)
        || (name.starts_with(".env.") && !EXAMPLES.contains(&&*name))
        || (name.starts_with("id_") && ending.is_empty())
        || ["pem", "key", "p12", "pfx"].iter().any(|known| ending == *known)
}

fn content(path: &Path, room: &mut u64, text: impl Fn(&str) -> String) -> Content {
    let left_out = |why: &str| Content::LeftOut(why.to_owned());
    let Ok(found) = fs::symlink_metadata(path) else {
        return Content::Gone(true);
    };
    if !found.is_file() {
        return left_out("not a regular file");
    }
    if holds_credentials(path) {
        return left_out("it may contain credentials");
    }
    if found.len() > MAX_FILE_BYTES.min(*room) {
        return left_out("too big");
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes));
    if read.is_err() {
        return left_out("it could not be read");
    }
    *room -= (bytes.len() as u64).min(*room);
    match String::from_utf8(bytes) {
        Ok(whole) if found.mode() & 0o100 != 0 => Content::Script(text(&whole)),
        Ok(whole) => Content::Text(text(&whole)),
        Err(_) => left_out("not text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: WorkerId = WorkerId(1);
    const B: WorkerId = WorkerId(2);

    struct Project {
        root: tempfile::TempDir,
        changes: Changes,
    }

    impl Project {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let session = root.path().join(".workflow/s");
            fs::create_dir_all(session.join("artifacts")).unwrap();
            fs::write(root.path().join("old.txt"), "old").unwrap();
            let folders = Folders::new(root.path(), &session, Vec::new());
            Self {
                changes: Changes::new(folders),
                root,
            }
        }

        fn write(&self, path: &str, text: &str) {
            fs::write(self.root.path().join(path), text).unwrap();
        }

        fn detect(&mut self, running: &[WorkerId]) {
            self.changes.detect(&running.iter().copied().collect());
        }

        /// `path=content`, with `?` where it was guessed.
        fn take(&mut self, worker: WorkerId, named: &[(WorkerId, &str)]) -> Vec<String> {
            let mut by_worker = NamedFiles::new();
            for (worker, path) in named {
                by_worker.entry(*worker).or_default().push((*path).to_owned());
            }
            let taken = self.changes.take(worker, &by_worker, str::to_owned);
            let show = |change: FileChange| {
                let guess = if change.guessed { "?" } else { "" };
                let content = match change.content {
                    Content::Text(text) | Content::Script(text) => text,
                    Content::Gone(_) => "gone".to_owned(),
                    Content::LeftOut(why) => format!("({why})"),
                };
                format!("{}={content}{guess}", change.path)
            };
            taken.into_iter().map(show).collect()
        }
    }

    #[test]
    fn a_change_in_a_worktree_belongs_to_its_worker() {
        let mut project = Project::new();
        let git = |words: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@y"])
                .args(words)
                .current_dir(project.root.path());
            assert!(git.output().unwrap().status.success(), "{words:?}");
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        project.changes.detect(&BTreeSet::new());
        for name in ["a", "b"] {
            let folder = format!(".workflow/s/worktrees/{name}");
            let root = project.root.path();
            let tree = root.join(&folder);
            std::process::Command::new("git")
                .args(["worktree", "add", "-q"])
                .arg(&tree)
                .current_dir(root)
                .output()
                .unwrap();
            project.write(&format!("{folder}/there.py"), "from the beginning");
        }
        project.changes.detect(&BTreeSet::from([A, B]));
        project.write(".workflow/s/worktrees/a/made.py", "by a");
        project.write(".workflow/s/worktrees/b/made.py", "by b");
        project.changes.detect(&BTreeSet::from([A, B]));
        let home = |name: &str| {
            vec![
                project
                    .root
                    .path()
                    .join(".workflow/s/worktrees")
                    .join(name)
                    .to_str()
                    .unwrap()
                    .to_owned(),
            ]
        };
        let named = NamedFiles::from([(A, home("a")), (B, home("b"))]);
        let taken = project.changes.take(A, &named, str::to_owned);
        let paths: Vec<&str> = taken.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["worktrees/a/made.py"]);
        std::fs::remove_dir_all(project.root.path().join(".workflow/s/worktrees/b")).unwrap();
        project.changes.detect(&BTreeSet::from([A]));
        assert!(
            project.changes.take(A, &named, str::to_owned).is_empty(),
            "removed as a whole"
        );
    }

    #[test]
    fn a_change_belongs_to_the_only_running_worker() {
        let mut project = Project::new();
        project.detect(&[]);
        project.write("new.txt", "new");
        project.write(".workflow/s/artifacts/plan.md", "plan");
        project.write(".workflow/other", "not ours");
        fs::write(project.root.path().join("picture"), [0xff, 0xfe]).unwrap();
        fs::remove_file(project.root.path().join("old.txt")).unwrap();
        project.detect(&[A]);
        assert_eq!(
            project.take(A, &[]),
            [
                "new.txt=new",
                "old.txt=gone",
                "picture=(not text)",
                "artifacts/plan.md=plan"
            ]
        );
        assert!(project.take(A, &[]).is_empty());
    }

    #[test]
    fn a_change_belongs_to_the_worker_whose_agent_names_it() {
        let mut project = Project::new();
        project.detect(&[]);
        for name in ["a.txt", "b.txt", "c.txt"] {
            project.write(name, name);
        }
        project.detect(&[A, B]);
        let b = project.root.path().join("b.txt");
        let named = [(A, "./a.txt"), (B, b.to_str().unwrap())];
        assert_eq!(project.take(A, &named), ["a.txt=a.txt", "c.txt=c.txt?"]);
        assert_eq!(project.take(B, &named), ["b.txt=b.txt", "c.txt=c.txt?"]);
        assert!(project.take(A, &named).is_empty() && project.take(B, &named).is_empty());
    }

    #[test]
    fn a_change_without_a_running_worker_belongs_to_nobody() {
        let mut project = Project::new();
        project.detect(&[]);
        project.write("by-hand.txt", "x");
        project.detect(&[]);
        project.write("lost.txt", "x");
        project.detect(&[B]);
        project.changes.forget(B);
        assert!(project.take(A, &[]).is_empty());
    }
}
