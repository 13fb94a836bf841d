//! Which worker changed which file: found by looking at the tree whenever a turn begins or ends.
//!
//! A change belongs to the worker whose agent says that it wrote the file. Without such a word it belongs to each that
//! was running when it was found, so that in a replay the file is there whichever of them ends first.

use super::tree::{Spot, Stamp, Tree, working_copy};
use super::{Content, FileChange, Root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use wavecrew_core::engine::WorkerId;

/// A bigger file is left out.
const BIGGEST: u64 = 256 << 10;
/// All files of a turn.
const MOST_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub(super) struct Changes {
    tree: Tree,
    seen: BTreeMap<Spot, Stamp>,
    /// Changed files that somebody has still to take.
    pool: BTreeMap<Spot, Claimants>,
}

/// Who may have changed a file.
#[derive(Debug, Default)]
struct Claimants {
    /// They were running when the change was found, and have not taken it.
    left: BTreeSet<WorkerId>,
    /// Somebody else has taken it who may have done it as well.
    taken: bool,
}

/// Files that agents say they wrote, by worker.
pub(crate) type Named = BTreeMap<WorkerId, Vec<String>>;

impl Changes {
    pub fn new(tree: Tree) -> Self {
        Self {
            tree,
            seen: BTreeMap::new(),
            pool: BTreeMap::new(),
        }
    }

    /// Looks at the tree while these workers are running.
    pub fn look(&mut self, running: &BTreeSet<WorkerId>) {
        let now = self.tree.look();
        if !running.is_empty() {
            // A working copy is made and removed as a whole, and not by workers.
            let copies = |files: &BTreeMap<Spot, Stamp>| -> BTreeSet<String> {
                files.keys().filter_map(working_copy).map(str::to_owned).collect()
            };
            let (before, after) = (copies(&self.seen), copies(&now));
            let stays = |spot: &&Spot| {
                working_copy(spot).is_none_or(|copy| before.contains(copy) && after.contains(copy))
            };
            let changed = now
                .iter()
                .filter(|(spot, stamp)| self.seen.get(spot) != Some(stamp))
                .map(|(spot, _)| spot)
                .filter(stays);
            let gone = self
                .seen
                .keys()
                .filter(|spot| !now.contains_key(spot))
                .filter(stays);
            for spot in changed.chain(gone) {
                self.pool.entry(spot.clone()).or_default().left.extend(running);
            }
        }
        self.seen = now;
    }

    /// The changes of a worker whose turn is over. `text` is what is kept of a file's text.
    pub fn take(
        &mut self,
        worker: WorkerId,
        named: &Named,
        text: impl Fn(&str) -> String,
    ) -> Vec<FileChange> {
        let named: BTreeMap<WorkerId, BTreeSet<Spot>> = named
            .iter()
            .map(|(worker, paths)| (*worker, paths.iter().filter_map(|path| self.spot(path)).collect()))
            .collect();
        // The folder of a working copy stands for all that is in it.
        let covers = |told: &Spot, spot: &Spot| {
            told == spot
                || working_copy(told)
                    .is_some_and(|copy| told.1.ends_with(copy) && working_copy(spot) == Some(copy))
        };
        let says = |worker: &WorkerId, spot: &Spot| {
            let told = named.get(worker);
            told.is_some_and(|spots| spots.iter().any(|told| covers(told, spot)))
        };
        let mut own = Vec::new();
        self.pool.retain(|spot, claimants| {
            let told = says(&worker, spot);
            let was_here = claimants.left.remove(&worker);
            if told || (was_here && !claimants.left.iter().any(|other| says(other, spot))) {
                let guessed = !told && (claimants.taken || !claimants.left.is_empty());
                own.push((spot.clone(), guessed));
                claimants.taken = true;
            }
            !told && !claimants.left.is_empty()
        });
        let mut room = MOST_BYTES;
        let change = |((root, path), guessed): (Spot, bool)| FileChange {
            content: content(&self.tree.folder(root).join(&path), &mut room, &text),
            root,
            path,
            guessed,
        };
        own.into_iter().map(change).collect()
    }

    /// A worker is gone without a turn of its own: what it may have changed is for the others.
    pub fn forget(&mut self, worker: WorkerId) {
        self.pool.retain(|_, claimants| {
            claimants.left.remove(&worker);
            !claimants.left.is_empty()
        });
    }

    fn spot(&self, path: &str) -> Option<Spot> {
        let path = Path::new(path);
        for root in [Root::Session, Root::Project] {
            if let Ok(below) = path.strip_prefix(self.tree.folder(root)) {
                return Some((root, below.to_str()?.to_owned()));
            }
        }
        let below = path.strip_prefix(".").unwrap_or(path);
        path.is_relative()
            .then_some((Root::Project, below.to_str()?.to_owned()))
    }
}

fn content(path: &Path, room: &mut u64, text: impl Fn(&str) -> String) -> Content {
    let left_out = |why: &str| Content::LeftOut(why.to_owned());
    let Ok(found) = fs::symlink_metadata(path) else {
        return Content::Gone(true);
    };
    if !found.is_file() {
        return left_out("not a regular file");
    }
    if found.len() > BIGGEST.min(*room) {
        return left_out("too big");
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BIGGEST).read_to_end(&mut bytes));
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

    struct Place {
        root: tempfile::TempDir,
        changes: Changes,
    }

    impl Place {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let session = root.path().join(".workflow/s");
            fs::create_dir_all(session.join("artifacts")).unwrap();
            fs::write(root.path().join("old.txt"), "old").unwrap();
            let tree = Tree::new(root.path(), &session, Vec::new());
            Self {
                changes: Changes::new(tree),
                root,
            }
        }

        fn write(&self, path: &str, text: &str) {
            fs::write(self.root.path().join(path), text).unwrap();
        }

        fn look(&mut self, running: &[WorkerId]) {
            self.changes.look(&running.iter().copied().collect());
        }

        /// `path=content`, with `?` where it was guessed.
        fn take(&mut self, worker: WorkerId, named: &[(WorkerId, &str)]) -> Vec<String> {
            let mut by_worker = Named::new();
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
    fn what_changes_in_a_working_copy_is_its_workers() {
        let mut place = Place::new();
        let git = |words: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@y"])
                .args(words)
                .current_dir(place.root.path());
            assert!(git.output().unwrap().status.success(), "{words:?}");
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        place.changes.look(&BTreeSet::new());
        for name in ["a", "b"] {
            let folder = format!(".workflow/s/worktrees/{name}");
            let root = place.root.path();
            let tree = root.join(&folder);
            std::process::Command::new("git")
                .args(["worktree", "add", "-q"])
                .arg(&tree)
                .current_dir(root)
                .output()
                .unwrap();
            place.write(&format!("{folder}/there.py"), "from the beginning");
        }
        place.changes.look(&BTreeSet::from([A, B]));
        place.write(".workflow/s/worktrees/a/made.py", "by a");
        place.write(".workflow/s/worktrees/b/made.py", "by b");
        place.changes.look(&BTreeSet::from([A, B]));
        let home = |name: &str| {
            vec![
                place
                    .root
                    .path()
                    .join(".workflow/s/worktrees")
                    .join(name)
                    .to_str()
                    .unwrap()
                    .to_owned(),
            ]
        };
        let named = Named::from([(A, home("a")), (B, home("b"))]);
        let taken = place.changes.take(A, &named, str::to_owned);
        let paths: Vec<&str> = taken.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["worktrees/a/made.py"]);
        std::fs::remove_dir_all(place.root.path().join(".workflow/s/worktrees/b")).unwrap();
        place.changes.look(&BTreeSet::from([A]));
        assert!(
            place.changes.take(A, &named, str::to_owned).is_empty(),
            "removed as a whole"
        );
    }

    #[test]
    fn what_one_worker_alone_does_is_its_own() {
        let mut place = Place::new();
        place.look(&[]);
        place.write("new.txt", "new");
        place.write(".workflow/s/artifacts/plan.md", "plan");
        place.write(".workflow/other", "not ours");
        fs::write(place.root.path().join("picture"), [0xff, 0xfe]).unwrap();
        fs::remove_file(place.root.path().join("old.txt")).unwrap();
        place.look(&[A]);
        assert_eq!(
            place.take(A, &[]),
            [
                "new.txt=new",
                "old.txt=gone",
                "picture=(not text)",
                "artifacts/plan.md=plan"
            ]
        );
        assert!(place.take(A, &[]).is_empty());
    }

    #[test]
    fn of_two_workers_the_one_that_says_so_wrote_it() {
        let mut place = Place::new();
        place.look(&[]);
        for name in ["a.txt", "b.txt", "c.txt"] {
            place.write(name, name);
        }
        place.look(&[A, B]);
        let b = place.root.path().join("b.txt");
        let named = [(A, "./a.txt"), (B, b.to_str().unwrap())];
        assert_eq!(place.take(A, &named), ["a.txt=a.txt", "c.txt=c.txt?"]);
        assert_eq!(place.take(B, &named), ["b.txt=b.txt", "c.txt=c.txt?"]);
        assert!(place.take(A, &named).is_empty() && place.take(B, &named).is_empty());
    }

    #[test]
    fn what_nobody_did_is_nobodys() {
        let mut place = Place::new();
        place.look(&[]);
        place.write("by-hand.txt", "x");
        place.look(&[]);
        place.write("lost.txt", "x");
        place.look(&[B]);
        place.changes.forget(B);
        assert!(place.take(A, &[]).is_empty());
    }
}
